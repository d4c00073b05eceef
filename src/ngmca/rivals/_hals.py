"""Accelerated hierarchical alternating least squares (Gillis and Glineur, 2012)."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.compiled import compiled
from ngmca.rivals.alternation import Beginning, Factors, Step, alternate, rival

SWEEP_TO_PRODUCT_TIME = 4  # about: time of an operation in a sweep over one in a matrix product


@rival
def hals(problem: Beginning, *, alpha: float = 0.5, epsilon: float = 0.1) -> Factors:
    """min_{A >= 0, S >= 0} 1/2 |Y - AS|^2, one coordinate at a time, exactly; the cost never rises.

    The products with Y are used for several sweeps over a factor before they are computed again: at most
    1 + alpha (1 + cost of the products / cost of a sweep), and fewer if a sweep changes a row less than
    epsilon times as much as the first sweep did. Negative entries of Y enter the least squares
    unchanged. A source whose column of A becomes zero gets a new direction from the residual, which
    does not change the cost.

    Parameters
    ----------
    {shared}
    alpha : float
        Controls the number of sweeps; 0 is one sweep, the plain method.
    epsilon : float
        The sweeps over a row end when its change falls below this share of the first change.

    Returns
    -------
    {returns}

    References
    ----------
    Gillis and Glineur, Accelerated multiplicative updates and hierarchical ALS algorithms for
    nonnegative matrix factorization, Neural Computation 2012.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.hals(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    a_step, s_step = sweeps(problem.engine.shape, problem.r, alpha, epsilon)
    return alternate(problem, a_step, s_step, rescue=True)


def sweeps(shape: tuple[int, ...], r: int, alpha: float, epsilon: float) -> tuple[Step, Step]:
    """Return the steps on A and on S."""
    alpha = arguments.check_number(alpha, "alpha")
    epsilon = arguments.check_number(epsilon, "epsilon")
    m, n = shape

    def step(rows: int, columns: int) -> Step:
        repeats = repeats_worth(rows, columns, r, alpha)

        def sweep(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
            sweep_rows(G, C, X, repeats, epsilon)
            return X

        return sweep

    return step(m, n), step(n, m)


def repeats_worth(rows: int, columns: int, r: int, alpha: float) -> int:
    """Return the number of sweeps over (rows, r) for one product with the (rows, columns) data."""
    ratio = 1 + (rows * columns + columns * r) / (SWEEP_TO_PRODUCT_TIME * rows * (r + 1))
    return int(1 + alpha * ratio)


@compiled
def sweep_rows(G, C, X, repeats, epsilon):
    """Minimise 1/2 x'Gx - c'x over x >= 0, one entry after the other, for rows of X in place.

    Rows are independent: all sweeps over a row are done while it is in the cache, and each row ends on
    its own. The gradient is updated, so that entries that stay at 0 cost nothing.
    """
    n, r = X.shape
    g = np.empty(r)
    inverse = np.zeros(r)
    for i in range(r):
        if G[i, i] > 0.0:
            inverse[i] = 1.0 / G[i, i]
    for t in range(n):
        x = X[t]
        for i in range(r):
            g[i] = -C[t, i]
        for j in range(r):
            if x[j] != 0.0:
                for i in range(r):
                    g[i] += x[j] * G[j, i]
        first = 0.0
        for k in range(repeats):
            change = 0.0
            for i in range(r):
                if inverse[i] == 0.0:
                    continue
                d = max(-g[i] * inverse[i], -x[i])
                if d != 0.0:
                    x[i] += d
                    change += d * d * G[i, i]
                    for j in range(r):
                        g[j] += d * G[i, j]
            if k == 0:
                first = change
            if change <= epsilon * epsilon * first:
                break
