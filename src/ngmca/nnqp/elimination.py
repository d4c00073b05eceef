"""Kernels for one column: its minimum on a support, by elimination, and how far it is from optimal.

They work on a support F of k indices; z has the values on it.
"""

import numpy as np

from ngmca._support.compiled import compiled, inlined, strict

EPS = 2.220446049250313e-16
ROUNDING = 8 * EPS  # a gradient below this share (times r) of its terms is zero
_DEPENDENT = 16 * EPS  # a pivot below this share (times r) of its diagonal is rounding noise
_WEAK = 1e-8  # a pivot below this share of its diagonal costs half the digits: refine the solution


@inlined
def solve_on(G, F, k, z, W, inverse, known):
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
def solve_apart(G, F, k, z, W, inverse, known):
    """`solve_on` for where it is seldom called: not compiled anew into every caller."""
    return solve_on(G, F, k, z, W, inverse, known)


@compiled
def _refine(G, c, F, k, z, W, inverse, known):
    """Bring z closer to G^-1 c on F, where elimination has lost many digits."""
    error = np.empty(k)
    for _ in range(3):
        _residual(G, c, F, k, z, error)
        solve_apart(G, F, k, error, W, inverse, known)
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


@compiled
def minimum_on(G, c, F, k, z, W, inverse, known):
    """z := G^-1 c on the k indices of F, as exactly as can be; False if G is singular there."""
    for a in range(k):
        z[a] = c[F[a]]
    if solve_apart(G, F, k, z, W, inverse, known) < k:
        return False
    if inverse[-1] > 0.0:
        _refine(G, c, F, k, z, W, inverse, known)
    return True


@inlined
def gradient(G, c, F, z, k, y):
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


@compiled
def row_violation(c, F, z, k, y):
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
