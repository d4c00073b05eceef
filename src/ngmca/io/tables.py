"""Tables found in text: numbers, words beside them, names above them, and what else the file says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.io.cells import SAMPLE, THOUSANDS, Lines, Style, find_table, kind_of, style_of
from ngmca.io.dataset import ReadError
from ngmca.io.headers import facts_in, labels_of


@dataclass(frozen=True)
class Table:
    """Columns of numbers, with what stands above and beside them."""

    values: NDArray  # (rows, columns), nan where a cell holds none
    words: dict[int, tuple[str, ...]] = field(default_factory=dict)  # columns of words
    names: tuple[str, ...] = ()  # above the columns
    over: tuple[tuple[str, ...], ...] = ()  # more lines of names above those, nearest first
    units: tuple[str, ...] = ()  # below the names
    facts: dict[str, str] = field(default_factory=dict)  # settings in the lines around
    lines: Lines = field(default_factory=lambda: Lines([], []))  # where the rows come from
    style: Style = field(default_factory=Style)
    where: str = "the table"
    columns: tuple[int, ...] = ()  # which fields of the lines these are, from 0
    title: str = ""  # the last line above that is none of names
    remarks: tuple[str, ...] = ()  # what the user should know
    label_first: bool = False  # whether the first column is there as axis or names, not as data

    @property
    def above(self) -> tuple[str, ...]:
        """The line above the names."""
        return self.over[0] if self.over else ("",) * self.values.shape[1]

    def take(self, columns: Sequence[int]) -> "Table":
        """The same with some of the columns, in that order."""
        chosen = list(columns)

        def some(row: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(row[j] for j in chosen) if row else ()

        return replace(
            self,
            values=self.values[:, chosen],
            words={k: self.words[j] for k, j in enumerate(chosen) if j in self.words},
            names=some(self.names),
            over=tuple(some(row) for row in self.over),
            units=some(self.units),
            columns=tuple(self.columns[j] for j in chosen),
        )

    def rows(self, keep: slice | NDArray) -> "Table":
        """The same with some of the rows."""
        places = range(len(self.values))[keep] if isinstance(keep, slice) else np.flatnonzero(keep)
        numbers, texts = self.lines
        lines = Lines([numbers[i] for i in places], [texts[i] for i in places])
        words = {j: tuple(column[i] for i in places) for j, column in self.words.items()}
        return replace(self, values=self.values[keep], words=words, lines=lines)

    def check(self, first_row: int = 0) -> None:
        """Refuse cells that hold no number, naming the first."""
        wrong = ~np.isfinite(self.values[first_row:])
        wrong[:, list(self.words)] = False
        if not wrong.any():
            return
        i, j = np.argwhere(wrong)[0]
        i += first_row
        place = self.columns[j]
        cells = self.style.cells(self.lines.texts[i])
        cell = cells[place] if place < len(cells) else ""
        line = f"{self.where}, line {self.lines.numbers[i]}"
        raise ReadError(f"{line}, field {place + 1} {_complaint(cell, self.style)}")


def _complaint(cell: str, style: Style) -> str:
    if not cell:
        return "is empty: fill it or leave out its line."
    if style.number(cell) is not None:
        return f"is {cell[:30]}: replace it or leave out its line."
    told = f"holds {cell[:30]!r}, which is not a number."
    return f"{told} Write it without marks between thousands." if THOUSANDS.fullmatch(cell) else told


def tables_of(lines: Lines, comments: Lines, where: str, header: int | None = None) -> list[Table]:
    """The tables in a file, from top to bottom."""
    start = _line_of_names(lines, header, where) if header else 0
    lines = Lines(lines.numbers[start:], lines.texts[start:])
    below = Lines(lines.numbers[1:], lines.texts[1:]) if header else lines
    if not below.texts:
        raise ReadError(f"{where} has a header and no numbers below it.")
    style = style_of(below, where)
    found = find_table(below, style)
    if found is None:
        return [_no_table(lines, style, where)]
    first, last, width = found
    offset = 1 if header else 0
    tables = list(_blocks(lines, comments, style, (first + offset, last + offset, width), where))
    return [replace(table, names=()) for table in tables] if header == 0 else tables


def _line_of_names(lines: Lines, header: int, where: str) -> int:
    """Which of the lines has a number in the file."""
    if header not in lines.numbers:
        raise ReadError(f"{where} has no names in line {header}: it is blank, a comment or not there.")
    return lines.numbers.index(header)


def _no_table(lines: Lines, style: Style, where: str) -> Table:
    """Refuse a file in which no line looks like numbers."""
    if len(lines.texts) == 1:
        raise ReadError(f"{where} has a header and no numbers below it.")
    texts = lines.texts[1:]
    width = len(style.cells(texts[0]))
    body = Lines(lines.numbers[1:], texts)
    values = np.full((len(texts), width), np.nan)
    table = Table(values, lines=body, style=style, where=where, columns=tuple(range(width)))
    table.take(range(min(1, width - 1), width)).check()
    return table


def _blocks(
    lines: Lines, comments: Lines, style: Style, place: tuple[int, int, int], where: str
) -> Iterator[Table]:
    """Tables of one width below each other, and what stands around them."""
    first, last, width = place
    _check_around(lines, style, range(first), width, where, last + 1 - first)
    _check_around(lines, style, range(last + 1, len(lines.texts)), width, where)
    around = [*comments.texts[:SAMPLE], *lines.texts[:first], *lines.texts[last + 1 :]]
    facts = facts_in(around)
    head = Lines(lines.numbers[:first], lines.texts[:first])
    body = Lines(lines.numbers[first : last + 1], lines.texts[first : last + 1])
    plain = _all_numbers(body, style)
    blocks = [(head, body, plain)] if plain is not None else _careful(head, body, style, width, where)
    for above, rows, values in blocks:
        made = _table(above, comments, rows, values, style, width)
        yield replace(made, facts=facts, where=where)


def _check_around(
    lines: Lines, style: Style, places: range, width: int, where: str, count: int = -1
) -> None:
    """Refuse lines of numbers around the table that do not fit it, but for one that tells its length."""
    for i in places:
        cells = style.cells(lines.texts[i])
        if len(cells) == 1 and style.number(cells[0]) == count:
            continue
        missing = width - len(cells)  # names of the first columns, if the line is right above
        short = places.start == 0 and i == places.stop - 1 and 0 < missing < 3 and len(cells) > missing
        if kind_of(cells, style).is_numbers and not short and missing:
            raise _ragged(lines.numbers[i], len(cells), width, where)


def _ragged(number: int, count: int, width: int, where: str) -> ReadError:
    hint = f" skip={number} leaves it out." if number < 10 else ""
    return ReadError(f"{where}, line {number} has {count} fields, other lines have {width}.{hint}")


def _all_numbers(body: Lines, style: Style) -> NDArray | None:
    """The numbers of lines that hold nothing else, read fast; None where there is anything else."""
    texts = (text.replace(",", ".") for text in body.texts) if style.comma else body.texts
    try:
        values = np.loadtxt(
            texts, delimiter=style.delimiter, comments=None, quotechar='"', ndmin=2, dtype=float
        )
    except (ValueError, IndexError):
        return None
    return values if len(values) == len(body.texts) else None


def _careful(
    head: Lines, body: Lines, style: Style, width: int, where: str
) -> Iterator[tuple[Lines, Lines, NDArray]]:
    """Blocks of lines, their numbers and the lines above them, each line looked at."""
    rows, kept, above = [], Lines([], []), head
    for number, text in zip(*body, strict=True):
        cells = style.cells(text)
        kind = kind_of(cells, style)
        if len(cells) == width and kind.numbers:
            rows.append(_floats(cells, style))
            kept.numbers.append(number)
            kept.texts.append(text)
            continue
        if kind.is_row:
            raise _ragged(number, len(cells), width, where)
        if rows:
            yield above, kept, np.stack(rows)
            rows, kept, above = [], Lines([], []), Lines([], [])
        above = Lines([*above.numbers, number], [*above.texts, text])
    yield above, kept, np.stack(rows)


def _is_word(cell: str, style: Style) -> bool:
    """Whether a cell is a name, and no number with marks between its thousands."""
    return bool(cell) and style.number(cell) is None and not THOUSANDS.fullmatch(cell)


def _floats(cells: list[str], style: Style) -> NDArray:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        found = (style.number(cell) for cell in cells)
        return np.array([np.nan if number is None else number for number in found])


def _table(
    head: Lines, comments: Lines, body: Lines, values: NDArray, style: Style, width: int
) -> Table:
    """A table with its names, and with its columns of words."""
    wordy = np.flatnonzero(2 * np.isnan(values).sum(axis=0) > len(values)).tolist()
    words = {j: tuple(style.cells(text)[j] for text in body.texts) for j in wordy}
    empty = {j for j, column in words.items() if not any(column)}
    words = {j: column for j, column in words.items() if any(_is_word(c, style) for c in column)}
    table = Table(values, words, lines=body, style=style, columns=tuple(range(width)))
    last = max(j for j in range(width) if j not in empty) + 1  # delimiters may end every line
    table = table.take(range(last)) if last < width else table
    remark = next((text for n, text in zip(*comments, strict=True) if n == body.numbers[0] - 1), "")
    names, over, units, title = labels_of(head, remark, style, last)
    table = replace(table, names=names, over=over, units=units, title=title)
    kept = [j for j in range(last) if j not in empty]  # and stand twice between cells
    return table.take(kept) if len(kept) < last else table
