"""Find tables in text: numbers, words beside them, names above them, settings around them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import message, option
from ngmca.io.axis_units import role
from ngmca.io.read_error import ReadError
from ngmca.io.tables.cells import COMMENTS, SAMPLED_LINES, Lines, Style, kind_of, style_of
from ngmca.io.tables.headers import Labels, Place, as_title, facts_in, find_table, labels_of
from ngmca.io.tables.numerals import is_missing

COMMENT_CHARACTERS = "".join(COMMENTS) + " \t"


@dataclass(frozen=True)
class Table:
    """Columns of numbers, with the text above and beside them.

    Attributes
    ----------
    values : (rows, columns) array
        NaN where a cell is not a number.
    words : dict
        Columns of words, by the place of the column.
    names, units : tuple of str
        The lines above the columns.
    over : tuple
        More lines of names above `names`, nearest first.
    facts : dict
        Settings in the lines around the table.
    lines : Lines
        The lines of the file that are the rows.
    style : Style
        How cells and numbers are written.
    where : str
        How errors call the table.
    columns : tuple of int
        The place of each column in the lines of the file, from 0.
    title : str
        The last line above that does not hold names.
    remarks : tuple of str
        Notes for the user.
    label_first : bool
        Whether the first column is axis or names, not data.
    """

    values: NDArray
    words: dict[int, tuple[str, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    over: tuple[tuple[str, ...], ...] = ()
    units: tuple[str, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    lines: Lines = field(default_factory=lambda: Lines([], []))
    style: Style = field(default_factory=Style)
    where: str = "the table"
    columns: tuple[int, ...] = ()
    title: str = ""
    remarks: tuple[str, ...] = ()
    label_first: bool = False

    @property
    def above(self) -> tuple[str, ...]:
        """The line above the names."""
        return self.over[0] if self.over else ("",) * self.values.shape[1]

    def take(self, columns: Sequence[int]) -> "Table":
        """Return the table with some of the columns, in that order."""
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
        """Return the table with some of the rows."""
        places = range(len(self.values))[keep] if isinstance(keep, slice) else np.flatnonzero(keep)
        numbers, texts = self.lines
        lines = Lines([numbers[i] for i in places], [texts[i] for i in places])
        words = {j: tuple(column[i] for i in places) for j, column in self.words.items()}
        return replace(self, values=self.values[keep], words=words, lines=lines)

    def with_remarks(self, *remarks: str) -> "Table":
        """Return the table with more remarks."""
        return replace(self, remarks=(*self.remarks, *filter(None, remarks)))

    def cells(self, j: int) -> tuple[str, ...]:
        """Return the cells of a column as text."""
        return self.cells_of([j])[j]

    def cells_of(self, columns: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Return the cells of some columns as text, in one pass over the lines."""
        found: dict[int, list[str]] = {j: [] for j in columns}
        for cells in map(self.style.cells, self.lines.texts if columns else ()):
            for j, column in found.items():
                place = self.columns[j]
                column.append(cells[place] if place < len(cells) else "")
        return {j: tuple(column) for j, column in found.items()}

    def check(self, *, gaps: bool = False) -> None:
        """Raise an error for the first cell that is not a number; with `gaps`, cells may be empty."""
        wrong = ~np.isfinite(self.values)
        wrong[:, list(self.words)] = False
        for i, j in np.argwhere(wrong).tolist():
            if not (gaps and is_missing(self._cell(i, j))):
                raise self.wrong(i, j)

    def wrong(self, i: int, j: int) -> ReadError:
        """Return an error about a cell that is not a number."""
        line = f"{self.where}, line {self.lines.numbers[i]}"
        problem = _problem(self._cell(i, j), self.style)
        return ReadError(f"{line}, column {self.columns[j] + 1} {problem}")

    def _cell(self, i: int, j: int) -> str:
        place = self.columns[j]
        return (*self.style.cells(self.lines.texts[i]), *[""] * (place + 1))[place]


def _problem(cell: str, style: Style) -> str:
    if not cell:
        return "is empty: fill it or delete its line."
    if style.number(cell) is not None:
        return f"is {cell[:30]}: replace it or delete its line."
    problem = f"holds {cell[:30]!r}, which is not a number."
    marked = not style.is_word(cell) and any(mark in cell for mark in ", '")
    return f"{problem} Write it without thousands marks." if marked else problem


