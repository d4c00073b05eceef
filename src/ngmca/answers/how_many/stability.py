"""Whether sources come again: from other measurements, and from another start."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ngmca.engines import Counts
from ngmca.metrics import unit_rows
from ngmca.separation import separate

SPLITS = 2  # of the measurements into halves, for each number of sources
STABLE = 0.8  # how much closer, at least, each source is to itself than to any other


def stability(values: NDArray, rank: int, noise: Any, rng: np.random.Generator) -> float:
    """How surely the least sure of so many sources comes again from other measurements: 1 is surely.

    Two halves of the measurements are separated, each from a start of its own. Where halves are too
    few for so many sources, they overlap.
    """
    m = len(values)
    size = max(m // 2, min(2 * rank, m - 1))
    found = []
    for _ in range(SPLITS):
        order = rng.permutation(m)
        halves = (np.sort(order[:size]), np.sort(order[-size:]))
        S, T = (_sources(values, half, rank, noise, rng) for half in halves)
        found.append(float(closeness(S, T).min()))
    return float(np.mean(found))


def closeness(S: NDArray, T: NDArray) -> NDArray:
    """(r,) for each source of S: 1 - (distance to itself in T) / (distance to the next), at least -1.

    Distances are 1 less the cosine. With one source it is the cosine.
    """
    distance = 1 - unit_rows(S) @ unit_rows(T).T
    own, partner = linear_sum_assignment(distance)
    matched = distance[:, partner]
    near = np.diagonal(matched).copy()
    np.fill_diagonal(matched, 1.0)  # that of a source which is nowhere
    next_best = np.minimum(matched.min(axis=0), matched.min(axis=1))
    larger = np.maximum(near, next_best)
    return np.divide(next_best - near, larger, out=np.zeros(len(own)), where=larger > 0)


def _sources(values: NDArray, rows: NDArray, rank: int, noise: Any, rng: np.random.Generator) -> NDArray:
    """The sources of some of the measurements, channel by channel."""
    if isinstance(noise, np.ndarray) and noise.shape[0] > 1:
        noise = noise[rows]
    elif isinstance(noise, Counts):
        noise = None  # its weights follow the fit, at a cost; which sources there are does not need them
    found = separate(values[rows], rank, noise=noise, domain="direct", n_init=1, seed=rng, threads=1)
    return np.asarray(found.S, dtype=np.float64)
