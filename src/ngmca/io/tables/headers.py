"""Where the table is in a text, and the lines above it: names of columns, units, a title, settings."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from ngmca.io.axis_units import is_known, is_unit, role
from ngmca.io.tables.cells import COMMENTS, Lines, Style, kind_of, rising, sample

EXPLICIT = re.compile(r"^\W*(time|wavelength) explicit", re.I)  # what is in the line above the numbers
SETTING = re.compile(r"^[#%!/\s]*([A-Za-z][\w \[\].]*?)\s*(?:\(([^)]*)\))?\s*[=:\t,;]+\s*(.*)$")
LISTED = re.compile(r"[^\d:=][^:=]*[:=](.+)$")
MIN_AXIS = 4  # positions in a line above the names of other columns
BRACKETED = re.compile(r"[\[(].*[\])]")


class Labels(NamedTuple):
    """The lines above the columns of a table.

    Attributes
    ----------
    names, units : tuple of str
        One for each column.
    over : tuple
        More lines of names above `names`, nearest first.
    title : str
        The last line above that is none of these.
    passed : tuple of (int, str)
        A line of numbers below the names that was left out, with its number.
    """

    names: tuple[str, ...] = ()
    over: tuple[tuple[str, ...], ...] = ()
    units: tuple[str, ...] = ()
    title: str = ""
    passed: tuple[tuple[int, str], ...] = ()


def labels_of(head: Lines, remark: str, style: Style, width: int) -> Labels:
    """Return names, units and title in the lines above a table, or in the comment right above it."""
    found = [_fitted(text, style, width) for text in reversed(head.texts[-MAX_LINES_ABOVE:])]
    index = head.texts[-1].strip(" \t\r,;") if head.texts else ""  # its name, in a line of its own
    if (
        len(found) > 1
        and found[0] is None
        and found[1]
        and role(index) in ("time", "counting", "spectral")
    ):
        found[0] = [index] + [""] * (width - 1)
    elif len(found) > 1 and found[0] is None and found[1]:
        found[0] = _beside_axis(style.cells(head.texts[-1]), found[1], style)
    fitting = list(takewhile(lambda cells: cells is not None, found))
    title = head.texts[-1 - len(fitting)] if len(fitting) < len(head.texts) else ""
    if not fitting:
        fitting = [_commented(remark, style, width)]
    rows = _with_name_of_index([tuple(cells) for cells in fitting if cells is not None])
    rows = _with_axis_above(rows, style)
    units = rows.pop(0) if len(rows) > 1 and _are_units(rows[0]) else ()
    if not rows or _is_setting(rows, style, width):
        return Labels(units=units, title=as_title(title or remark))
    passed: tuple[tuple[int, str], ...] = ()
    names = [] if units else _in_front_of_settings(rows, style)
    if names:
        between = range(len(rows) - len(names))
        unlike = [i for i in between if len({*filter(None, rows[i][1:])}) > 1]
        rows, passed = names, tuple((head.numbers[-1 - i], head.texts[-1 - i]) for i in unlike)
    elif len(rows) > 1 and not units and _names_something_else(rows[0], rows[1], style):
        rows, passed = rows[1:], ((head.numbers[-1], head.texts[-1]),)
    return Labels(rows[0], tuple(rows[1:]), units, as_title(title or remark), passed)


def _with_name_of_index(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return lines of names, nearest first, without one that only names the index, as pandas writes it.

    The name of the columns is the first cell of the line above it.
    """
    if len(rows) < 2 or not rows[0][0] or any(rows[0][1:]) or not all(rows[1][1:]):
        return rows
    if role(rows[0][0]) == "spectral":  # the index is the axis
        return rows
    corner = f"{rows[0][0]}\\{rows[1][0]}" if rows[1][0] else rows[0][0]
    return [(corner, *rows[1][1:]), *rows[2:]]


def _beside_axis(words: list[str], above: list[str], style: Style) -> list[str] | None:
    """Return the line of names of the first columns, if the line above it has an axis for the others."""
    named = len(words) < len(above) - MIN_AXIS and all(map(style.is_word, words))
    return (
        words + [""] * (len(above) - len(words))
        if named and rising(above[len(words) :], style)
        else None
    )


def _with_axis_above(rows: list[tuple[str, ...]], style: Style) -> list[tuple[str, ...]]:
    """Return lines of names where the nearest one names the first columns, and the next has the axis."""
    named = len(list(takewhile(bool, rows[0]))) if len(rows) > 1 else 0
    if not 0 < named < len(rows[0]) - MIN_AXIS or any(rows[0][named:]):
        return rows
    if not rising(rows[1][named:], style):
        return rows
    heading = next((cell for cell in rows[1][:named] if role(cell) == "spectral"), "")
    over = [(heading, *[""] * (len(rows[0]) - 1))] if heading else []
    return [(*rows[0][:named], *rows[1][named:]), *over, *rows[2:]]


