"""How much of the noise a fit follows, which its residual then lacks.

In sample j of a sparse fit, the sources on the support P are a least-squares fit, less what the
threshold subtracts from them: u = G_P^-1 A_P'(y - A s), with G = A'A. The residual is that of the least
squares, in which entry i has the variance sigma_i^2 (1 - a_i' G_P^-1 a_i), plus a_i'u. There are three
corrections.

- The data choose the support. Source k appears where its least-squares estimate exceeds u_k, and the
  residual loses u_k at once. By Stein's identity this takes another u_k f_k degrees of freedom, where
  f_k is the density of s_k just above 0. A line is fitted to the density of the sources below u_k, and
  evaluated at 0; this gives each of them the weight 4 - 6 s_k / u_k.
- Samples differ in their number of sources and in u. The median deviation of a row with mixed variances
  is smaller than their mean suggests. It is computed for this mixture.
- Row i of A is fitted too. It takes one of n degrees of freedom for each of its entries that are not 0,
  less those directions in which S compensates for a change of A.
"""

from math import erf, exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from ngmca._support.compiled import compiled

MIN_SHARE_LEFT = 1 / 9  # of the variance, in the residual: levels grow threefold at most
MIN_SHARE_OF_NOISE = 1 / 4  # of the variance of the residual; the rest is what thresholds subtracted
NEARLY_NO_VARIANCE = 1e-3  # share left of a sample with as many sources as measurements
MIN_INDEPENDENT_SHARE = 1e-8  # of a column of A, below which it depends on the columns before it
NORMAL_QUARTILE = 0.6744897501960817  # median absolute deviation of a Gaussian of variance 1


def corrected(
    levels: NDArray,
    A: NDArray,
    C: NDArray,
    X: NDArray,
    n: NDArray | int,
    *,
    stack: NDArray | None = None,
    which: NDArray | None = None,
    weights: NDArray | None = None,
    held: NDArray | None = None,
) -> NDArray:
    """Return the levels (m,) of the noise itself, from those of the residual of a fit of n samples.

    X (b, r) holds some samples of the sources, and C (b, r) is Y'A. With weights (m, b), C is (W Y)'A,
    the Gram matrix of sample j is stack[which[j]], and n (m,) is the number of observed samples of each
    measurement. Means are then over the observed samples of each measurement: a fit follows an entry
    that was observed, and not one that was missing. Sources that are `held` (r,) were not fitted.
    """
    A = np.ascontiguousarray(A, dtype=np.float64)
    X = np.ascontiguousarray(X, dtype=np.float64)
    m, r = A.shape
    free = np.ones(r, dtype=np.bool_) if held is None else ~held
    levels = levels.astype(np.float64, copy=False)
    square = float(levels @ levels) / m
    if stack is None or which is None or weights is None:
        G, both, n = A.T @ A, np.zeros((r, 2 * r)), np.full(m, n)
        ratio = _measure(G, C - X @ G, X, m, free, square, both)
        taken, added = _in_rows(A, A @ both)
    else:
        rest, taken, added = C - np.einsum("jk,jkl->jl", X, stack[which]), np.zeros(m), np.zeros(m)
        W = np.ascontiguousarray(weights.T)
        ratio = _measure_rows(stack, which, rest, X, A, W, free, square, taken, added)
    return _levels(levels, A, taken, added, ratio, X, n)


