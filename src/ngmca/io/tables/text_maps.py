"""Maps and series as text: measurements with coordinates, and tables with one point in each line."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import is_place, role
from ngmca.io.dataset import Dataset, monotonic
from ngmca.io.read_error import ReadError
from ngmca.io.tables.axis_evidence import CLEAR_LEAD, SHORTEST_AXIS, is_counter, nature, smoothness
from ngmca.io.tables.column_labels import row_coordinate
from ngmca.io.tables.interpretations import Reading
from ngmca.io.tables.text_tables import Table

LONG_TABLE_WIDTHS = range(3, 7)  # columns of a table with one point in each line


def read_long(table: Table) -> Reading | None:
    """Return the reading of a table with coordinates, position and intensity in each line, or None."""
    width = table.values.shape[1]
    if (
        width not in LONG_TABLE_WIDTHS
        or width - 1 in table.words
        or len(table.values) < 2 * SHORTEST_AXIS
    ):
        return None
    table = _coded(table)
    if not np.isfinite(table.values[: 4 * SHORTEST_AXIS]).all():
        return None
    numbers = [j for j in range(width - 1) if j not in table.words]
    found = [one for one in (_folded(table, j) for j in numbers) if one is not None]
    if not found:
        _check_complete(table, numbers)
    if len(found) < 2:
        return found[0] if found else None
    return _clear(found, table)


def _coded(table: Table) -> Table:
    """Return the table with a number for each word."""
    values = table.values.copy() if table.words else table.values
    for j, column in table.words.items():
        codes = {word: i for i, word in enumerate(dict.fromkeys(column))}
        values[:, j] = [codes[word] for word in column]
    return replace(table, values=values)


def _check_complete(table: Table, numbers: list[int]) -> None:
    """Raise an error for a table with one point in each line whose spectra differ in length or axis."""
    for j in numbers:
        column = table.values[:, j]
        size = len(np.unique(column))
        again = SHORTEST_AXIS <= size < len(column) and monotonic(column[:size])
        if (
            again
            and len(column) % size
            and np.array_equal(column, np.resize(column[:size], len(column)))
        ):
            raise ReadError(
                f"{table.where} has one point in each line, and its last spectrum is not complete: "
                f"{len(column)} lines are not a multiple of {size} positions. Delete the lines of that "
                "spectrum."
            )
    if says_long(table):
        raise ReadError(
            f"{table.where} has one point in each line, and its spectra have different positions: "
            "interpolate them to common positions first."
        )


def says_long(table: Table) -> bool:
    """Return whether the columns are called coordinates, an axis and an intensity."""
    roles = [role(name) for name in table.names[:-1]]
    first = [
        is_place(name) or role(name) in ("time", "counting") or j in table.words
        for j, name in enumerate(table.names[:-2])
    ]
    return bool(roles) and roles[-1] == "spectral" and all(first)


def _folded(table: Table, j: int) -> Reading | None:
    """Return the reading with column j as axis, if every spectrum has the same positions there."""
    values = table.values
    others = [
        k for k in range(values.shape[1] - 1) if k != j and not _counts(values[:, k], values[:, j])
    ]
    size = len(np.unique(values[:, j]))
    if size < SHORTEST_AXIS or len(values) % size or len(values) == size:
        return None
    starts = np.flatnonzero((np.diff(values[:, others], axis=0) != 0).any(axis=1)) + 1
    inner = starts % size == 0  # lines with other coordinates than the line before
    order = np.arange(len(values)).reshape(-1, size) if inner.all() else _by_position(values[:, j], size)
    if order is None:
        return None
    axis, places = values[order, j], values[order][:, :, others]
    if not (axis == axis[0]).all() or not monotonic(axis[0]) or not (places == places[:, :1]).all():
        return None
    table.check()
    coordinates = places[:, 0]
    if len(np.unique(coordinates, axis=0)) < len(coordinates):
        return None
    return _reading(table, values[order, -1], axis[0], order[:, 0], j, others)


def _counts(column: NDArray, positions: NDArray) -> bool:
    """Return whether a column only numbers the positions, as the pixels of a camera."""
    numbers, where = np.unique(column, return_index=True)
    if len(numbers) < SHORTEST_AXIS or not is_counter(numbers):
        return False
    again = positions[where][np.searchsorted(numbers, column)]
    return bool((again == positions).all()) and len(np.unique(positions)) == len(numbers)


def _by_position(column: NDArray, size: int) -> NDArray | None:
    """Return the lines of each measurement in a file that is sorted by position."""
    count = len(column) // size
    blocks = column.reshape(size, count)
    return np.arange(len(column)).reshape(size, count).T if (blocks == blocks[:, :1]).all() else None


def _reading(
    table: Table, Y: NDArray, axis: NDArray, firsts: NDArray, j: int, others: list[int]
) -> Reading:
    """Return spectra along a column, named after the other cells of their first lines."""
    name = table.names[j] if table.names else ""
    points = [*smoothness(Y), *nature(axis, name)]
    marks = [table.names[k] if table.names else "" for k in others]
    if len(others) in (2, 3) and not any(marks) and not table.words:
        marks = ["x", "y", "z"][: len(others)]
        points.append((2.0 if j == len(others) else 0.0, "it comes after x and y"))
    columns = [
        [table.words[k][i] if k in table.words else f"{table.values[i, k]:.12g}" for i in firsts]
        for k in others
    ]
    if len(others) == 1 and table.words:
        marks = [""]  # the word itself is the name
    rows = tuple(
        ", ".join(f"{mark}={v}" if mark else v for mark, v in zip(marks, row, strict=True))
        for row in zip(*columns, strict=True)
    )
    spread = [k for k in others if len(others) == 2 or np.ptp(table.values[firsts, k]) > 0]
    two = all(map(is_place, marks)) and len(spread) == 2
    where = (table.values[firsts, spread[0]], table.values[firsts, spread[1]]) if two else None
    along = row_coordinate(table, others)
    along = None if along is None else (along[0][firsts], along[1])
    layout = f"column {table.columns[j] + 1}"
    return Reading(layout, Y, axis, name, rows, points, where, along=along)


def _clear(found: list[Reading], table: Table) -> Reading:
    best, second, *_ = sorted(found, key=lambda one: -one.score)
    if best.score - second.score >= CLEAR_LEAD:
        return best
    names = " or ".join(
        f"{len(one.Y)} measurements x {one.Y.shape[1]} channels, {one.layout} as axis"
        for one in (best, second)
    )
    raise ReadError(
        f"{table.where} has one point in each line and can be read in two ways: {names}. Name its "
        "columns in a first line, for example `time,wavelength,intensity`."
    )


def placed(data: Dataset, x: NDArray, y: NDArray) -> Dataset:
    """Return the data set with coordinates; as an image if they fill a grid."""
    grid = _grid(x, y)
    if grid is not None:
        order, shape = grid
        rows = tuple(data.row_names[i] for i in order) if data.row_names else ()
        along = None if data.row_axis is None else data.row_axis[order]
        data = replace(data, Y=data.Y[order], row_names=rows, image_shape=shape, row_axis=along)
        x, y = x[order], y[order]
    meta: dict[str, Any] = {"x": x.tolist(), "y": y.tolist()}
    return replace(data, meta={**data.meta, **meta})


def _grid(x: NDArray, y: NDArray) -> tuple[NDArray, tuple[int, int]] | None:
    """Return the order in which measurements fill an image row by row, and its shape; or None."""
    (columns, j), (lines, i) = (_levels(values) for values in (x, y))
    if columns < 2 or lines < 2 or columns * lines != len(x):
        return None
    flat = i * columns + j
    if len(np.unique(flat)) < len(x):
        return None
    return np.argsort(flat), (lines, columns)


def _levels(values: NDArray) -> tuple[int, NDArray]:
    """Return the number of different coordinates, and the number of each one by first appearance."""
    spread = float(np.ptp(values)) or 1.0
    rounded = np.round(values / (1e-6 * spread))
    _, first, which = np.unique(rounded, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=int)
    rank[np.argsort(first)] = np.arange(len(first))
    return len(first), rank[which]
