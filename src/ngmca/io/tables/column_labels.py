"""Labels of a table: an axis above its columns, names beside its rows; and selected columns."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import option
from ngmca.io.axis_units import (
    heading,
    is_place,
    known_unit,
    meaning,
    quantity_in,
    role,
    row_label,
)
from ngmca.io.dataset import monotonic
from ngmca.io.read_error import ReadError
from ngmca.io.tables.axis_evidence import SAFE_LENGTH, in_spectral_range, is_counter, is_even
from ngmca.io.tables.text_tables import Table

CHANNEL_NAME = re.compile(  # A400, abs_400, nm 400: what was measured, and where
    r"(wavelength|wave|wl|w|nm|lambda|wn|cm-?1|a|abs|absorbance|r|refl|reflectance|nir|spc|spectra|int"
    r"|intensity|band|od|mz|m/z)[ _.@(]*(\d+(?:\.\d+)?) ?(nm|cm-1|cm\^-1)?\)?",
    re.I,
)

LEADING_NUMBER = re.compile(r"\d+(?:\.\d+)?")
RANGE = re.compile(
    r"[\[(]?\s*(-?\d+[.,]?\d*)\s*(?:\.\.+|\u2026| to )\s*(-?\d+[.,]?\d*)\s*[\])]?"
)  # [9.98 .. 9.94]
NUMBERED = re.compile(r"(\D*?)(\d+(?:[.,]\d+)?)(\D*)")  # Raw Data (220)
MIN_PATTERN, MIN_COUNTED = 20, 100  # names that are alike, so that their numbers are an axis
POSITION = re.compile(r"([+-]?[\d.,]+(?:[eE][+-]?\d+)?)\s*(\D\S*|1/cm)")  # 400 nm, 950 1/cm


def settled(table: Table) -> Table:
    """Return the table with its first column as names if it mixes words and numbers.

    If its cells cannot be names, lines at the end that begin with a word are left out.
    """
    if 0 in table.words or np.isfinite(table.values[:, 0]).all():
        return table
    cells, style = table.cells(0), table.style
    words, numbers = [style.is_word(c) for c in cells], [style.number(c) is not None for c in cells]
    heads, name = axis_above(table) is not None, table.names[0] if table.names else ""
    listed = table.values[numbers, 0]
    names = heads or role(name) in ("time", "counting") or not (table.names or monotonic(listed))
    if role(name) == "spectral" and (any(numbers) or not any(words)):
        names = False
    if not table.names and len(listed) and is_counter(listed):
        names = True
    if names and all(cells) and (any(words) or not any(numbers)):
        return replace(table, words={**table.words, 0: cells})
    end = len(cells) - next((i for i, word in enumerate(reversed(words)) if not word), len(cells))
    if end == 0 or end == len(cells):
        return table
    passed = ", ".join(
        f"{n} ({c})" for n, c in zip(table.lines.numbers[end:][:4], cells[end:], strict=False)
    )
    return table.rows(slice(0, end)).with_remarks(f"lines below the table were left out: {passed}.")


def axis_above(table: Table) -> tuple[int, int, NDArray, str] | None:
    """Return first and last column, axis and unit if the names above the columns are an axis."""
    cells = [_with_unit(name, table) for name in table.names]
    found = _run(cells, table)
    if found is not None:
        return found
    plain = [(table.style.number(name), "") for name in table.names]  # A260, 260/280, 220, 221, ...
    found = _run(plain, table)
    if found is not None and len(found[2]) >= SAFE_LENGTH:
        return found
    return _run(_in_pattern(table), table) or _run(_centres(table), table)


def _run(
    cells: Sequence[tuple[float | None, str]], table: Table
) -> tuple[int, int, NDArray, str] | None:
    """Return first and last column, axis and unit if the numbers are an axis without a gap."""
    places = [j for j, (number, _) in enumerate(cells) if number is not None]
    if len(places) < 2 or places != list(range(places[0], places[-1] + 1)):
        return None
    axis = np.array([cells[j][0] for j in places], dtype=float)
    units = {cells[j][1] for j in places}
    if not monotonic(axis) or len(units) > 1 or any(j in table.words for j in places):
        return None
    if table.style.number(table.names[places[-1]]) is None and not _is_sure(axis, table, places):
        return None
    return places[0], places[-1] + 1, axis, units.pop()


def _in_pattern(table: Table) -> list[tuple[float | None, str]]:
    """Return the numbers in names that differ by them alone: Raw Data (220), Raw Data (222).

    Names of samples may be numbered as well. Only many numbers in the range of spectra that rise or fall
    in even steps are an axis, in steps of other than 1 if there are few of them.
    """
    parts = [NUMBERED.fullmatch(name) for name in table.names]
    frames = Counter((one[1], one[3]) for one in parts if one)
    frame, count = frames.most_common(1)[0] if frames else (("", ""), 0)
    if count < MIN_PATTERN:
        return []
    fits = [one is not None and (one[1], one[3]) == frame for one in parts]
    texts = [one[2] if one and fit else "" for one, fit in zip(parts, fits, strict=True)]
    axis = np.array([table.style.number(text) or 0.0 for text in texts if text])
    counted = any(text[:1] == "0" for text in texts) or axis[-1] - axis[0] == count - 1
    if counted and count < MIN_COUNTED:
        return []
    if not (monotonic(axis) and in_spectral_range(axis) and is_even(axis)):
        return []
    return [(table.style.number(text), "") if text else (None, "") for text in texts]


def counted_channels(table: Table) -> list[int]:
    """Return the columns whose names only count, as band1, band2, ...; none if they do not."""
    parts = [NUMBERED.fullmatch(name) for name in table.names]
    frames = Counter((one[1], one[3]) for one in parts if one)
    frame, count = frames.most_common(1)[0] if frames else (("", ""), 0)
    places = [j for j, one in enumerate(parts) if one and (one[1], one[3]) == frame]
    if count < MIN_PATTERN or not frame[0] or places != list(range(places[0], places[-1] + 1)):
        return []
    numbers = [int(one[2]) for j in places if (one := parts[j]) and one[2].isdigit()]
    counts = len(numbers) == count and numbers == list(range(numbers[0], numbers[0] + count))
    return places if counts and not any(j in table.words for j in places) else []


def _is_sure(axis: NDArray, table: Table, places: list[int]) -> bool:
    """Return whether names such as A400 are an axis: they may also be names of samples."""
    match = CHANNEL_NAME.fullmatch(table.names[places[-1]])
    if not match or match[1].lower() in ("mz", "m/z"):
        return True
    return len(axis) >= SAFE_LENGTH and in_spectral_range(axis) and is_even(axis)


def numbers_in_names(table: Table) -> bool:
    """Return whether the names above the columns are like A400, A402: they may be channels."""
    found = [table.style.number(re.sub(r"^\D+", "", name)) for name in table.names[1:]]
    numbers = np.array([number for number in found if number is not None])
    return len(numbers) == len(found) and monotonic(numbers) and in_spectral_range(numbers)


def _centres(table: Table) -> list[tuple[float | None, str]]:
    """Return the centres of ranges that are the names of columns: [9.98 .. 9.94], 0.98..1.02."""
    found = [RANGE.fullmatch(name) for name in table.names]
    if sum(map(bool, found)) < SAFE_LENGTH:
        return []
    ends = [[table.style.number(one[1]), table.style.number(one[2])] if one else [None] for one in found]
    both = [[end for end in two if end is not None] for two in ends]
    return [(sum(two) / 2 if len(two) == 2 else None, "") for two in both]


def _with_unit(name: str, table: Table) -> tuple[float | None, str]:
    """Return the number in a name such as 400, 400 nm or X400, and its unit."""
    number = table.style.number(name)
    if number is not None or not name:
        return number, ""
    position = POSITION.fullmatch(name)
    if position and meaning(position[2]):
        number = table.style.number(position[1])
        return number, known_unit(position[2]) if number is not None else ""
    if name[0] == "X":  # R writes names like this, with a point for a minus
        return table.style.number(f"-{name[2:]}" if name[1:2] == "." else name[1:]), ""
    match = CHANNEL_NAME.fullmatch(name)
    if match:
        word = match[3] or match[1]
        return table.style.number(match[2]), (meaning(word) or ("", ""))[0] and word.lower()
    word, _, digits = name.rpartition(" ")  # m/z 41
    return (table.style.number(digits), known_unit(word)) if meaning(word) else (None, "")


def check_beside(table: Table, above: tuple[int, int, NDArray, str]) -> None:
    """Raise an error for a heading that looks like a position but is not one: 400-402, 698x.

    A ratio such as 260/280 or one wavelength among properties does not continue the axis.
    """
    start, stop, axis, _ = above
    steps = 3 * np.abs(np.diff(axis)).max()
    for j in range(1, len(table.names)):
        name, near = table.names[j], axis[0] if j < start else axis[-1]
        digits = LEADING_NUMBER.match(name)
        strange = digits is not None and abs(float(digits[0]) - near) <= steps
        strange |= j >= stop and not table.style.is_word(name)
        if strange and not start <= j < stop and j not in table.words:
            raise ReadError(
                "{}: the heading {!r} of column {} is not a number, but the other headings are an axis. "
                "Write a number there, or say which columns are data, for example {}.",
                *(table.where, name, table.columns[j] + 1, option("columns", "3-5")),
            )


def name_across(table: Table, others: Sequence[int]) -> str:
    """Return the heading of an axis above the columns: after a \\ in the corner, or the corner."""
    corner = table.names[0] if 0 in others else ""
    if "\\" in corner:
        return corner.split("\\")[1].strip()
    beside_words = len(others) == 1 and 0 in table.words
    return corner if not others or (beside_words and meaning(heading(corner)[1] or corner)) else ""


def beside(table: Table, others: Sequence[int]) -> tuple[str, ...]:
    """Return names of measurements from the columns beside the data."""
    columns = [
        table.words[j] if j in table.words else [f"{value:.12g}" for value in table.values[:, j]]
        for j in others
    ]
    property_only = len(others) == 1 and others[0] > 0 and others[0] not in table.words
    if len(columns) < 2 and not property_only:
        return tuple(columns[0]) if columns and any(columns[0]) else ()
    marks = [f"{table.names[j]}=" if table.names and table.names[j] else "" for j in others]
    if coordinates(table, others) is not None:
        marks = [mark or place for mark, place in zip(marks, ("x=", "y="), strict=True)]
    return tuple(
        ", ".join(m + cell for m, cell in zip(marks, row, strict=True))
        for row in zip(*columns, strict=True)
    )


def names_over(table: Table, data: Sequence[int]) -> tuple[str, ...]:
    """Return the nearest line of words above the names, or the nearest line if all are numbers."""
    for cells in table.over:
        if not table.style.numbers([cells[j] for j in data]):
            return cells
    return table.above


def row_coordinate(table: Table, others: Sequence[int]) -> tuple[NDArray, str] | None:
    """Return values and label of the one column beside the data that is a time or temperature."""
    labels = {j: row_label(table.names[j].split("\\")[0]) for j in others if table.names}
    found = [j for j, label in labels.items() if label and j not in table.words]
    if len(found) != 1 or not np.isfinite(table.values[:, found[0]]).all():
        return None
    return table.values[:, found[0]], labels[found[0]]


def coordinate_in_names(table: Table, data: Sequence[int]) -> tuple[NDArray, str] | None:
    """Return values and label if the names above the columns are times or temperatures: 0 s, 30 s."""
    names = [table.names[j] for j in data] if table.names else []
    parts = [POSITION.fullmatch(name) for name in names]
    units = {one[2] if one else "" for one in parts}
    quantity = quantity_in(units.pop()) if len(units) == 1 else ""
    values = [table.style.number(one[1]) for one in parts if one]
    if table.facts.get("explicit") == "time":
        quantity, values = "time", [table.style.number(name) for name in names]
    if not quantity or None in values or len(values) < 2:
        return None
    return np.array(values, dtype=float), quantity


def coordinates(table: Table, others: Sequence[int]) -> tuple[NDArray, NDArray] | None:
    """Return x and y of each measurement if two columns beside the data are coordinates."""
    if len(others) != 2 or any(j in table.words for j in others):
        return None
    names = [table.names[j] for j in others if table.names]
    names = [heading(name)[0].lower()[:1] if is_place(name) else name for name in names]
    first, second = (table.values[:, j] for j in others)
    if names == ["x", "y"] or (names == ["", ""] and table.style.delimiter == "\t"):  # LabSpec
        return first, second
    return (second, first) if names == ["y", "x"] else None


RANGES = re.compile(r"\s*\d+\s*(-\s*\d+\s*)?(,\s*\d+\s*(-\s*\d+\s*)?)*")


def selected(table: Table, columns: str, axis: str | None) -> Table:
    """Return the table with the selected columns, after the column that may be the axis or the names."""
    chosen = _by_number(table, columns) if RANGES.fullmatch(columns) else _by_name(table, columns)
    if axis == "none":
        return table.take(chosen)
    before = _label(table, chosen)
    return (
        table.take(chosen)
        if before is None
        else replace(table.take([before, *chosen]), label_first=True)
    )


def _label(table: Table, chosen: list[int]) -> int | None:
    """Return the column named like an axis, or the first one, unless it is selected as data."""
    left = [j for j in range(table.values.shape[1]) if j not in chosen]
    spectral = [j for j in left if j < len(table.names) and role(table.names[j]) == "spectral"]
    shifts = [j for j in spectral if "shift" in table.names[j].lower()]
    rising = [j for j in left if monotonic(table.values[:, j])]
    others = rising if len(rising) == 1 else [j for j in left if j == 0]
    return next(iter([*shifts, *spectral, *others]), None)


def _by_number(table: Table, columns: str) -> list[int]:
    """Return the places, from 0, of columns in `2-5,7`, which counts from 1."""
    chosen: list[int] = []
    for part in columns.split(","):
        low, _, high = part.partition("-")
        chosen += range(int(low) - 1, int(high or low))
    width = table.values.shape[1]
    if not chosen or min(chosen) < 0 or max(chosen) >= width:
        raise ReadError(
            "{} has columns 1 to {}: {} does not fit.", table.where, width, option("columns", columns)
        )
    return list(dict.fromkeys(chosen))


def _by_name(table: Table, columns: str) -> list[int]:
    """Return the places of columns in `a,b`."""
    if columns in table.names:
        return [table.names.index(columns)]
    wanted = [name.strip() for name in columns.split(",")]
    missing = [name for name in wanted if name not in table.names]
    if missing:
        known = ", ".join(name for name in table.names[:20] if name) or "no names"
        raise ReadError(f"{table.where} has no column {missing[0]!r}: it has {known}.")
    return [table.names.index(name) for name in wanted]
