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
from numpy.typing import NDArray

from ngmca._support.compiled import compiled, inlined, strict
from ngmca._support.threads import one_blas_thread
from ngmca.nnqp.certificate import Solution, check_problem, equilibrate, violation

_EPS = 2.220446049250313e-16
_DEPENDENT = 16 * _EPS  # a pivot below this share (times r) of its diagonal is rounding noise
_ROUNDING = 8 * _EPS  # a gradient below this share (times r) of its terms is zero
_WEAK = 1e-8  # a pivot below this share of its diagonal costs half the digits: refine the solution
ENTRIES_CAST_AT_ONCE = (
    1 << 13
)  # entries that are cast at once: 64 kB, for which malloc need not ask the system
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
    """`_solve_rows`, which is compiled once: for double precision and rows that are contiguous."""
    if X.dtype == np.float64 and X.flags.c_contiguous:
        order = _by_support(X) if grouped and len(G) > 8 else np.arange(len(X))
        G, C = (np.ascontiguousarray(one, dtype=np.float64) for one in (G, C))
        return float(_solve_rows(G, C, X, shift, order))
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
def _solve_on(G, F, k, z, W, inverse, known):
    """z := G^-1 z on the k indices of F, by elimination in W; how many pivots are not rounding noise.

    Rows are eliminated outwards from each pivot: short independent updates, no long chains of sums.
    `known` remembers what W holds, its length last: rows of A often share their support.
    """
    same = known[-1] == k
    a = 0
    while same and a < k:
        same = known[a] == F[a]
        a += 1
    if same:
        for a in range(k):
            w = W[a]
            za = z[a] * inverse[a]
            for b in range(a + 1, k):
                z[b] -= w[b] * za
    else:
        rank = _eliminate(G, F, k, z, W, inverse)
        known[-1] = k if rank == k else known.size
        if rank < k:
            return rank
        for a in range(k):
            known[a] = F[a]
    for a in range(k - 1, -1, -1):
        za = z[a] * inverse[a]
        z[a] = za
        for b in range(a):
            z[b] -= W[b, a] * za
    return k


@compiled
def _solve_apart(G, F, k, z, W, inverse, known):
    """`_solve_on` for where it is seldom called: not compiled anew into every caller."""
    return _solve_on(G, F, k, z, W, inverse, known)


@compiled
def _refine(G, c, F, k, z, W, inverse, known):
    """Bring z closer to G^-1 c on F, where elimination has lost many digits."""
    error = np.empty(k)
    for _ in range(3):
        _residual(G, c, F, k, z, error)
        _solve_apart(G, F, k, error, W, inverse, known)
        for a in range(k):
            z[a] += error[a]


@strict
def _residual(G, c, F, k, z, residual):
    """residual := c - G z on F, in twice the precision (Dekker's products, Knuth's sums)."""
    split = 134217729.0
    for a in range(k):
        total, lost = c[F[a]], 0.0
        for b in range(k):
            x, y = -G[F[a], F[b]], z[b]
            product = x * y
            high = split * x
            x_high = high - (high - x)
            high = split * y
            y_high = high - (high - y)
            x_low, y_low = x - x_high, y - y_high
            lost += ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
            before, total = total, total + product
            added = total - before
            lost += (before - (total - added)) + (product - added)
        residual[a] = total + lost


@inlined
def _eliminate(G, F, k, z, W, inverse):
    """Upper triangle of G on F in W, eliminated together with z; the number of sound pivots."""
    for a in range(k):
        row = G[F[a]]
        w = W[a]
        for b in range(a, k):
            w[b] = row[F[b]]
        inverse[a] = w[a]  # the diagonal, until the pivot is known
    inverse[-1] = 0.0  # 1 if a pivot is so small that the solution wants refinement
    rank = k
    for a in range(k):
        w = W[a]
        if w[a] <= _WEAK * inverse[a]:
            if w[a] <= _DEPENDENT * G.shape[0] * inverse[a]:
                rank = a
                break
            inverse[-1] = 1.0
        scale = 1.0 / w[a]
        inverse[a] = scale
        za = z[a] * scale
        for b in range(a + 1, k - 1, 2):  # two rows at a time
            share, next_share = w[b] * scale, w[b + 1] * scale
            target, next_target = W[b], W[b + 1]
            for i in range(b, k):
                wi = w[i]
                target[i] -= share * wi
                next_target[i] -= next_share * wi
            z[b] -= w[b] * za
            z[b + 1] -= w[b + 1] * za
        if (k - a) % 2 == 0:
            W[k - 1, k - 1] -= w[k - 1] * scale * w[k - 1]
            z[k - 1] -= w[k - 1] * za
    return rank


@inlined
def _gradient(G, c, F, z, k, y):
    """y := G[:, F] z - c; the sum of |z|."""
    for i in range(y.size):
        y[i] = -c[i]
    size = 0.0
    for a in range(k):
        za = z[a]
        row = G[F[a]]
        for i in range(y.size):
            y[i] += za * row[i]
        size += abs(za)
    return size


