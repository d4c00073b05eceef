"""What is refused rather than guessed: axes that turn back, second ones, and such in other places."""

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import is_place, role
from ngmca.io.dataset import monotonic
from ngmca.io.read_error import ReadError
from ngmca.io.tables.axis_evidence import (
    SHORTEST_AXIS,
    SURE,
    almost_axis,
    is_even,
    other_axis,
)
from ngmca.io.tables.column_labels import axis_above
from ngmca.io.tables.text_tables import Table


def should_be_axis(table: Table, name: str) -> bool:
    """Whether the first column is called an axis, or is almost one while its neighbours are not."""
    if role(name) in ("time", "counting") or is_place(name) or axis_above(table) is not None:
        return False
    others = [almost_axis(column) for column in table.values[:, 1:21].T]
    almost = almost_axis(table.values[:, 0]) and np.mean(others) <= 0.5
    wide = not table.names and table.values.shape[1] >= SURE  # so that its first row may be the axis
    first_row = wide and monotonic(table.values[0])
    return role(name) == "spectral" or (bool(almost) and not table.words and not first_row)


def turns_back(table: Table, axis: NDArray) -> ReadError:
    """An error about a first column that is no axis: where it stands still or turns back."""
    steps = np.diff(axis)
    if np.median(steps) < 0:
        steps = -steps
    i = int(np.argmax(steps <= 0)) + 1
    what = "stands still" if steps[i - 1] == 0 else "turns back"
    return ReadError(
        f"{table.where}, line {table.lines.numbers[i]}: the first column {what} at {axis[i]:g}, and "
        "an axis must rise or fall all the way. Sort the lines and take out double ones, or give "
        "axis='none'."
    )


def check_other(table: Table, data: list[int]) -> None:
    """Refuse a column beside the first that is an axis as well, unless names say otherwise."""
    if table.label_first or (table.names and role(table.names[0]) == "spectral"):
        return
    j = other_axis(table.values[:, 0], table.values[:, data])
    if j is not None and axis_above(table) is None:
        raise ReadError(
            f"{table.where}: column {table.columns[data[j]] + 1} rises or falls evenly all the way, as "
            "an axis does, and so does the first. Say which columns are data, as columns='3-5', or give "
            "axis='first-column' if all others are."
        )


def check_almost(table: Table, asked: bool) -> None:
    """Refuse numbers above the columns that are an axis but for a few that stand still or turn back."""
    numbers = [table.style.number(name) for name in table.names]
    found = np.array([number for number in numbers if number is not None])
    if len(found) < SURE or not np.isfinite(found).all():
        return
    steps = np.sign(np.diff(found))
    if asked or abs(steps.sum()) >= 0.8 * len(steps):
        raise ReadError(
            f"{table.where}: the numbers above its columns do not rise or fall all the way, as an axis "
            "must. Give axis='first-column' or axis='none' if they are names."
        )


def check_no_axis(table: Table, data: list[int]) -> None:
    """Refuse data without an axis of which a column is one: by its name, or by its numbers."""
    Y = table.values[:, data]
    if table.names and not table.words and _numbered(table):
        raise ReadError(
            f"{table.where}: the numbers above its columns are neither an axis nor above one. Give "
            "header=0 if they are data, axis='none' if they are names."
        )
    named = [j for j in data if table.names and role(table.names[j]) == "spectral"]
    looked = data if len(Y) >= max(2 * SURE, len(data)) else []
    even = [j for j in looked if is_even(table.values[:, j])]
    if len(data) == 2 and len(Y) >= SURE and monotonic(Y[:, 1]):
        even = data[1:]
    if named and axis_above(table) is None:
        raise ReadError(
            f"{table.where}: column {table.columns[named[0]] + 1} is called {table.names[named[0]]!r}, "
            "and no numbers are found to which it is the axis. Give axis='first-column' if there are, "
            "axis='none' if it is data."
        )
    if even and 2 * len(even) <= len(data) and even[0] > 0:
        raise ReadError(
            f"{table.where}: its column {table.columns[even[0]] + 1} rises or falls all the way, its "
            "first does not. Put the axis first, say which columns are data, as columns='1,3', or give "
            "axis='none' if there is no axis."
        )


def _numbered(table: Table) -> bool:
    numbers = [table.style.number(name) is not None for name in table.names[1:]]
    return len(numbers) >= SHORTEST_AXIS and all(numbers)
