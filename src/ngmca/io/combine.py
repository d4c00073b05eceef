"""Spectra of several data sets on one axis: compare axes, interpolate rows, stack data sets."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import NO_AXIS, intensity_kind
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, printable


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


MAX_CHANNELS = 1 << 17  # of a common axis
UNEVEN = 3  # times the smallest step: such axes are fine where it matters, as at an absorption edge


def combine(parts: Sequence[Dataset], names: Sequence[str]) -> Dataset:
    """Return all rows in one data set, interpolated to a common axis if the axes differ."""
    if len(parts) == 1:
        return parts[0]
    _check_alike(parts, names)
    rows = _row_names(parts, names)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    meta = {key: value for key, value in parts[0].meta.items() if key != "title"}  # of one part only
    if all("path" in part.meta for part in parts):  # the folder that holds all parts
        meta["path"] = os.path.commonpath([Path(part.meta["path"]).absolute().parent for part in parts])
    if any(len(part.Y) > 1 for part in parts):
        meta["parts"] = [[name, len(part.Y)] for part, name in zip(parts, names, strict=True)]
    along, label = _row_axis(parts)
    first = replace(
        parts[0], row_names=rows, image_shape=None, notes=notes, meta=meta, row_axis=along,
        row_label=label,
    )  # fmt: skip
    if all(same_axis(parts[0].positions, part.positions) for part in parts):
        return replace(first, Y=np.vstack([part.Y for part in parts]))
    axis, note = _common_axis([part.positions for part in parts], names)
    Y = np.vstack([interpolate(axis, *rising(part)[::-1]) for part in parts])
    return replace(first, Y=Y, axis=axis).with_notes(note)


def with_common_range(
    parts: Sequence[Dataset], names: Sequence[str]
) -> tuple[list[Dataset], list[str], list[str]]:
    """Return the parts that cover at least half of the usual range, their names, and notes on others."""
    if any(part.axis is None or part.meta.get("peaks") for part in parts):
        return list(parts), list(names), []
    ends = np.array([(part.positions.min(), part.positions.max()) for part in parts])
    low, high = np.median(ends, axis=0)
    shared = np.minimum(ends[:, 1], high) - np.maximum(ends[:, 0], low)
    keep = shared >= (high - low) / 2
    if not keep.any():  # there is no usual range: the error about the axes says more
        return list(parts), list(names), []
    notes = [
        f"left out: {name} covers {a:g} to {b:g}, the others {low:g} to {high:g}."
        for name, (a, b), kept in zip(names, ends, keep, strict=True)
        if not kept
    ]
    chosen = np.flatnonzero(keep).tolist()
    return [parts[i] for i in chosen], [names[i] for i in chosen], notes


def combine_peaks(parts: Sequence[Dataset], names: Sequence[str]) -> Dataset:
    """Return peak lists on the union of their positions, 0 where a list has no peak."""
    _check_alike(parts, names)
    axis = np.unique(np.concatenate([np.round(part.positions, 4) for part in parts]))
    Y = np.vstack([_peaks_at(axis, part) for part in parts])
    note = f"{len(Y)} peak lists were put on the union of their {len(axis)} positions."
    first, rows = parts[0], _row_names(parts, names)
    return Dataset(Y, axis, first.axis_name, first.axis_unit, rows, None, first.meta, (note,))


def _peaks_at(axis: NDArray, part: Dataset) -> NDArray:
    """Return the rows of a part with each peak at its place on the axis; equal positions add up."""
    Y = np.zeros((len(part.Y), len(axis)))
    np.add.at(Y.T, np.searchsorted(axis, np.round(part.positions, 4)), part.Y.T)
    return Y


def _common_axis(axes: Sequence[NDArray], names: Sequence[str]) -> tuple[NDArray, str]:
    """Return an axis over the range that all axes share, and a note.

    It is even, with the median step, unless most axes are uneven.
    """
    lows, highs = np.array([a.min() for a in axes]), np.array([a.max() for a in axes])
    low, high = lows.max(), highs.min()
    if not low < high:
        left, right = names[int(highs.argmin())], names[int(lows.argmax())]
        raise ReadError(
            f"the axes do not overlap: {left} ends at {high:g} and {right} begins at {low:g}."
        )
    steps = [np.abs(np.diff(a)) for a in axes if len(a) > 1]
    if np.mean([one.max() > UNEVEN * one.min() for one in steps]) > 0.5:
        axis, name = _uneven_axis(axes, names, low, high)
        kind, by = " of uneven steps", f"that of {name}"
    else:
        step = float(np.median([one.mean() for one in steps]))
        count = int(min(round((high - low) / step) + 1, MAX_CHANNELS))
        axis, kind, by = np.linspace(low, high, max(count, 2)), "", "a common axis"
    if axes[0][0] > axes[0][-1]:
        axis = axis[::-1].copy()
    end = "" if kind else f" in steps of {abs(axis[1] - axis[0]):.3g}"
    ends = f"{axis[0]:g} to {axis[-1]:g}{end}"
    return axis, f"{len(axes)} different axes{kind} were interpolated linearly to {by}: {ends}."


def _uneven_axis(
    axes: Sequence[NDArray], names: Sequence[str], low: float, high: float
) -> tuple[NDArray, str]:
    """Return the part from low to high of the axis with the median number of channels, and its name."""
    inside = [np.unique(axis[(low <= axis) & (axis <= high)]) for axis in axes]
    chosen = int(np.argsort([len(axis) for axis in inside], kind="stable")[len(axes) // 2])
    axis = inside[chosen] if len(inside[chosen]) > 1 else np.array([low, high])
    return axis, printable(names[chosen])


def _row_axis(parts: Sequence[Dataset]) -> tuple[NDArray | None, str]:
    """Return the coordinates of all rows and their label, if all parts have the same one."""
    labels, axes = {part.row_label for part in parts}, [part.row_axis for part in parts]
    known = [axis for axis in axes if axis is not None]
    if len(labels) > 1 or len(known) < len(axes):
        return None, ""
    return np.concatenate(known), labels.pop()


def _row_names(parts: Sequence[Dataset], names: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each row: the name of its part, followed by the row's own name or number."""
    rows: list[str] = []
    for part, name in zip(parts, names, strict=True):
        own = [f": {row}" for row in part.row_names] or [f" {i + 1}" for i in range(len(part.Y))]
        rows += [name] if len(part.Y) == 1 else [name + row for row in own]
    return tuple(rows)


