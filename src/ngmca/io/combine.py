"""Several spectra or tables as one: on one common axis, one below the other."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca.io.dataset import Dataset, ReadError

SAME = 1e-3  # axes that differ by less than this share of a step are equal
LARGEST = 1 << 17  # channels of a common axis


def combine(parts: Sequence[Dataset], names: Sequence[str]) -> Dataset:
    """All rows in one dataset, interpolated to a common axis where the axes differ."""
    if len(parts) == 1:
        return parts[0]
    named = [
        part.row_names if part.row_names and len(part.Y) > 1 else _numbered(name, len(part.Y))
        for part, name in zip(parts, names, strict=True)
    ]
    _check_alike(parts, names)
    rows = tuple(row for block in named for row in block)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    meta = {key: value for key, value in parts[0].meta.items() if key != "title"}  # of one part only
    if all("path" in part.meta for part in parts):  # the folder of all, not the first of them
        meta["path"] = os.path.commonpath([Path(part.meta["path"]).absolute().parent for part in parts])
    first = replace(parts[0], row_names=rows, image_shape=None, notes=notes, meta=meta)
    if all(same_axis(parts[0], part) for part in parts):
        return replace(first, Y=np.vstack([part.Y for part in parts]))
    axis, note = common_axis([part.positions for part in parts], names)
    Y = np.vstack([interpolate(part, axis) for part in parts])
    return replace(first, Y=Y, axis=axis).noted(note)


def same_axis(one: Dataset, other: Dataset) -> bool:
    """Whether two datasets have the same channels."""
    a, b = one.positions, other.positions
    if len(a) != len(b):
        return False
    step = np.abs(np.diff(a)).min() if len(a) > 1 else 1.0
    return bool(np.abs(a - b).max() <= SAME * step)


def common_axis(axes: Sequence[NDArray], names: Sequence[str]) -> tuple[NDArray, str]:
    """Even steps over the range that all axes share, of the median size, and a note that says so."""
    lows, highs = np.array([a.min() for a in axes]), np.array([a.max() for a in axes])
    low, high = lows.max(), highs.min()
    if not low < high:
        left, right = names[int(highs.argmin())], names[int(lows.argmax())]
        raise ReadError(f"{left} ends at {high:g} and {right} begins at {low:g}: no range is common.")
    step = float(np.median([np.abs(np.diff(a)).mean() for a in axes if len(a) > 1]))
    count = int(min(round((high - low) / step) + 1, LARGEST))
    axis = np.linspace(low, high, max(count, 2))
    if axes[0][0] > axes[0][-1]:
        axis = axis[::-1].copy()
    note = (
        f"{len(axes)} different axes were put on a common one by linear interpolation: "
        f"{axis[0]:g} to {axis[-1]:g} in steps of {abs(axis[1] - axis[0]):.3g}."
    )
    return axis, note


def interpolate(part: Dataset, axis: NDArray) -> NDArray:
    """Rows of a dataset at the positions of another axis."""
    order = np.argsort(part.positions)
    x = part.positions[order]
    return np.stack([np.interp(axis, x, row[order]) for row in part.Y])


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return (name,) if count == 1 else tuple(f"{name} {i + 1}" for i in range(count))


def _check_alike(parts: Sequence[Dataset], names: Sequence[str]) -> None:
    """Refuse to mix axes of different units, or axes with none at all and different lengths."""
    units = {part.axis_unit: name for part, name in zip(parts, names, strict=True)}
    if len(units) > 1:
        kinds = " and ".join(f"{unit or 'no unit'} ({name})" for unit, name in units.items())
        raise ReadError(f"the axes have different units: {kinds}. Read files of one kind at a time.")
    lengths = {part.Y.shape[1] for part in parts}
    if all(part.axis is None for part in parts) and len(lengths) > 1:
        raise ReadError(
            f"the files have {', '.join(map(str, sorted(lengths)))} channels and no axis: "
            "they cannot be put side by side."
        )
