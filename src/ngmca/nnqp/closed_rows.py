"""Rows that sum up to a given total: exact, by a search for the multiplier of the sum.

In shares y = x / t of the total t, and with the Gram matrix in units of its mean diagonal, the problem
is `min_{y >= 0} 1/2 y'Gy - b'y` with `sum(y) = 1`. Only differences in b matter: its largest entry is
made 0. Half the square of the sum may be added to the objective, which makes it bounded for every G: let
y(mu) be its minimum for b + mu, without the constraint. The sum of y(mu) is 0 at mu = 0, and rises from
there in straight pieces, with slopes from 1 / (1 + r) to 1; it is 1 at a mu of at most 1 + 3r. Secant
steps in a bracket find that mu in a few exact solutions, each started at the support of the last one.

Some entries may be outside of the sum. Then mu is added to those inside only. The sum still rises with
mu, at least as steeply, but the mu at which it is 1 has no upper end. This needs G >= 0, which keeps
the sum 0 at mu = 0.
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
    G: NDArray,
    C: NDArray,
    totals: NDArray,
    X: NDArray,
    which: NDArray | None = None,
    inside: NDArray | None = None,
) -> float:
    """Solve for the rows of C (m, r), each summing up to its total (m,), in place of X; the violation.

    X holds the guess of the support on entry. G is shared, or a stack (p, r, r) with `which` (m,).
    `inside` (m, r) says which entries are summed up, all by default; others need G >= 0.
    """
    H, own = (G[None], np.zeros(len(C), dtype=np.intp)) if which is None else (G, which)
    unit = _unit(H)
    full = totals > 0
    rows = np.flatnonzero(full)
    Y = X[rows].astype(np.float64)
    part = None if inside is None else inside[rows]
    B = _levelled(C[rows], totals[rows], unit[own[rows]], part)
    H_shares = H / unit[:, None, None]
    M, of_M = (H_shares + 1.0, own[rows]) if part is None else _summed(H_shares, own[rows], part)
    _find_shares(M, of_M, B, Y, part)
    X[~full if inside is None else ~full[:, None] & inside] = 0
    X[rows] = Y * totals[rows, None]
    if inside is not None and not full.all():
        _solve_outside(H, own, C, X, ~full, inside)
    return violation_closed(G, C, totals, X, which, inside)


def _summed(H: NDArray, own: NDArray, inside: NDArray) -> tuple[NDArray, NDArray]:
    """Return the matrices with half the square of the sum added, and the one of each row."""
    kinds, which = np.unique(np.column_stack([own, inside]), axis=0, return_inverse=True)
    part = kinds[:, 1:].astype(np.float64)
    return H[kinds[:, 0]] + part[:, :, None] * part[:, None, :], which.ravel()


def _solve_outside(
    H: NDArray, own: NDArray, C: NDArray, X: NDArray, rows: NDArray, inside: NDArray
) -> None:
    """Solve for what is outside of sums that are 0, in place of X."""
    part, found = C[rows].astype(np.float64), X[rows].astype(np.float64)
    part[inside[rows]] = -np.abs(part[inside[rows]])
    solve_each(H, own[rows], part, found)
    X[rows] = found


def _find_shares(
    M: NDArray, which: NDArray, B: NDArray, Y: NDArray, inside: NDArray | None = None
) -> None:
    """Y := the minima whose rows sum up to 1, found from its support."""
    m, r = B.shape
    left = np.arange(m)  # rows whose sum is not 1 yet
    most = 1.0 + 4 * r if inside is None else np.inf
    low, high, mu = np.zeros(m), np.full(m, most), np.full(m, 2.0)
    before, missed = np.zeros(m), np.full(m, -1.0)  # the mu before, and the sum less 1 there
    for _ in range(MAX_STEPS):
        part, counted = Y[left], 1.0 if inside is None else inside[left]
        solve_each(M, which[left], B[left] + mu[:, None] * counted, part)
        Y[left] = part
        miss = (part * counted).sum(axis=1) - 1
        low, high = np.where(miss < 0, mu, low), np.where(miss < 0, high, mu)
        with np.errstate(divide="ignore", invalid="ignore"):
            following = mu - miss * (mu - before) / (miss - missed)
        within = (low < following) & (following < high)
        middle = np.where(np.isinf(high), 2 * low, (low + np.minimum(high, 1e300)) / 2)
        following = np.where(within, following, middle)
        go = (np.abs(miss) > SUM_TOLERANCE * r) & (following != mu)
        left, low, high, before, missed, mu = (
            value[go] for value in (left, low, high, mu, miss, following)
        )
        if not left.size:
            break


def violation_closed(
    G: NDArray,
    C: NDArray,
    totals: NDArray,
    X: NDArray,
    which: NDArray | None = None,
    inside: NDArray | None = None,
) -> float:
    """Relative distance of the rows of X (m, r) to optimality: 0 iff all are solutions.

    In shares y of the total, and units of G's mean diagonal, it is the largest of |min(y, g - nu)| and
    |sum(y) - 1|: g is the gradient Gy - b, and nu its mean over the shares, for what is summed up.
    """
    if which is None:
        return _violation_closed(G, C, totals, X, inside)
    parts = (
        _violation_closed(G[which[b]], C[b], totals[b], X[b], None if inside is None else inside[b])
        for b in blocks(X)
    )
    return max(parts, default=0.0)


def _violation_closed(
    G: NDArray, C: NDArray, totals: NDArray, X: NDArray, inside: NDArray | None
) -> float:
    """`violation_closed` for one matrix, or one for each row."""
    full = totals > 0
    if X[~full].any() if inside is None else X[~full][inside[~full]].any():
        return np.inf
    G, C, X, totals = G[full] if G.ndim == 3 else G, C[full], X[full], totals[full, None]
    counted = np.ones(X.shape, dtype=bool) if inside is None else inside[full]
    Y, unit = X / totals, _unit(G)
    gradient = np.einsum("...jk,...k->...j", G / unit[..., None, None], Y)
    gradient -= _levelled(C, totals[:, 0], unit, None if inside is None else counted)
    total = np.sum(Y, axis=1, where=counted)
    pull = np.sum(Y * gradient, axis=1, where=counted)
    mean = np.divide(pull, total, out=np.zeros_like(total), where=total > 0)
    wrong = np.abs(np.minimum(Y, gradient - mean[:, None] * counted)).max(initial=0)
    return float(max(wrong, np.abs(total - 1).max(initial=0)))


def _unit(G: NDArray) -> NDArray:
    """The mean diagonal of each matrix, 1 where it is 0."""
    mean = np.einsum("...ii->...", G) / max(1, G.shape[-1])
    return np.where(mean > 0, mean, 1.0)


def _levelled(C: NDArray, totals: NDArray, unit: NDArray, inside: NDArray | None = None) -> NDArray:
    """b: rows of C in units of shares, less the largest entry that is summed up.

    If all are, a share is positive only where b is at least -2r: what is below -4r may as well be there.
    """
    C = C.astype(np.float64, copy=False)
    most = C.max(axis=1, initial=-np.inf, keepdims=True, where=True if inside is None else inside)
    with np.errstate(over="ignore", invalid="ignore"):
        B = (C - most if inside is None else np.where(inside, C - most, C)) / np.atleast_1d(unit)[
            :, None
        ]
        B /= totals[:, None]
    return np.maximum(B, -4.0 * C.shape[1]) if inside is None else B
