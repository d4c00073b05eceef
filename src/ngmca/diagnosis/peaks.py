"""Where the bands of a spectrum are."""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

SMALLEST = 0.05  # of the highest peak, by which one must stand out to be named
DROP = 0.25  # of its own height


def peaks(x: NDArray, y: NDArray, count: int = 3) -> list[float]:
    """Positions of the most prominent peaks, one a band, at least 1 % of the axis apart.

    A wiggle on a band falls by little before the band rises again; a band of its own falls by a
    quarter of its height, and by a twentieth of the highest.
    """
    edged = np.pad(np.asarray(y, dtype=float), 1)  # a band may be highest where the axis ends
    found, about = find_peaks(
        edged, prominence=SMALLEST * max(float(y.max(initial=0)), 0), distance=max(len(x) / 100, 1)
    )
    drop = about["prominences"]
    own = (drop >= DROP * edged[found]) & (drop > 0)
    order = np.argsort(-drop[own], kind="stable")[:count]
    return [float(x[i - 1]) for i in found[own][order]]
