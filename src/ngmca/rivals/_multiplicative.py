"""Multiplicative updates (Lee and Seung, 2001), the paper's first reference."""

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import magnitude
from ngmca.rivals.alternation import Beginning, Factors, Step, alternate, rival

FLOOR = 1e-9  # of the largest entry of a factor: a zero could never grow again


@rival
def multiplicative(problem: Beginning) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2 by rescaling every entry; the cost never rises.

    Each step minimises a separable upper bound of the cost. Negative entries of Y are used unchanged:
    where they make a correlation negative, the minimum of the bound is at zero. Entries are kept above
    1e-9 of the largest entry of their factor at the start, because a product can never change a zero;
    zeros of the start are raised to that level. Convergence is slow: allow thousands of iterations.

    Parameters
    ----------
    {shared}

    Returns
    -------
    {returns}

    References
    ----------
    Lee and Seung, Algorithms for non-negative matrix factorization, NIPS 2001.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.multiplicative(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    peak = magnitude(problem.engine)
    return alternate(problem, rescaling(problem.A), rescaling(problem.X, scale=peak))


def rescaling(rows: NDArray, *, scale: float = 1.0) -> Step:
    """Return the step that multiplies rows by C / (rows G), with a floor from the first rows.

    `scale` replaces their largest entry if all of them are zero.
    """
    floor = FLOOR * (rows.max(initial=0.0) or scale)
    np.maximum(rows, floor, out=rows)

    def step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        bottom = X @ G
        ratio = np.divide(np.maximum(C, 0), bottom, out=np.ones_like(X), where=bottom > 0)
        X *= ratio
        return np.maximum(X, floor, out=X)

    return step
