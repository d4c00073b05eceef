"""Sparse accelerated HALS: an l1 weight that finds the wanted sparsity (Gillis, 2012)."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.compiled import compiled
from ngmca.engines import back
from ngmca.rivals._hals import repeats_worth, sweeps
from ngmca.rivals.alternation import Beginning, Factors, alternate, rival

ZERO_LEVEL = 1e-6  # of the largest entry of a source: smaller entries count as zero
FIRST_WEIGHT = 1e-3  # of the largest correlation
WEIGHT_GAIN = 0.1  # relative change of a weight for each unit of missing sparsity
TOLERATED_DEVIATION = 0.05  # of a single source from the wanted share, relative to it
MAX_SWEEPS = 10


@rival
def sparse_hals(
    problem: Beginning, *, sparsity: float = 0.5, alpha: float = 0.5, epsilon: float = 0.1
) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2 + sum_i lam_i |S_i|_1, max(S_i) = 1, for a wanted sparsity.

    The weights lam_i rise while there are too few zeros and fall while there are too many, a little
    after every iteration. A single source may differ by up to 5 % from the wanted share. If the plain
    method is already sparser, the weights fall to nothing. Every source is scaled to a maximum of 1 as
    soon as it is updated, so that A, which has no penalty, compensates for the shrinkage. Negative
    entries of Y enter the least squares unchanged.

    Parameters
    ----------
    {shared}
    sparsity : float
        Wanted share of entries of S below 1e-6 of the largest entry of their source.
    alpha, epsilon : float
        As in `hals`.

    Returns
    -------
    {returns}

    References
    ----------
    Gillis, Sparse and unique nonnegative matrix factorization through data preprocessing, Journal of
    Machine Learning Research 2012.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.sparse_hals(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    wanted = arguments.check_number(sparsity, "sparsity", high=1.0)
    m, n = problem.engine.shape
    a_step, _ = sweeps(problem.engine.shape, problem.r, alpha, epsilon)
    repeats = min(repeats_worth(n, m, problem.r, alpha), MAX_SWEEPS)
    peak = problem.X.max(axis=0)
    peak[peak == 0] = 1
    problem = replace(problem, A=problem.A * peak, X=problem.X / peak)
    weight = np.full(problem.r, FIRST_WEIGHT * np.abs(back(problem.engine, problem.A)).max())

    def s_step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        sweep_sources(G, C, X, weight, repeats, epsilon)
        weight[:] *= np.exp(WEIGHT_GAIN * _missing(X, wanted))
        return X

    return alternate(problem, a_step, s_step, rescue=True, scale_in_A=True)


def share_of_zeros(X: NDArray) -> NDArray:
    """Return the share of entries of each column that are at most 1e-6 of its largest entry."""
    return np.mean(ZERO_LEVEL * X.max(axis=0) >= X, axis=0)


def _missing(X: NDArray, wanted: float) -> NDArray:
    """Return the zeros that all sources lack on average, plus those of sources that deviate too much."""
    own = wanted - share_of_zeros(X)
    common = own.mean()
    own[np.abs(own) <= TOLERATED_DEVIATION * wanted] = 0
    return common + own


@compiled
def sweep_sources(G, C, X, weight, repeats, epsilon):
    """Minimise over one column of X >= 0 after the other, l1-penalised, and scale its maximum to 1."""
    n, r = X.shape
    old = np.empty(n)
    first = 0.0
    for k in range(repeats):
        change = 0.0
        for i in range(r):
            if G[i, i] <= 0.0:
                continue
            peak = 0.0
            largest = 0.0
            for t in range(n):
                g = weight[i] - C[t, i]
                for j in range(r):
                    g += G[i, j] * X[t, j]
                old[t] = X[t, i]
                X[t, i] = max(old[t] - g / G[i, i], 0.0)
                peak = max(peak, X[t, i])
                largest = max(largest, old[t])
            if peak == 0.0:  # the weight is too large for this source: keep the source, lower the weight
                weight[i] /= 2.0
                for t in range(n):
                    X[t, i] = old[t]
                peak = largest
            for t in range(n):
                if peak > 0.0:
                    X[t, i] /= peak
                change += (X[t, i] - old[t]) ** 2
        if k == 0:
            first = change
        if change <= epsilon * epsilon * first:
            break
