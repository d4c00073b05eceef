"""The compiled draws: every entry of S, and of A, from its distribution given all the others.

Given the rest, an entry s of S has the likelihood exp(-g s^2/2 + c s). Under the slab (exponential of
rate b) it is a normal distribution cut off at 0, of mean t / sqrt(g) and variance 1 / g before the cut,
with t = (c - b) / sqrt(g); and all that is needed of it is one function, M(t) of `draws`: the data
multiply the odds against the spike by b M(t) / sqrt(g), the mean is (t + 1/M(t)) / sqrt(g), the second
moment (1 + t (t + 1/M(t))) / g. Whether an entry is active depends on its neighbours, the entries of the
same source one sample before and one after: `neighbour_odds` has the odds for every state that these can
have.

Where entries of the data do not count alike, every sample has a Gram matrix of its own, and so has every
measurement: they come as a stack (p, r, r) and `which` of them a sample has. An empty `which` says that
all have the first. Entries that are `held` stay as they are; an empty `held` says that none is.

Every column of S, and every row of A, has its own stream of random numbers, made from a key and its
index: what is drawn does not depend on threads. (It depends on the blocks, which the shape of the data
fixes: an entry sees its neighbours in other blocks as they are when its block is drawn.)
"""

import math

import numpy as np

from ngmca._support.compiled import compiled, inlined
from ngmca.sampling.random_draws import inverse_mills, normal, positive_normal, stream, uniform

ALIKE = np.empty(0, np.int64)  # `which`: all rows have the same matrix
NONE_HELD = np.empty((0, 0), np.bool_)

_LEAST = 1e-10  # over rate^2: curvature of an entry that no datum sees, whose draws are the prior's


@compiled
def neighbour_odds(start, stay):
    """Log odds of an active entry, (6, r), given its neighbours: row before + 2 after.

    `start` (r,) is the probability to become active after an inactive entry, `stay` (r,) that to be so
    still. `before` and `after` are 1 for an active neighbour, 0 for an inactive one; `after` is 2 for
    the last entry, which has none. Before the first one there is nothing active.
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
    """before + 2 after of entry j of source i, as in `neighbour_odds`."""
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
    """For every source how many entries are active, their sum, how many of them follow an active one,
    and whether the last entry is active, (4, r)."""
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
    """The matrix of a stack that row j has."""
    return which[j] if which.size > 0 else 0


@inlined
def is_held(held, j, i):
    """Whether an entry stays as it is."""
    return held.size > 0 and held[j, i]


@inlined
def curvature(g, rate):
    """That of the likelihood of an entry, or next to nothing where the data do not see it."""
    return max(g, _LEAST * rate * rate)


@compiled
def sample_sources(G, C, X, rate, odds, passes, key, first, sums, which, held):
    """Draw every entry of rows of X (n, r) in turn given the others: b of them, from row `first` on.

    G (p, r, r) and the rows of C (b, r) are A'WA and Y'WA, with W the inverse noise variances. `rate`
    (r,) is that of the slab, `odds` (6, r) are those of `neighbour_odds`. Every row is gone through
    `passes` times. To `sums` (3, b, r), unless it is empty, are added for every entry its probability to
    be active, its mean and its second moment, given the others, on average over the passes.
    """
    b, r = C.shape
    h = np.empty(r)
    root = np.empty(r)
    ratio = np.empty(odds.shape)
    share = 1.0 / passes
    collect = sums.shape[1] == b
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
                        sums[0, j, i] += share * (old > 0.0)
                        sums[1, j, i] += share * old
                        sums[2, j, i] += share * old * old
                    continue
                t = (c[i] - h[i] + g[i, i] * old - rate[i]) * root[i]
                inverse, excess = inverse_mills(t)
                here = ratio[_neighbours(X, first + j, i), i]
                active = here / (here + inverse)
                if collect:
                    sums[0, j, i] += share * active
                    sums[1, j, i] += share * active * excess * root[i]
                    sums[2, j, i] += share * active * max(1.0 + t * excess, 0.0) * root[i] * root[i]
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
    """Draw every entry of A (m, r) in turn given the others, from a normal distribution cut off at 0.

    SS (p, r, r) and YS (m, r) are S S' and Y S', `weight` (m,) the inverse noise variances, `prior` (r,)
    the inverse variances of the half-normal columns. From `squares` (m,), the sums of squares of the
    rows of Y, is taken what A S explains of them.
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
    """Z := draws of entries whose weight is below 1; every row has its own stream."""
    m, b = fit.shape
    for i in range(m):
        state = stream(key, first * m + i)
        for j in range(b):
            w = W[i, j]
            if w < 1.0:
                state, x = normal(state)
                mean = fit[i, j] + w * (Y[i, j] - fit[i, j])
                Z[i, j] = mean + sigma[i] * math.sqrt(1.0 - w) * x
