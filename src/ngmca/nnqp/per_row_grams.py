"""A Gram matrix for every row: what missing entries and weights of entries lead to.

Row i of C and X (m, r) has the matrix H[which[i]] of a stack H (p, r, r); rows with equal weights share
one.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.compiled import compiled
from ngmca.nnqp.active_set import solve_left
from ngmca.nnqp.certificate import scales
from ngmca.nnqp.pivoting import pivot_rows

MATRIX_ENTRIES_AT_ONCE = 1 << 20  # copied for a certificate


def solve_each(
    H: NDArray, which: NDArray, C: NDArray, X: NDArray, shift: NDArray | None = None
) -> float:
    """Solve for the rows of C (m, r) minus shift (r,), in place of X (m, r); the worst violation.

    As `solve_rows`: exact, started at the support of X, and independent of the units of H. A row of
    which nothing is known, with H and C 0, is 0.
    """
    scale = scales(H)
    own = scale[which]
    C = np.subtract(C, 0.0 if shift is None else shift, dtype=np.float64, order="C") * own
    H, Z = (np.ascontiguousarray(array, dtype=np.float64) for array in (H, X))
    order, ends = np.argsort(which, kind="stable"), np.cumsum(np.bincount(which, minlength=len(H)))
    left = np.zeros(len(Z), dtype=np.bool_)
    worst = float(_solve_stack(H, scale, C, Z, order, ends, left))
    for p in np.unique(which[left]):
        G = H[p] * scale[p] * scale[p][:, None]
        rows = np.flatnonzero(left & (which == p))
        worst = max(worst, float(solve_left(G, C, Z, np.zeros(len(G)), rows)))
    np.multiply(Z, own, out=X, casting="same_kind")
    return worst + (C.shape[1] * np.finfo(X.dtype).eps / 2 if X.dtype != np.float64 else 0.0)


@compiled
def _solve_stack(H, scale, C, X, order, ends, left):
    """`pivot_rows` for one matrix of H after the other; those of matrix p end at ends[p] in `order`."""
    r = C.shape[1]
    G = np.empty((r, r))
    shift = np.zeros(r)
    worst = 0.0
    start = 0
    for p in range(len(H)):
        end = ends[p]
        if end > start:
            for i in range(r):
                for j in range(r):
                    G[i, j] = H[p, i, j] * scale[p, j] * scale[p, i]
            worst = max(worst, pivot_rows(G, C, X, shift, order[start:end], left))
        start = end
    return worst


def blocks(X: NDArray) -> list[slice]:
    """Rows of X (m, r) in parts small enough for a matrix (r, r) each."""
    step = max(1, MATRIX_ENTRIES_AT_ONCE // max(1, X.shape[1] ** 2))
    return [slice(start, start + step) for start in range(0, len(X), step)]
