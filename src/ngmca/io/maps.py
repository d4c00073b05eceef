"""Maps and series as text: measurements with coordinates, and tables with one point a line."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.dataset import Dataset, ReadError, monotonic
from ngmca.io.evidence import CLEAR, SHORTEST_AXIS, nature, smoothness
from ngmca.io.readings import Reading
from ngmca.io.tables import Table
from ngmca.io.units import is_place, role

NAMED = 12  # digits of a coordinate in the name of a measurement


def read_long(table: Table) -> Reading | None:
    """The reading of a table with one point a line: coordinates, position on the axis, intensity."""
    width = table.values.shape[1]
    if table.words or width not in (3, 4) or len(table.values) < 2 * SHORTEST_AXIS:
        return None
    if not np.isfinite(table.values[: 4 * SHORTEST_AXIS]).all():
        return None
    found = [one for one in (_folded(table, j) for j in range(width - 1)) if one is not None]
    if not found and _says_long(table):
        raise ReadError(
            f"{table.where} has one point a line, and its spectra do not have the same positions: "
            "interpolate them to common ones first."
        )
    if len(found) < 2:
        return found[0] if found else None
    return _clear(found, table)


def _says_long(table: Table) -> bool:
    """Whether the names above the columns are those of coordinates, an axis and an intensity."""
    roles = [role(name) for name in table.names[:-1]]
    first = [is_place(name) or role(name) in ("time", "counting") for name in table.names[:-2]]
    return bool(roles) and roles[-1] == "spectral" and all(first)


def _folded(table: Table, j: int) -> Reading | None:
    """Spectra along column j, where every spectrum has the same positions there."""
    values = table.values
    others = [k for k in range(values.shape[1] - 1) if k != j]
    size = len(np.unique(values[:, j]))
    if size < SHORTEST_AXIS or len(values) % size or len(values) == size:
        return None
    inner = _starts(values[:, others]) % size == 0
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
    return _reading(table, values[order, -1], axis[0], coordinates, j, others)


def _starts(places: NDArray) -> NDArray:
    """Where a line has other coordinates than the line before."""
    return np.flatnonzero((np.diff(places, axis=0) != 0).any(axis=1)) + 1


def _by_position(column: NDArray, size: int) -> NDArray | None:
    """Lines of each measurement, where a file has all measurements at one position, then at the next."""
    count = len(column) // size
    blocks = column.reshape(size, count)
    return np.arange(len(column)).reshape(size, count).T if (blocks == blocks[:, :1]).all() else None


def _reading(
    table: Table, Y: NDArray, axis: NDArray, places: NDArray, j: int, others: list[int]
) -> Reading:
    name = table.names[j] if table.names else ""
    points = [*smoothness(Y), *nature(axis, name)]
    marks = [table.names[k] if table.names else "" for k in others]
    two = len(others) == 2
    if two and not any(marks):
        marks = ["x", "y"]
        points.append((2.0 if j == 2 else 0.0, "it comes after x and y" if j == 2 else ""))
    rows = tuple(
        ", ".join(
            f"{mark}={v:.{NAMED}g}" if mark else f"{v:.{NAMED}g}"
            for mark, v in zip(marks, row, strict=True)
        )
        for row in places.tolist()
    )
    where = (places[:, 0], places[:, 1]) if two else None
    return Reading(f"column {table.columns[j] + 1}", Y, axis, name, rows, points, where)


def _clear(found: list[Reading], table: Table) -> Reading:
    best, second, *_ = sorted(found, key=lambda one: -one.score)
    if best.score - second.score >= CLEAR:
        return best
    names = " or ".join(
        f"{len(one.Y)} measurements x {one.Y.shape[1]} channels, {one.layout} as axis"
        for one in (best, second)
    )
    raise ReadError(
        f"{table.where} has one point a line and can be read in two ways: {names}. Name its columns in "
        "a first line, as in `time,wavelength,intensity`."
    )


def placed(data: Dataset, x: NDArray, y: NDArray) -> Dataset:
    """The same with coordinates; as an image where they fill a grid, each place once."""
    grid = _grid(x, y)
    if grid is not None:
        order, shape = grid
        rows = tuple(data.row_names[i] for i in order) if data.row_names else ()
        data = replace(data, Y=data.Y[order], row_names=rows, image_shape=shape)
        x, y = x[order], y[order]
    meta: dict[str, Any] = {"x": x.tolist(), "y": y.tolist()}
    return replace(data, meta={**data.meta, **meta})


def _grid(x: NDArray, y: NDArray) -> tuple[NDArray, tuple[int, int]] | None:
    """The order in which measurements fill an image row by row, and its shape."""
    (columns, j), (lines, i) = (_levels(values) for values in (x, y))
    if columns < 2 or lines < 2 or columns * lines != len(x):
        return None
    flat = i * columns + j
    if len(np.unique(flat)) < len(x):
        return None
    return np.argsort(flat), (lines, columns)


def _levels(values: NDArray) -> tuple[int, NDArray]:
    """How many different coordinates there are, and which of them, as they come, each one is."""
    spread = float(np.ptp(values)) or 1.0
    rounded = np.round(values / (1e-6 * spread))
    _, first, which = np.unique(rounded, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=int)
    rank[np.argsort(first)] = np.arange(len(first))
    return len(first), rank[which]
