"""Spectra of several data sets on one axis: compare axes, interpolate rows."""

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import NO_AXIS
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError


def has_axis(data: Dataset) -> bool:
    """Return whether the positions of the channels are known; numbers of channels are no positions."""
    if data.axis is None:
        return False
    return data.axis_name != NO_AXIS or not np.array_equal(data.axis, np.arange(len(data.axis)))


def rising(data: Dataset) -> tuple[NDArray, NDArray]:
    """Return the rows and the axis of a data set, with channels in the order of rising positions."""
    order = np.argsort(data.positions, kind="stable")
    return data.Y[:, order], data.positions[order]


def interpolate(axis: NDArray, known: NDArray, rows: NDArray) -> NDArray:
    """Return rows, known at rising positions, at the positions of another axis."""
    return np.stack([np.interp(axis, known, row) for row in rows])


def overlap(words: str, *both: Dataset) -> tuple[float, float]:
    """Return the range that two axes share.

    Raise an error, which describes the axes with `words`, if their units differ or if they share less
    than half of the shorter axis.
    """
    units = {data.axis_unit for data in both} - {""}
    if len(units) > 1:
        raise ReadError(f"the axes have different units: {words}. Convert one of them first.")
    lows, highs = zip(*((data.positions.min(), data.positions.max()) for data in both), strict=True)
    low, high = max(lows), min(highs)
    shorter = min(high - low for low, high in zip(lows, highs, strict=True))
    if high <= low or high - low < shorter / 2:
        raise ReadError(f"the axes hardly overlap: {words}. These are not the same channels.")
    return float(low), float(high)


def axis_range(data: Dataset) -> str:
    """Return in words where the axis begins and ends."""
    return f"{data.positions[0]:g} to {data.positions[-1]:g} {data.axis_unit}".rstrip()


def same_axis(one: NDArray, other: NDArray, tolerance: float = 0.01) -> bool:
    """Return whether two axes agree to within `tolerance` times the smallest step.

    The tolerance allows for numbers that were rounded when a table was written.
    """
    if len(one) != len(other):
        return False
    step = np.abs(np.diff(one)).min() if len(one) > 1 else 1.0
    return bool(np.abs(one - other).max() <= tolerance * step)
