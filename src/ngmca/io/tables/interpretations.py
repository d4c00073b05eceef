"""Ways to read a table: channels down its rows, channels along its rows, or no axis."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import Message, message, option
from ngmca.io.axis_names import quantity_of
from ngmca.io.axis_units import role
from ngmca.io.dataset import monotonic
from ngmca.io.read_error import ReadError
from ngmca.io.tables import ambiguities
from ngmca.io.tables import axis_evidence as evidence
from ngmca.io.tables import column_labels as labels
from ngmca.io.tables.axis_evidence import SAFE_LENGTH, SHORTEST_AXIS, Points, is_label
from ngmca.io.tables.text_tables import Table


@dataclass(frozen=True)
class Reading:
    """One way to read a table.

    Attributes
    ----------
    layout : str
        Where the axis is: "first-column", "first-row", "none" or "column 3".
    Y : (m, n) array
    axis : (n,) array or None
    name : str
        Heading of the axis.
    rows : tuple of str
        Names of the measurements.
    points : list of (float, str)
        Evidence for this reading, in points and words.
    places : pair of (m,) arrays or None
        x and y of each measurement.
    notes : tuple of str
        Remarks for the user.
    along : pair of an (m,) array and str, or None
        Time or another coordinate of the measurements, and its name with its unit.
    """

    layout: str
    Y: NDArray
    axis: NDArray | None = None
    name: str = ""
    rows: tuple[str, ...] = ()
    points: Points = field(default_factory=list)
    places: tuple[NDArray, NDArray] | None = None
    notes: tuple[str, ...] = ()
    along: tuple[NDArray, str] | None = None

    @property
    def score(self) -> float:
        """The sum of its points."""
        return sum(points for points, _ in self.points)

    @property
    def why(self) -> str:
        """The evidence for it, in words."""
        return "; ".join(words for points, words in self.points if points > 0 and words)

    @property
    def description(self) -> Message:
        """The size and axis of this reading, and the option for it."""
        m, n = self.Y.shape
        size = f"{m} measurement{'s' * (m != 1)} x {n} channels"
        if self.axis is None:
            return message("{} without an axis ({})", size, option("axis", "none"))
        ends = f"{self.axis[0]:g} to {self.axis[-1]:g}"
        place = self.layout.replace("-", " ")
        return message("{}, the {}, {}, as axis ({})", size, place, ends, option("axis", self.layout))


def with_header(table: Table, axis: str | None) -> Table:
    """Return the table with its first row as names if that row is an axis beside a name or a corner."""
    if table.names or len(table.values) < 2 or table.values.shape[1] < 3:
        return table
    if axis == "first-column" and (0 in table.words or not _has_corner(table.values)):
        return table
    cells = table.style.cells(table.lines.texts[0])
    corner = cells[0] if table.style.number(cells[0]) is None else ""
    names = (corner, *(cells[j] for j in table.columns[1:]))
    alone = 0 not in table.words and not _has_corner(table.values)
    whole = alone and _begins_axis(table.values[0])
    if whole:
        names = (cells[0], *names[1:])  # the first column is a channel, not names of measurements
    below = replace(table.rows(slice(1, None)), names=names)
    if 0 in table.words and (not cells[0] or role(corner)):
        return _filled(below)
    if labels.axis_above(below) is None:
        return table
    strange = np.isnan(table.values[0]).sum() > len(table.words)  # words, or nan, above numbers
    strange |= whole and bool(table.words)
    headed = _alone_rises(table.values[1:20, 1:]) if 0 in table.words else _has_corner(table.values)
    return _filled(below) if strange or headed else table


def _filled(table: Table) -> Table:
    """Return the table without columns that have a name and no cells below it."""
    empty = [j for j, column in table.words.items() if not any(column)]
    kept = [j for j in range(len(table.names)) if j not in empty or j == 0]
    named = ", ".join(table.names[j] for j in empty if j and table.names[j])
    return table.take(kept).with_remarks(f"empty columns were left out: {named}." if named else "")


def _begins_axis(row: NDArray) -> bool:
    """Return whether the first number of a row continues the steps of the others."""
    axis = row[np.isfinite(row)]
    if len(axis) < 3 or not np.isfinite(row[0]) or not monotonic(axis):
        return False
    steps = np.abs(np.diff(axis))
    return evidence.is_even(axis) or bool(len(axis) >= SAFE_LENGTH and steps[0] <= 4 * steps[1:].max())


def _alone_rises(others: NDArray) -> bool:
    """Return whether few rows rise or fall all the way: then a first row that does is an axis."""
    return float(np.mean([monotonic(row) for row in others])) <= 0.5


def _has_corner(values: NDArray) -> bool:
    """Return whether a table has an axis down and an axis across, with 0 or a count in the corner."""
    counts = (0, len(values) - 1, values.shape[1] - 1)
    if values[0, 0] not in counts or min(values.shape) < SHORTEST_AXIS + 1:
        return False
    down, across, inner = values[1:, 0], values[0, 1:], values[1:, 1:]
    if not (_in_order(down) and _in_order(across) and np.isfinite(inner).mean() > 0.5):
        return False
    found = evidence.stands_out(down, inner), evidence.stands_out(across, inner.T)
    return any(found) if values[0, 0] == 0 else all(found)


def _in_order(v: NDArray) -> bool:
    """Return whether numbers rise or fall; a few may be equal, as times of a stage that stops."""
    steps = np.diff(v)
    return bool(((steps >= 0).all() or (steps <= 0).all()) and np.mean(steps != 0) > 0.8)


def down(table: Table, asked: bool = False) -> Reading | None:
    """Return the reading with channels down the rows and the first column as their axis."""
    values, named = table.values, any(table.names)
    if 0 in table.words or values.shape[1] < 2:
        return None
    axis, data = values[:, 0], [j for j in range(1, values.shape[1]) if j not in table.words]
    name = table.names[0] if table.names else ""
    if not data or not _is_axis(axis, name, table, asked):
        return None
    metas = [j for j in data if named and table.style.number(table.names[j]) is None]
    if not asked and metas and len(metas) < len(data):  # an axis is above the columns
        return None
    table.check(gaps=True)
    if not asked:
        ambiguities.check_other(table, data)
    Y, above = values[:, data].T, labels.names_over(table, data)
    rows = tuple(table.names[j] or above[j] for j in data) if table.names else ()
    reading = Reading(
        "first-column", Y, axis, name, rows if any(rows) else (), notes=_word_columns_note(table),
        along=labels.coordinate_in_names(table, data),
    )  # fmt: skip
    return replace(reading, points=_points_down(table, axis, Y))


def _word_columns_note(table: Table) -> tuple[str, ...]:
    """Return a note about columns of words; raise an error if they also hold numbers."""
    wordy = [j for j in table.words if j > 0]
    for j in wordy:
        if np.isfinite(table.values[:, j]).any() and labels.axis_above(table) is None:
            raise table.wrong(int(np.argmin(np.isfinite(table.values[:, j]))), j)
    named = [f"{table.columns[j] + 1} {table.names[j] if table.names else ''}".strip() for j in wordy]
    return (f"columns of words were left out: {', '.join(named)}.",) if named else ()


def _is_axis(axis: NDArray, name: str, table: Table, asked: bool) -> bool:
    """Return whether numbers can be an axis; raise an error if they should be one and are not sorted."""
    if monotonic(axis):
        return asked or len(axis) >= SHORTEST_AXIS
    if len(axis) < 2 or not np.isfinite(axis).all():
        if asked or role(name) == "spectral":
            table.take([0]).check()
        return False
    if asked or ambiguities.should_be_axis(table, name):
        raise ambiguities.turns_back(table, axis)
    return False


def _points_down(table: Table, axis: NDArray, Y: NDArray) -> Points:
    points = evidence.smoothness(Y) + _explicit(table, "time")
    name = table.names[0] if table.names else ""
    if not table.names and evidence.is_counter(axis):
        ambiguities.check_quantities(table, list(range(1, table.values.shape[1])))
    if len(Y) == 1:
        return [(5.0, "")]
    above = labels.axis_above(table) if table.names else None
    if above is not None:
        usual = quantity_of(axis) is not None and not evidence.in_spectral_range(above[2])
        across = usual and role(name) in ("time", "counting")  # the corner names what is above
        timed: Points = (
            [(-2.5, "")] if role(name) == "time" and not across and _is_scale(above[2]) else []
        )
        return points + timed + evidence.nature(axis, "" if across else name.split("\\")[0], len(Y))
    counts: Points = [(-1.5, "")] if evidence.is_counter(axis) else []
    if not table.names:
        return points + counts + evidence.bare(axis, Y.T)
    if not role(name):
        return points + counts + evidence.unnamed(axis, len(Y), labels.numbers_in_names(table))
    known = {"spectral": 3.0, "channel": 3.0, "time": -1.0, "counting": -3.0}[role(name)]
    points.append((2.0, "the other columns have names of measurements"))
    return [*points, *counts, (known, f"it is called {name!r}" if known > 0 else "")]


def _explicit(table: Table, quantity: str) -> Points:
    """Return points if the header of Glotaran says that this is above the columns."""
    return [(3.0, "the header says so")] if table.facts.get("explicit") == quantity else []


def _is_scale(v: NDArray) -> bool:
    """Return whether numbers above columns may be an axis: many, and not counted from 0 or 1."""
    return len(v) >= SAFE_LENGTH and v[0] not in (0, 1) and evidence.is_even(v)


def across(table: Table, asked: bool = False) -> Reading | None:
    """Return the reading with channels along the rows and the axis above them or in the first row."""
    above = labels.axis_above(table)
    if above is None and table.names:
        ambiguities.check_almost(table, asked)
        return None
    if above is None:
        return _first_row(table, asked)
    start, stop, axis, unit = above
    others = [j for j in range(len(table.names)) if not start <= j < stop]
    labels.check_beside(table, above)
    table.take(others).check()
    table.take(range(start, stop)).check(gaps=True)
    Y = table.values[:, start:stop]
    name = unit or labels.name_across(table, others)
    reading = Reading(
        "first-row",
        Y,
        axis,
        name,
        labels.beside(table, others),
        places=labels.coordinates(table, others),
        along=labels.row_coordinate(table, others),
    )
    points = evidence.smoothness(Y)
    if any(k.startswith("axistype") and v.lower() == "spectr" for k, v in table.facts.items()):
        points.append((3.0, "the header says so"))
    points += _explicit(table, "wavelength")
    return replace(reading, points=points + evidence.nature(axis, name, len(Y)))


def _first_row(table: Table, asked: bool) -> Reading | None:
    """Return the reading of a table without names whose first row is the axis."""
    values = np.delete(table.values, list(table.words), axis=1) if table.words else table.values
    if len(values) < 2 or not monotonic(values[0]):
        return None
    few = values.shape[1] < SHORTEST_AXIS and not _are_channels(values)
    if not asked and (few or 0 in table.words):
        return None
    table.check(gaps=True)
    Y = values[1:]
    points = evidence.smoothness(Y)
    if evidence.is_counter(values[0]):
        points.append((-1.5, ""))
    if values.shape[1] < SHORTEST_AXIS and not few:
        points.append((3.0, "no other row is like it"))
    else:
        points += evidence.bare(values[0], Y.T)
    rows = table.words[0][1:] if 0 in table.words else ()
    return Reading("first-row", Y, values[0], "", rows, points)


def _are_channels(values: NDArray) -> bool:
    """Return whether a first row of few numbers holds wavelengths: no other row is like it."""
    first, others = values[0], values[1:]
    whole = bool((first == np.round(first)).all() and evidence.in_spectral_range(first))
    return whole and len(others) > 1 and evidence.stands_out(first, others.T) and others.max() < first[0]


def none(table: Table, transpose: bool | None, alone: bool = False) -> Reading:
    """Return the reading without an axis."""
    label = _is_label(table)
    data = [j for j in range(label, table.values.shape[1]) if j not in table.words]
    data = data if transpose else labels.counted_channels(table) or data
    others = [j for j in range(table.values.shape[1]) if j not in data]
    table.take(others).check()
    table.take(data).check(gaps=True)
    Y = table.values[:, data]
    if Y.size < 2:
        raise ReadError(f"{table.where} has no table of numbers in it.")
    if alone:
        ambiguities.check_no_axis(table, data)
    one = transpose is None and table.values.shape[1] == 1  # one number in each line: one spectrum
    if transpose or one:
        rows = tuple(table.names[j] for j in data) if table.names else ()
        left = ", ".join(f"{table.columns[j] + 1}" for j in others)
        notes = (f"columns that were left out: {left}.",) if others else ()
        return Reading("none", Y.T, rows=rows if any(rows) else (), notes=notes)
    return Reading(
        "none",
        Y,
        rows=labels.beside(table, others),
        points=evidence.smoothness(Y),
        along=labels.row_coordinate(table, others),
    )


def _is_label(table: Table) -> bool:
    """Return whether the first column numbers or names the rows."""
    if table.values.shape[1] < 2 or 0 in table.words:
        return False
    named = bool(table.names) and role(table.names[0]) in ("time", "counting")
    counts = len(table.values) >= SHORTEST_AXIS and evidence.is_counter(table.values[:, 0])
    index = bool(table.names) and not table.names[0] and all(table.names[1:])
    first, rest = table.values[:, 0], table.values[:, 1:]
    return table.label_first or named or counts or index or (not table.names and is_label(first, rest))
