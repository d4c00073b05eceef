"""Exact solutions: block principal pivoting, warm-started, compiled.

For each column c of C, the solution x of `min_{x >= 0} 1/2 x'Gx - c'x` is known once its support is.
Block principal pivoting guesses a support, solves the linear system on it, and exchanges every entry
that breaks a sign: negative x on the support, negative gradient off it. When the number of broken
signs stops falling, it exchanges one entry at a time (the largest index), which ends for every
positive definite G. Where a system is singular, or the exchanges go on for too long in rounding
noise, a primal active-set method takes over: it only ever goes down, and it walks along flat
directions to a bound.

The compiled kernels work on rows of transposed arrays, `(columns, r)`: a column of the problem is
contiguous then, and the mixing matrix and its correlations `Y S'` have that layout already.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ngmca.nnqp.certificate import Solution, check_problem, equilibrate

_EPS = 2.220446049250313e-16
_DEPENDENT = 16 * _EPS  # a pivot below this share (times r) of its diagonal is rounding noise
_ROUNDING = 8 * _EPS  # a gradient below this share (times r) of its terms is zero
_PATIENCE = 3  # full exchanges without progress before the one-at-a-time rule


def pivot(G: NDArray, C: NDArray, X0: NDArray | None = None) -> Solution:
    """argmin_{X >= 0} 1/2 <X, GX> - <C, X>, exactly, for every column of C.

    G (r, r) is symmetric and positive semi-definite, C is (r, n), and X0 (r, n) is a previous solution
    whose support is a good guess. Where G is singular the solution need not be unique: one of them is
    returned. Along a direction in which the objective falls without end (G flat there and C positive)
    X stays finite, and the violation tells.
    """
    G, C, X0 = check_problem(G, C, X0)
    Ct = np.ascontiguousarray(C.T)
    Xt = np.zeros_like(Ct) if X0 is None else np.array(X0.T, dtype=Ct.dtype, order="C")
    worst = solve_rows(G, Ct, Xt)
    return Solution(X=Xt.T, violation=worst)


def solve_rows(
    G: NDArray, C: NDArray, X: NDArray, shift: NDArray | None = None, *, unit: bool = False
) -> float:
    """Solve for the rows of C (n, r) minus shift (r,), in place of X (n, r); the worst violation.

    X holds the guess of the support on entry. `unit` says that the diagonal of G is 1 already, which
    saves the scaling that makes every decision independent of the units of the sources.
    """
    shift = np.zeros(G.shape[0]) if shift is None else shift
    if unit:
        return _solve_rows(G, C, X, shift)
    G, scale = equilibrate(G)
    worst = _solve_rows(G, C * scale, X, shift * scale)
    X *= scale
    return worst


@njit(cache=True, nogil=True)
def _factor(G, F, k, L, inverse, v):
    """Unit lower L and inverse pivots of G on the k indices of F; how many of them are independent."""
    noise = _DEPENDENT * G.shape[0]
    for a in range(k):
        i = F[a]
        for b in range(a):
            s = G[i, F[b]]
            for t in range(b):
                s -= v[t] * L[b, t]
            v[b] = s
        d = G[i, i]
        for b in range(a):
            L[a, b] = v[b] * inverse[b]
            d -= v[b] * L[a, b]
        if d <= noise * G[i, i]:
            return a
        inverse[a] = 1.0 / d
    return k


@njit(cache=True, nogil=True)
def _substitute(L, inverse, k, z):
    """z := (L D L')^-1 z, for the leading k entries."""
    for a in range(k):
        s = z[a]
        for b in range(a):
            s -= L[a, b] * z[b]
        z[a] = s
    for a in range(k - 1, -1, -1):
        s = z[a] * inverse[a]
        for b in range(a + 1, k):
            s -= L[b, a] * z[b]
        z[a] = s


@njit(cache=True, nogil=True)
def _gradient(G, c, F, z, k, y):
    """y := G[:, F] z - c; what rounding can add to an entry of it."""
    size = 0.0
    for i in range(y.size):
        y[i] = -c[i]
        size = max(size, abs(c[i]))
    for a in range(k):
        za = z[a]
        row = G[F[a]]
        for i in range(y.size):
            y[i] += za * row[i]
        size = max(size, abs(za))
    return _ROUNDING * y.size * size


@njit(cache=True, nogil=True)
def _block_pivoting(G, c, passive, F, z, y, L, inverse, v):
    """Exchange broken signs until none is left; the size of the support, or -1 if that failed."""
    r = c.size
    fewest = r + 1
    patience = _PATIENCE
    for _ in range(20 + 5 * r):
        k = 0
        for i in range(r):
            if passive[i]:
                F[k] = i
                z[k] = c[i]
                k += 1
        if _factor(G, F, k, L, inverse, v) < k:
            return -1
        _substitute(L, inverse, k, z)
        rounding = _gradient(G, c, F, z, k, y)
        broken = 0
        last = -1
        a = 0
        for i in range(r):
            if passive[i]:
                wrong = z[a] < 0.0
                a += 1
            else:
                wrong = y[i] < -rounding
            if wrong:
                v[broken] = i
                broken += 1
                last = i
        if broken == 0:
            return k
        if broken < fewest:
            fewest = broken
            patience = _PATIENCE
        elif patience > 0:
            patience -= 1
        else:
            passive[last] = not passive[last]
            continue
        for a in range(broken):
            i = int(v[a])
            passive[i] = not passive[i]
    return -1


@njit(cache=True, nogil=True)
def _step(x, F, k, direction, longest):
    """The step along `direction` at which the first entry of x on F reaches 0, at most `longest`."""
    for a in range(k):
        if direction[a] < 0.0:
            longest = min(longest, x[F[a]] / -direction[a])
    return longest


@njit(cache=True, nogil=True)
def _advance(x, F, k, direction, step):
    """x[F] += step * direction; drop what reached 0 (at least one entry shrinks to it); the new k."""
    kept = 0
    for a in range(k):
        i = F[a]
        moved = x[i] + step * direction[a]
        if direction[a] < 0.0 and moved <= _EPS * x[i]:
            x[i] = 0.0
        else:
            x[i] = moved
            F[kept] = i
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _active_set(G, c, F, z, y, L, inverse, v, x):
    """Go down from 0, one entry entering at a time, for G of any rank; the size of the support."""
    r = c.size
    x[:] = 0.0
    refused = np.zeros(r, dtype=np.bool_)
    k = 0
    for _ in range(20 + 20 * r):
        for a in range(k):
            z[a] = x[F[a]]
        rounding = _gradient(G, c, F, z, k, y)
        entering = -1
        steepest = -rounding
        for i in range(r):
            if y[i] < steepest and x[i] == 0.0 and not refused[i]:
                entering = i
                steepest = y[i]
        if entering < 0:
            break
        F[k] = entering
        k += 1
        if _factor(G, F, k, L, inverse, v) < k:  # flat along the new entry: walk to the next bound
            for a in range(k - 1):
                z[a] = -G[F[a], entering]
            _substitute(L, inverse, k - 1, z)
            z[k - 1] = 1.0
            step = _step(x, F, k, z, np.inf)
            if step == np.inf:
                refused[entering] = True
                k -= 1
                continue
            k = _advance(x, F, k, z, step)
        while k > 0:
            for a in range(k):
                z[a] = c[F[a]]
            if _factor(G, F, k, L, inverse, v) < k:
                break  # rounding made an independent set dependent: x is feasible, go on from it
            _substitute(L, inverse, k, z)
            for a in range(k):
                z[a] -= x[F[a]]
            step = _step(x, F, k, z, 1.0)
            if step == 1.0:
                for a in range(k):
                    x[F[a]] += z[a]
                break
            k = _advance(x, F, k, z, step)
        if x[entering] == 0.0:
            refused[entering] = True
        else:
            refused[:] = False
    return k


@njit(cache=True, nogil=True)
def _solve_rows(G, C, X, shift):
    """Solve every row of C - shift in place of X; the largest relative violation among them."""
    n, r = C.shape
    c = np.empty(r)
    x = np.empty(r)
    y = np.empty(r)
    z = np.empty(r)
    v = np.empty(r)
    inverse = np.empty(r)
    L = np.empty((r, r))
    F = np.empty(r, dtype=np.int64)
    passive = np.empty(r, dtype=np.bool_)
    worst = 0.0
    for t in range(n):
        for i in range(r):
            c[i] = C[t, i] - shift[i]
            passive[i] = X[t, i] > 0.0
        k = _block_pivoting(G, c, passive, F, z, y, L, inverse, v)
        if k < 0:
            k = _active_set(G, c, F, z, y, L, inverse, v, x)
            for a in range(k):
                z[a] = x[F[a]]
            _gradient(G, c, F, z, k, y)
        X[t] = 0.0
        size = 0.0
        wrong = 0.0
        for i in range(r):
            size = max(size, abs(c[i]))
            wrong = max(wrong, -y[i])
        for a in range(k):
            X[t, F[a]] = z[a]
            size = max(size, z[a])
            wrong = max(wrong, min(z[a], y[F[a]]))
        if size > 0.0:
            worst = max(worst, wrong / size)
    return worst
