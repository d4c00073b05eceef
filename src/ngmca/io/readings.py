"""Ways to read a table: channels down its rows, along them, or no axis at all; what speaks for each."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.io import evidence
from ngmca.io.dataset import ReadError, monotonic
from ngmca.io.evidence import SHORTEST_AXIS, Points
from ngmca.io.labels import axis_above, beside, coordinates, name_across
from ngmca.io.tables import Table
from ngmca.io.units import role


@dataclass(frozen=True)
class Reading:
    """One way to read a table."""

    layout: str  # one of AXES, or what else it is
    Y: NDArray  # (m, n)
    axis: NDArray | None = None
    name: str = ""  # heading of the axis
    rows: tuple[str, ...] = ()
    points: Points = field(default_factory=list)
    places: tuple[NDArray, NDArray] | None = None  # x and y of each measurement

    @property
    def score(self) -> float:
        """The sum of its points."""
        return sum(points for points, _ in self.points)

    @property
    def why(self) -> str:
        """What speaks for it, in words."""
        return "; ".join(words for points, words in self.points if points > 0 and words)

    def described(self) -> str:
        """What it would be, and the option for it."""
        m, n = self.Y.shape
        size = f"{m} measurement{'s' * (m != 1)} x {n} channels"
        if self.axis is None:
            return f"{size} without an axis (axis='none')"
        ends = f"{self.axis[0]:g} to {self.axis[-1]:g}"
        return f"{size}, the {self.layout.replace('-', ' ')}, {ends}, as axis (axis={self.layout!r})"


def with_header(table: Table, axis: str | None) -> Table:
    """The same with its first row as names, where that is an axis beside a name or a corner."""
    if table.names or len(table.values) < 2 or table.values.shape[1] < 3 or axis == "first-column":
        return table
    cells = table.style.cells(table.lines.texts[0])
    corner = cells[0] if table.style.number(cells[0]) is None else ""
    names = (corner, *(cells[j] for j in table.columns[1:]))
    below = replace(table.rows(slice(1, None)), names=names)
    if 0 in table.words and (not corner or role(corner)):
        return below
    if axis_above(below) is None:
        return table
    strange = np.isnan(table.values[0]).sum() > len(table.words)  # words, or nan, above numbers
    headed = _alone_rises(table.values[1:20, 1:]) if 0 in table.words else _has_corner(table.values)
    return below if strange or headed else table


def _alone_rises(others: NDArray) -> bool:
    """Whether few rows rise or fall all the way: the first one, which does, is then an axis."""
    return float(np.mean([monotonic(row) for row in others])) <= 0.5


def _has_corner(values: NDArray) -> bool:
    """Whether a table without names has an axis both down and across, and a 0 where they meet."""
    if values[0, 0] != 0 or min(values.shape) < SHORTEST_AXIS + 1:
        return False
    down, across, inner = values[1:, 0], values[0, 1:], values[1:, 1:]
    if not (monotonic(down) and monotonic(across) and np.isfinite(inner).all()):
        return False
    return evidence.stands_out(down, inner) and evidence.stands_out(across, inner.T)


def down(table: Table, asked: bool = False) -> Reading | None:
    """Channels down the rows, the first column as their axis."""
    values, named = table.values, any(table.names)
    if 0 in table.words or values.shape[1] < 2:
        return None
    axis, data = values[:, 0], [j for j in range(1, values.shape[1]) if j not in table.words]
    name = table.names[0] if table.names else ""
    if not data or not _is_axis(axis, name, table, asked):
        return None
    metas = [j for j in data if named and table.style.number(table.names[j]) is None]
    if not asked and metas and len(metas) < len(data):  # words and an axis above: the latter is it
        return None
    table.check()
    Y = values[:, data].T
    rows = tuple(table.names[j] or table.above[j] for j in data) if table.names else ()
    reading = Reading("first-column", Y, axis, name, rows if any(rows) else ())
    return replace(reading, points=_points_down(table, axis, Y))


def _is_axis(axis: NDArray, name: str, table: Table, asked: bool) -> bool:
    """Whether numbers can be an axis; an error where they should be one and are not sorted."""
    if monotonic(axis):
        return asked or len(axis) >= SHORTEST_AXIS
    if len(axis) < 2 or not np.isfinite(axis).all():
        if asked or role(name) == "spectral":
            table.take([0]).check()
        return False
    steps = np.diff(axis)
    if np.median(steps) < 0:
        steps = -steps
    nearly = len(axis) >= evidence.SURE and np.mean(steps > 0) >= 0.9
    named = role(name) == "spectral" and axis_above(table) is None
    if asked or named or (nearly and table.values.shape[1] == 2):
        i = int(np.argmax(steps <= 0)) + 1
        what = "stands still" if steps[i - 1] == 0 else "turns back"
        raise ReadError(
            f"{table.where}, line {table.lines.numbers[i]}: the first column {what} at {axis[i]:g}, and "
            "an axis must rise or fall all the way. Sort the lines and take out double ones, or give "
            "axis='none'."
        )
    return False


def _points_down(table: Table, axis: NDArray, Y: NDArray) -> Points:
    points = evidence.smoothness(Y)
    name = table.names[0] if table.names else ""
    if len(Y) == 1:
        return [(5.0, "")]
    if table.names and axis_above(table) is not None:
        return points + evidence.nature(axis, name.split("\\")[0], len(Y))
    if not table.names:
        counts: Points = [(-1.5, "")] if evidence.is_counter(axis) else []
        return points + counts + evidence.bare(axis, Y.T)
    points.append((2.0, "it alone has no name of a measurement"))
    known = {"spectral": 3.0, "channel": 3.0, "time": -1.0, "counting": -3.0}.get(role(name), 0.0)
    points.append((known, f"it is called {name!r}" if known > 0 else ""))
    return [*points, (-1.5, "")] if evidence.is_counter(axis) else points


def across(table: Table, asked: bool = False) -> Reading | None:
    """Channels along the rows, with the axis above them or in the first row."""
    above = axis_above(table)
    if above is None and table.names:
        _check_almost(table, asked)
        return None
    if above is None:
        return _first_row(table, asked)
    start, stop, axis, unit = above
    if not asked and start == 0 and stop == 1:
        return None
    table.check()
    others = [j for j in range(len(table.names)) if not start <= j < stop]
    Y = table.values[:, start:stop]
    name = unit or name_across(table, others)
    reading = Reading(
        "first-row", Y, axis, name, beside(table, others), places=coordinates(table, others)
    )
    points = evidence.smoothness(Y)
    if "spectr" in table.facts.values() or any(key.startswith("axistype") for key in table.facts):
        points.append((3.0, "the lines above say so"))
    return replace(reading, points=points + evidence.nature(axis, name, len(Y)))


def _first_row(table: Table, asked: bool) -> Reading | None:
    """Channels along the rows, the first row as their axis, in a table without names."""
    values = np.delete(table.values, list(table.words), axis=1) if table.words else table.values
    if len(values) < 2 or not monotonic(values[0]):
        return None
    if not asked and (values.shape[1] < SHORTEST_AXIS or 0 in table.words):
        return None
    table.check()
    Y = values[1:]
    points = evidence.smoothness(Y)
    if evidence.is_counter(values[0]):
        points.append((-1.5, ""))
    points += evidence.bare(values[0], Y.T)
    rows = table.words[0][1:] if 0 in table.words else ()
    return Reading("first-row", Y, values[0], "", rows, points)


def _check_almost(table: Table, asked: bool) -> None:
    """Refuse numbers above the columns that are an axis but for a few that stand still or turn back."""
    numbers = [table.style.number(name) for name in table.names]
    found = np.array([number for number in numbers if number is not None])
    if len(found) < evidence.SURE or not np.isfinite(found).all():
        return
    steps = np.sign(np.diff(found))
    if asked or abs(steps.sum()) >= 0.8 * len(steps):
        raise ReadError(
            f"{table.where}: the numbers above its columns do not rise or fall all the way, as an axis "
            "must. Give axis='first-column' or axis='none' if they are names."
        )


def none(table: Table, transpose: bool | None, alone: bool = False) -> Reading:
    """Numbers without an axis."""
    label = _is_label(table)
    data = [j for j in range(label, table.values.shape[1]) if j not in table.words]
    table.check()
    if alone and table.names and not table.words and _numbered(table):
        raise ReadError(
            f"{table.where}: the numbers above its columns are neither an axis nor above one. Give "
            "header=0 if they are data, axis='none' if they are names."
        )
    Y = table.values[:, data]
    if Y.size < 2:
        raise ReadError(f"{table.where} has no table of numbers in it.")
    if alone and Y.shape[1] == 2 and len(Y) >= evidence.SURE and monotonic(Y[:, 1]):
        raise ReadError(
            f"{table.where}: its second column rises or falls all the way, its first does not. Put the "
            "axis first, or give axis='none' if it has none."
        )
    one = transpose is None and table.values.shape[1] == 1  # one number a line: one spectrum
    if transpose or one:
        return Reading("none", Y.T)
    others = [j for j in range(table.values.shape[1]) if j not in data]
    return Reading("none", Y, rows=beside(table, others), points=evidence.smoothness(Y))


def _is_label(table: Table) -> bool:
    """Whether the first column numbers or names the rows."""
    if table.values.shape[1] < 2 or 0 in table.words:
        return False
    named = bool(table.names) and role(table.names[0]) in ("time", "counting")
    counts = len(table.values) >= SHORTEST_AXIS and evidence.is_counter(table.values[:, 0])
    return table.label_first or named or counts


def _numbered(table: Table) -> bool:
    numbers = [table.style.number(name) is not None for name in table.names[1:]]
    return len(numbers) >= SHORTEST_AXIS and all(numbers)
