"""Units in which squares of the data neither overflow nor vanish."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError

# Data whose largest entry is above these, or below their inverse, leave no room for calculations.
LARGEST_ENTRY = {np.dtype(np.float64): 1e303, np.dtype(np.float32): 1e33}


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
    """Raise an error if the largest entry is near the largest or the smallest possible number."""
    if unit != 1.0:
        i, j = np.unravel_index(np.abs(Y).argmax(), Y.shape)
        check_range(float(Y[i, j]) * unit, Y.dtype, unit, f" at row {i}, column {j}")


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
