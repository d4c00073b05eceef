"""Where the bands of a spectrum are."""

import numpy as np
from numpy.typing import NDArray

SMALLEST = 0.05  # of the highest peak, by which one must stand out to be named
DROP = 0.25  # of its own height


def peaks(x: NDArray, y: NDArray, count: int = 3) -> list[float]:
    """Positions of the most prominent peaks, one a band, at least 1 % of the axis apart.

    A wiggle on a band falls by little before the band rises again; a band of its own falls by a
    quarter of its height, and by a twentieth of the highest. Where the axis ends, what still rises is no
    peak: it is higher beyond.
    """
    from scipy.signal import find_peaks, peak_prominences  # only here: it takes long to load

    y = np.asarray(y, dtype=float)
    lowest = SMALLEST * max(float(y.max(initial=0)), 0)
    found, _ = find_peaks(y, prominence=lowest, distance=max(len(x) / 100, 1))
    drop = peak_prominences(np.pad(y, 1), found + 1)[0]  # of bands that the axis cuts too
    own = (drop >= DROP * y[found]) & (drop > 0)
    order = np.argsort(-drop[own], kind="stable")[:count]
    return [float(x[i]) for i in found[own][order]]
