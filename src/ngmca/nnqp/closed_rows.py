"""Rows that sum up to a given total: exact, by a search for the multiplier of the sum.

In shares y = x / t of the total t, and with the Gram matrix in units of its mean diagonal, the problem
is `min_{y >= 0} 1/2 y'Gy - b'y` with `sum(y) = 1`. Only differences in b matter: its largest entry is
made 0. Half the square of the sum may be added to the objective, which makes it bounded for every G: let
y(mu) be its minimum for b + mu, without the constraint. The sum of y(mu) is 0 at mu = 0, and rises from
there in straight pieces, with slopes from 1 / (1 + r) to 1; it is 1 at a mu of at most 1 + 3r. Secant
steps in a bracket find that mu in a few exact solutions, each started at the support of the last one.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.nnqp.certificate import Solution, check_level, check_problem
from ngmca.nnqp.per_row_grams import blocks, solve_each

MAX_STEPS = 100  # usually there are a few
SUM_TOLERANCE = 1e-15  # times r, up to which a sum counts as 1


@one_blas_thread
def closed(
    G: NDArray,
    C: NDArray,
    totals: NDArray,
    X0: NDArray | None = None,
    *,
    which: NDArray | None = None,
) -> Solution:
    """Solve argmin_{X >= 0} 1/2 <X, GX> - <C, X> exactly, with a given sum for each column of X.

    If G is singular, the solution need not be unique: one of them is returned.

    Parameters
    ----------
    G : ndarray of shape (r, r)
        Symmetric and positive semi-definite, as A.T @ A is.
    C : ndarray of shape (r, n)
        Correlations, one problem in each column.
    totals : float or ndarray of shape (n,)
        Sum of each column of X.
    X0 : ndarray of shape (r, n), optional
        A guess of the solution. Only its support is used.
    which : ndarray of int of shape (n,), optional
        Column t has the matrix G[which[t]], where G is a stack of shape (p, r, r).

    Returns
    -------
    Solution
        X, and as violation the result of `violation_closed`.

    Raises
    ------
    ValueError
        If an argument has a wrong shape, is not finite, or if G is not positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.nnqp import closed
    >>> closed(np.eye(2), np.array([[3.0], [2.0]]), 3.0).X.round(12)
    array([[2.],
           [1.]])
    """
    G, C, X0 = check_problem(G, C, X0, which)
    totals = np.broadcast_to(check_level(totals, "totals"), (C.shape[1],))
    if not np.isfinite(totals).all():
        raise ValueError("totals must be finite: nothing sums up to infinity.")
    if not len(C) and totals.any():
        raise ValueError("totals must be 0 where there is nothing to sum up: G has no rows.")
    Ct = np.ascontiguousarray(C.T)
    Xt = np.zeros_like(Ct) if X0 is None else np.array(X0.T, dtype=Ct.dtype, order="C")
    return Solution(X=Xt.T, violation=solve_closed(G, Ct, totals, Xt, which))


def solve_closed(
    G: NDArray, C: NDArray, totals: NDArray, X: NDArray, which: NDArray | None = None
) -> float:
    """Solve for the rows of C (m, r), each summing up to its total (m,), in place of X; the violation.

    X holds the guess of the support on entry. G is shared, or a stack (p, r, r) with `which` (m,).
    """
    H, own = (G[None], np.zeros(len(C), dtype=np.intp)) if which is None else (G, which)
    unit = _unit(H)
    rows = np.flatnonzero(totals > 0)
    Y = X[rows].astype(np.float64)
    B = _levelled(C[rows], totals[rows], unit[own[rows]])
    _find_shares(H / unit[:, None, None] + 1.0, own[rows], B, Y)
    X[:] = 0
    X[rows] = Y * totals[rows, None]
    return violation_closed(G, C, totals, X, which)


def _find_shares(M: NDArray, which: NDArray, B: NDArray, Y: NDArray) -> None:
    """Y := the minima whose rows sum up to 1, found from its support."""
    m, r = B.shape
    left = np.arange(m)  # rows whose sum is not 1 yet
    low, high, mu = np.zeros(m), np.full(m, 1.0 + 4 * r), np.full(m, 2.0)
    before, missed = np.zeros(m), np.full(m, -1.0)  # the mu before, and the sum less 1 there
    for _ in range(MAX_STEPS):
        part = Y[left]
        solve_each(M, which[left], B[left] + mu[:, None], part)
        Y[left] = part
        miss = part.sum(axis=1) - 1
        low, high = np.where(miss < 0, mu, low), np.where(miss < 0, high, mu)
        with np.errstate(divide="ignore", invalid="ignore"):
            following = mu - miss * (mu - before) / (miss - missed)
        within = (low < following) & (following < high)
        following = np.where(within, following, (low + high) / 2)
        go = (np.abs(miss) > SUM_TOLERANCE * r) & (following != mu)
        left, low, high, before, missed, mu = (
            value[go] for value in (left, low, high, mu, miss, following)
        )
        if not left.size:
            break


def violation_closed(
    G: NDArray, C: NDArray, totals: NDArray, X: NDArray, which: NDArray | None = None
) -> float:
    """Relative distance of the rows of X (m, r) to optimality: 0 iff all are solutions.

    In shares y of the total, and units of G's mean diagonal, it is the largest of |min(y, g - nu)| and
    |sum(y) - 1|: g is the gradient Gy - b, and nu its mean over the shares.
    """
    if which is None:
        return _violation_closed(G, C, totals, X)
    parts = (_violation_closed(G[which[b]], C[b], totals[b], X[b]) for b in blocks(X))
    return max(parts, default=0.0)


def _violation_closed(G: NDArray, C: NDArray, totals: NDArray, X: NDArray) -> float:
    """`violation_closed` for one matrix, or one for each row."""
    full = totals > 0
    if X[~full].any():
        return np.inf
    G, C, X, totals = G[full] if G.ndim == 3 else G, C[full], X[full], totals[full, None]
    Y, unit = X / totals, _unit(G)
    gradient = np.einsum("...jk,...k->...j", G / unit[..., None, None], Y)
    gradient -= _levelled(C, totals[:, 0], unit)
    total = Y.sum(axis=1)
    mean = np.divide((Y * gradient).sum(axis=1), total, out=np.zeros_like(total), where=total > 0)
    wrong = np.abs(np.minimum(Y, gradient - mean[:, None])).max(initial=0)
    return float(max(wrong, np.abs(total - 1).max(initial=0)))


def _unit(G: NDArray) -> NDArray:
    """The mean diagonal of each matrix, 1 where it is 0."""
    mean = np.einsum("...ii->...", G) / max(1, G.shape[-1])
    return np.where(mean > 0, mean, 1.0)


def _levelled(C: NDArray, totals: NDArray, unit: NDArray) -> NDArray:
    """b: rows of C in units of shares, less their largest entry.

    A share is positive only where b is at least -2r: what is below -4r may as well be there.
    """
    C = C.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        B = (C - C.max(axis=1, initial=-np.inf, keepdims=True)) / np.atleast_1d(unit)[:, None]
        return np.maximum(B / totals[:, None], -4.0 * C.shape[1])