@compiled
def _levels(levels, A, taken, added, ratio, X, n):
    """Return the noise level of each measurement, of which the fit has taken and added these shares."""
    m, r = A.shape
    live = np.zeros(r, np.bool_)
    sources = 0
    everywhere = 0
    for k in range(r):
        active = 0
        for j in range(len(X)):
            active += X[j, k] != 0
        live[k] = active > 0
        sources += active > 0
        everywhere += active == len(X)
    # S makes up for a change of scale in A, and a source that is everywhere for a change by its column
    idle = sources + everywhere * (sources - 1)
    own = max(1 - idle / max(m * sources, 1), 0.0)
    found = np.empty(m)
    for i in range(m):
        fitted = 0
        for k in range(r):
            fitted += live[k] and A[i, k] != 0
        left = 1 - taken[i] - own * fitted / max(n[i], 1)
        total = levels[i] ** 2 / ratio
        least = MIN_SHARE_OF_NOISE * total
        noise = max(total - max(added[i], 0.0), least) / max(left, MIN_SHARE_LEFT)
        found[i] = sqrt(min(noise, levels[i] ** 2 / MIN_SHARE_LEFT))
    return found


@compiled
def _in_rows(A, both):
    """Return a_i'Ma_i of each measurement for two matrices M; `both` holds A times them."""
    m, r = A.shape
    taken, added = np.zeros(m), np.zeros(m)
    for i in range(m):
        for k in range(r):
            taken[i] += both[i, k] * A[i, k]
            added[i] += both[i, r + k] * A[i, k]
    return taken, added


@compiled
def _measure(G, C, X, m, free, square, both):
    """Fill `both` with means over samples: G_P^-1 with the correction for the choice of the support, and
    beside it the covariance of u.

    Returns the variance that follows from the median deviation (`square` on average), divided by that of
    the residual.
    """
    b, r = X.shape
    P, L, inverse = np.empty(r, np.intp), np.zeros((r, r)), np.zeros((r, r))
    u, extra, mean = np.empty(r), np.empty(r), np.zeros(r)
    left = np.empty(b)  # of unit noise
    added = np.zeros(b)  # by u
    near = 0.0
    for j in range(b):
        p = _sample(G, C[j], X[j], free, P, L, inverse, u, extra)
        left[j] = p
        for a in range(p):
            near += extra[a]
            added[j] += u[a] * C[j, P[a]]
            mean[P[a]] += u[a] / b
        for a in range(p):
            for c in range(p):
                both[P[a], P[c]] += inverse[a, c] / b
                both[P[a], r + P[c]] += u[a] * u[c] / b
        for k in range(p):
            if extra[k] != 0:
                factor = extra[k] / (inverse[k, k] * b)
                for a in range(p):
                    for c in range(p):
                        both[P[a], P[c]] += factor * inverse[a, k] * inverse[c, k]
    around, whole = 0.0, 0.0  # the mean of u, and 0
    for a in range(r):
        for c in range(r):
            whole += both[a, r + c] * G[a, c]
            both[a, r + c] -= mean[a] * mean[c]
            around += both[a, r + c] * G[a, c]
    return _ratio(left, added, np.full(b, m), near, around, whole, square)


@compiled
def _measure_rows(stack, which, C, X, A, W, free, square, taken, added):
    """The same where samples have weights W (b, m), with means over the observed samples of each row.

    Fills `taken` and `added` (m,) with what the fit takes and adds in each measurement.
    """
    (b, r), m = X.shape, len(A)
    P, L, inverse = np.empty(r, np.intp), np.zeros((r, r)), np.zeros((r, r))
    u, extra, part, M = np.empty(r), np.empty(r), np.empty(r), np.empty((r, r))
    mean, count, size = np.zeros(m), np.zeros(m), np.zeros(b, np.intp)
    left, lifted = np.empty(b), np.zeros(b)
    near = 0.0
    for j in range(b):
        p = _sample(stack[which[j]], C[j], X[j], free, P, L, inverse, u, extra)
        left[j] = p
        M[:p, :p] = inverse[:p, :p]
        for k in range(p):
            near += extra[k]
            lifted[j] += u[k] * C[j, P[k]]
            if extra[k] != 0:
                for a in range(p):
                    for c in range(p):
                        M[a, c] += extra[k] / inverse[k, k] * inverse[a, k] * inverse[c, k]
        for i in range(m):
            if W[j, i] > 0:
                size[j] += 1
                count[i] += 1
                move, follow = 0.0, 0.0
                for a in range(p):
                    part[a] = A[i, P[a]]
                    move += part[a] * u[a]
                    follow += M[a, a] * part[a] ** 2
                    for c in range(a):
                        follow += 2 * M[a, c] * part[a] * part[c]
                taken[i] += W[j, i] * follow
                added[i] += W[j, i] * move**2
                mean[i] += sqrt(W[j, i]) * move
    around, whole = 0.0, 0.0
    for i in range(m):
        whole += added[i]
        seen = max(count[i], 1.0)
        taken[i] /= seen
        added[i] = added[i] / seen - (mean[i] / seen) ** 2
        around += added[i] * seen
    return _ratio(left, lifted, size, near, around, whole, square)


