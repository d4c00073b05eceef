"""A start for large data whose entries do not count alike: the whole run on a part of the measurements.

Weights of single entries make every pass over the data several times as expensive. A part of the
measurements tells the sources nearly as well as all of them, so that few passes over all are left.
(`algorithms.start_on_part` finds first factors for huge data without weights.)
"""

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import Engine

LARGE_ENTRIES = 1 << 23  # of data for which it is worth it
PART_ENTRIES = 1 << 21
ROWS_FOR_SOURCE = 100  # in the part, at least
LEAST_FACTOR = 3  # of all measurements over those of the part
MORE_DIRECTIONS = 8  # than sources, in which measurements are compared


def rows_of_part(engine: Engine, r: int) -> NDArray | None:
    """Return measurements that show all sources, or None if the data are too small for a part.

    One half is drawn evenly. The other half is drawn by leverage, the share of a measurement in the
    strongest directions of the data: a source that is in few measurements has a direction in which
    only these are large.
    """
    m, n = engine.shape
    count = max(PART_ENTRIES // n, ROWS_FOR_SOURCE * r)
    if m * n < LARGE_ENTRIES or m < LEAST_FACTOR * count:
        return None
    rng = np.random.default_rng(0)
    leverage = _leverages(engine, min(r + MORE_DIRECTIONS, n), rng)
    evenly = rng.choice(m, count // 2, replace=False)
    leverage[evenly] = 0
    strong = min(count - count // 2, int(np.count_nonzero(leverage)))
    by_leverage = rng.choice(m, strong, replace=False, p=leverage / leverage.sum())
    return np.sort(np.concatenate([evenly, by_leverage]))


def _leverages(engine: Engine, directions: int, rng: np.random.Generator) -> NDArray:
    """Return the share (m,) of each measurement in the strongest directions of the data."""
    S = rng.random((directions, engine.shape[1])).astype(engine.dtype)
    for _ in range(2):
        Q = np.linalg.qr(engine.moments(S)[1])[0]
        S = np.linalg.qr(engine.correlate(Q.astype(engine.dtype)).T)[0].T
    return np.sum(np.linalg.qr(engine.moments(np.ascontiguousarray(S))[1])[0] ** 2, axis=1)
