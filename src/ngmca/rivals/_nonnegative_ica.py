"""Non-negative independent component analysis (Plumbley, 2003; Oja and Plumbley, 2004)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.rivals.alternation import Factors, Seed, moved
from ngmca.rivals.subspace import Direct, direct, signs_of

FLAT = 1e-10  # of the largest variance: a direction in which the data do not vary


@one_blas_thread
def nonnegative_ica(
    Y: ArrayLike,
    r: int,
    *,
    n_iter: int = 500,
    start: Any = None,
    seed: Seed = None,
    tol: float = 0.0,
) -> Factors:
    """min_{W orthogonal} 1/2 |min(WZ, 0)|^2 for whitened data Z; S := max(WZ, 0), A by least squares.

    Independent sources that are often near 0 (well grounded) are found, up to scale and order, by the
    one rotation of the whitened data that makes them all non-negative. The data are whitened in the r
    dimensions that hold most of them: unit covariance over the samples, but the mean is left in. Each
    iteration is a least-squares fit of WZ to its own positive part, after the sources that are mostly
    negative have changed sign; the negative part never grows. The `seed` draws the first rotation, and
    a `start` is refused.

    What noise and dependence leave negative is clipped, so that the answer is one of non-negative
    factors like the others'; A is the exact non-negative least-squares answer for the clipped sources,
    whose variance is about 1: the scale is in A. Where the data vary in fewer than r dimensions, the
    other sources are silent.

    Plumbley, Algorithms for nonnegative independent component analysis, IEEE Transactions on Neural
    Networks 2003; Oja and Plumbley, Blind separation of positive sources by globally convergent gradient
    search, Neural Computation 2004.
    """
    problem = direct("nonnegative_ica", Y, r, n_iter, start, seed, tol)
    cost: list[float] = []
    Z = _whitened(problem)
    W = np.linalg.qr(problem.rng.standard_normal((len(Z), len(Z))))[0]
    A, X = np.zeros((problem.engine.shape[0], problem.r)), np.zeros((Z.shape[1], problem.r))
    for _ in range(problem.n_iter):
        before, W = A, _turned(W, Z)
        X[:, : len(W)] = np.maximum(W @ Z, 0).T
        A, value = problem.amounts(X, before)
        cost.append(value)
        if problem.tol > 0 and len(cost) > 1 and moved(before, A) <= problem.tol:
            break
    return problem.factors(A, X, cost, scale_in_A=True)


def _whitened(problem: Direct) -> NDArray:
    """Z (k, n), k <= r, with unit covariance over the samples and its mean left in."""
    P, V = problem.subspace
    scores = V * np.linalg.norm(P, axis=0)
    centred = scores - scores.mean(axis=0)
    variance, axes = np.linalg.eigh(centred.T @ centred / len(scores))
    kept = variance > FLAT * variance.max(initial=0)
    axes = axes[:, kept] * signs_of(axes[:, kept])
    return (scores @ (axes / np.sqrt(variance[kept]))).T


def _turned(W: NDArray, Z: NDArray) -> NDArray:
    """A rotation for which WZ has less of a negative part, or as much."""
    sources = W @ Z
    negative = np.sum(np.minimum(sources, 0) ** 2, axis=1) > np.sum(np.maximum(sources, 0) ** 2, axis=1)
    sources[negative] *= -1
    left, _, right = np.linalg.svd(np.maximum(sources, 0) @ Z.T)
    return left @ right
