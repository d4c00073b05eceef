"""Stability: whether the same sources are found again in other measurements, from another start."""

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many.cross_validation import PartNoise
from ngmca.engines import Counts
from ngmca.metrics import paired, unit_rows
from ngmca.separation import separate

STABLE = 0.8  # stability from which on all sources count as found again


def stability(values: NDArray, rank: int, noise: PartNoise, rng: np.random.Generator) -> float:
    """Return how well the least stable of `rank` sources is found again in other measurements.

    1 is perfect, 0 and below means not found. Twice, two halves of the measurements are separated, each
    from its own start. The halves overlap if they would be too small for so many sources.
    """
    m = len(values)
    size = max(m // 2, min(2 * rank, m - 1))
    found = []
    for _ in range(2):
        order = rng.permutation(m)
        halves = (np.sort(order[:size]), np.sort(order[-size:]))
        S, T = (_sources(values, half, rank, noise, rng) for half in halves)
        found.append(float(closeness(S, T).min()))
    return float(np.mean(found))


def closeness(S: NDArray, T: NDArray) -> NDArray:
    """Return (r,) for each source of S: 1 - (distance to its partner in T) / (distance to the next one).

    A distance is 1 minus the cosine. The values are at least -1. With one source it is the cosine.
    """
    distance = 1 - unit_rows(S) @ unit_rows(T).T
    own, partner = paired(-distance)
    matched = distance[:, partner]
    near = np.diagonal(matched).copy()
    np.fill_diagonal(matched, 1.0)  # the distance to a source that is not there
    next_best = np.minimum(matched.min(axis=0), matched.min(axis=1))
    larger = np.maximum(near, next_best)
    return np.divide(next_best - near, larger, out=np.zeros(len(own)), where=larger > 0)


def _sources(
    values: NDArray, rows: NDArray, rank: int, noise: PartNoise, rng: np.random.Generator
) -> NDArray:
    """Return the sources of some measurements, without wavelets."""
    if isinstance(noise, np.ndarray) and noise.shape[0] > 1:
        noise = noise[rows]
    elif isinstance(noise, Counts):
        noise = None  # weights that follow the fit cost time, and the comparison does not need them
    found = separate(values[rows], rank, noise=noise, domain="direct", n_init=1, seed=rng, threads=1)
    return np.asarray(found.S, dtype=np.float64)
