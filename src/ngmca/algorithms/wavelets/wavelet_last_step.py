"""The last S-step in a frame, to a duality gap, also for data whose entries do not count alike."""

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.constraint_arrays import Constraints
from ngmca.algorithms.wavelets.wavelet_data import WeightedWaveletData
from ngmca.domains import Frame, analyse, analysis, synthesise
from ngmca.engines import Engine, WeightPatterns
from ngmca.nnqp.gram import Gram

GAP, GAP_STEPS = 1e-5, 40  # of the last S-step, and how long it is worked for
FOLLOWED, FOLLOWED_TOL = 60, 1e-5  # fits of weighted data in it, and when S stays


def free_part(
    A: NDArray, C: NDArray, S: NDArray, known: Constraints, weights: NDArray | None = None
) -> tuple[NDArray, NDArray]:
    """Gram matrix and correlations of the free sources, once the given ones are taken away."""
    G = A.T @ A
    if known.sources is None:
        return G, C
    free, given = known.free, known.given
    taken = G[free][:, given] @ S[given]
    taken = (taken if weights is None else taken * weights).astype(C.dtype)
    return np.ascontiguousarray(G[free][:, free]), np.ascontiguousarray(C[free] - taken)


def with_free(S: NDArray, found: NDArray, free: NDArray | slice) -> NDArray:
    """S with new values of its free sources."""
    if isinstance(free, slice):
        return found
    S = S.copy()
    S[free] = found
    return S


def followed_to_the_end(
    engine: Engine,
    ratio: float,
    A: NDArray,
    S: NDArray,
    W: Frame,
    Lam: NDArray,
    direct: NDArray,
    duals: analysis.Duals,
    known: Constraints,
) -> tuple[NDArray, float]:
    """S for weighted data, fit after fit until it stays, and its duality gap over the objective.

    `ratio` is the unit of S and of the thresholds over that of the engine.
    """
    assert engine.weights is not None
    seen, free = WeightedWaveletData(engine, engine.dtype, W, ratio), known.free
    for _ in range(FOLLOWED):
        seen.follow(A, S)
        G, C = free_part(A, seen.correlate(A), S, known, seen.weights)
        C = np.ascontiguousarray(C - direct, dtype=engine.dtype)
        found = analysis.solve(
            *(G, C, W, Lam, duals), tol=GAP, max_iter=GAP_STEPS, rho=seen.rho, weights=seen.weights
        )
        before, S, duals = S, with_free(S, found.S, free), found.duals
        if np.linalg.norm(S - before) <= FOLLOWED_TOL * np.linalg.norm(S):
            break
    grams = WeightPatterns(engine.weights.T).grams(A.astype(np.float64, copy=False))
    C = engine.correlate(A) / ratio
    if known.sources is not None:
        fixed = np.where(known.given[:, None], S, 0)
        C = C - grams.times(fixed.T.astype(np.float64)).T
        grams = grams.among(np.flatnonzero(known.given == 0))
    C = np.ascontiguousarray(C[free] - direct, dtype=np.float64)
    P = np.clip(seen.rho * duals.coefficients, -Lam, Lam)
    return S, _weighted_gap(grams, C, W, Lam, P, S[free].astype(np.float64))


def _weighted_gap(grams: Gram, C: NDArray, W: Frame, Lam: NDArray, P: NDArray, S: NDArray) -> float:
    """How far S is from optimal at most, over the objective, for multipliers |P| <= Lam."""
    B = C - synthesise(W, np.ascontiguousarray(P, dtype=np.float64))
    V = np.ascontiguousarray(S.T)
    grams.solve(np.ascontiguousarray(B.T), V)
    bound = float(np.vdot(V, grams.times(V)) / 2 - np.vdot(B.T, V))
    penalty = float(np.vdot(Lam.astype(np.float64), np.abs(analyse(W, np.ascontiguousarray(S)))))
    value = float(np.vdot(S.T, grams.times(S.T)) / 2 - np.vdot(C, S)) + penalty
    return max(value - bound, 0.0) / max(abs(value), 1e-300)
