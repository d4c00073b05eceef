"""A primal active-set method, for columns that block pivoting leaves.

It only ever goes down, walks along flat directions to a bound, and ends for G of any rank. It is seldom
needed, so its kernels are compiled on first use.
"""

import numpy as np

from ngmca._support.compiled import compiled
from ngmca.nnqp.elimination import EPS, ROUNDING, gradient, minimum_on, row_violation, solve_apart


@compiled
def solve_left(G, C, X, shift, rows):
    """Solve these rows of C - shift in place of X; the largest relative violation."""
    r = C.shape[1]
    c = np.empty(r)
    x = np.empty(r)
    y = np.empty(r)
    z = np.empty(r + 1)
    inverse = np.zeros(r + 1)
    W = np.empty((r, r))
    F = np.empty(r + 1, dtype=np.uintp)
    known = np.full(r + 1, r + 1, dtype=np.uintp)
    worst = 0.0
    for t in rows:
        for i in range(r):
            c[i] = C[t, i] - shift[i]
        k = _active_set(G, c, F, z, y, W, inverse, known, x)
        for i in range(r):
            X[t, i] = x[i]
        for a in range(k):
            z[a] = x[F[a]]
        gradient(G, c, F, z, k, y)
        worst = max(worst, row_violation(c, F, z, k, y))
    return worst


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
        steepest = -ROUNDING * r * gradient(G, c, F, z, k, y)
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
            solve_apart(G, F, k + 1, z, W, inverse, known) <= k
        ):  # flat along the new entry: walk to a bound
            for a in range(k):
                z[a] = -G[F[a], entering]
            solve_apart(G, F, k, z, W, inverse, known)
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
        if not minimum_on(G, c, F, k, z, W, inverse, known):
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
        if direction[a] < 0.0 and moved <= EPS * x[i]:
            x[i] = 0.0
        else:
            x[i] = moved
            F[kept] = i
            kept += 1
    return kept