def _in_front_of_settings(rows: list[tuple[str, ...]], style: Style) -> list[tuple[str, ...]]:
    """Return the lines of names without settings of each column below them, or an empty list.

    The lines below them begin with a word, and say the same or a number of every column: the dwell time,
    a concentration. The nearest heading of an axis becomes the first name.
    """
    if len(rows) < 2 or not all(cells[0] for cells in rows[:2]):
        return []
    place = next((i for i, cells in enumerate(rows) if _are_names(cells, style)), 0)
    between = rows[:place]
    if not between or not all(cells[0] and _are_settings(cells, style) for cells in between):
        return []
    corner = next((cells[0] for cells in between if role(cells[0]) == "spectral"), "")
    same = [cells[1] for cells in between if len(set(filter(None, cells[1:]))) == 1]
    corner = corner or next((cell for cell in same if role(cell) == "spectral"), "")
    return [(corner, *rows[place][1:]), *rows[place + 1 :]]


def _are_names(cells: tuple[str, ...], style: Style) -> bool:
    """Return whether all columns have different names, which are no numbers."""
    named = [cell for cell in cells[1:] if cell]
    return (
        len(named) >= len(cells) - 2 and len(set(named)) == len(named) > 1 and not style.numbers(named)
    )


def _are_settings(cells: tuple[str, ...], style: Style) -> bool:
    """Return whether a line says nothing, the same, or an unsorted number of every column."""
    filled = [cell for cell in cells[1:] if cell]
    if len(set(filled)) <= 1:
        return True
    found = [style.number(cell) for cell in filled]
    return None not in found and (
        min(map(float, filter(None, found)), default=0.0) < 100 or not rising(filled, style)
    )


def _names_something_else(near: tuple[str, ...], far: tuple[str, ...], style: Style) -> bool:
    """Return whether a line of other numbers, such as concentrations, is between names and columns."""
    numbers, filled = style.numbers(near[1:]), sum(map(bool, near[1:]))
    named = all(far) and len(set(far)) == len(far) and not style.numbers(far)
    if not named or 2 * numbers <= filled or role(near[0]) in ("spectral", "channel"):
        return False
    found = [style.number(cell) or 0.0 for cell in near[1:]]
    return bool(near[0]) or not (rising(near[1:], style) and min(found) >= 100)  # nm or 1/cm


def as_title(text: str) -> str:
    """Return a line above a table as its title."""
    return " ".join(text.strip("#%!/ \t\r\n,;").split())[:60]


def _fitted(text: str, style: Style, width: int) -> list[str] | None:
    """Return one cell for each column of a line above the table; leading cells may be missing."""
    for other in (style.delimiter, "\t", ";", ","):
        if other is None and style.delimiter is not None:
            continue
        cells = Style(other, style.comma).cells(text)
        kind = kind_of(cells, style)
        if len(cells) == width:
            return cells
        missing = width - len(cells)
        if (missing == 1 and len(cells) > 1) or (missing == 2 and kind.is_numbers and len(cells) > 2):
            return [""] * missing + cells
        if len(cells) > width > 1 and not any(cells[width:]):
            return cells[:width]
        joined = _with_units(cells) if other is None else []
        if len(joined) == width > 1:
            return joined
    return None


def _with_units(cells: list[str]) -> list[str]:
    """Return the names in a line with spaces between them, each with the unit in brackets behind it."""
    found: list[str] = []
    for cell in cells:
        if found and BRACKETED.fullmatch(cell):
            found[-1] += f" {cell}"
        else:
            found.append(cell)
    return found


def _commented(text: str, style: Style, width: int) -> list[str] | None:
    """Return the cells of a comment right above the table that names its columns."""
    text = text.lstrip()
    for mark in COMMENTS:
        text = text.removeprefix(mark)
    listed = LISTED.match(text)  # wavelengths [nm]: 400, 402, 404
    if listed and width > 1:
        numbers = style.cells(listed[1].strip())
        if len(numbers) == width and kind_of(numbers, style).is_numbers:
            return numbers
    cells = [cell.strip("# ") for cell in style.cells(text.strip())]
    if len(cells) == 2 * width - 1 and not any(cells[1::2]):  # two tabs after each name
        cells = cells[::2]
    if len(cells) != width or width < 2 or cells[0].endswith(("=", ":")):  # a setting
        return None
    kind = kind_of(cells, style)
    named = not kind.numbers and (style.delimiter is not None or any(is_known(cell) for cell in cells))
    return cells if named or kind.is_numbers else None