def tables_of(lines: Lines, comments: Lines, where: str, header: int | None = None) -> list[Table]:
    """Return the tables in a file, from top to bottom."""
    start = _line_of_names(lines, header, where) if header else 0
    named = lines.part(start, start + 1) if header else None
    below = lines.part(start + 1) if header else lines
    if not below.texts:
        raise ReadError(f"{where} has a header, but no numbers below it.")
    style = style_of(below, where)
    found = find_table(below, style)
    if found is None:
        return [_no_table(lines.part(start), style, where)]
    below, remark = _uncommented(below, comments, style, found)
    found = find_table(below, style) or found
    tables = [t.with_remarks(remark) for t in _blocks(below, named, comments, style, found, where)]
    return [replace(table, names=()) for table in tables] if header == 0 else tables


def _uncommented(lines: Lines, comments: Lines, style: Style, place: Place) -> tuple[Lines, str]:
    """Return the lines with rows that look like comments, such as #3, and a remark on other ones."""
    head = lines.part(max(0, place.first - 1), place.first)
    named = [n for n, text in zip(*head, strict=True) if len(style.cells(text)) == place.width]
    begin = (named or [lines.numbers[place.first]])[0]  # a comment above may hold the names
    kept: list[tuple[int, str]] = []
    left: list[tuple[int, str]] = []
    for number, text in zip(*comments, strict=True):
        cells = style.cells(text.lstrip(COMMENT_CHARACTERS))
        if number < begin or len(cells) != place.width:
            continue
        if place.numbered and style.number(cells[0]) is not None and kind_of(cells, style).is_row:
            left.append((number, text))
        elif place.width > 1 and kind_of(style.cells(text), style).is_row:
            kept.append((number, text))
    remark = (
        f"comment lines with numbers were left out: {_listed([n for n, _ in left])}." if left else ""
    )
    if not kept:
        return lines, remark
    merged = sorted([*zip(*lines, strict=True), *kept])
    return Lines([n for n, _ in merged], [text for _, text in merged]), remark


def _listed(numbers: Sequence[int], most: int = 8) -> str:
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return ", ".join(map(str, numbers[:most])) + more


def _line_of_names(lines: Lines, header: int, where: str) -> int:
    """Return the place of the line that `header` names."""
    if header not in lines.numbers:
        raise ReadError(
            "{} has no names in line {}, as {} says: the line is blank, a comment or missing.",
            *(where, header, option("header", header)),
        )
    return lines.numbers.index(header)


def _no_table(lines: Lines, style: Style, where: str) -> Table:
    """Raise an error for a file in which no line looks like numbers."""
    if len(lines.texts) == 1:
        raise ReadError(f"{where} has a header, but no numbers below it.")
    texts = lines.texts[1:]
    width = len(style.cells(texts[0]))
    body = Lines(lines.numbers[1:], texts)
    values = np.full((len(texts), width), np.nan)
    table = Table(values, lines=body, style=style, where=where, columns=tuple(range(width)))
    table.take(range(min(1, width - 1), width)).check()
    return table


def _blocks(
    lines: Lines, named: Lines | None, comments: Lines, style: Style, place: Place, where: str
) -> Iterator[Table]:
    """Yield tables of one width that stand below each other, with the text around them."""
    first, last, width, _ = place
    _check_around(lines, style, range(first), width, where, last + 1 - first)
    other = _other_table(lines, last + 1, style, width)
    _check_around(lines, style, range(last + 1, other), width, where)
    around = [*comments.texts[:SAMPLED_LINES], *lines.texts[:first], *lines.texts[last + 1 :]]
    facts = facts_in(around)
    body, head, foot = lines.part(first, last + 1), lines.part(0, first), lines.part(last + 1)
    passed = _rows_in(foot, style, width) if width > 2 else []
    if named is not None:
        passed, head = [*_rows_in(head, style, width), *passed], named
    remark = f"lines of numbers were left out: {_listed(passed)}." if passed else ""
    if other < len(lines.texts):
        remark += f" The table below it, from line {lines.numbers[other]} on, was left out."
    plain = _all_numbers(body, style)
    blocks = (
        [(head, body, plain)] if plain is not None else _checked_blocks(head, body, style, width, where)
    )
    for above, rows, values in blocks:
        made = _table(above, comments, rows, values, style, width, where)
        yield replace(made, facts=facts).with_remarks(remark.strip())


def _other_table(lines: Lines, first: int, style: Style, width: int) -> int:
    """Return the place of the words above another table of numbers, after a blank line; or the end."""
    below = range(first, len(lines.texts))
    kinds = {i: kind_of(style.cells(lines.texts[i]), style) for i in below}
    apart = (i for i in below if not kinds[i].numbers and lines.numbers[i] > lines.numbers[i - 1] + 1)
    begin = next(apart, len(lines.texts))
    numbers = [kinds[i].width for i in range(begin, len(lines.texts)) if kinds[i].is_numbers]
    return begin if numbers and width not in numbers else len(lines.texts)


