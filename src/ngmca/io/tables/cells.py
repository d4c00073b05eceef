"""Text as lines of cells: the delimiter, the decimal sign, and lines of numbers."""

import csv
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ngmca.io.dataset import monotonic
from ngmca.io.tables import numerals

LINE_END = re.compile("\r\n|[\r\n\x85]")  # a name may hold other characters that Unicode calls line ends
COMMENTS = ("#", "%", "//", "!")
SAMPLED_LINES = 600  # at the top and at the end, to find the table
SAMPLED_CELLS = 24  # of a line
DIGITS = string.digits.encode()
LETTERS = string.ascii_letters.translate({ord("e"): None, ord("E"): None}).encode()  # not of 1e-5


class Lines(NamedTuple):
    """Lines that are neither blank nor comments, with their numbers in the file, from 1."""

    numbers: list[int]
    texts: list[str]

    def part(self, first: int, stop: int | None = None) -> "Lines":
        """Return the lines from place `first` up to `stop`."""
        return Lines(self.numbers[first:stop], self.texts[first:stop])


@dataclass(frozen=True)
class Style:
    """How cells and decimals are written.

    Attributes
    ----------
    delimiter : str or None
        Character between cells; None for white space.
    comma : bool
        Whether decimals have a comma.
    """

    delimiter: str | None = ","
    comma: bool = False

    def cells(self, text: str) -> list[str]:
        """Return the cells of a line, without spaces and quotes around them."""
        if self.delimiter is None:
            return [cell.strip('"') for cell in text.split()]
        if '"' in text:
            text = text.strip(" \r\n")
            cells = next(csv.reader([text], delimiter=self.delimiter, skipinitialspace=True), [])
            return [cell.strip() for cell in cells]
        return [cell.strip() for cell in text.split(self.delimiter)]

    def number(self, cell: str) -> float | None:
        """Return a cell as a number, or None; nan is a number."""
        text = cell.replace(",", ".") if self.comma else cell
        try:
            return float(text) if "_" not in text else None
        except ValueError:
            return numerals.unusual_number(cell, self.comma)

    def numbers(self, cells: Sequence[str]) -> int:
        """Return how many cells hold a number."""
        return sum(self.number(cell) is not None for cell in cells)

    def is_word(self, cell: str) -> bool:
        """Return whether a cell is a name: not a number, nor a mark of a missing one."""
        return bool(cell) and self.number(cell) is None and not numerals.seems_number(cell)


@dataclass(frozen=True)
class Kind:
    """The form of a line.

    Attributes
    ----------
    width : int
        Number of cells.
    numbers, filled : int
        How many of the first and last cells are numbers, and how many are not empty.
    first : bool or None
        Whether the first cell is a number; None if it is empty.
    """

    width: int
    numbers: int
    filled: int
    first: bool | None

    @property
    def is_row(self) -> bool:
        """Whether this may be a line of a table of numbers."""
        return 2 * self.numbers >= self.filled and self.numbers > 0

    @property
    def is_numbers(self) -> bool:
        """Whether all cells are numbers."""
        return 0 < self.numbers == self.filled


def lines_of(text: str, skip: int = 0) -> tuple[Lines, Lines]:
    """Return the lines of a text after the first `skip`, and its comments."""
    lines, comments = Lines([], []), Lines([], [])
    for i, line in enumerate(LINE_END.split(text), start=1):
        if i <= skip or not line.strip():
            continue
        kept = comments if line.lstrip().startswith(COMMENTS) else lines
        kept.numbers.append(i)
        kept.texts.append(line)
    return lines, comments


def style_of(lines: Lines, where: str) -> Style:
    """Return how the table among some lines is written."""
    digits = [text for _, text in sample(lines) if _mostly_digits(text)]
    some = digits[-200:] or lines.texts[-20:]
    delimiter = _delimiter(some)
    plain = Style(delimiter)
    numerals.check_points([plain.cells(text)[:SAMPLED_CELLS] for text in digits or some], where)
    if delimiter == ",":
        numerals.check_commas([plain.cells(text)[:SAMPLED_CELLS] for text in some], where)
        return plain
    cells = [cell for text in some[:20] + some[-20:] for cell in plain.cells(text)[:200]]
    if any(numerals.DECIMAL_COMMA.fullmatch(cell) for cell in cells):
        numerals.check_thousands(cells, where)
        return Style(delimiter, comma=True)
    return plain


def kind_of(cells: Sequence[str], style: Style) -> Kind:
    """Return the form of a line, from its first and last cells."""
    some = [
        *cells[: SAMPLED_CELLS // 2],
        *cells[max(SAMPLED_CELLS // 2, len(cells) - SAMPLED_CELLS // 2) :],
    ]
    numbers = style.numbers(some)
    first = style.number(cells[0]) is not None if cells[0] else None
    return Kind(len(cells), numbers, sum(map(bool, some)), first)


def rising(cells: Sequence[str], style: Style) -> bool:
    """Return whether cells are numbers that rise or fall all the way, as an axis does."""
    found = [style.number(cell) for cell in cells]
    values = [number for number in found if number is not None]
    return len(values) == len(found) and monotonic(np.array(values))


def sample(lines: Lines) -> Iterator[tuple[int, str]]:
    """Yield lines at the top and at the end of a file, all lines of a short one, with their places."""
    count = len(lines.texts)
    for i in (
        *range(min(SAMPLED_LINES, count)),
        *range(max(SAMPLED_LINES, count - SAMPLED_LINES), count),
    ):
        yield i, lines.texts[i]


def _mostly_digits(text: str) -> bool:
    text = text[:2000]
    if text.isascii():  # nearly all files, counted many times as fast
        plain = text.encode()
        digits, letters = (len(plain) - len(plain.translate(None, one)) for one in (DIGITS, LETTERS))
    else:
        digits = sum(map(str.isdigit, text))
        letters = sum(map(str.isalpha, text)) - text.count("e") - text.count("E")
    return 0 < digits >= letters


def _delimiter(some: list[str]) -> str | None:
    """Return tab, semicolon or comma; None for white space."""
    for mark in ("\t", ";"):
        if sum(mark in line.strip(" \r\n") for line in some) >= 0.8 * len(some):
            return mark
    if sum("," in line for line in some) < 0.5 * len(some):
        return None
    words = [word for line in some[-20:] for word in line.split()]  # 1,5 2,5: these commas are decimal
    decimal = sum(w[0] != "," and bool(numerals.INTEGER_OR_COMMA.fullmatch(w)) for w in words)
    return None if len(words) > len(some[-20:]) and decimal >= 0.7 * len(words) else ","
