"""Text as lines of cells: which delimiter, which decimals, where the numbers begin and end."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ngmca.io.dataset import ReadError

COMMENTS = ("#", "%", "//", "!")
SAMPLE = 600  # lines at the top, and at the end, that are looked at to find the table
LOOK = 24  # cells of a line that are looked at
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?|[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?")


class Lines(NamedTuple):
    """Lines that are neither blank nor comments, with their numbers in the file, from 1."""

    numbers: list[int]
    texts: list[str]


@dataclass(frozen=True)
class Style:
    """How cells and decimals are written; white space between cells where there is no delimiter."""

    delimiter: str | None = ","
    comma: bool = False

    def cells(self, text: str) -> list[str]:
        """The cells of a line, without spaces and quotes around them."""
        if self.delimiter is None:
            return [cell.strip('"') for cell in text.split()]
        if '"' in text:
            text = text.strip(" \r\n")
            return [cell.strip() for cell in next(csv.reader([text], delimiter=self.delimiter), [])]
        return [cell.strip() for cell in text.split(self.delimiter)]

    def number(self, cell: str) -> float | None:
        """A cell as a number, or None; nan is one."""
        try:
            return float(cell.replace(",", ".") if self.comma else cell) if "_" not in cell else None
        except ValueError:
            return None


@dataclass(frozen=True)
class Kind:
    """What a line looks like: all cells; of some of them the filled ones and the numbers; the first."""

    width: int
    numbers: int
    filled: int
    first: bool | None  # whether it is a number, None where it is empty

    @property
    def is_row(self) -> bool:
        """Whether it may be a line of a table of numbers."""
        return 2 * self.numbers >= self.filled and self.numbers > 0

    @property
    def is_numbers(self) -> bool:
        """Whether it is numbers and nothing else."""
        return 0 < self.numbers == self.filled


def lines_of(text: str, skip: int = 0) -> tuple[Lines, Lines]:
    """The lines of a text from a place on, and its comments."""
    lines, comments = Lines([], []), Lines([], [])
    for i, line in enumerate(text.splitlines(), start=1):
        if i <= skip or not line.strip():
            continue
        kept = comments if line.lstrip().startswith(COMMENTS) else lines
        kept.numbers.append(i)
        kept.texts.append(line)
    return lines, comments


def style_of(lines: Lines, where: str) -> Style:
    """How the table among some lines is written."""
    some = [text for _, text in _sample(lines) if _mostly_digits(text)][-200:]
    some = some or lines.texts[-20:]
    delimiter = _delimiter(some)
    plain = Style(delimiter)
    if delimiter == ",":
        return plain
    cells = [cell for text in some[:20] + some[-20:] for cell in plain.cells(text)[:200]]
    if any(DECIMAL_COMMA.fullmatch(cell) for cell in cells):
        _check_thousands(cells, where)
        return Style(delimiter, comma=True)
    return plain


def _check_thousands(cells: list[str], where: str) -> None:
    """Refuse 1,234 where other numbers have no comma, and 1.234 beside 5,6: they may be thousands."""
    commas = [cell for cell in cells if "," in cell]
    dots = [cell for cell in cells if "." in cell and "," not in cell]
    plain = [cell for cell in cells if cell.lstrip("+-").isdigit()]
    for some, others in ((commas, dots or plain), (dots, commas)):
        if some and others and all(THOUSANDS.fullmatch(cell) for cell in some):
            raise ReadError(
                f"{where} has numbers such as {some[0]!r} and {others[0]!r}: are these decimals, or "
                "thousands set apart? Write all numbers with a decimal point and nothing else."
            )


def kind_of(cells: Sequence[str], style: Style) -> Kind:
    """What a line looks like, from its first and last cells."""
    some = [*cells[: LOOK // 2], *cells[max(LOOK // 2, len(cells) - LOOK // 2) :]]
    numbers = sum(style.number(cell) is not None for cell in some)
    first = style.number(cells[0]) is not None if cells[0] else None
    return Kind(len(cells), numbers, sum(map(bool, some)), first)


def find_table(lines: Lines, style: Style) -> tuple[int, int, int] | None:
    """First and last line of the table, and its width: most numbers are in lines of that form."""
    kinds = {i: kind_of(style.cells(text), style) for i, text in _sample(lines)}
    rows = [kind for kind in kinds.values() if kind.is_row]
    weights: Counter[tuple[int, bool | None]] = Counter()
    for kind in [kind for kind in rows if kind.first is not None] or rows:
        weights[kind.width, kind.first] += kind.numbers
    if not weights:
        return None
    form = max(weights, key=lambda form: weights[form])
    places = [i for i, kind in kinds.items() if kind.is_row and (kind.width, kind.first) == form]
    if len(places) > 2 and not form[1] and not _row_at(places[0] + 1, kinds):  # names, then their types
        places = places[1:]
    last = [i for i, kind in kinds.items() if kind.is_row and kind.width == form[0] and i >= places[0]]
    return places[0], _end(last[-1], bool(form[1]), kinds, places), form[0]


def _row_at(place: int, kinds: dict[int, Kind]) -> bool:
    return place in kinds and kinds[place].is_row


def _end(last: int, first_is_number: bool, kinds: dict[int, Kind], places: list[int]) -> int:
    """The last line, without those at the end that name a setting beside its number."""
    while first_is_number and kinds[last].first is False and last > places[-1]:
        last -= 1
    return last


def _sample(lines: Lines) -> Iterator[tuple[int, str]]:
    """Lines at the top and at the end of a file, all of a short one, with their places."""
    count = len(lines.texts)
    for i in (*range(min(SAMPLE, count)), *range(max(SAMPLE, count - SAMPLE), count)):
        yield i, lines.texts[i]


def _mostly_digits(text: str) -> bool:
    text = text[:2000]
    digits = sum(map(str.isdigit, text))
    return digits > 0 and digits >= sum(c.isalpha() and c not in "eE" for c in text)


def _delimiter(some: list[str]) -> str | None:
    """Tab, semicolon or comma; None for white space."""
    for mark in ("\t", ";"):
        if sum(mark in line.strip(" \r\n") for line in some) >= 0.8 * len(some):
            return mark
    if sum("," in line for line in some) < 0.5 * len(some):
        return None
    words = [word for line in some[-20:] for word in line.split()]  # 1,5 2,5: commas inside are decimal
    decimal = sum(bool(DECIMAL_COMMA.fullmatch(w)) or w.lstrip("+-").isdigit() for w in words)
    return None if len(words) > len(some[-20:]) and decimal >= 0.7 * len(words) else ","
