"""The sub-problem for rows that have a shape.

A profile is "free", "increasing", "decreasing" or "unimodal" (it increases up to a peak, anywhere, and
decreases from there on), and never negative.
"""

from collections.abc import Sequence
from functools import partial

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
    max_iter: int = 80,
    tol: float = 1e-7,
) -> Solution:
    """argmin_{X >= 0} 1/2 <X, GX> - <C, X> with row k of X in shapes[k], and its norm at most bound[k].

    With `which` (n,), G is a stack (p, r, r), and column t has the matrix G[which[t]]. Rows that are
    `fixed`, a mask (r,), stay as they are in X0. Ends after `max_iter` rounds over the rows, or when a
    round moves X by less than `tol` of its norm. The objective never rises, once X has its shapes and is
    within its bounds. It falls to the minimum unless rows are unimodal, a shape that is not convex: then
    X ends where no single row can be improved (except, under a bound and with `which`, by another place
    of its peak).

    The violation is what one more round would change, relative to the largest entry of the rows that
    are not fixed, before or after it.
    """
    G, C, X0 = check_problem(G, C, X0, which)
    arguments.check_count(max_iter, "max_iter", low=0)
    Ct = np.ascontiguousarray(C.T)
    Xt = np.zeros_like(Ct) if X0 is None else np.array(X0.T, dtype=Ct.dtype, order="C")
    free = np.ones(len(C), dtype=bool) if fixed is None else ~np.asarray(fixed, dtype=bool)
    Xt[:, free] = np.maximum(Xt[:, free], 0)
    descend = partial(descend_shaped, G, Ct, shapes=shapes, bound=bound, which=which, fixed=fixed)
    rounds, _ = descend(X=Xt, max_iter=max_iter, tol=tol)
    further = Xt.copy()
    _, moved = descend(X=further, max_iter=1, tol=0.0)
    peak = max(Xt[:, free].max(initial=0), further[:, free].max(initial=0))
    return Solution(X=Xt.T, violation=float(moved / peak) if peak > 0 else 0.0, n_iter=rounds)


def descend_shaped(
    G: NDArray,
    C: NDArray,
    X: NDArray,
    shapes: str | Sequence[str],
    *,
    bound: ArrayLike = np.inf,
    which: NDArray | None = None,
    fixed: NDArray | None = None,
    max_iter: int = 80,
    tol: float = 1e-7,
) -> tuple[int, float]:
    """`shaped` for C (m, r), in place of X (m, r); the number of rounds, and the last largest change.

    Here profiles are columns of X.
    """
    r = X.shape[1]
    names = [shapes] * r if isinstance(shapes, str) else list(shapes)
    if len(names) != r or not set(names) <= set(SHAPES):
        raise ValueError(f"shapes must be {r} of {', '.join(map(repr, SHAPES))}, got {names}.")
    codes = np.array([SHAPES[name] for name in names], dtype=np.intp)
    if fixed is not None:
        codes[np.asarray(fixed, dtype=bool)] = pooling.FIXED
    limits = np.array(np.broadcast_to(check_level(bound, "bound"), (r,)))
    H, own = (G[None], np.zeros(len(X), dtype=np.intp)) if which is None else (G, which)
    H, C, Z = (np.ascontiguousarray(array, dtype=np.float64) for array in (H, C, X))
    for k in np.flatnonzero((codes == pooling.UNIMODAL) & np.isfinite(limits)):
        nearest = np.empty(len(Z))  # what the objective must not rise from
        pooling.best_column(pooling.UNIMODAL, Z[:, k].copy(), np.ones(len(Z)), limits[k], nearest)
        Z[:, k] = nearest
    rounds, largest = pooling.descend_columns(
        H, np.asarray(own, dtype=np.intp), C, codes, limits, Z, max_iter, tol
    )
    if Z is not X:
        X[:] = Z
    return int(rounds), float(largest)
