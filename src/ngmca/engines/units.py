"""Units in which squares of the data neither overflow nor vanish."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError

# Data whose largest entry is above these, or below their inverse, leave no room for calculations.
LARGEST_ENTRY = {np.dtype(np.float64): 1e303, np.dtype(np.float32): 1e33}
MAX_LONE_ENTRIES = 0.01  # share of entries beside which all others vanish: more of them are the data


def unit_of(Y: NDArray) -> float:
    """Return 1, or a power of 2 near the largest entry if squares of Y could overflow or vanish."""
    return unit_for(float(np.maximum(Y.max(initial=0), -Y.min(initial=0))))


def unit_for(peak: float) -> float:
    """Return the unit for data with this largest absolute value."""
    safe = 1e10  # some steps calculate in single precision, whatever the type of the data
    return 1.0 if peak == 0 or 1 / safe < peak < safe else float(2.0 ** np.floor(np.log2(peak)))


def in_own_units(Y: NDArray) -> tuple[NDArray, float]:
    """Return Y / unit and the unit; Y itself if that is 1."""
    unit = unit_of(Y)
    return (Y, unit) if unit == 1.0 else (Y / Y.dtype.type(unit), unit)


def check_unit(Y: NDArray, unit: float) -> None:
    """Raise an error if the largest entry is near the limits of numbers, or all others vanish beside it.

    Y is in the units of the data, not in its own.
    """
    if unit == 1.0:
        return
    size = np.abs(Y)
    i, j = np.unravel_index(size.argmax(), Y.shape)
    where, peak = f" at row {i}, column {j}", float(Y[i, j])
    check_range(peak, Y.dtype, unit, where)
    vanishing = float(np.finfo(Y.dtype).tiny) ** 0.5  # its square does
    near = size > unit * vanishing**0.5
    few = np.count_nonzero(near) <= max(1, MAX_LONE_ENTRIES * np.count_nonzero(Y))
    if few and 0 < float(size[~near].max(initial=0)) < unit * vanishing:
        raise ArgumentError(
            "the largest entry of Y, {}{}, is so large that all others vanish beside it. If it is no "
            "measurement, replace it by NaN.",
            *(f"{peak:.3g}", where),
        )


def check_range(peak: float, dtype: np.dtype, unit: float, where: str = "") -> None:
    """Raise the same error for data with this largest entry."""
    most = LARGEST_ENTRY[dtype]
    if not 1 / most < unit < most:
        raise ArgumentError(
            "the largest entry of Y, {}{}, is {} {}, too near the limits of floating-point numbers. "
            "Divide Y by a number of its size.",
            *(f"{peak:.3g}", where),
            *(("above", f"{most:g}") if unit > 1 else ("below", f"{1 / most:g}")),
        )
