"""The compiled draws: every entry of S, and of A, from its distribution given all the others.

Given the rest, an entry s of S has the likelihood exp(-g s^2/2 + c s). Under the slab (exponential of
rate b) it is a normal distribution cut off at 0, of mean t / sqrt(g) and variance 1 / g before the cut,
with t = (c - b) / sqrt(g); and all that is needed of it is one function, M(t) of `draws`: the data
multiply the odds against the spike by b M(t) / sqrt(g), the mean is (t + 1/M(t)) / sqrt(g), the second
moment (1 + t (t + 1/M(t))) / g. Whether an entry is active depends on its neighbours, the entries of the
same source one sample before and one after: `neighbour_odds` has the odds for every state that these can
have.

Every column of S, and every row of A, has its own stream of random numbers, made from a key and its
index: what is drawn does not depend on threads. (It depends on the blocks, which the shape of the data
fixes: an entry sees its neighbours in other blocks as they are when its block is drawn.)
"""

import math

import numpy as np

from ngmca._support.compiled import compiled, inlined
from ngmca.sampling.draws import inverse_mills, positive_normal, stream, uniform


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


@compiled
def sample_sources(G, C, X, rate, odds, passes, key, first, sums):
    """Draw every entry of rows of X (n, r) in turn given the others: b of them, from row `first` on.

    G (r, r) and the rows of C (b, r) are A'WA and Y'WA, with W the inverse noise variances. `rate` (r,)
    is that of the slab, `odds` (6, r) are those of `neighbour_odds`. Every row is gone through `passes`
    times. To `sums` (3, b, r), unless it is empty, are added for every entry its probability to be
    active, its mean and its second moment, given the others, on average over the passes.
    """
    b, r = C.shape
    h = np.empty(r)
    root = np.empty(r)
    ratio = np.empty(odds.shape)
    share = 1.0 / passes
    collect = sums.shape[1] == b
    for i in range(r):
        root[i] = 1.0 / math.sqrt(G[i, i])
        for q in range(6):
            ratio[q, i] = math.exp(min(odds[q, i] + math.log(rate[i]) + math.log(root[i]), 700.0))
    for j in range(b):
        state = stream(key, first + j)
        x = X[first + j]
        c = C[j]
        h[:] = 0.0
        for i in range(r):
            if x[i] != 0.0:
                for k in range(r):
                    h[k] += G[i, k] * x[i]
        for _ in range(passes):
            for i in range(r):
                old = x[i]
                t = (c[i] - h[i] + G[i, i] * old - rate[i]) * root[i]
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
                    h[k] += G[i, k] * change


@compiled
def sample_mixing(SS, YS, A, weight, prior, key, squares):
    """Draw every entry of A (m, r) in turn given the others, from a normal distribution cut off at 0.

    SS (r, r) and YS (m, r) are S S' and Y S', `weight` (m,) the inverse noise variances, `prior` (r,)
    the inverse variances of the half-normal columns. From `squares` (m,), the sums of squares of the
    rows of Y, is taken what A S explains of them.
    """
    m, r = A.shape
    h = np.empty(r)
    for j in range(m):
        state = stream(key, j)
        a = A[j]
        w = weight[j]
        h[:] = 0.0
        for i in range(r):
            for k in range(r):
                h[k] += SS[i, k] * a[i]
        for i in range(r):
            old = a[i]
            root = 1.0 / math.sqrt(w * SS[i, i] + prior[i])
            t = w * (YS[j, i] - h[i] + SS[i, i] * old) * root
            state, new = positive_normal(state, t)
            a[i] = new * root
            change = a[i] - old
            for k in range(r):
                h[k] += SS[i, k] * change
        for i in range(r):
            squares[j] += a[i] * (h[i] - 2.0 * YS[j, i])
