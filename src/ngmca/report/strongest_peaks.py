"""The strongest peaks of a spectrum."""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks, peak_prominences


def peaks(x: NDArray, y: NDArray, count: int = 3) -> list[float]:
    """Return the positions of the most prominent peaks, at least 1 % of the axis apart.

    A peak must fall by a quarter of its own height, and by a twentieth of the highest peak, before the
    spectrum rises again: a ripple on a band does not. A spectrum that still rises at the end of the axis
    has no peak there.
    """
    y = np.asarray(y, dtype=float)
    lowest = 0.05 * max(float(y.max(initial=0)), 0)
    found, _ = find_peaks(y, prominence=lowest, distance=max(len(x) / 100, 1))
    drop = peak_prominences(np.pad(y, 1), found + 1)[0]  # also of bands that the end of the axis cuts
    own = (drop >= 0.25 * y[found]) & (drop > 0)
    order = np.argsort(-drop[own], kind="stable")[:count]
    return [float(x[i]) for i in found[own][order]]
