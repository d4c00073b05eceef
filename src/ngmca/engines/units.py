"""Units in which squares of the data neither overflow nor vanish."""

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

# Largest entries of data beyond these, or below their inverse, leave no room for what is made of them.
FARTHEST = {np.dtype(np.float64): 1e303, np.dtype(np.float32): 1e33}


def unit_of(Y: NDArray) -> float:
    """1, or a power of 2 near the largest entry where squares of Y could overflow or vanish."""
    return unit_for(float(np.maximum(Y.max(initial=0), -Y.min(initial=0))), Y.dtype)


def unit_for(peak: float, dtype: np.dtype) -> float:
    """The same for data with this largest absolute value."""
    safe = 1e100 if dtype == np.float64 else 1e10
    return 1.0 if peak == 0 or 1 / safe < peak < safe else float(2.0 ** np.floor(np.log2(peak)))


def in_own_units(Y: NDArray) -> tuple[NDArray, float]:
    """Y / unit and the unit; Y itself where that is 1."""
    unit = unit_of(Y)
    return (Y, unit) if unit == 1.0 else (Y / Y.dtype.type(unit), unit)


def check_unit(Y: NDArray, unit: float) -> None:
    """Refuse data whose largest entry is next to the largest or the smallest number that there is."""
    if _is_near(Y.dtype, unit):
        i, j = np.unravel_index(np.abs(Y).argmax(), Y.shape)
        _refuse(float(Y[i, j]) * unit, unit, Y.dtype, f" at row {i}, column {j}")


def check_range(peak: float, dtype: np.dtype, unit: float) -> None:
    """The same where it is not known which entry that is."""
    if _is_near(dtype, unit):
        _refuse(peak, unit, dtype)


def _is_near(dtype: np.dtype, unit: float) -> bool:
    return not 1 / FARTHEST[dtype] < unit < FARTHEST[dtype]


def _refuse(peak: float, unit: float, dtype: np.dtype, where: str = "") -> NoReturn:
    """The error about data of this size."""
    most = FARTHEST[dtype]
    raise ValueError(
        f"the largest entry of Y, {peak:.3g}{where}, is "
        f"{'above' if unit > 1 else 'below'} {most if unit > 1 else 1 / most:g}, too near to the "
        "limits of numbers to calculate with: divide Y by a number of its size."
    )
