"""Clear spikes: entries that no source explains, found before there is any separation."""

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_sure.defects import ALONE, CACHED, FEWEST, MOST, REACH, STEEP, TALL
from ngmca.answers.how_sure.missing_entries import bridged
from ngmca.engines import Engine, row_blocks


def spikes(engine: Engine) -> NDArray:
    """(k, 2) measurements and channels of all entries that stand out of every neighbourhood.

    They are a channel or three wide. The rest of their measurement does nothing of the like, as sharp
    lines would, and at most one other measurement does, there or beside it, as those of a source would.
    """
    m, n = engine.shape
    if m < FEWEST or n <= 4 * REACH:
        return np.zeros((0, 2), dtype=int)
    tallest, largest, found = np.zeros((3, n)), np.zeros(m), []
    for rows, block in row_blocks(bridged(engine), CACHED):
        out = _standing_out(block)
        largest[rows] = block.max(axis=1)
        near = _highest_beside(out)
        tallest = np.partition(np.vstack([tallest, near]), -3, axis=0)[-3:]  # of every channel, so far
        found += [(rows.start + i, j, height) for i, j, height in _steep(out)]
    tall = TALL * float(np.median(largest))
    # all measurements but two have no more than tallest[0]
    clear = [(i, j) for i, j, height in found if height > max(tall, ALONE * tallest[0, j])]
    return np.array(clear, dtype=int).reshape(-1, 2)


def with_sides(places: NDArray, n: int) -> NDArray:
    """(k, 2) places of spikes and of the entries beside them, which may be part of them."""
    wide = np.vstack([places + np.array([0, step]) for step in range(1 - REACH, REACH)])
    return wide[(wide[:, 1] >= 0) & (wide[:, 1] < n)]


def _standing_out(block: NDArray) -> NDArray:
    """How much every entry is above, or below, those at both sides, which are 0 beyond the ends."""
    y = np.asarray(block, dtype=float)
    padded = np.pad(y, ((0, 0), (REACH, REACH)))
    left, right = padded[:, : -2 * REACH], padded[:, 2 * REACH :]
    return np.maximum(np.maximum(y - np.maximum(left, right), np.minimum(left, right) - y), 0)


def _highest_beside(out: NDArray) -> NDArray:
    """The largest of every entry and those beside it: lines may move a little."""
    padded = np.pad(out, ((0, 0), (1, 1)))
    return np.maximum(out, np.maximum(padded[:, :-2], padded[:, 2:]))


def _steep(out: NDArray) -> list[tuple[int, int, float]]:
    """Row, channel and height of what stands out far more than the rest of its row; changes `out`."""
    rows, tops = np.arange(len(out)), []
    for _ in range(MOST):
        place = out.argmax(axis=1)
        tops.append((place, out[rows, place]))
        for step in range(-REACH, REACH + 1):  # a spike of several channels is one
            out[rows, np.clip(place + step, 0, out.shape[1] - 1)] = 0
    rest = np.sqrt(np.mean(out**2, axis=1))
    return [
        (int(i), int(place[i]), float(height[i]))
        for place, height in tops
        for i in np.flatnonzero(height > STEEP * rest)
    ]
