"""First criterion: singular directions that stand above those of rotated residuals.

Rows of the residual are rotated along the axis, each by a random distance. Noise keeps its colour and
its level in each measurement, and what measurements have in common disappears. A direction counts if its
singular value is clearly larger than the largest one after rotation.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

CLEARLY = 1.1  # times the largest singular value after rotation
ROTATIONS = 6
MIN_MEASUREMENTS = 12
MIN_CHANNELS = 8
FILLING_STEPS = 12  # for each direction, to fill missing entries
ROUNDING = 1e-7  # of the largest singular value


def directions(values: NDArray, limit: int, noise: float, rng: np.random.Generator) -> NDArray:
    """Return singular values 1, 2, ... over the largest one after rotation, until two do not count.

    `noise` is the known noise level, or 0. A direction below the largest singular value of white noise
    of that level does not count.
    """
    m, n = values.shape
    ratios: list[float] = []
    edge = noise * (np.sqrt(m) + np.sqrt(n))
    for k, (R, U, V) in enumerate(_residuals(values, limit + 1)):
        if k == 0:
            edge = max(edge, ROUNDING * _largest(R))
        size = _largest(R)
        chance = max(_largest(_rotated(R, U, V, rng)) for _ in range(ROTATIONS)) if size > edge else edge
        ratios.append(size / max(chance, edge) if size > 0 else 0.0)
        if k > 1 and max(ratios[-2:]) <= CLEARLY:
            break
    return np.array(ratios)


def number_above(ratios: NDArray) -> int:
    """Return how many directions in turn count.

    The first one always counts: the mean of dense spectra is the same after rotation.
    """
    below = np.flatnonzero(ratios[1:] <= CLEARLY)
    return 1 + (int(below[0]) if below.size else len(ratios) - 1)


def filled(values: NDArray, rank: int) -> NDArray:
    """Return the values with a fit of this rank in place of missing entries."""
    if not np.isnan(values).any():
        return values
    fits = (U @ (U.T @ X) for X, U in _fits(values, rank))
    *_, last = fits
    return np.where(np.isnan(values), last, values)


def _residuals(values: NDArray, count: int) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
    """Yield residuals of fits of rank 0, 1, 2, ..., with the left and right directions of the fits."""
    if not np.isnan(values).any():
        U, s, Vt = np.linalg.svd(values, full_matrices=False)
        R = values
        for k in range(min(count, len(s))):
            yield R, U[:, :k], Vt[:k].T
            R = R - np.outer(U[:, k] * s[k], Vt[k])
        return
    seen = ~np.isnan(values)
    yield np.where(seen, values, 0), np.zeros((len(values), 0)), np.zeros((values.shape[1], 0))
    for X, U in _fits(values, count - 1):
        fit = U @ (U.T @ X)
        yield np.where(seen, values - fit, 0), U, np.linalg.qr(X.T @ U)[0]


def _fits(values: NDArray, count: int) -> Iterator[tuple[NDArray, NDArray]]:
    """Yield filled values and the left directions of their fits of rank 1, 2, ..., `count`."""
    seen = ~np.isnan(values)
    X = np.where(seen, values, 0)
    for k in range(1, count + 1):
        for _ in range(FILLING_STEPS):
            U = _left_directions(X, k)
            X = np.where(seen, X, U @ (U.T @ X))
        yield X, U


def _left_directions(X: NDArray, k: int) -> NDArray:
    """Return the k strongest left singular vectors, by the smaller Gram matrix."""
    if len(X) <= X.shape[1]:
        return np.asarray(np.linalg.eigh(X @ X.T)[1][:, -k:])
    V = np.linalg.eigh(X.T @ X)[1][:, -k:]
    return np.asarray(np.linalg.qr(X @ V)[0])


def _rotated(R: NDArray, U: NDArray, V: NDArray, rng: np.random.Generator) -> NDArray:
    """Return rotated rows, without the directions that R does not have either, and with its energy."""
    n = R.shape[1]
    places = (np.arange(n) + rng.integers(0, n, (len(R), 1))) % n
    found = np.take_along_axis(R, places, axis=1)
    found = found - U @ (U.T @ found)
    found = found - (found @ V) @ V.T
    return np.asarray(found * (np.linalg.norm(R) / max(np.linalg.norm(found), np.finfo(float).tiny)))


def _largest(R: NDArray) -> float:
    """Return the largest singular value."""
    G = R @ R.T if len(R) <= R.shape[1] else R.T @ R
    return float(np.sqrt(max(np.linalg.eigvalsh(G)[-1], 0)))
