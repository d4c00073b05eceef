"""Bounded row norms: coordinate descent over whole rows, compiled.

With all rows but one fixed, the best row is the projection of its unconstrained optimum on the orthant
and on the ball: explicit, since the quadratic term weighs all entries of a row alike. Where every
column has its own G it does not, and the row is found by a search for the multiplier of its bound.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.compiled import compiled
from ngmca.nnqp.certificate import Solution, check_level, check_problem


def bounded(
    G: NDArray,
    C: NDArray,
    bound: NDArray,
    X0: NDArray | None = None,
    *,
    max_iter: int = 80,
    tol: float = 1e-7,
) -> Solution:
    """Solve argmin_{X >= 0} 1/2 <X, GX> - <C, X> with a bound on the norm of each row of X.

    Each step finds the best row for fixed other rows, exactly, so the objective never rises. `shaped`
    with "free" rows does the same if some rows are fixed, or if every column has its own G.

    Parameters
    ----------
    G : ndarray of shape (r, r)
        Symmetric and positive semi-definite, as A.T @ A is.
    C : ndarray of shape (r, n)
        Correlations, one problem in each column.
    bound : float or ndarray of shape (r,)
        Largest norm of each row of X.
    X0 : ndarray of shape (r, n), optional
        Where to start; 0 by default.
    max_iter : int
        Largest number of rounds over the rows.
    tol : float
        Stop when a round moves X by less than this share of its norm.

    Returns
    -------
    Solution
        X, and as violation the largest move of a step down the gradient and back into the bounds,
        divided by the largest entry of X. It is 0 at the minimum only.

    Raises
    ------
    ValueError
        If an argument has a wrong shape, is not finite, or if G is not positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.nnqp import bounded
    >>> bounded(np.eye(1), np.array([[3.0, 4.0]]), 1.0).X
    array([[0.6, 0.8]])
    """
    G, C, X0 = check_problem(G, C, X0)
    X = np.zeros_like(C) if X0 is None else np.maximum(X0, 0).copy(order="C")
    # not `broadcast_to` itself: it is read-only, for which the kernels would be compiled once more
    bound = np.array(np.broadcast_to(check_level(bound, "bound"), (len(G),)))
    arguments.check_count(max_iter, "max_iter", low=0)
    C = np.ascontiguousarray(C)
    rounds, _ = descend_rows(G, C, bound, X, max_iter, tol)
    violation = float(residual_rows(G, C, bound, X, np.ones(len(G))))
    return Solution(X=X, violation=violation, n_iter=rounds)


@compiled
def descend_rows(G, C, bound, X, max_iter, tol):
    """Rounds of exact row updates in place of X (r, m); their number, and the last largest change."""
    r, m = X.shape
    row = np.empty(m)
    largest = 0.0
    rounds = 0
    while rounds < max_iter:
        rounds += 1
        moved = 0.0
        total = 0.0
        largest = 0.0
        for i in range(r):
            if G[i, i] <= 0.0:
                for t in range(m):
                    X[i, t] = 0.0
                continue
            for t in range(m):
                row[t] = C[i, t]
            for j in range(r):
                g = G[i, j]
                if j != i and g != 0.0:
                    other = X[j]
                    for t in range(m):
                        row[t] -= g * other[t]
            size = 0.0
            for t in range(m):
                row[t] = max(row[t], 0.0) / G[i, i]
                size += row[t] * row[t]
            size = np.sqrt(size)
            shrink = bound[i] / size if size > bound[i] else 1.0
            target = X[i]
            for t in range(m):
                value = row[t] * shrink
                change = value - target[t]
                moved += change * change
                total += value * value
                largest = max(largest, abs(change))
                target[t] = value
        if moved <= tol * tol * total:
            break
    return rounds, largest


@compiled
def residual_rows(G, C, bound, X, unit):
    """Largest move of a step down the gradient and back into the bounds, over the largest entry of X.

    Moves and entries of row i are counted in units of unit[i]. The step of a row is 1 / G[i, i], so that
    it cannot overshoot.
    """
    r, m = X.shape
    row = np.empty(m)
    largest = 0.0
    peak = 0.0
    for i in range(r):
        if G[i, i] <= 0.0:
            continue
        for t in range(m):
            row[t] = C[i, t]
        for j in range(r):
            g, other = G[i, j], X[j]
            for t in range(m):
                row[t] -= g * other[t]
        size = 0.0
        for t in range(m):
            row[t] = max(X[i, t] + row[t] / G[i, i], 0.0)
            size += row[t] * row[t]
        size = np.sqrt(size)
        shrink = bound[i] / size if size > bound[i] else 1.0
        for t in range(m):
            value = row[t] * shrink
            largest = max(largest, abs(value - X[i, t]) * unit[i])
            peak = max(peak, value * unit[i], X[i, t] * unit[i])
    return largest / peak if peak > 0.0 else 0.0