@compiled
def _sample(G, c, x, free, P, L, inverse, u, extra):
    """Fill P with the support of a sample, `inverse` with G_P^-1, u, and weights that its choice adds.

    Returns the size of the support.
    """
    p = _factor(G, x, free, P, L)
    _invert(L, p, inverse)
    for a in range(p):
        u[a] = 0.0
        for k in range(p):
            u[a] += inverse[a, k] * c[P[k]]
        value = x[P[a]]
        below = value * u[a] > 0 and abs(value) < abs(u[a])
        extra[a] = 4 - 6 * value / u[a] if below else 0.0
    return p


@compiled
def _ratio(left, added, size, near, around, whole, square):
    """Return what `_measure` returns, from the supports of samples and what u adds to them."""
    chosen = 1 + max(near, 0.0) / max(left.sum(), 1.0)
    for j in range(left.size):
        left[j] = max(1 - chosen * left[j] / max(size[j], 1), NEARLY_NO_VARIANCE)
        added[j] *= around / whole / max(size[j], 1) if around > 0 else 0.0
    return _typical(left, added, square) if square > 0 else 1.0


@compiled
def _typical(left, added, square):
    """Return `square`, from a median deviation, over the mean of the variances noise * left + added."""
    low, high = log(MIN_SHARE_OF_NOISE), log(1 / MIN_SHARE_LEFT)
    for _ in range(10):
        noise = exp((low + high) / 2)  # in units of `square`, so that those of the data do not matter
        below = 0.0
        for j in range(left.size):
            below += erf(NORMAL_QUARTILE / sqrt(2 * (noise * left[j] + added[j] / square)))
        if below > left.size / 2:
            low = log(noise)
        else:
            high = log(noise)
    return 1 / (noise * left.mean() + added.mean() / square)


@compiled
def _factor(G, x, free, P, L):
    """Compute the Cholesky factor L of G on the free support of x, without dependent columns.

    Its diagonal holds the inverses. Returns the number of columns, whose indices are in P.
    """
    p = 0
    for k in range(x.size):
        if x[k] == 0 or not free[k]:
            continue
        rest = G[k, k]
        for a in range(p):
            entry = G[k, P[a]]
            for b in range(a):
                entry -= L[p, b] * L[a, b]
            L[p, a] = entry * L[a, a]
            rest -= L[p, a] ** 2
        if rest > MIN_INDEPENDENT_SHARE * G[k, k]:
            L[p, p] = 1 / sqrt(rest)
            P[p] = k
            p += 1
    return p


@compiled
def _invert(L, p, inverse):
    """inverse := (L L')^-1 for a factor with inverses on its diagonal; L becomes its own inverse."""
    for a in range(p):
        for b in range(a):
            entry = 0.0
            for c in range(b, a):
                entry -= L[a, c] * L[c, b]
            L[a, b] = entry * L[a, a]
    for a in range(p):
        for b in range(a + 1):
            entry = 0.0
            for c in range(a, p):
                entry += L[c, a] * L[c, b]
            inverse[a, b] = entry
            inverse[b, a] = entry
