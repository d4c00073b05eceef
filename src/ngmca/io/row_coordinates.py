"""Coordinates of measurements that the user gives: time, temperature, position."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import heading
from ngmca.io.cell_grid import read_grid
from ngmca.io.dataset import Dataset
from ngmca.io.detect import format_of
from ngmca.io.read_error import ReadError, printable
from ngmca.io.tables.cells import Style
from ngmca.io.tables.text_reader import decoded

STEPS = re.compile(r"^(?P<label>.*?)\s+(?P<start>-?[\d.]+):(?P<step>-?[\d.]+)$")


def times_of(data: Dataset) -> NDArray | None:
    """Return the times of the measurements, if their coordinates or their names are times.

    Examples
    --------
    >>> times_of(with_rows(Dataset(np.ones((3, 4))), "time [min] 0:1.25"))
    array([0.  , 1.25, 2.5 ])
    >>> times_of(with_rows(Dataset(np.ones((3, 4))), "temperature [K] 280:10")) is None
    True
    """
    found, label = data.row_axis, data.row_label.lower()
    if found is None:
        try:
            found, label = np.array([float(name) for name in data.row_names]), ""
        except ValueError:
            return None
    named = not label or "time" in label
    rising = len(found) == len(data.Y) and (found >= 0).all() and (np.diff(found) >= 0).all()
    return found if named and rising else None


def with_rows(data: Dataset, given: str) -> Dataset:
    """Return the data set with coordinates of its measurements.

    Parameters
    ----------
    data : Dataset
        The data.
    given : str
        "time [min] 0:1.25", which is the label, the first value and the step; a label alone, if the
        names of the measurements are numbers; or a table with one number for each measurement.

    Returns
    -------
    Dataset

    Raises
    ------
    ReadError
        If there is not one number for each measurement.

    Examples
    --------
    >>> data = with_rows(Dataset(np.ones((3, 4))), "time [min] 0:1.25")
    >>> data.row_label, data.row_axis
    ('time [min]', array([0.  , 1.25, 2.5 ]))
    """
    steps = STEPS.match(given)
    if steps is not None:
        try:
            start, step = float(steps["start"]), float(steps["step"])
        except ValueError:
            raise ReadError(f"{given!r}: {steps['start']}:{steps['step']} are not numbers.") from None
        return _labelled(data, start + step * np.arange(len(data.Y)), steps["label"])
    if Path(given).is_file():
        return _of_table(data, Path(given))
    try:
        values = np.array([float(name) for name in data.row_names])
    except ValueError:
        values = np.zeros(0)
    if not len(values) or not np.isfinite(values).all():
        raise ReadError(
            f"the names of the measurements are not numbers, and there is no file {given!r}. Give a "
            f"file, or the first value and the step, as {given.split(' 0:')[0]!r} 0:0.5 in one text."
        )
    return _labelled(data, values, given)


def _of_table(data: Dataset, path: Path) -> Dataset:
    """Return the data set with the numbers in the last column of a table, in the order of its rows."""
    cells, style = _last_column(path)
    label = "" if style.number(cells[0]) is not None else cells.pop(0)
    found = [style.number(cell) for cell in cells]
    if len(found) != len(data.Y) or any(value is None for value in found):
        raise ReadError(
            f"{path} must have one number for each of {len(data.Y)} measurements in its last column."
        )
    return _labelled(data, np.array(found, dtype=float), label or path.stem)


def _last_column(path: Path) -> tuple[list[str], Style]:
    """Return the cells of the last column; `time (h)` alone in its line is one cell."""
    if format_of(path) == "text":
        lines = [line.strip() for line in decoded(path).splitlines() if line.strip()]
        if not any(mark in line for line in lines for mark in ",;\t"):
            return lines, Style()
    rows, style = read_grid(path)
    return [row[-1] for _, row in rows], style


def _labelled(data: Dataset, values: NDArray, label: str) -> Dataset:
    name, unit = heading(label)
    label = printable(f"{name} [{unit}]" if unit else name)
    return replace(data, row_axis=values, row_label=label)
