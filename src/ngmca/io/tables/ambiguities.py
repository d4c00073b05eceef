"""Errors for tables that can be read in several ways: unsorted axes, second axes, misplaced axes."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import option
from ngmca.io.axis_units import is_place, role
from ngmca.io.dataset import monotonic
from ngmca.io.read_error import ReadError
from ngmca.io.tables.axis_evidence import SAFE_LENGTH, SHORTEST_AXIS, almost_axis, is_even, other_axis
from ngmca.io.tables.column_labels import axis_above
from ngmca.io.tables.text_tables import Table


def should_be_axis(table: Table, name: str) -> bool:
    """Return whether the first column is named like an axis, or is almost one and its neighbours not."""
    if role(name) in ("time", "counting") or is_place(name) or axis_above(table) is not None:
        return False
    others = [almost_axis(column) for column in table.values[:, 1:21].T]
    almost = almost_axis(table.values[:, 0]) and np.mean(others) <= 0.5
    wide = not table.names and table.values.shape[1] >= SAFE_LENGTH  # its first row may be the axis
    first_row = wide and monotonic(table.values[0])
    return role(name) == "spectral" or (bool(almost) and not table.words and not first_row)


def turns_back(table: Table, axis: NDArray) -> ReadError:
    """Return an error that says where a first column is not sorted."""
    steps = np.diff(axis)
    if np.median(steps) < 0:
        steps = -steps
    i = int(np.argmax(steps <= 0)) + 1
    what = "repeats a value" if steps[i - 1] == 0 else "changes direction"
    return ReadError(
        "{}, line {}: the first column {} at {:g}, but an axis must rise or fall all the way. Sort the "
        "lines and delete repeated ones, or give {}.",
        *(table.where, table.lines.numbers[i], what, float(axis[i]), option("axis", "none")),
    )


def check_other(table: Table, data: list[int]) -> None:
    """Raise an error if another column is an axis as well, unless names say otherwise."""
    if table.label_first or (table.names and role(table.names[0]) == "spectral"):
        return
    j = other_axis(table.values[:, 0], table.values[:, data])
    if j is not None and axis_above(table) is None:
        raise ReadError(
            "{}: column {} rises or falls in even steps like an axis, and so does the first column. Say "
            "which columns are data, for example {}, or give {} if all others are data.",
            *(table.where, table.columns[data[j]] + 1),
            *(option("columns", "3-5"), option("axis", "first-column")),
        )


def check_almost(table: Table, asked: bool) -> None:
    """Raise an error if the numbers above the columns are an axis except for a few unsorted ones."""
    numbers = [table.style.number(name) for name in table.names]
    found = np.array([number for number in numbers if number is not None])
    if len(found) < SAFE_LENGTH or not np.isfinite(found).all():
        return
    steps = np.sign(np.diff(found))
    if asked or abs(steps.sum()) >= 0.8 * len(steps):
        raise ReadError(
            "{}: the numbers above its columns do not rise or fall all the way, as an axis must. Give "
            "{} or {} if they are names.",
            *(table.where, option("axis", "first-column"), option("axis", "none")),
        )


def check_no_axis(table: Table, data: list[int]) -> None:
    """Raise an error for data without an axis if a column looks like one, by its name or numbers."""
    Y = table.values[:, data]
    if table.names and not table.words and _numbered(table):
        raise ReadError(
            "{}: the numbers above its columns are not an axis. Give {} if they are data, {} if they "
            "are names.",
            *(table.where, option("header", 0), option("axis", "none")),
        )
    numbers = _leading_numbers(table, data)
    if numbers:
        raise ReadError(
            "{}: the first {} columns only hold whole numbers, like numbers of rows or points, and the "
            "others do not. Say which columns are data, for example {}, or give {} if all are.",
            *(table.where, numbers, option("columns", f"{numbers + 1}-{table.columns[-1] + 1}")),
            option("axis", "none"),
        )
    named = [j for j in data if table.names and role(table.names[j]) == "spectral"]
    looked = data if len(Y) >= max(2 * SAFE_LENGTH, len(data)) else []
    even = [j for j in looked if is_even(table.values[:, j])]
    if len(data) == 2 and len(Y) >= SAFE_LENGTH and monotonic(Y[:, 1]):
        even = data[1:]
    if named and axis_above(table) is None:
        raise ReadError(
            "{}: column {} is called {!r} like an axis, but no data belong to it. Give {} if it is the "
            "axis, {} if it is data.",
            *(table.where, table.columns[named[0]] + 1, table.names[named[0]]),
            *(option("axis", "first-column"), option("axis", "none")),
        )
    if even and 2 * len(even) <= len(data) and even[0] > 0:
        raise ReadError(
            "{}: column {} rises or falls all the way, the first column does not. Put the axis first, "
            "say which columns are data, for example {}, or give {} if there is no axis.",
            *(table.where, table.columns[even[0]] + 1),
            *(option("columns", "1,3"), option("axis", "none")),
        )
    check_quantities(table, data)


def check_quantities(table: Table, data: list[int]) -> None:
    """Raise an error for columns without names that differ in size like quantities, unlike channels."""
    if table.names or table.over or not 4 <= len(data) <= 60 or len(table.values) < 3:
        return
    values = table.values[:, data]
    steady = np.array([not np.isfinite(c).any() or np.nanmin(c) == np.nanmax(c) for c in values.T])
    sizes = np.array([np.nanmedian(np.abs(c)) for c in values.T[~steady]])
    sizes = sizes[sizes > 0]
    jumps = np.median(np.abs(np.diff(np.log10(sizes)))) if len(sizes) > 2 else 0.0
    if jumps >= 0.5 or 0.3 <= steady.mean() < 1:
        raise ReadError(
            "{}: its columns look like different quantities, and no line names them: they differ much "
            "in size, or stay the same. Say which are data, for example {}, or give {} if all are "
            "channels.",
            *(table.where, option("columns", "3-5"), option("axis", "none")),
        )


def _leading_numbers(table: Table, data: list[int]) -> int:
    """Return how many columns at the left number the rows or points, if several do and they repeat."""
    if len(table.values) < SHORTEST_AXIS or len(data) < 3:
        return 0
    columns = [table.values[:, j] for j in data]
    whole = [
        bool(np.isfinite(c).all() and (c == np.round(c)).all() and abs(c).max() < 1e6) for c in columns
    ]
    first = whole.index(False) if False in whole else len(whole)
    varies = any(np.ptp(c) > 0 for c in columns[:first])
    return first if 1 < first < len(data) and varies and not any(whole[first + 1 :]) else 0


def _numbered(table: Table) -> bool:
    numbers = [table.style.number(name) is not None for name in table.names[1:]]
    return len(numbers) >= SHORTEST_AXIS and all(numbers)
