"""Peaks of a spectrum, by how far the spectrum falls on both sides of them.

`scipy.signal` has these functions too, but takes half a second to load.
"""

import numpy as np
from numpy.typing import NDArray


def peaks(x: NDArray, y: NDArray, count: int = 3) -> list[float]:
    """Return the positions of the most prominent peaks, at least 1 % of the axis apart.

    A peak must fall by a quarter of its own height, and by a twentieth of the highest peak, before the
    spectrum rises again: a ripple on a band does not. A spectrum that still rises at the end of the axis
    has no peak there.
    """
    y = np.asarray(y, dtype=float)
    found = _far_apart(_maxima(y), y, len(x) / 100)
    lowest = 0.05 * max(float(y.max(initial=0)), 0)
    found = found[_prominences(y, found) >= lowest]
    drop = _prominences(np.pad(y, 1), found + 1)  # also of bands that the end of the axis cuts
    own = (drop >= 0.25 * y[found]) & (drop > 0)
    order = np.argsort(-drop[own], kind="stable")[:count]
    return [float(x[i]) for i in found[own][order]]


def _maxima(y: NDArray) -> NDArray:
    """Return where a spectrum rises before and falls after, the middle if it is flat there."""
    changes = np.flatnonzero(np.diff(y))  # the last channel of each flat part but the last
    if changes.size < 2:
        return np.zeros(0, dtype=int)
    rises = y[changes + 1] > y[changes]
    tops = np.flatnonzero(rises[:-1] & ~rises[1:])
    return np.asarray((changes[tops] + 1 + changes[tops + 1]) // 2)


def _far_apart(found: NDArray, y: NDArray, distance: float) -> NDArray:
    """Return the highest maxima of those that are closer to each other than a distance."""
    kept, left = [], found
    while left.size:
        highest = left[len(left) - 1 - np.argmax(y[left][::-1])]
        kept.append(highest)
        left = left[(left != highest) & (np.abs(left - highest) >= distance)]
    return np.sort(np.array(kept, dtype=int))


def _prominences(y: NDArray, found: NDArray) -> NDArray:
    """Return how far the spectrum falls on both sides of each maximum before it is higher again."""
    return np.array([y[i] - max(_lowest(y[i::-1]), _lowest(y[i:])) for i in found], dtype=float)


def _lowest(side: NDArray) -> float:
    """Return the lowest value of a side before it is higher than at its start."""
    higher = side > side[0]
    end = int(np.argmax(higher)) if higher.any() else len(side)
    return float(side[:end].min())
