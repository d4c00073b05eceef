"""Exact solutions: block principal pivoting, warm-started, compiled.

For each column c of C, the solution x of `min_{x >= 0} 1/2 x'Gx - c'x` is known once its support is.
Block principal pivoting guesses a support, solves the linear system on it, and exchanges every entry
that breaks a sign: negative x on the support, negative gradient off it. When the number of broken
signs stops falling, it exchanges one entry at a time (the largest index), which ends for every
positive definite G. Where a system is singular, or the exchanges go on for too long in rounding
noise, the column is left to a primal active-set method (`active_set`).

The compiled kernels work on rows of transposed arrays, `(columns, r)`: a column of the problem is
contiguous then, and the mixing matrix and its correlations `Y S'` have that layout already.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.compiled import compiled, inlined
from ngmca._support.threads import one_blas_thread
from ngmca.nnqp.active_set import solve_left
from ngmca.nnqp.certificate import Solution, check_problem, equilibrate, violation
from ngmca.nnqp.elimination import ROUNDING, gradient, minimum_on, row_violation, solve_on

ENTRIES_CAST_AT_ONCE = 1 << 13  # 64 kB, for which malloc need not ask the system
_PATIENCE = 3  # full exchanges without progress before the one-at-a-time rule


@one_blas_thread
def pivot(G: NDArray, C: NDArray, X0: NDArray | None = None) -> Solution:
    """Solve argmin_{X >= 0} 1/2 <X, GX> - <C, X> exactly, for every column of C.

    If G is singular, the solution need not be unique: one of them is returned. If the objective of a
    column falls without end, X stays finite, and the violation shows it.

    Parameters
    ----------
    G : ndarray of shape (r, r)
        Symmetric and positive semi-definite, as A.T @ A is.
    C : ndarray of shape (r, n)
        Correlations, one problem in each column.
    X0 : ndarray of shape (r, n), optional
        A guess of the solution. Only its support (the entries above 0) is used.

    Returns
    -------
    Solution
        X, and its violation of the optimality conditions.

    Raises
    ------
    ValueError
        If an argument has a wrong shape, is not finite, or if G is not positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.nnqp import pivot
    >>> pivot(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[2.0], [-1.0]])).X
    array([[1.],
           [0.]])
    """
    G, C, X0 = check_problem(G, C, X0)
    Ct = np.ascontiguousarray(C.T)
    Xt = np.zeros_like(Ct) if X0 is None else np.array(X0.T, dtype=Ct.dtype, order="C")
    solve_rows(G, Ct, Xt)
    return Solution(X=Xt.T, violation=violation(G, C, Xt.T))


def solve_rows(
    G: NDArray,
    C: NDArray,
    X: NDArray,
    shift: NDArray | None = None,
    *,
    unit: bool = False,
    grouped: bool = False,
) -> float:
    """Solve for the rows of C (n, r) minus shift (r,), in place of X (n, r); the worst violation.

    X holds the guess of the support on entry. `unit` says that the diagonal of G is 1 already, which
    saves the scaling that makes every decision independent of the units of the sources. `grouped` takes
    rows of equal support together, which pays where there are few supports, as in A.
    """
    shift = np.zeros(G.shape[0]) if shift is None else shift
    cast = len(G) * np.finfo(X.dtype).eps / 2 if X.dtype != np.float64 else 0.0
    if unit:
        return _solve_in_double(G, C, X, shift, grouped) + cast
    G, scale = equilibrate(G)
    worst = _solve_in_double(G, C * scale, X, shift * scale, grouped)
    X *= scale
    return worst + cast


def _solve_in_double(G: NDArray, C: NDArray, X: NDArray, shift: NDArray, grouped: bool) -> float:
    """`pivot_rows`, which is compiled once: for double precision and rows that are contiguous."""
    if X.dtype == np.float64 and X.flags.c_contiguous:
        order = _by_support(X) if grouped and len(G) > 8 else np.arange(len(X))
        G, C = (np.ascontiguousarray(one, dtype=np.float64) for one in (G, C))
        left = np.zeros(len(X), dtype=np.bool_)
        worst = float(pivot_rows(G, C, X, shift, order, left))
        if left.any():
            worst = max(worst, float(solve_left(G, C, X, shift, np.flatnonzero(left))))
        return worst
    worst, count = 0.0, max(1, ENTRIES_CAST_AT_ONCE // max(1, len(G)))
    for some in (slice(i, i + count) for i in range(0, len(X), count)):
        solution = X[some].astype(np.float64, order="C")
        worst = max(worst, _solve_in_double(G, C[some], solution, shift, grouped))
        X[some] = solution
    return worst


def _by_support(X: NDArray) -> NDArray:
    """An order in which rows with the same support, among their first 16 entries, are neighbours."""
    keys = np.packbits(X[:, :16] > 0, axis=1).view(np.uint16)[:, 0]
    return np.argsort(keys, kind="stable")


@inlined
def _broken_signs(G, c, F, k, z, y):
    """How many entries of z and of its gradient y break their sign, and the sum of |z|."""
    size = gradient(G, c, F, z, k, y)
    rounding = ROUNDING * y.size * size
    broken = 0
    for a in range(k):
        broken += z[a] < 0.0
    for i in range(y.size):  # on the support the gradient is rounding noise
        broken += y[i] < -rounding
    return broken, size


@compiled
def _block_pivoting(G, c, F, k, z, y, W, inverse, known, passive, broken, size):
    """Exchange broken signs until none is left; the size of the support, or -1 if that failed.

    `broken` signs are known already where it is positive, with z, y and the sum of |z|.
    """
    r = c.size
    fewest = r + 1
    patience = _PATIENCE
    for _ in range(20 + 5 * r):
        if broken <= 0:
            if not minimum_on(G, c, F, k, z, W, inverse, known):
                return -1
            broken, size = _broken_signs(G, c, F, k, z, y)
            if broken == 0:
                return k
        rounding = ROUNDING * r * size
        if broken < fewest:
            fewest = broken
            patience = _PATIENCE
        else:
            patience -= 1
        for i in range(r):
            passive[i] = False
        for a in range(k):
            passive[F[a]] = True
        for a in range(k):
            y[F[a]] = z[a]  # now y tells for every entry whether its sign is wrong
        last = r - 1
        while last >= 0 and y[last] >= (0.0 if passive[last] else -rounding):
            last -= 1
        if last < 0:  # only rounding on the support
            gradient(G, c, F, z, k, y)
            return k
        first = 0 if patience >= 0 else last  # without progress only the largest index is exchanged
        for i in range(first, last + 1):
            if y[i] < (0.0 if passive[i] else -rounding):
                passive[i] = not passive[i]
        broken = 0
        k = 0
        for i in range(r):
            F[k] = i
            k += passive[i]
    return -1


@compiled
def pivot_rows(G, C, X, shift, order, left):
    """Solve every row of C - shift in place of X; an upper bound of the largest relative violation.

    `left` becomes True for the rows that want another method.
    """
    r = C.shape[1]
    c = np.empty(r)
    y = np.empty(r)
    z = np.empty(r + 1)
    inverse = np.zeros(r + 1)
    W = np.empty((r, r))
    F = np.empty(r + 1, dtype=np.uintp)
    known = np.full(r + 1, r + 1, dtype=np.uintp)
    passive = np.empty(r, dtype=np.bool_)
    worst = 0.0
    for t in order:
        correlation, solution = C[t], X[t]
        k = np.intp(0)  # not the literal, for which the kernels below would be compiled once more
        for i in range(r):
            c[i] = correlation[i] - shift[i]
            F[k] = i
            k += solution[i] > 0.0
        for a in range(k):
            z[a] = c[F[a]]
        sound = solve_on(G, F, k, z, W, inverse, known) == k and inverse[-1] == 0.0
        broken, size = _broken_signs(G, c, F, k, z, y)
        if broken > 0 or not sound:  # the last support is not the new one, or needs more care
            broken = broken if sound else np.intp(0)
            k = _block_pivoting(G, c, F, k, z, y, W, inverse, known, passive, broken, size)
            if k < 0:
                left[t] = True
                continue
            size = gradient(G, c, F, z, k, y)
        # in most columns nothing is worse than the worst so far, in units of the mean of z
        limit = worst * size / max(k, 1)
        worse = 0
        for i in range(r):
            solution[i] = 0.0
            worse += y[i] < -limit
        for a in range(k):
            solution[F[a]] = z[a]
            worse += y[F[a]] > limit
        if worse > 0:
            worst = max(worst, row_violation(c, F, z, k, y))
    return worst
