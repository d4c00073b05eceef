"""Tables of numbers as text: .csv, .tsv, .txt, .dat, gzipped or not."""

import csv
import gzip
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.dataset import Dataset, ReadError, from_array, monotonic, shown, told
from ngmca.io.sizes import in_words, memory_left
from ngmca.io.units import heading

COMMENTS = ("#", "%", "//", "!")
PIECE = 1 << 24  # bytes that are unpacked at a time
SHORTEST_AXIS = 5  # fewer numbers may rise or fall by chance
DECIMAL_COMMA = re.compile(r"^[+-]?\d*,\d+([eE][+-]?\d+)?$")


@dataclass(frozen=True)
class Line:
    """Cells of one line, and where it stands in the file."""

    number: int
    cells: list[str]


@dataclass(frozen=True)
class Labels:
    """What the first line and the first column of a table say."""

    axis: NDArray | None = None
    axis_in: str = ""  # "row" or "column"
    corner: str = ""
    names: tuple[str, ...] = ()


def read_text(path: Path, *, transpose: bool | None = None, **_: Any) -> Dataset:
    """The table in a text file, with its axis and names where the file has them."""
    lines, comma = _split(_decode(path), path)
    _check_ragged(lines, path)
    header = _is_header(lines[0].cells, comma)
    index = _is_index(lines[header:], comma)
    values = _numbers([Line(x.number, x.cells[index:]) for x in lines[header:]], index, comma, path)
    labels, values = _labels(lines, values, header=header, index=index, comma=comma)
    turned = {"row": False, "column": True}.get(labels.axis_in)
    if transpose is not None and turned is not None and transpose != turned:
        raise ReadError(f"{path}: its axis is in the first {labels.axis_in}: leave out transpose=.")
    name, unit = heading(labels.corner)
    data = from_array(
        values,
        labels.axis,
        transpose=transpose if turned is None else turned,
        where=str(path),
        axis_name=name,
        axis_unit=unit,
    )
    names = labels.names if len(labels.names) == len(data.Y) else ()
    note = f"the first {labels.axis_in} of {shown(path.name)} is the axis, " if labels.axis_in else ""
    if note and labels.axis is not None:
        note += f"{labels.axis[0]:g} to {labels.axis[-1]:g}."
    return Dataset(data.Y, data.axis, name, unit, names, notes=(note,) if note else ())


