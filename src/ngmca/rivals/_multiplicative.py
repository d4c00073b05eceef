"""Multiplicative updates (Lee and Seung, 2001), the paper's first reference."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.engines import magnitude
from ngmca.rivals.alternation import Factors, Seed, Step, alternate, prepare

FLOOR = 1e-9  # of a factor's largest entry: what is zero could never grow again


@one_blas_thread
def multiplicative(
    Y: ArrayLike,
    r: int,
    *,
    n_iter: int = 500,
    start: Any = None,
    seed: Seed = None,
    tol: float = 0.0,
) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2 by rescaling every entry; the cost never rises.

    Each step minimises a separable upper bound of the cost. Negative entries of Y stay as they are:
    where they make a correlation negative, the minimum of the bound is at zero. Entries are kept above
    1e-9 of the largest entry that their factor starts with, because a zero is a dead end for a product;
    zeros of the start are lifted to that level. Convergence is slow: allow thousands of iterations.

    Lee and Seung, Algorithms for non-negative matrix factorization, NIPS 2001.
    """
    problem = prepare(Y, r, n_iter, start, seed, tol)
    peak = magnitude(problem.engine)
    return alternate(problem, rescaling(problem.A), rescaling(problem.X, scale=peak))


def rescaling(rows: NDArray, *, scale: float = 1.0) -> Step:
    """The step that multiplies rows by C / (rows G), with a floor set by the rows to begin with.

    `scale` takes the place of their largest entry if all of them are zero.
    """
    floor = FLOOR * (rows.max(initial=0.0) or scale)
    np.maximum(rows, floor, out=rows)

    def step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        bottom = X @ G
        ratio = np.divide(np.maximum(C, 0), bottom, out=np.ones_like(X), where=bottom > 0)
        X *= ratio
        return np.maximum(X, floor, out=X)

    return step
