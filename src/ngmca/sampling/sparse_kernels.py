"""Compiled draws of the sparse model: each entry of S and of A from its distribution given the others.

Given the rest, an entry s of S has the likelihood exp(-g s^2/2 + c s). Under the slab (exponential of
rate b) it has a normal distribution cut off at 0, of mean t / sqrt(g) and variance 1 / g before the cut,
with t = (c - b) / sqrt(g). Only the function M(t) of `random_draws` is needed: the data multiply the
odds against the spike by b M(t) / sqrt(g), the mean is (t + 1/M(t)) / sqrt(g), and the second moment is
(1 + t (t + 1/M(t))) / g. Whether an entry is active depends on its neighbours, the entries of the same
source one channel before and one after: `neighbour_odds` has the odds for all their states.

If the noise is unequal, each channel has its own Gram matrix, and so has each measurement. They are
given as a stack (p, r, r), and `which` is the index of each channel in the stack. If `which` is empty,
all use the first. Entries that are `held` stay fixed; if `held` is empty, none is.

Each column of S and each row of A has its own stream of random numbers, made from a key and its index,
so the draws do not depend on threads. (They depend on the blocks, which follow from the shape of the
data: an entry uses its neighbours in other blocks as they are when its block is drawn.)
"""

import math

import numpy as np

from ngmca._support.compiled import compiled, inlined
from ngmca.sampling.random_draws import inverse_mills, normal, positive_normal, stream, uniform

ALIKE = np.empty(0, np.int64)  # `which` if all rows have the same matrix
NONE_HELD = np.empty((0, 0), np.bool_)

MIN_CURVATURE = 1e-10  # over rate^2: for entries without data, which are drawn from the prior


@compiled
def neighbour_odds(start, stay):
    """Return the log odds (6, r) of an active entry given its neighbours, in row before + 2 after.

    `start` (r,) is the probability to be active after an inactive entry, `stay` (r,) after an active
    one. `before` and `after` are 1 for an active neighbour and 0 for an inactive one; `after` is 2 for
    the last entry, which has no next one. The entry before the first counts as inactive.
    """
    odds = np.empty((6, start.size))
    for i in range(start.size):
        s, t = start[i], stay[i]
        for before in range(2):
            p = t if before == 1 else s
            own = math.log(p) - math.log1p(-p)
            odds[before, i] = own + math.log1p(-t) - math.log1p(-s)
            odds[before + 2, i] = own + math.log(t) - math.log(s)
            odds[before + 4, i] = own
    return odds


@inlined
def _neighbours(X, j, i):
    """Return before + 2 after for entry j of source i, as in `neighbour_odds`."""
    state = 0
    if j > 0 and X[j - 1, i] > 0.0:
        state = 1
    if j + 1 == X.shape[0]:
        return state + 4
    if X[j + 1, i] > 0.0:
        return state + 2
    return state


@compiled
def transitions(X):
    """Return counts (4, r) for each source: active entries, their sum, active entries after an active
    one, and whether the last entry is active."""
    n, r = X.shape
    found = np.zeros((4, r))
    for j in range(n):
        for i in range(r):
            if X[j, i] > 0.0:
                found[0, i] += 1.0
                found[1, i] += X[j, i]
                if j > 0 and X[j - 1, i] > 0.0:
                    found[2, i] += 1.0
    for i in range(r):
        found[3, i] = X[n - 1, i] > 0.0
    return found


@inlined
def pick(which, j):
    """Return the index of the matrix of row j in a stack."""
    return which[j] if which.size > 0 else 0


@inlined
def is_held(held, j, i):
    """Return whether an entry is fixed."""
    return held.size > 0 and held[j, i]


@inlined
def curvature(g, rate):
    """Return the curvature of the likelihood of an entry, or a tiny one if it has no data."""
    return max(g, MIN_CURVATURE * rate * rate)