def _decode(path: Path) -> str:
    """The text of a file, or an error where it is none."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    try:
        raw = _content(path, gzip.open if zipped else open)
    except (OSError, EOFError, zlib.error) as error:
        if not zipped:
            raise
        raise ReadError(f"{path} is not a whole gzip file: {told(error)}.") from error
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", errors="replace")
    strange = re.search(rb"[\x00-\x08\x0e-\x1f]", raw)
    if strange:
        raise ReadError(
            f"{path} is not text: byte 0x{strange[0][0]:02x} at offset {strange.start()}. "
            "Is it another format under a wrong name?"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _content(path: Path, opened: Callable[..., Any]) -> bytes:
    """All bytes of a file, unpacked if need be, as long as the numbers in them fit into memory."""
    left, needed, pieces = memory_left(), 0.0, []
    with opened(path, "rb") as stream:
        while piece := stream.read(PIECE):
            pieces.append(piece)
            needed += memory_for(piece)
            if needed > left:
                size = in_words(sum(map(len, pieces)))
                raise ReadError(
                    f"{path}: reading its first {size} of text takes about {in_words(needed)}, and "
                    f"{in_words(left)} of memory is left. Cut it, or save it as .npy."
                )
    return b"".join(pieces)


def memory_for(piece: bytes) -> float:
    """Bytes in use at most while text becomes numbers, as measured with short and with long cells."""
    cells = sum(piece.count(mark) for mark in b",;\t ")
    return 3.0 * len(piece) + 120.0 * cells + 450.0 * piece.count(b"\n")


def _split(text: str, path: Path) -> tuple[list[Line], bool]:
    """Lines of cells without comments, and whether decimals have commas."""
    numbered = [
        (i, line.strip("\r\n"))
        for i, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith(COMMENTS)
    ]
    if not numbered:
        raise ReadError(f"{path} has no numbers in it: it is empty, or all comments.")
    delimiter = _delimiter([line for _, line in numbered[:20]])
    if delimiter is None:
        lines = [Line(i, line.split()) for i, line in numbered]
    else:
        rows = csv.reader((line for _, line in numbered), delimiter=delimiter)
        lines = [
            Line(i, [cell.strip() for cell in row]) for (i, _), row in zip(numbered, rows, strict=False)
        ]
        if all(line.cells and line.cells[-1] == "" for line in lines):  # a delimiter ends every line
            lines = [Line(line.number, line.cells[:-1]) for line in lines]
    comma = delimiter != "," and any(
        DECIMAL_COMMA.match(cell) for line in lines[:20] for cell in line.cells
    )
    return lines, comma


def _delimiter(some: list[str]) -> str | None:
    """Tab, semicolon or comma; None for white space."""
    for mark in ("\t", ";"):
        if all(mark in line for line in some[1:] or some):
            return mark
    last = some[-1]
    if "," not in last:
        return None
    words = last.split()  # 1,5 2,5: commas inside the words are decimal
    return None if len(words) > 1 and all(DECIMAL_COMMA.match(w) or w.isdigit() for w in words) else ","


def _check_ragged(lines: list[Line], path: Path) -> None:
    width = len(lines[min(1, len(lines) - 1)].cells)
    if len(lines[0].cells) == width - 1:  # a header without a name for the index column
        lines[0].cells.insert(0, "")
    for line in lines:
        if len(line.cells) != width:
            raise ReadError(
                f"{path}, line {line.number} has {len(line.cells)} fields, other lines have {width}."
            )


def _is_header(cells: list[str], comma: bool) -> bool:
    """Whether the first line holds names, or an axis beside a corner that is empty or named."""
    numbers = [_number(cell, comma) for cell in cells]
    if None in numbers[1:] or len(cells) == 1:
        return None in numbers
    return numbers[0] is None and (not cells[0] or _as_axis(numbers[1:]) is not None)


def _is_index(lines: list[Line], comma: bool) -> bool:
    """Whether the first column holds names: most of it is not numbers."""
    if not lines or len(lines[0].cells) < 2:
        return False
    words = sum(_number(line.cells[0], comma) is None for line in lines)
    return words > len(lines) / 2


def _numbers(lines: list[Line], index: bool, comma: bool, path: Path) -> NDArray:
    if not lines:
        raise ReadError(f"{path} has a header and no numbers below it.")
    rows = []
    for line in lines:
        try:
            rows.append([float(cell) for cell in line.cells])
        except ValueError:
            rows.append(
                [
                    _cell(cell, line.number, j + 1 + index, comma, path)
                    for j, cell in enumerate(line.cells)
                ]
            )
    values = np.array(rows)
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        i, j = bad[0]
        place = f"{path}, line {lines[i].number}, field {j + 1 + index}"
        raise ReadError(f"{place} is {lines[i].cells[j][:30]}: replace it or leave out its line.")
    return values


def _cell(cell: str, line: int, column: int, comma: bool, path: Path) -> float:
    value = _number(cell, comma)
    if value is None:
        what = f"holds {cell[:30]!r}, which is not a number" if cell else "is empty"
        raise ReadError(f"{path}, line {line}, field {column} {what}.")
    return value


def _number(cell: str, comma: bool) -> float | None:
    try:
        return float(cell.replace(",", ".") if comma else cell)
    except ValueError:
        return None


def _labels(
    lines: list[Line], values: NDArray, *, header: bool, index: bool, comma: bool
) -> tuple[Labels, NDArray]:
    """Axis and names, and the values without them."""
    top = lines[0].cells[index:] if header else []
    side = tuple(line.cells[0] for line in lines[header:]) if index else ()
    corner = lines[0].cells[0] if header else ""
    across = _as_axis([_number(cell, comma) for cell in top])
    if header and not index and across is None:  # the corner may stand above a column of numbers
        inner = _as_axis([_number(cell, comma) for cell in top[1:]])
        if inner is not None:
            side = tuple(line.cells[0] for line in lines[header:])
            return Labels(inner, "row", corner, side), values[:, 1:]
    if across is not None:
        return Labels(across, "row", corner if index else "", side), values
    if not index and _axis_column(values):
        return Labels(values[:, 0], "column", corner, tuple(top[1:])), values[:, 1:]
    if not header and _axis_column(values.T):
        return Labels(values[0], "row", "", side), values[1:]
    return Labels(names=side, corner=""), values


def _as_axis(numbers: list[float | None]) -> NDArray | None:
    """A row of header cells as an axis, if all of them are numbers that rise or fall."""
    if len(numbers) < 2 or any(number is None for number in numbers):
        return None
    values = np.array(numbers, dtype=float)
    return values if monotonic(values) else None


def _axis_column(values: NDArray) -> bool:
    """Whether the first column is an axis: it alone rises or falls all the way."""
    if values.shape[1] < 2 or len(values) < SHORTEST_AXIS or not monotonic(values[:, 0]):
        return False
    others = values[:, 1 : min(values.shape[1], 50)].T
    return values.shape[1] == 2 or not all(monotonic(column) for column in others)
