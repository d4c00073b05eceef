"""Spectra of several files on one axis."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca import io
from ngmca.io import Dataset, ReadError
from ngmca.io.axis_units import NO_AXIS
from ngmca.saving import result_folder, results
from ngmca.saving.result_file import is_result

ENOUGH = 0.5  # of the shorter axis, that both must cover
ROUNDED = 0.01  # of a step, by which equal axes may differ


def sources_in(path: Path) -> Dataset:
    """Sources, as Y, with their axis: of a result, of a simulation, or of a table."""
    work = result_folder.unfinished(result_folder.absolute(path))
    whole = is_result(path) if path.is_file() else (path / result_folder.RESULT).is_file()
    if whole or work.exists():
        separation, data = results.load(path, with_data=True)
        return replace(data, Y=separation.S)
    if path.suffix == ".npz" and path.is_file():
        return io.read(path, dataset="S", transpose=False)
    return io.read(path)


def has_axis(data: Dataset) -> bool:
    """Whether it is known where the channels lie; a result has the numbers of channels if not."""
    if data.axis is None:
        return False
    return data.axis_name != NO_AXIS or not np.array_equal(data.axis, np.arange(len(data.axis)))


def rising(data: Dataset) -> tuple[NDArray, NDArray]:
    """The sources and their axis, from its lowest place on."""
    order = np.argsort(data.positions, kind="stable")
    return data.Y[:, order], data.positions[order]


def at(grid: NDArray, axis: NDArray, S: NDArray) -> NDArray:
    """Sources at other places of the axis."""
    return np.stack([np.interp(grid, axis, row) for row in S])


def overlap(told: str, *both: Dataset) -> tuple[float, float]:
    """The stretch that both axes cover: at least half of the shorter one, in the same unit."""
    units = {data.axis_unit for data in both} - {""}
    if len(units) > 1:
        raise ReadError(f"the axes have different units: {told}. Bring them to one first.")
    lows, highs = zip(*((data.positions.min(), data.positions.max()) for data in both), strict=True)
    low, high = max(lows), min(highs)
    shorter = min(high - low for low, high in zip(lows, highs, strict=True))
    if high <= low or high - low < ENOUGH * shorter:
        raise ReadError(f"the axes hardly meet: {told}. These are not the same channels.")
    return float(low), float(high)


def ends(data: Dataset) -> str:
    """Where the axis begins and ends, in words."""
    return f"{data.positions[0]:g} to {data.positions[-1]:g} {data.axis_unit}".rstrip()


def same(one: NDArray, other: NDArray) -> bool:
    """Whether two axes are the same up to what a table rounds away."""
    if len(one) != len(other):
        return False
    step = (one[-1] - one[0]) / max(len(one) - 1, 1)
    return bool(np.abs(one - other).max() <= ROUNDED * step)