@compiled
def sample_sources(G, C, X, rate, odds, passes, key, first, sums, which, held):
    """Draw each entry of b rows of X (n, r), from row `first` on, in turn given the others.

    G (p, r, r) and the rows of C (b, r) are A'WA and Y'WA, with W the inverse noise variances. `rate`
    (r,) is that of the slab, `odds` (6, r) are those of `neighbour_odds`. Each row is drawn `passes`
    times. Unless `sums` (3, n, r) is empty, the kernel adds to it, for each entry, the probability to be
    active, the mean and the second moment given the others, averaged over the passes.
    """
    b, r = C.shape
    h = np.empty(r)
    root = np.empty(r)
    ratio = np.empty(odds.shape)
    share = 1.0 / passes
    collect = sums.size > 0
    last = -1
    for j in range(b):
        p = pick(which, first + j)
        g = G[p]
        if p != last:
            last = p
            for i in range(r):
                root[i] = 1.0 / math.sqrt(curvature(g[i, i], rate[i]))
                for q in range(6):
                    scale = math.log(rate[i]) + math.log(root[i])
                    ratio[q, i] = math.exp(min(odds[q, i] + scale, 700.0))
        state = stream(key, first + j)
        x = X[first + j]
        c = C[j]
        h[:] = 0.0
        for i in range(r):
            if x[i] != 0.0:
                for k in range(r):
                    h[k] += g[i, k] * x[i]
        for _ in range(passes):
            for i in range(r):
                old = x[i]
                if is_held(held, first + j, i):
                    if collect:
                        sums[0, first + j, i] += share * (old > 0.0)
                        sums[1, first + j, i] += share * old
                        sums[2, first + j, i] += share * old * old
                    continue
                t = (c[i] - h[i] + g[i, i] * old - rate[i]) * root[i]
                inverse, excess = inverse_mills(t)
                here = ratio[_neighbours(X, first + j, i), i]
                active = here / (here + inverse)
                if collect:
                    spread = max(1.0 + t * excess, 0.0)
                    sums[0, first + j, i] += share * active
                    sums[1, first + j, i] += share * active * excess * root[i]
                    sums[2, first + j, i] += share * active * spread * root[i] * root[i]
                state, u = uniform(state)
                new = 0.0
                if u < active:
                    state, new = positive_normal(state, t)
                    new *= root[i]
                elif old == 0.0:
                    continue
                x[i] = new
                change = new - old
                for k in range(r):
                    h[k] += g[i, k] * change


@compiled
def sample_mixing(SS, YS, A, weight, prior, key, squares, which, held):
    """Draw each entry of A (m, r) in turn given the others, from a normal distribution cut off at 0.

    SS (p, r, r) and YS (m, r) are S S' and Y S', `weight` (m,) the inverse noise variances, `prior` (r,)
    the inverse variances of the half-normal columns. `squares` (m,), the sums of squares of the rows of
    Y, become those of the rows of Y - A S.
    """
    m, r = A.shape
    h = np.empty(r)
    for j in range(m):
        state = stream(key, j)
        a = A[j]
        w = weight[j]
        g = SS[pick(which, j)]
        h[:] = 0.0
        for i in range(r):
            for k in range(r):
                h[k] += g[i, k] * a[i]
        for i in range(r):
            if is_held(held, j, i):
                continue
            old = a[i]
            root = 1.0 / math.sqrt(w * g[i, i] + prior[i])
            t = w * (YS[j, i] - h[i] + g[i, i] * old) * root
            state, new = positive_normal(state, t)
            a[i] = new * root
            change = a[i] - old
            for k in range(r):
                h[k] += g[i, k] * change
        for i in range(r):
            squares[j] += a[i] * (h[i] - 2.0 * YS[j, i])


@compiled
def fill_entries(fit, Y, W, sigma, key, first, Z):
    """Draw the entries of Z with a weight below 1, in columns from `first` on.

    Each row has its own stream. Y, W and Z hold the columns of all data, `fit` those that are drawn.
    """
    m, b = fit.shape
    for i in range(m):
        state = stream(key, first * m + i)
        for j in range(b):
            w = W[i, first + j]
            if w < 1.0:
                state, x = normal(state)
                mean = fit[i, j] + w * (Y[i, first + j] - fit[i, j])
                Z[i, first + j] = mean + sigma[i] * math.sqrt(1.0 - w) * x
