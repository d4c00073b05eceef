"""Several spectra or tables as one: on one common axis, one below the other."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca.io.dataset import Dataset, ReadError
from ngmca.io.intensity import kind_told

SAME = 1e-3  # axes that differ by less than this share of a step are equal
LARGEST = 1 << 17  # channels of a common axis


def combine(parts: Sequence[Dataset], names: Sequence[str]) -> Dataset:
    """All rows in one dataset, interpolated to a common axis where the axes differ."""
    if len(parts) == 1:
        return parts[0]
    _check_alike(parts, names)
    rows = _row_names(parts, names)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    meta = {key: value for key, value in parts[0].meta.items() if key != "title"}  # of one part only
    if all("path" in part.meta for part in parts):  # the folder of all, not the first of them
        meta["path"] = os.path.commonpath([Path(part.meta["path"]).absolute().parent for part in parts])
    if any(len(part.Y) > 1 for part in parts):
        meta["parts"] = [[name, len(part.Y)] for part, name in zip(parts, names, strict=True)]
    first = replace(parts[0], row_names=rows, image_shape=None, notes=notes, meta=meta)
    if all(same_axis(parts[0], part) for part in parts):
        return replace(first, Y=np.vstack([part.Y for part in parts]))
    axis, note = common_axis([part.positions for part in parts], names)
    Y = np.vstack([interpolate(part, axis) for part in parts])
    return replace(first, Y=Y, axis=axis).noted(note)


def combine_peaks(parts: Sequence[Dataset], names: Sequence[str]) -> Dataset:
    """Lists of peaks on the union of their positions, 0 where a list has no peak."""
    _check_alike(parts, names)
    axis = np.unique(np.concatenate([np.round(part.positions, 4) for part in parts]))
    Y = np.vstack([_peaks_at(axis, part) for part in parts])
    note = f"{len(Y)} lists of peaks were put on the union of their {len(axis)} positions."
    first, rows = parts[0], _row_names(parts, names)
    return Dataset(Y, axis, first.axis_name, first.axis_unit, rows, None, first.meta, (note,))


def _peaks_at(axis: NDArray, part: Dataset) -> NDArray:
    """Rows of a part with their peaks at their places among all; peaks at one place add up."""
    Y = np.zeros((len(part.Y), len(axis)))
    np.add.at(Y.T, np.searchsorted(axis, np.round(part.positions, 4)), part.Y.T)
    return Y


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


def _row_names(parts: Sequence[Dataset], names: Sequence[str]) -> tuple[str, ...]:
    """A name for every row: that of its part, and of a part with several its own or its number."""
    named = (
        tuple(f"{name}: {row}" for row in part.row_names)
        if part.row_names and len(part.Y) > 1
        else _numbered(name, len(part.Y))
        for part, name in zip(parts, names, strict=True)
    )
    return tuple(row for block in named for row in block)


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return (name,) if count == 1 else tuple(f"{name} {i + 1}" for i in range(count))


def _check_alike(parts: Sequence[Dataset], names: Sequence[str]) -> None:
    """Refuse to mix axes of different units, or axes with none at all and different lengths."""
    kinds = {bool(part.meta.get("peaks")): name for part, name in zip(parts, names, strict=True)}
    if len(kinds) > 1:
        raise ReadError(
            f"{kinds[True]} is a list of peaks and {kinds[False]} is none: read files of one kind at a "
            "time."
        )
    units = {part.axis_unit: name for part, name in zip(parts, names, strict=True)}
    if len(units) > 1:
        told = " and ".join(f"{unit or 'no unit'} ({name})" for unit, name in units.items())
        raise ReadError(f"the axes have different units: {told}. Read files of one kind at a time.")
    _check_intensities(parts, names)
    lengths = {part.Y.shape[1] for part in parts}
    if all(part.axis is None for part in parts) and len(lengths) > 1:
        raise ReadError(
            f"the files have {', '.join(map(str, sorted(lengths)))} channels and no axis: "
            "they cannot be put side by side."
        )


def _check_intensities(parts: Sequence[Dataset], names: Sequence[str]) -> None:
    """Refuse absorbance beside transmittance, of which no sources are common."""
    found = {
        kind_told(words): name
        for part, name in zip(parts, names, strict=True)
        for words in ([part.meta["intensity"]] if part.meta.get("intensity") else part.row_names)
    }
    if {"absorbance", "transmittance"} <= set(found):
        raise ReadError(
            f"{found['absorbance']} has absorbance and {found['transmittance']} transmittance, which do "
            "not add up to one table: read files of one kind at a time, or turn one into the other "
            "(A = -log10 T) first."
        )
