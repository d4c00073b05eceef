"""Non-negative independent component analysis (Plumbley, 2003; Oja and Plumbley, 2004)."""

import numpy as np
from numpy.typing import NDArray

from ngmca.rivals.alternation import Factors, moved
from ngmca.rivals.subspace import Direct, direct, signs_of

MIN_VARIANCE = 1e-10  # of the largest variance: the data do not vary in such a direction


@direct
def nonnegative_ica(problem: Direct) -> Factors:
    """min_{W orthogonal} 1/2 |min(WZ, 0)|^2 for whitened data Z; S := max(WZ, 0), A by least squares.

    Independent sources that are often near 0 (well grounded) are found, up to scale and order, by the
    rotation of the whitened data that makes all of them non-negative. The data are whitened in the r
    dimensions with the most energy: unit covariance over the channels, without subtracting the mean.
    Each iteration is a least-squares fit of WZ to its own positive part, after sources that are mostly
    negative have changed sign; the negative part never grows. The `seed` draws the first rotation.

    Entries that stay negative, because of noise or dependence, are clipped, so that the factors are
    non-negative like those of the other methods. A is the exact non-negative least-squares answer for
    the clipped sources, whose variance is about 1: A carries the scale. If the data vary in fewer than r
    dimensions, the other sources are zero.

    Parameters
    ----------
    {shared}

    Returns
    -------
    {returns}

    References
    ----------
    Plumbley, Algorithms for nonnegative independent component analysis, IEEE Transactions on Neural
    Networks 2003.

    Oja and Plumbley, Blind separation of positive sources by globally convergent gradient search, Neural
    Computation 2004.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.nonnegative_ica(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
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
    """Return Z (k, n), k <= r, with unit covariance over the channels, and with its mean."""
    P, V = problem.subspace
    scores = V * np.linalg.norm(P, axis=0)
    centred = scores - scores.mean(axis=0)
    variance, axes = np.linalg.eigh(centred.T @ centred / len(scores))
    kept = variance > MIN_VARIANCE * variance.max(initial=0)
    axes = axes[:, kept] * signs_of(axes[:, kept])
    return (scores @ (axes / np.sqrt(variance[kept]))).T


def _turned(W: NDArray, Z: NDArray) -> NDArray:
    """Return a rotation for which the negative part of WZ is not larger."""
    sources = W @ Z
    negative = np.sum(np.minimum(sources, 0) ** 2, axis=1) > np.sum(np.maximum(sources, 0) ** 2, axis=1)
    sources[negative] *= -1
    left, _, right = np.linalg.svd(np.maximum(sources, 0) @ Z.T)
    return left @ right
