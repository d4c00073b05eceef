"""Missing entries: NaN, numbers that stand for them, and a note that counts them."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, message, option
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError

CODES = (-999.0, -9999.0, -99999.0, -999.25)  # numbers that are often written for a missing entry
FILL = 1e30  # numbers of this size are no intensities: -1.23e34, 9.97e36
FAR_LARGER = 1e20  # than all others


def checked_number(missing: str | float | None) -> Any:
    """Return the number that stands for a missing entry, "none" or None; raise an error for others."""
    if missing is None or missing == "none":
        return missing
    try:
        return float(missing)
    except (TypeError, ValueError):
        raise ArgumentError(
            "{} must be a number or 'none', got {!r}.", option("missing"), missing
        ) from None


def note_missing(data: Dataset, where: str, missing: str | float | None = None) -> Dataset:
    """Return the data set with NaN where entries are missing, and a note about them.

    `missing` is the number that stands for a missing entry, "none" if no number does, and None to find
    it. Raise an error if all entries are missing, or if an entry is infinite: a damaged scale factor
    overflows to infinity.
    """
    if missing is None:
        data = _without_codes(data)
    elif missing != "none":
        data = _with_gaps(data, np.equal(data.Y, missing))
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(data.Y)):
            return data
    if np.isinf(data.Y).any():
        raise ReadError("its numbers are too large for 64 bits: a scale factor in it is damaged.")
    count = int(np.count_nonzero(np.isnan(data.Y)))
    if not count:  # only the sum is too large
        return data
    if count == data.Y.size:
        raise ReadError(f"there are no numbers, all {count} entries are missing.")
    share = f"{100 * count / data.Y.size:.2g} %"
    what = "missing entry" if count == 1 else "missing entries"
    are = "is" if count == 1 else "are"
    return data.with_notes(f"{where} has {count} {what} ({share}), which {are} ignored.")


def _without_codes(data: Dataset) -> Dataset:
    """Return the data set with NaN for -999 and the like, if no other entry is nearly as low."""
    if data.Y.dtype.kind != "f" or not data.Y.size:
        return data
    with np.errstate(invalid="ignore"):
        low, high = float(np.fmin.reduce(data.Y, axis=None)), float(np.fmax.reduce(data.Y, axis=None))
    for code in (low, high):
        coded = _coded(data.Y, code)
        if coded is not None:
            count = int(np.count_nonzero(coded))
            many = "1 entry is" if count == 1 else f"{count} entries are"
            note = message(
                "{} {:g}, far from all others: taken as missing. Give {} if this is data.",
                *(many, code, option("missing", "none")),
            )
            return _with_gaps(data, coded).with_notes(note)
    return data


def _coded(Y: NDArray, code: float) -> NDArray | None:
    """Return where a number is that stands for a missing entry; None if it may be data."""
    huge = FILL <= abs(code) < np.inf
    if code not in CODES and not huge:
        return None
    coded = np.equal(Y, code)
    others = Y[~coded & ~np.isnan(Y)]
    if not others.size:
        return None
    far = abs(others).max() <= abs(code) / FAR_LARGER if huge else others.min() >= code / 10
    return coded if far else None


def _with_gaps(data: Dataset, gaps: NDArray) -> Dataset:
    if not gaps.any():
        return data
    kind = data.Y.dtype if data.Y.dtype.kind == "f" else np.float64
    return replace(data, Y=np.where(gaps, np.nan, data.Y).astype(kind, copy=False))