@inlined
def _broken_signs(G, c, F, k, z, y):
    """How many entries of z and of its gradient y break their sign, and the sum of |z|."""
    size = _gradient(G, c, F, z, k, y)
    rounding = _ROUNDING * y.size * size
    broken = 0
    for a in range(k):
        broken += z[a] < 0.0
    for i in range(y.size):  # on the support the gradient is rounding noise
        broken += y[i] < -rounding
    return broken, size


@compiled
def _minimum_on(G, c, F, k, z, W, inverse, known):
    """z := G^-1 c on the k indices of F, as exactly as can be; False if G is singular there."""
    for a in range(k):
        z[a] = c[F[a]]
    if _solve_apart(G, F, k, z, W, inverse, known) < k:
        return False
    if inverse[-1] > 0.0:
        _refine(G, c, F, k, z, W, inverse, known)
    return True


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
            if not _minimum_on(G, c, F, k, z, W, inverse, known):
                return -1
            broken, size = _broken_signs(G, c, F, k, z, y)
            if broken == 0:
                return k
        rounding = _ROUNDING * r * size
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
            _gradient(G, c, F, z, k, y)
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
def _step(x, F, k, direction, longest):
    """The step along `direction` at which the first entry of x on F reaches 0, at most `longest`."""
    for a in range(k):
        if direction[a] < 0.0:
            longest = min(longest, x[F[a]] / -direction[a])
    return longest


@compiled
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


@compiled
def _active_set(G, c, F, z, y, W, inverse, known, x):
    """Go down from 0, one entry entering at a time, for G of any rank; the size of the support."""
    r = c.size
    refused = np.zeros(r, dtype=np.bool_)
    for i in range(r):
        x[i] = 0.0
    k = np.intp(0)
    for _ in range(20 + 20 * r):
        for a in range(k):
            z[a] = x[F[a]]
        entering = -1
        steepest = -_ROUNDING * r * _gradient(G, c, F, z, k, y)
        for i in range(r):
            if y[i] < steepest and x[i] == 0.0 and not refused[i]:
                entering = i
                steepest = y[i]
        if entering < 0:
            break
        F[k] = entering
        for a in range(k):
            z[a] = -G[F[a], entering]
        z[k] = 0.0
        if (
            _solve_apart(G, F, k + 1, z, W, inverse, known) <= k
        ):  # flat along the new entry: walk to a bound
            for a in range(k):
                z[a] = -G[F[a], entering]
            _solve_apart(G, F, k, z, W, inverse, known)
            z[k] = 1.0
            step = _step(x, F, k + 1, z, np.inf)
            if step == np.inf:
                refused[entering] = True
                continue
            k = _advance(x, F, k + 1, z, step)
        else:
            k += 1
        k = _descend(G, c, F, k, z, W, inverse, known, x)
        if x[entering] == 0.0:
            refused[entering] = True
        else:
            for i in range(r):
                refused[i] = False
    return k


@compiled
def _descend(G, c, F, k, z, W, inverse, known, x):
    """Minimise on the support F, dropping what reaches 0 on the way; the size of what is left."""
    while k > 0:
        if not _minimum_on(G, c, F, k, z, W, inverse, known):
            break  # dependent by rounding: x is feasible, go on from it
        for a in range(k):
            z[a] -= x[F[a]]
        step = _step(x, F, k, z, 1.0)
        if step == 1.0:
            for a in range(k):
                x[F[a]] += z[a]
            break
        k = _advance(x, F, k, z, step)
    return k


@compiled
def _solve_rows(G, C, X, shift, order):
    """Solve every row of C - shift in place of X; an upper bound of the largest relative violation."""
    r = C.shape[1]
    c = np.empty(r)
    x = np.empty(r)
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
        sound = _solve_on(G, F, k, z, W, inverse, known) == k and inverse[-1] == 0.0
        broken, size = _broken_signs(G, c, F, k, z, y)
        if broken > 0 or not sound:  # the last support is not the new one, or needs more care
            broken = broken if sound else np.intp(0)
            k = _block_pivoting(G, c, F, k, z, y, W, inverse, known, passive, broken, size)
            if k < 0:
                k = _active_set(G, c, F, z, y, W, inverse, known, x)
                for a in range(k):
                    z[a] = x[F[a]]
            size = _gradient(G, c, F, z, k, y)
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
            worst = max(worst, _violation(c, F, z, k, y))
    return worst


@compiled
def _violation(c, F, z, k, y):
    """Relative violation of one column, from its gradient y."""
    wrong = 0.0
    size = 0.0
    for i in range(c.size):
        wrong = max(wrong, -y[i])
        size = max(size, abs(c[i]))
    for a in range(k):
        wrong = max(wrong, min(z[a], y[F[a]]))
        size = max(size, z[a])
    return wrong / size if size > 0.0 else 0.0