def _rows_in(lines: Lines, style: Style, width: int) -> list[int]:
    """Return the numbers of lines that look like lines of the table."""
    cells = [style.cells(text) for text in lines.texts]
    alike = [len(c) == width and kind_of(c, style).is_row for c in cells]
    return [number for number, fits in zip(lines.numbers, alike, strict=True) if fits]


def _check_around(
    lines: Lines, style: Style, places: range, width: int, where: str, count: int = -1
) -> None:
    """Raise an error for other lines of numbers around the table, except one with its length."""
    for i in places:
        cells = style.cells(lines.texts[i])
        if len(cells) == 1 and style.number(cells[0]) == count:
            continue
        missing = width - len(cells)  # names of the first columns, if the line is right above
        short = places.start == 0 and i == places.stop - 1 and 0 < missing < 3 and len(cells) > missing
        if kind_of(cells, style).is_numbers and not short and missing:
            raise _ragged(lines.numbers[i], len(cells), width, where)


def _ragged(number: int, count: int, width: int, where: str) -> ReadError:
    hint = message(" Give {} to ignore it.", option("skip", number)) if number < 10 else ""
    return ReadError(
        "{}, line {} has {} cells, other lines have {}.{}", where, number, count, width, hint
    )


def _all_numbers(body: Lines, style: Style) -> NDArray | None:
    """Return the numbers of lines that hold only numbers, read fast; else None."""
    texts = (text.replace(",", ".") for text in body.texts) if style.comma else body.texts
    try:
        values = np.loadtxt(
            texts, delimiter=style.delimiter, comments=None, quotechar='"', ndmin=2, dtype=float
        )
    except (ValueError, IndexError):
        return None
    return values if len(values) == len(body.texts) else None


def _checked_blocks(
    head: Lines, body: Lines, style: Style, width: int, where: str
) -> Iterator[tuple[Lines, Lines, NDArray]]:
    """Yield blocks of lines, their numbers and the lines above them; check each line."""
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


def _floats(cells: list[str], style: Style) -> NDArray:
    if "_" not in "".join(cells):  # float would read 1_2 as 12
        with suppress(ValueError):
            return np.array([float(cell) for cell in cells])
    found = (style.number(cell) for cell in cells)
    return np.array([np.nan if number is None else number for number in found])


def _table(
    head: Lines, comments: Lines, body: Lines, values: NDArray, style: Style, width: int, where: str
) -> Table:
    """Return a table with its names and columns of words, and a remark on empty columns."""
    table = Table(values, lines=body, style=style, where=where, columns=tuple(range(width)))
    wordy = np.flatnonzero(2 * np.isnan(values).sum(axis=0) > len(values)).tolist()
    columns = table.cells_of(wordy)
    empty = {j for j, column in columns.items() if not any(column)}
    words = {j: column for j, column in columns.items() if any(map(style.is_word, column))}
    last = max(j for j in range(width) if j not in empty) + 1  # delimiters may end every line
    above = style.cells(head.texts[-1]) if head.texts else []
    last = (
        width if len(above) == width and any(above[last:]) else last
    )  # names may stand above empty columns
    table = replace(table, words=words).take(range(last))
    remark = next((text for n, text in zip(*comments, strict=True) if n == body.numbers[0] - 1), "")
    table = _named(table, labels_of(head, remark, style, last), head)
    kept = [j for j in range(last) if j not in empty]  # or stand twice between cells
    bare = [name for j, name in enumerate(table.names) if j in empty and name]
    empty_remark = f"empty columns were left out: {', '.join(bare)}." if bare else ""
    return table.take(kept).with_remarks(empty_remark)


def _named(table: Table, labels: Labels, head: Lines) -> Table:
    """Return a table with the names above its columns; raise an error if their number is wrong."""
    table = replace(table, names=labels.names, over=labels.over, units=labels.units, title=labels.title)
    above = table.style.cells(head.texts[-1]) if head.texts else []
    if not labels.names and 1 < len(above) != table.values.shape[1] and role(above[0]) == "spectral":
        raise ReadError(
            f"{table.where}, line {head.numbers[-1]} names {len(above)} columns, but the lines below "
            f"have {table.values.shape[1]} cells: are commas decimal signs and delimiters?"
        )
    remark = "line {} ({}) was left out: give {} to take it as names."
    found = [message(remark, n, as_title(text), option("header", n)) for n, text in labels.passed]
    return table.with_remarks(*found)