def _are_units(cells: Sequence[str]) -> bool:
    """Return whether a line holds only units."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(BRACKETED.fullmatch(c) or is_unit(c) for c in filled)


def _is_setting(fitting: list[tuple[str, ...]], style: Style, width: int) -> bool:
    """Return whether the line above two columns is a setting and its value, as in long headers."""
    nearest = fitting[0]
    if width > 2 or is_known(nearest[0].rstrip(":")):
        return False
    if nearest[0].endswith(":"):  # Operator: JK
        return True
    return style.number(nearest[-1]) is not None or len(fitting) > 2


def facts_in(texts: list[str]) -> dict[str, str]:
    """Return settings in lines such as `XUNITS  1/CM` and `#AxisUnit[1]=1/cm`, by lower-case name."""
    found: dict[str, str] = {}
    for text in texts:
        explicit = EXPLICIT.match(text)
        if explicit:
            found["explicit"] = explicit[1].lower()
        match = SETTING.match(text[:300])
        if match:
            found.setdefault(" ".join(match[1].lower().split()), match[3].strip())
            if match[2]:
                found.setdefault(" ".join(match[1].lower().split()) + " in", match[2].strip())
    return found


MAX_LINES_ABOVE = 16  # that may hold names, units and settings of the columns
MAX_NAME_LINES = 6  # above a table


class Place(NamedTuple):
    """First and last line of a table, its width, and whether its lines begin with numbers."""

    first: int
    last: int
    width: int
    numbered: bool


def find_table(lines: Lines, style: Style) -> Place | None:
    """Return the place of the table: most numbers are in lines of its form, and it has all of them."""
    kinds = {i: kind_of(style.cells(text), style) for i, text in sample(lines)}
    rows = [kind for kind in kinds.values() if kind.is_row]
    weights: Counter[tuple[int, bool | None]] = Counter()
    for kind in [kind for kind in rows if kind.first is not None] or rows:
        weights[kind.width, kind.first] += kind.numbers
    if not weights:
        return None
    form = max(weights, key=lambda form: weights[form])
    places = [i for i, kind in kinds.items() if kind.is_row and (kind.width, kind.first) == form]
    below = kinds.get(places[0] + 1)
    if len(places) > 2 and not form[1] and not (below and below.is_row):  # names, then their types
        places = places[1:]
    first, last = places[0], places[-1]
    while last + 1 < len(lines.texts) and _continues(lines, last + 1, style, form):
        last += 1
    return Place(_begin(lines, first, style, form), last, form[0], bool(form[1]))


def _continues(lines: Lines, i: int, style: Style, form: tuple[int, bool | None]) -> bool:
    """Return whether a line below belongs to the table; not if it begins with a word after a gap."""
    cells = style.cells(lines.texts[i])
    if len(cells) != form[0] or not _is_entry(cells, style):
        return False
    apart = lines.numbers[i] > lines.numbers[i - 1] + 1
    return not (apart and form[1] and style.is_word(cells[0]))


def _is_entry(cells: list[str], style: Style) -> bool:
    """Return whether a line belongs to a table; its numbers may be missing."""
    if kind_of(cells, style).is_row:
        return True
    rest = [cell for cell in cells[1:] if cell]
    return bool(rest) and not any(style.is_word(cell) for cell in rest)


def _begin(lines: Lines, first: int, style: Style, form: tuple[int, bool | None]) -> int:
    """Return the first line of the table, including lines above that cannot be names."""
    head: list[list[str]] = []
    for text in reversed(lines.texts[:first]):
        cells = style.cells(text)
        if len(cells) != form[0]:
            break
        head.append(cells)
    head.reverse()
    alone = [i for i, cells in enumerate(head) if style.is_word(cells[0]) and not any(cells[1:])]
    places = range(max(alone, default=-1) + 1, len(head)) if form[1] else range(0)
    entries = (i for i in places if _is_entry(head[i], style) and _is_no_name(head, i, style))
    return first - len(head) + next(entries, len(head))


def _is_no_name(head: list[list[str]], i: int, style: Style) -> bool:
    """Return whether a line above belongs to the table: it has a position, or is below an axis."""
    first, is_axis = head[i][0], rising(head[i][1:], style)
    is_row = kind_of(head[i], style).is_row
    if i == 0 and is_axis:
        return False
    if first and not style.is_word(first) and (is_row or style.number(first) is not None):
        return True
    above = any(rising(cells[1:], style) for cells in head[: min(i, MAX_NAME_LINES)])
    return bool(first) and above and is_row and not is_axis
