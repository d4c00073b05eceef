"""Weights of measurements whose sources are known: each row by itself, on what was observed of it."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import option
from ngmca.algorithms.constraint_arrays import Constraints
from ngmca.algorithms.options import Options
from ngmca.algorithms.reweighting import MAX_ROUNDS, SPIKE_LEVEL
from ngmca.algorithms.steps import a_step
from ngmca.engines import Engine, Levels, Sweep, everything, gram, require_whole, times, without
from ngmca.engines.robust_noise import GAUSSIAN
from ngmca.nnqp.gram import Gram


def weights_of(
    engine: Engine,
    S: NDArray,
    levels: Levels,
    totals: NDArray | None = None,
    *,
    background: int = 0,
    robust: bool = False,
) -> NDArray:
    """argmin_{W >= 0} |Y - W S|, weighted by the noise, (m, r), in units of the engine and of S.

    Where there are totals (m,), of whitened data, rows of W sum up to them, but for the last columns,
    those of a background.
    """
    rows, columns = levels.units(engine.shape)
    S, whitened = S / columns, levels.applied(engine)
    W = _fitted(whitened, S, totals, background)
    if robust:
        require_whole(engine, option("robust", True))
    outliers = np.zeros(engine.shape if robust else (0, 0), dtype=bool)
    for _ in range(MAX_ROUNDS if robust or levels.counts is not None else 0):
        weighted = whitened if levels.counts is None else levels.following(whitened, W, S)
        if robust:
            outliers |= _outliers(weighted, W, S, outliers)
            weighted = without(weighted, outliers) if outliers.any() else weighted
        W = _fitted(weighted, S, totals, background)
    return W * rows[:, None]


def weights_of_any_sign(engine: Engine, S: NDArray) -> NDArray:
    """argmin_W |Y - W S|, (m, r), in units of the engine and of S."""
    if engine.weights is None:
        return times(engine, np.linalg.pinv(S))
    G, C = engine.moments(S)
    return np.einsum("ik,ikl->il", C, np.linalg.pinv(G.values, hermitian=True)[G.which])


def _fitted(engine: Engine, S: NDArray, totals: NDArray | None, background: int) -> NDArray:
    """The exact weights for an engine's data."""
    G, C = (Gram(gram(S.T)), times(engine, S.T)) if engine.weights is None else engine.moments(S)
    known, r = Constraints(), len(S) - background
    if totals is not None:
        free = np.full((r, S.shape[1]), np.nan)
        sources = np.vstack([free, S[r:]]) if background else None
        known = Constraints(r=r, sources=sources, totals=totals, sizes=np.ones(len(S)))
    sweep = Sweep(S, G, C, 0.0, 0.0, 0.0)
    return a_step(engine, sweep, np.zeros(C.shape), Options(known=known), bounded=False)[0]


def _outliers(engine: Engine, W: NDArray, S: NDArray, before: NDArray) -> NDArray:
    """(m, n) entries far beyond the noise of their row; only those at least half as far as the farthest.

    An outlier bends the fit of its row, and others seem far too until it is gone.
    """
    rest = np.abs(everything(engine) - W @ S)
    if engine.weights is not None:
        rest *= np.sqrt(engine.weights)
        before = before | (engine.weights == 0)
    rest[before] = 0
    ordered, seen = np.sort(rest, axis=1), np.count_nonzero(~before, axis=1)
    middle = rest.shape[1] - 1 - seen // 2  # what is not seen comes first
    level = GAUSSIAN * ordered[np.arange(len(rest)), np.minimum(middle, rest.shape[1] - 1)]
    return np.asarray(rest > np.maximum(SPIKE_LEVEL * level, ordered[:, -1] / 2)[:, None])
