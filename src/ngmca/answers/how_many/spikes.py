"""Spikes, as of cosmic rays: entries that no source explains, found without a separation.

A spike is one to three channels wide. It stands out far more than the rest of its measurement, so it is
not one of many sharp lines, and at most one other measurement has a similar entry there, so it is not a
line of a source.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.missing_entries import bridged
from ngmca.engines import Engine, here, rows_there

MIN_MEASUREMENTS = 5  # with fewer measurements a spike cannot be distinguished from a source
REACH = 2  # a spike is over after so many channels to each side
SPIKES_PER_MEASUREMENT = 3  # more are not searched
OVER_OTHER_MEASUREMENTS = 5.0  # times that a spike exceeds all but one other measurement
OVER_OWN_MEASUREMENT = 10.0  # times that it exceeds the variation of its own measurement
MIN_HEIGHT = 0.5  # of the height of a usual measurement
LONG_ROW = 2000  # channels, from which on rows are compared one by one
ENTRIES_ON_GPU = 1 << 24
BLOCK_ENTRIES = 1 << 17  # of whole rows that are examined together


def too_small(shape: tuple[int, int]) -> bool:
    """Return whether data are too small to find spikes in them."""
    return shape[0] < MIN_MEASUREMENTS or shape[1] <= 4 * REACH


def spikes(engine: Engine) -> NDArray:
    """Return (k, 2) measurements and channels of all clear spikes.

    Lines may move a little: other measurements are compared at the next channels too.
    """
    m, n = engine.shape
    if too_small(engine.shape):
        return np.zeros((0, 2), dtype=int)
    tallest: Any = None
    largest, found = np.zeros(m), []
    for rows, block in rows_there(bridged(engine), BLOCK_ENTRIES, ENTRIES_ON_GPU):
        work = np.empty((2, *block.shape), like=block)
        out = standing_out(block.astype(np.float64, copy=False), work)
        largest[rows] = here(block.max(axis=1))
        near = _highest_beside(out)
        tallest = np.zeros((3, n), like=block) if tallest is None else tallest
        tallest = _three_highest(tallest, near)  # of every channel, so far
        found += [(rows.start + i, j, height) for i, j, height in _steep(out)]
    tallest = here(tallest)
    tall = MIN_HEIGHT * float(np.median(largest))
    # all measurements except two have at most tallest[0]
    clear = [
        (i, j) for i, j, height in found if height > max(tall, OVER_OTHER_MEASUREMENTS * tallest[0, j])
    ]
    return np.array(clear, dtype=int).reshape(-1, 2)


def with_sides(places: NDArray, n: int) -> NDArray:
    """Return (k, 2) places of spikes and of the entries beside them, which may be part of them."""
    wide = np.vstack([places + np.array([0, step]) for step in range(1 - REACH, REACH)])
    return wide[(wide[:, 1] >= 0) & (wide[:, 1] < n)]


def standing_out(y: NDArray, work: NDArray) -> NDArray:
    """Return by how much each entry is above, or below, both entries REACH channels beside it.

    Beyond the ends of a row the entries are 0. `work` (2, rows, n) is overwritten; its first half holds
    the answer.
    """
    out, below = work
    for one, more in ((out, np.maximum), (below, np.minimum)):
        one[:, -REACH:] = 0
        one[:, :-REACH] = y[:, REACH:]
        more(one[:, REACH:], y[:, :-REACH], out=one[:, REACH:])
        more(one[:, :REACH], 0, out=one[:, :REACH])
    np.subtract(y, out, out=out)
    np.subtract(below, y, out=below)
    return np.maximum(np.maximum(out, below, out=out), 0, out=out)


def take_highest(out: NDArray) -> tuple[NDArray, NDArray]:
    """Return heights and places (rows, 3) of the entries that stand out most; set them to 0 in `out`."""
    shape, rows = (len(out), SPIKES_PER_MEASUREMENT), np.arange(len(out), like=out)
    height, place = np.empty(shape, like=out), np.empty(shape, int, like=out)
    for k in range(SPIKES_PER_MEASUREMENT):
        place[:, k] = out.argmax(axis=1)
        height[:, k] = out[rows, place[:, k]]
        for step in range(-REACH, REACH + 1):  # a spike of several channels is one
            out[rows, np.clip(place[:, k] + step, 0, out.shape[1] - 1)] = 0
    return height, place


def _three_highest(three: NDArray, others: NDArray) -> NDArray:
    """Return (3, n) the three largest of each column, the smallest of them first."""
    if others.shape[1] < LONG_ROW:
        found: NDArray = np.partition(np.vstack([three, others]), -3, axis=0)[-3:]
        return found
    third, second, first = three
    for row in others:  # far faster than to sort a few long rows
        second, row = np.maximum(second, row), np.minimum(second, row)
        third = np.maximum(third, row)
        first, second = np.maximum(first, second), np.minimum(first, second)
    return np.stack([third, second, first])


def _highest_beside(out: NDArray) -> NDArray:
    """Return the largest of each entry and its two neighbours."""
    padded = np.pad(out, ((0, 0), (1, 1)))
    return np.maximum(out, np.maximum(padded[:, :-2], padded[:, 2:]))


def _steep(out: NDArray) -> list[tuple[int, int, float]]:
    """Return row, channel and height of entries far above the rest of their row; changes `out`."""
    heights, places = (here(one) for one in take_highest(out))
    rest = here(np.sqrt(np.mean(out**2, axis=1)))
    return [
        (int(i), int(place[i]), float(height[i]))
        for place, height in zip(places.T, heights.T, strict=True)
        for i in np.flatnonzero(height > OVER_OWN_MEASUREMENT * rest)
    ]
