"""The part of the data that is used: a range of the axis, without some channels and measurements."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca.io import Dataset, ReadError


def selected(
    data: Dataset, range: str | None = None, left_out: str | None = None, rows: str | None = None
) -> Dataset:
    """Return the data in a range, without the channels and measurements that are left out."""
    data = _without_channels(data, left_out) if left_out else data
    data = data.crop(*parse_range(range)) if range else data
    return _without_rows(data, rows) if rows else data


def parse_range(text: str, flag: str = "--range") -> tuple[float, float]:
    """Return both ends of a range such as 0.5:9.5."""
    low, mark, high = text.partition(":")
    try:
        if not mark:
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise ReadError(
            f"{flag} {text} is not a range: give two numbers with a colon between them, as 0.5:9.5."
        ) from None


def parse_left_out(text: str) -> list[tuple[float, float]]:
    """Return the parts of the axis in a text such as 1650:1700,2300:2400, lower ends first."""
    parts = (part.strip() for part in text.split(",") if part.strip())
    ends = (sorted(parse_range(part, "--leave-out")) for part in parts)
    return [(low, high) for low, high in ends]


def _without_channels(data: Dataset, text: str) -> Dataset:
    """Return the data without parts of the axis."""
    keep = np.ones(data.Y.shape[1], dtype=bool)
    for low, high in parse_left_out(text):
        inside = (data.positions >= low) & (data.positions <= high)
        if not inside.any():
            raise ReadError(
                f"--leave-out {low:g}:{high:g} has no channel: the axis goes from "
                f"{data.positions.min():g} to {data.positions.max():g}."
            )
        keep &= ~inside
    if not keep.any():
        raise ReadError(f"--leave-out {text} leaves no channel.")
    return replace(data, Y=np.ascontiguousarray(data.Y[:, keep]), axis=data.positions[keep])


def _without_rows(data: Dataset, text: str) -> Dataset:
    """Return the data without some measurements; an image without pixels would be none."""
    if data.image_shape is not None:
        raise ReadError("--leave-rows: these measurements are the pixels of an image, which needs all.")
    if len(data.parts) > 1:
        raise ReadError("--leave-rows is for one file: leave out files or rows of them before.")
    keep = np.ones(len(data.Y), dtype=bool)
    for part in (one.strip() for one in text.split(",") if one.strip()):
        keep[_rows(part, data.names)] = False
    if not keep.any():
        raise ReadError(f"--leave-rows {text} leaves no measurement.")
    names = tuple(name for name, kept in zip(data.names, keep, strict=True) if kept)
    axis = None if data.row_axis is None else data.row_axis[keep]
    return replace(data, Y=np.ascontiguousarray(data.Y[keep]), row_names=names, row_axis=axis)


def _rows(part: str, names: tuple[str, ...]) -> NDArray:
    """Return the measurements with a name, or with a number or numbers from 1."""
    named = [i for i, name in enumerate(names) if name.strip() == part]
    if named:
        return np.array(named)
    first, mark, last = part.partition("-")
    try:
        low, high = int(first), int(last if mark else first)
    except ValueError:
        low = high = 0
    if not 1 <= low <= high <= len(names):
        raise ReadError(
            f"--leave-rows {part}: there is no such measurement. Give a name, or numbers from 1 to "
            f"{len(names)}, as 3 or 7-9."
        )
    return np.arange(low - 1, high)
