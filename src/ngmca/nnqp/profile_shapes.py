"""The sub-problem for rows that have a shape.

A profile is "free", "increasing", "decreasing" or "unimodal" (it increases up to a peak, anywhere, and
decreases from there on), and never negative.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca.nnqp import pooling
from ngmca.nnqp.certificate import Solution, check_level, check_problem

SHAPES = {
    "free": pooling.FREE,
    "increasing": pooling.INCREASING,
    "decreasing": pooling.DECREASING,
    "unimodal": pooling.UNIMODAL,
}


def shaped(
    G: NDArray,
    C: NDArray,
    shapes: str | Sequence[str],
    X0: NDArray | None = None,
    *,
    bound: ArrayLike = np.inf,
    which: NDArray | None = None,
    fixed: NDArray | None = None,
    points: NDArray | None = None,
    max_iter: int = 80,
    tol: float = 1e-7,
) -> Solution:
    """Solve argmin_{X >= 0} 1/2 <X, GX> - <C, X> with a shape and a bound for each row of X.

    Each step finds the best row for fixed other rows, and rounds over all rows are extrapolated. Once
    all rows have their shapes and are within their bounds, the objective never rises. It reaches the
    minimum, unless rows are unimodal: this shape is not convex, and X ends where no single row can be
    improved (except, under a bound and with `which`, by another place of its peak).

    Parameters
    ----------
    G : ndarray of shape (r, r)
        Symmetric and positive semi-definite, as A.T @ A is.
    C : ndarray of shape (r, n)
        Correlations, one problem in each column.
    shapes : str or sequence of str
        "free", "increasing", "decreasing" or "unimodal", one for all rows or one for each.
    X0 : ndarray of shape (r, n), optional
        Where to start; 0 by default.
    bound : float or ndarray of shape (r,)
        Largest norm of each row of X.
    which : ndarray of int of shape (n,), optional
        Column t has the matrix G[which[t]], where G is a stack of shape (p, r, r).
    fixed : ndarray of bool of shape (r,), optional
        Rows that stay as they are in X0.
    points : ndarray of shape (r, n), optional
        Known entries of X, not negative, NaN where X is unknown.
    max_iter : int
        Largest number of rounds over the rows.
    tol : float
        Stop when a round moves X by less than this share of its norm.

    Returns
    -------
    Solution
        X, and as violation the largest move of a step down the gradient and back into shapes and bounds,
        divided by the largest entry of the rows that are not fixed. It is 0 at the minimum only, or
        where no single row can be improved.

    Raises
    ------
    ValueError
        If an argument has a wrong shape, is not finite, or if G is not positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.nnqp import shaped
    >>> shaped(np.eye(1), np.array([[1.0, 3.0, 2.0]]), "increasing").X
    array([[1. , 2.5, 2.5]])
    """
    G, C, X0 = check_problem(G, C, X0, which)
    arguments.check_count(max_iter, "max_iter", low=0)
    Ct = np.ascontiguousarray(C.T)
    Xt = np.zeros_like(Ct) if X0 is None else np.array(X0.T, dtype=Ct.dtype, order="C")
    free = np.ones(len(C), dtype=bool) if fixed is None else ~np.asarray(fixed, dtype=bool)
    Xt[:, free] = np.maximum(Xt[:, free], 0)
    known = None if points is None else np.asarray(points, dtype=np.float64).T
    limits: dict[str, Any] = {"bound": bound, "which": which, "fixed": fixed, "points": known}
    rounds = descend_shaped(G, Ct, Xt, shapes, **limits, max_iter=max_iter, tol=tol)
    return Solution(X=Xt.T, violation=residual_shaped(G, Ct, Xt, shapes, **limits), n_iter=rounds)


def descend_shaped(
    G: NDArray,
    C: NDArray,
    X: NDArray,
    shapes: str | Sequence[str],
    *,
    bound: ArrayLike = np.inf,
    which: NDArray | None = None,
    fixed: NDArray | None = None,
    points: NDArray | None = None,
    max_iter: int = 80,
    tol: float = 1e-7,
) -> int:
    """Solve as `shaped` for the rows of C (m, r), in place of X (m, r); here profiles are columns of X.

    Returns the number of rounds.
    """
    H, own, C, codes, limits, known, Z = _prepared(G, C, X, shapes, bound, which, fixed, points)
    for k in np.flatnonzero((codes == pooling.UNIMODAL) & np.isfinite(limits)):
        nearest = np.empty(len(Z))  # what the objective must not rise from
        column, points = Z[:, k].copy(), known[:, k].copy()
        pooling.best_column(pooling.UNIMODAL, column, np.ones(len(Z)), limits[k], points, nearest)
        Z[:, k] = nearest
    rounds = pooling.descend_columns(H, own, C, codes, limits, known, Z, max_iter, tol)
    if Z is not X:
        X[:] = Z
    return int(rounds)


def nearest_in_shape(X: NDArray, shapes: Sequence[str], zero: NDArray | None = None) -> NDArray:
    """Return the nearest columns to those of X (m, r) that have these shapes and are not negative.

    Entries are 0 where `zero` (m, r) is true.
    """
    found, points = np.empty(X.shape), np.full(X.shape, np.nan)
    points[False if zero is None else zero] = 0
    for k, shape in enumerate(shapes):
        column = np.ascontiguousarray(X[:, k], dtype=np.float64)
        nearest, known = np.empty(len(column)), points[:, k].copy()
        pooling.best_column(SHAPES[shape], column, np.ones(len(column)), np.inf, known, nearest)
        found[:, k] = nearest
    return found


def residual_shaped(
    G: NDArray,
    C: NDArray,
    X: NDArray,
    shapes: str | Sequence[str],
    *,
    bound: ArrayLike = np.inf,
    which: NDArray | None = None,
    fixed: NDArray | None = None,
    points: NDArray | None = None,
) -> float:
    """Return how far X (m, r) is from optimal, with the arguments of `descend_shaped`.

    It is the largest move of a step down the gradient and back into shapes and bounds, over the largest
    entry of what is not fixed.
    """
    return float(pooling.residual_columns(*_prepared(G, C, X, shapes, bound, which, fixed, points)))


def _prepared(
    G: NDArray,
    C: NDArray,
    X: NDArray,
    shapes: str | Sequence[str],
    bound: ArrayLike,
    which: NDArray | None,
    fixed: NDArray | None,
    points: NDArray | None,
) -> tuple[NDArray, ...]:
    """Return the stack, the matrix of each row, C, codes, bounds, points and X for the kernels."""
    r = X.shape[1]
    names = [shapes] * r if isinstance(shapes, str) else list(shapes)
    if len(names) != r or not set(names) <= set(SHAPES):
        raise ValueError(f"shapes must be {r} of {', '.join(map(repr, SHAPES))}, got {names}.")
    codes = np.array([SHAPES[name] for name in names], dtype=np.intp)
    if fixed is not None:
        codes[np.asarray(fixed, dtype=bool)] = pooling.FIXED
    limits = np.empty(r)
    limits[:] = check_level(bound, "bound")
    H, own = (G[None], np.zeros(len(X), dtype=np.intp)) if which is None else (G, which)
    H, C, Z = (np.ascontiguousarray(array, dtype=np.float64) for array in (H, C, X))
    known = np.full(X.shape, np.nan) if points is None else np.array(points, dtype=np.float64, order="C")
    return H, np.asarray(own, dtype=np.intp), C, codes, limits, known, Z
