"""Sparse accelerated HALS: an l1 weight that finds the wanted sparsity (Gillis, 2012)."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.compiled import compiled
from ngmca._support.threads import one_blas_thread
from ngmca.engines import back
from ngmca.rivals._hals import repeats_worth, sweeps
from ngmca.rivals.alternation import Factors, Seed, alternate, prepare

SMALL = 1e-6  # of the largest entry: what is smaller counts as zero
FIRST_WEIGHT = 1e-3  # of the largest correlation
GAIN = 0.1  # relative change of a weight for each unit of missing sparsity
LEEWAY = 0.05  # how far from the wanted share a single source may stay, relative to it
MOST_SWEEPS = 10


@one_blas_thread
def sparse_hals(
    Y: ArrayLike,
    r: int,
    *,
    n_iter: int = 500,
    start: Any = None,
    seed: Seed = None,
    tol: float = 0.0,
    sparsity: float = 0.5,
    alpha: float = 0.5,
    epsilon: float = 0.1,
) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2 + sum_i lam_i |S_i|_1, max(S_i) = 1, for a wanted sparsity.

    `sparsity` is the share of entries of S that are to be below 1e-6 of the largest in their source. The
    weights lam_i rise while there are fewer and fall while there are more, a little after every
    iteration; a single source may stay up to 5 % away from the wanted share. Where the plain method is
    sparser already, they fall to nothing. Every source is scaled to a maximum of 1 as soon as it is
    updated, so that A, which is not penalised, makes up for the shrinkage. Negative entries of Y enter
    the least squares as they are. `alpha` and `epsilon` are those of `hals`.

    Gillis, Sparse and unique nonnegative matrix factorization through data preprocessing, Journal of
    Machine Learning Research 2012.
    """
    problem = prepare(Y, r, n_iter, start, seed, tol)
    wanted = arguments.check_number(sparsity, "sparsity", high=1.0)
    m, n = problem.engine.shape
    a_step, _ = sweeps(problem.engine.shape, r, alpha, epsilon)
    repeats = min(repeats_worth(n, m, r, alpha), MOST_SWEEPS)
    peak = problem.X.max(axis=0)
    peak[peak == 0] = 1
    problem = replace(problem, A=problem.A * peak, X=problem.X / peak)
    weight = np.full(r, FIRST_WEIGHT * np.abs(back(problem.engine, problem.A)).max())

    def s_step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        sweep_sources(G, C, X, weight, repeats, epsilon)
        weight[:] *= np.exp(GAIN * _missing(X, wanted))
        return X

    return alternate(problem, a_step, s_step, rescue=True, scale_in_A=True)


def share_of_zeros(X: NDArray) -> NDArray:
    """Share of the entries of each column that are at most 1e-6 of its largest one."""
    return np.mean(SMALL * X.max(axis=0) >= X, axis=0)


def _missing(X: NDArray, wanted: float) -> NDArray:
    """What all sources lack together, and what those lack that are too far off."""
    own = wanted - share_of_zeros(X)
    common = own.mean()
    own[np.abs(own) <= LEEWAY * wanted] = 0
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
            if (
                peak == 0.0
            ):  # too large a weight takes the whole source away: keep it and try a smaller one
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
