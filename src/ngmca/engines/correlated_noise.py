"""Noise that is correlated along the channels."""

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.blocks import spread
from ngmca.engines.protocol import Engine

EXAMINED_ENTRIES = 1 << 21  # of the residual
MAX_LAG = 200
CHANCE = 3.0  # standard errors: correlations below are 0


def variance_growth(engine: Engine, A: NDArray, S: NDArray) -> float:
    """Return how much larger the variance of a sum over channels is than that of white noise.

    It is 1 + 2 (sum of the autocorrelations of the residual Y - A S), up to the first that chance
    explains. A and S are in the units of the engine.
    """
    m, n = engine.shape
    rows = spread(m, max(1, EXAMINED_ENTRIES // n), np.random.default_rng(0))
    Z = engine.pick(rows, slice(None)) - A[rows] @ S
    there = np.ones(Z.shape, bool) if engine.weights is None else engine.weights[rows] > 0
    size = np.sqrt(np.sum(np.square(Z, where=there, out=np.zeros_like(Z)), axis=1, keepdims=True))
    Z = np.where(there, np.divide(Z, size, out=np.zeros_like(Z), where=size > 0), 0.0)
    length = 1 << int(np.ceil(np.log2(2 * n)))
    products, pairs = (
        np.fft.irfft((np.abs(np.fft.rfft(X, length, axis=1)) ** 2).sum(axis=0), length)[
            : min(n, MAX_LAG)
        ]
        for X in (Z, there.astype(float))
    )
    if products[0] <= 0:
        return 1.0
    correlation = products[1:] / products[0] * pairs[0] / np.maximum(pairs[1:], 1)
    chance = np.flatnonzero(correlation < CHANCE / np.sqrt(pairs[0]))
    return float(1 + 2 * correlation[: chance[0] if chance.size else None].sum())
