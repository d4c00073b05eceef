"""A compiled move for sources that are active only together with others."""

import math

import numpy as np

from ngmca._support.compiled import compiled, inlined
from ngmca.sampling.random_draws import log_mills, positive_normal, slice_draw, stream, uniform
from ngmca.sampling.sparse_kernels import curvature, pick

WIDTH, STEPS_OUT = 4.0, 100  # of the first slice, in standard errors, and how often it is widened
ROUNDS = 200  # how often a slice shrinks

_NO_ENTRY, _SAME_RUN = 2, 3  # neighbour of an entry: beyond the end, or in the same run of entries


@compiled
def shear(G, C, X, A, rate, start, stay, weak, key, which, columns, rows):
    """For each source k draw c in a_k + c a_i, with another source i at random, and then row i of S.

    If k is active only together with i, the data hardly distinguish (a_k, s_i) from (a_k + c a_i,
    s_i - c s_k), and draws of single entries would take very long to move from one to the other. So c is
    drawn with s_i integrated out where k is active: over the values in closed form, and over the
    patterns of active entries by a forward pass along each run of channels. Then s_i is drawn there in a
    backward pass. G, C, X and A are changed in place, and are as in `sparse_kernels`, with the whole C
    (n, r); `weak` (r,) are the inverse variances of the columns of A. Columns of A and rows of S with
    fixed entries are not changed: `columns` and `rows` (r,) say which have none.
    """
    n, r = X.shape
    where = np.empty(n, np.int64)
    x = np.empty(n)
    u = np.empty(n)
    edges = np.empty((2, n), np.int64)
    forward = np.empty(n)
    g = np.empty(n)
    root = np.empty(n)
    scale = np.empty(n)
    for k in range(r):
        state = stream(key, k)
        state, v = uniform(state)
        i = int(v * (r - 1))
        i += i >= k
        if not (columns[k] and rows[i]):
            continue
        count = 0
        for j in range(n):
            if X[j, k] > 0.0:
                where[count] = j
                x[count] = X[j, k]
                own = G[pick(which, j)]
                g[count] = curvature(own[i, i], rate[i])
                root[count] = 1.0 / math.sqrt(g[count])
                scale[count] = math.log(rate[i]) + math.log(root[count])
                rest = C[j, i] + own[i, i] * X[j, i]
                for q in range(r):
                    rest -= own[i, q] * X[j, q]
                u[count] = rest  # a_i' (Y - A S without source i)
                count += 1
        if count == 0:
            continue
        for p in range(count):
            j = where[p]
            edges[0, p] = _SAME_RUN
            if p == 0 or where[p - 1] < j - 1:
                edges[0, p] = j > 0 and X[j - 1, i] > 0.0
            edges[1, p] = _SAME_RUN
            if p == count - 1 or where[p + 1] > j + 1:
                edges[1, p] = _NO_ENTRY if j == n - 1 else X[j + 1, i] > 0.0
        law = (rate[i], start[i], stay[i], weak[k])
        own = (g[:count], root[:count], scale[:count])
        part = (x[:count], u[:count], edges[:, :count], forward[:count], own)
        state, c = _draw_shear(state, part, A[:, k], A[:, i], law)
        for j in range(len(A)):
            A[j, k] = max(A[j, k] + c * A[j, i], 0.0)
        for j in range(n):
            C[j, k] += c * C[j, i]
        for own in G:
            own[k, k] += c * (2.0 * own[i, k] + c * own[i, i])
            for q in range(r):
                if q != k:
                    own[k, q] += c * own[i, q]
                    own[q, k] = own[k, q]
        _forwards(c, part, law)
        after = 0
        for p in range(count - 1, -1, -1):
            if edges[1, p] != _SAME_RUN:
                after = edges[1, p]
            on = forward[p] * _chance(after, stay[i])
            off = (1.0 - forward[p]) * _chance(after, start[i])
            state, v = uniform(state)
            new = 0.0
            after = 0
            if v * (on + off) < on:
                after = 1
                state, new = positive_normal(state, (u[p] - c * x[p] * g[p] - rate[i]) * root[p])
            X[where[p], i] = new * root[p]


@inlined
def _chance(after, p):
    """Return the probability of the next entry, which is active with probability p; 1 without one."""
    if after == 1:
        return p
    if after == 0:
        return 1.0 - p
    return 1.0


@compiled
def _draw_shear(state, part, a, b, law):
    """Return the next state, and c by slice sampling from 0.

    The width of the first slice is the standard error of c if source i were silent. It does not depend
    on c, as slice sampling requires, and it scales with the units of both sources.
    """
    _, _, _, weak = law
    x, _, _, _, (g, _, _) = part
    width = WIDTH / math.sqrt(np.sum(g * x * x))
    low = -np.inf
    lean = 0.0
    square = 0.0
    for j in range(a.size):
        if b[j] > 0.0:
            low = max(low, -a[j] / b[j])
        lean += a[j] * b[j]
        square += b[j] * b[j]
    pull = (weak * lean, weak * square)
    given = (part, law, pull)
    state, c, _ = slice_draw(state, _shear_density, given, low, width, STEPS_OUT, ROUNDS, 1e-12 * width)
    return state, c


@compiled
def _shear_density(c, given):
    """Return the logarithm of the density of c, up to a constant."""
    part, law, (lean, square) = given
    return _forwards(c, part, law) - c * (lean + 0.5 * c * square)


@compiled
def _forwards(c, part, law):
    """Return the logarithm of the sum over all patterns of active entries; `forward`, in `part`, becomes
    the probability of each entry to be active, given the entries before it."""
    x, u, edges, forward, (g, root, scale) = part
    rate, start, stay, _ = law
    total = 0.0
    active = 0.0
    for p in range(x.size):
        if edges[0, p] != _SAME_RUN:
            active = float(edges[0, p])
        move = c * x[p]
        total += move * (u[p] - 0.5 * move * g[p])
        chance = active * stay + (1.0 - active) * start
        weight = scale[p] + log_mills((u[p] - move * g[p] - rate) * root[p])
        on, off = chance, 1.0 - chance
        if weight > 0.0:
            total += weight
            off *= math.exp(-weight)
        else:
            on *= math.exp(weight)
        total += math.log(on + off)
        active = on / (on + off)
        forward[p] = active
        if edges[1, p] < _NO_ENTRY:
            after = edges[1, p]
            total += math.log(active * _chance(after, stay) + (1.0 - active) * _chance(after, start))
    return total
