"""Rows that sum up to totals while columns have shapes: the method of multipliers.

A sum couples the entries of a row, a shape those of a column. The multipliers nu (m,) of the sums and a
penalty rho / 2 |sum - total|^2 leave a problem whose only constraints are those of the columns, which
`profile_shapes` solves, the more exactly the closer the sums are. Then nu rises by rho (sum - total),
and so on until the sums are right. For convex shapes this converges to the minimum. A sum of at most, or
at least, a total has a slack variable: one more column, free and not negative.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ngmca.nnqp.gram import Gram
from ngmca.nnqp.profile_shapes import descend_shaped, residual_shaped

SLACK = {"equal": 0.0, "at most": 1.0, "at least": -1.0}  # its factor in the sum
PENALTY = 2.0  # rho over the mean diagonal of G, at first
SLOW, GROWTH = 0.5, 2.0  # where sums come closer to their totals by less than this, rho grows,
MOST_GROWTH = 16.0  # but not forever: multipliers must be able to move a peak
MAX_STEPS = 300  # of the multipliers
SUM_TOLERANCE = 1e-10  # of a sum from its total
ROUNDS, TOLERANCE = 3000, 1e-10  # of the columns between two of these steps
INEXACT, LOOSEST = 0.03, 1e-5  # until sums are right, columns are solved to this share of what they miss


def solve_closed_shapes(
    G: Gram,
    C: NDArray,
    X: NDArray,
    *,
    shapes: Sequence[str],
    points: NDArray,
    totals: NDArray,
    weights: NDArray,
    sense: str = "equal",
) -> float:
    """Solve argmin 1/2 <X, XG> - <C, X> for columns in shapes and rows with sums, in place of X.

    Parameters
    ----------
    G : Gram
        The matrix of each row.
    totals : ndarray of shape (m,)
        The total of each row.
    C, X, points : ndarray of shape (m, r)
        Correlations, the guess and then the solution, and known entries, NaN where X is unknown.
    shapes : sequence of str
        The shape of each column, as in `shaped`.
    weights : ndarray of shape (r,)
        Factors of the columns in the sum, 0 for those outside of it.
    sense : {"equal", "at most", "at least"}
        What the sum is, compared with its total.

    Returns
    -------
    float
        The largest move of a step down the gradient of the Lagrange function and back into shapes, over
        the largest entry and the least eigenvalue of G; or the largest distance of a sum from its total,
        over the total, if that is larger.
    """
    (m, r), H = X.shape, G.stack
    which = np.zeros(m, dtype=np.intp) if G.which is None else G.which
    inside = weights > 0
    largest = float(weights.max())
    e, totals = weights / largest, totals / largest
    Z, Cz, Hz, known, names = X, C, H, points, [*shapes]
    if SLACK[sense]:
        slack = np.maximum(SLACK[sense] * (totals - X @ e), 0)
        e, names = np.append(e, SLACK[sense]), [*names, "free"]
        Z, Cz = np.column_stack([X, slack]), np.column_stack([C, np.zeros(m)])
        Hz = np.pad(H, ((0, 0), (0, 1), (0, 1)))
        known = np.column_stack([points, np.full(m, np.nan)])
    mean = np.einsum("pkk,k->p", H, inside / max(1, inside.sum()))
    rho = PENALTY * np.where(mean > 0, mean, 1.0)
    nu = _multipliers(H, which, C, X, weights / largest)
    given = {"which": which, "points": known}
    unit, before = np.where(totals > 0, totals, totals.max(initial=1e-300)), np.inf
    grown = 1.0
    for _ in range(MAX_STEPS):
        M, own = np.ascontiguousarray(Hz + rho[:, None, None] * np.outer(e, e)), rho[which]
        pull = Cz + (own * totals - nu)[:, None] * e
        tol = min(max(INEXACT * before, TOLERANCE), LOOSEST)
        descend_shaped(M, pull, Z, names, **given, max_iter=ROUNDS, tol=tol)
        miss = Z @ e - totals
        nu = nu + own * miss
        wrong = float(np.abs(miss / unit).max(initial=0))
        if wrong <= SUM_TOLERANCE and tol <= TOLERANCE:
            break
        if wrong > SLOW * before and grown < MOST_GROWTH:
            rho, grown = rho * GROWTH, grown * GROWTH
        before = wrong
    X[:] = Z[:, :r]
    pull = Cz + (own * totals - nu)[:, None] * e
    far = residual_shaped(M, pull, Z, names, **given) / G.least_eigenvalue
    return max(far, wrong)


def _multipliers(H: NDArray, which: NDArray, C: NDArray, X: NDArray, e: NDArray) -> NDArray:
    """Return a guess of the multipliers: minus the mean gradient over what X has in the sum."""
    pull = C - np.einsum("ik,ikl->il", X, H[which])
    total = X @ e
    return np.divide((X * pull * (e > 0)).sum(axis=1), total, out=np.zeros(len(X)), where=total > 0)