def _check_alike(parts: Sequence[Dataset], names: Sequence[str]) -> None:
    """Raise an error if parts cannot be stacked: other units, peak lists, or no axis to compare."""
    kinds = {bool(part.meta.get("peaks")): name for part, name in zip(parts, names, strict=True)}
    if len(kinds) > 1:
        raise ReadError(
            f"{kinds[True]} is a peak list and {kinds[False]} is a spectrum: read files of one kind at "
            "a time."
        )
    units = {part.axis_unit: name for part, name in zip(parts, names, strict=True)}
    if len(units) > 1:
        found = " and ".join(f"{unit or 'no unit'} ({name})" for unit, name in units.items())
        raise ReadError(f"the axes have different units: {found}. Read files of one kind at a time.")
    _check_intensities(parts, names)
    lengths = {part.Y.shape[1] for part in parts}
    if all(part.axis is None for part in parts) and len(lengths) > 1:
        raise ReadError(
            f"the files have {', '.join(map(str, sorted(lengths)))} channels and no axis: "
            "they cannot be combined. Add an axis to each file."
        )


def _check_intensities(parts: Sequence[Dataset], names: Sequence[str]) -> None:
    """Raise an error for absorbance and transmittance together: they have no common sources."""
    found = {
        intensity_kind(words): name
        for part, name in zip(parts, names, strict=True)
        for words in ([part.meta["intensity"]] if part.meta.get("intensity") else part.row_names)
    }
    if {"absorbance", "transmittance"} <= set(found):
        raise ReadError(
            f"{found['absorbance']} has absorbance and {found['transmittance']} has transmittance: read "
            "files of one kind at a time, or convert one kind to the other first (A = -log10 T)."
        )
