"""A table of known amounts: one line for each measurement, or for those that it names."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca import io
from ngmca.answers.how_much.standards import TIMES, read_standards
from ngmca.io import Dataset, ReadError
from ngmca.io.axis_units import heading
from ngmca.io.cell_grid import Rows, read_grid
from ngmca.io.detect import TABLE_FORMATS, format_of
from ngmca.io.tables.cells import Style
from ngmca.io.tables.numerals import is_missing

NAMES = ("measurement", "sample", "spectrum")  # headings of a column of names


def known_amounts(path: str, data: Dataset) -> NDArray:
    """Return the amounts (m, k) in a file, NaN where a cell is empty.

    The first column of a table may hold names of measurements, or their numbers or times if its heading
    says so. Lines are then found by these, and measurements without a line are unknown.
    """
    m = len(data.Y)
    if format_of(Path(path)) not in TABLE_FORMATS:
        Y = io.read(path).Y
        return Y.T if len(Y) == 1 != m else Y
    lines, style = read_grid(Path(path))
    if _is_heading(lines, style):
        if _is_about_measurements(lines[0][1][0], data):
            at = None if data.row_axis is None else (data.row_axis, data.row_label)
            return read_standards(path, data.names, coordinates=at).known
        lines = lines[1:]
    named = any(style.is_word(cells[0]) for _, cells in lines)
    values = [[_number(cell, path, n, style) for cell in cells[named:]] for n, cells in lines]
    found = np.array(values, dtype=np.float64).reshape(len(values), -1)
    names = [cells[0].strip() for _, cells in lines]
    if named and set(names) <= set(data.names) and len(set(names)) == len(names):
        amounts = np.full((m, found.shape[1]), np.nan)
        amounts[[data.names.index(name) for name in names]] = found
        return amounts
    if len(found) == 1 != m and found.shape[1] == m:
        return found.T
    if len(found) != m and named:
        other = next(name for name in names if names.count(name) > 1 or name not in data.names)
        raise ReadError(
            f"{path} has {len(found)} lines, and {other!r} is not the name of one measurement. Give a "
            f"line for each of {m} measurements, or names such as {data.names[0]!r} in the first column."
        )
    return found


def _is_heading(lines: Rows, style: Style) -> bool:
    """Whether the first line has words where others have numbers or nothing."""
    first, others = lines[0][1], [cells for _, cells in lines[1:]]
    last = len(first) - 1
    return (
        bool(others) and style.is_word(first[last]) and not any(style.is_word(c[last]) for c in others)
    )


def _is_about_measurements(head: str, data: Dataset) -> bool:
    """Whether a heading says that its column has names, numbers or times of measurements."""
    name = heading(head)[0].casefold()
    return name in (*NAMES, *TIMES, heading(data.row_label)[0].casefold())


def _number(cell: str, path: str, line: int, style: Style) -> float:
    """Return a cell as a number, NaN if it is empty."""
    value = math.nan if is_missing(cell) else style.number(cell)
    if value is None:
        raise ReadError(
            f"{path}, line {line}: {cell[:40]!r} is not a number. Leave unknown amounts empty."
        )
    return value
