"""Units in which squares of the data neither overflow nor vanish."""

import numpy as np
from numpy.typing import NDArray


def unit_of(Y: NDArray) -> float:
    """1, or a power of 2 near the largest entry where squares of Y could overflow or vanish."""
    peak = float(np.maximum(Y.max(initial=0), -Y.min(initial=0)))
    safe = 1e100 if Y.dtype == np.float64 else 1e10
    return 1.0 if peak == 0 or 1 / safe < peak < safe else float(2.0 ** np.floor(np.log2(peak)))


def in_own_units(Y: NDArray) -> tuple[NDArray, float]:
    """Y / unit and the unit; Y itself where that is 1."""
    unit = unit_of(Y)
    return (Y, unit) if unit == 1.0 else (Y / Y.dtype.type(unit), unit)
