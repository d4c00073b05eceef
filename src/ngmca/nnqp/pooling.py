"""Columns in a shape and within a bound, each entry with its own weight: the compiled kernels.

A column solves `min sum_i 1/2 h_i x_i^2 - a_i x_i` over x >= 0 in its shape with |x|_2 <= bound. Without
the bound an increasing x is found by pooling: neighbours in the wrong order share one level, and what is
negative then becomes 0. A decreasing x is an increasing one read backwards. A unimodal one increases up
to some place and decreases from there on: the best place follows from what increasing fits of the
beginnings of the column, and decreasing ones of its ends, take off the objective.

The bound adds its multiplier mu to all h_i. It is found by Newton's steps on 1 / |x|, which is nearly
linear in mu, within a bracket. Entries with h_i = 0 take the smallest value that their shape allows.

Some entries may be known: the points, NaN where x is unknown. They divide an increasing x into parts,
and the minimum of a part is the one without points, clipped to the points at its two ends.
"""

import numpy as np

from ngmca._support.compiled import compiled

FIXED, FREE, INCREASING, DECREASING, UNIMODAL = -1, 0, 1, 2, 3
_STEPS = 200  # to the multiplier of a bound, at most; a handful are made
_CLOSE = 1e-13  # a norm is at its bound
_JUMP = 1e-6  # a bracket of the multiplier so narrow, relative to it, has no norm at the bound in it


@compiled
def descend_columns(H, which, C, shapes, bound, points, X, max_iter, tol):
    """Rounds of exact column updates in place of X (m, r); returns their number.

    A round begins ahead of X, by Nesterov's share of the last move. Where it would raise the objective,
    X stays, and the next round begins at X. Columns that are unimodal within a bound allow no such
    rounds: the best place of their peak is not always found.
    """
    m, r = X.shape
    ahead = True
    for k in range(r):
        ahead = ahead and not (shapes[k] == UNIMODAL and bound[k] < np.inf)
    last, Z, start = X.copy(), X.copy(), X.copy()
    t, value, share = 1.0, _objective(H, which, C, X), 0.0
    rounds = 0
    while rounds < max_iter:
        rounds += 1
        for i in range(m):
            for k in range(r):
                start[i, k] = Z[i, k] = X[i, k] + share * (X[i, k] - last[i, k])
        _round(H, which, C, shapes, bound, points, Z)
        found = _objective(H, which, C, Z) if ahead else value
        if share > 0.0 and found > value:
            t, share = 1.0, 0.0
            continue
        moved = 0.0
        total = 0.0
        for i in range(m):
            for k in range(r):
                if shapes[k] != FIXED:
                    change = max(abs(Z[i, k] - X[i, k]), abs(Z[i, k] - start[i, k]))
                    moved += change * change
                    total += Z[i, k] * Z[i, k]
                    last[i, k], X[i, k] = X[i, k], Z[i, k]
        value = found
        if moved <= tol * tol * total:
            break
        following = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        t, share = following, (t - 1.0) / following if ahead else 0.0
    return rounds


@compiled
def _round(H, which, C, shapes, bound, points, X):
    """Update every column of X that is not fixed, one after the other."""
    m, r = X.shape
    a, h, x = np.empty(m), np.empty(m), np.empty(m)
    for k in range(r):
        if shapes[k] == FIXED:
            continue
        for i in range(m):
            row, others = H[which[i], k], X[i]
            rest = C[i, k]
            for j in range(r):
                if j != k:
                    rest -= row[j] * others[j]
            a[i], h[i] = rest, row[k]
        best_column(shapes[k], a, h, bound[k], points[:, k], x)
        if shapes[k] == UNIMODAL and bound[k] < np.inf and _rises(a, h, X, k, x):
            continue
        for i in range(m):
            X[i, k] = x[i]


@compiled
def _objective(H, which, C, X):
    """1/2 <X, XG> - <C, X>."""
    total = 0.0
    for i in range(len(X)):
        G, row = H[which[i]], X[i]
        for k in range(row.size):
            gradient = -2.0 * C[i, k]
            for j in range(row.size):
                gradient += G[k, j] * row[j]
            total += gradient * row[k] / 2.0
    return total


@compiled
def residual_columns(H, which, C, shapes, bound, points, X):
    """Largest move of a step down the gradient and back into shapes and bounds, over the largest entry.

    The step of a column is as long as its largest diagonal entry allows, so that it cannot overshoot.
    Fixed columns do not count.
    """
    m, r = X.shape
    a, even, x = np.empty(m), np.ones(m), np.empty(m)
    largest = 0.0
    peak = 0.0
    for k in range(r):
        steepest = 0.0
        for i in range(m):
            steepest = max(steepest, H[which[i], k, k])
        if shapes[k] == FIXED or steepest == 0.0:
            continue
        for i in range(m):
            row = H[which[i], k]
            gradient = -C[i, k]
            for j in range(r):
                gradient += row[j] * X[i, j]
            a[i] = X[i, k] - gradient / steepest
        best_column(shapes[k], a, even, bound[k], points[:, k], x)
        for i in range(m):
            largest = max(largest, abs(x[i] - X[i, k]))
            peak = max(peak, x[i], X[i, k])
    return largest / peak if peak > 0.0 else 0.0


@compiled
def _rises(a, h, X, k, x):
    """Whether x is worse than column k of X, as it may be where its peak jumps."""
    change = 0.0
    for i in range(x.size):
        change += (x[i] - X[i, k]) * (h[i] * (x[i] + X[i, k]) / 2 - a[i])
    return change > 0.0


@compiled
def best_column(shape, a, h, bound, points, x):
    """x := the minimum in its shape and within its bound, with its points.

    The minimum x(mu) of a unimodal column jumps where its peak does. If the bound is met at no mu, the
    peak stays on one side of the jump: x is the best with that peak, and mostly the best of all.
    """
    m = a.size
    mu, low, high = 0.0, 0.0, np.inf
    if bound == 0.0:
        x[:] = 0.0
        return
    back_a, back_h, y = a[::-1].copy(), h[::-1].copy(), np.empty(m)
    ahead, back = points.copy(), points[::-1].copy()
    first, stack, gains = np.empty(m, dtype=np.intp), np.empty((4, m + 1)), np.empty((2, m + 1))
    split = m if shape == INCREASING else 0
    search = shape == UNIMODAL
    size = 0.0
    for _ in range(_STEPS):
        if search:
            _pool(a, h, mu, ahead, m, x, first, stack, gains[0])
            _pool(back_a, back_h, mu, back, m, y, first, stack, gains[1])
            split = np.argmax(gains[0] + gains[1, ::-1])
        if shape == FREE:
            steepness = _clip(a, h, mu, ahead, x)
        else:
            steepness = _pool(a, h, mu, ahead, split, x, first, stack, gains[0])
            steepness += _pool(back_a, back_h, mu, back, m - split, y, first, stack, gains[1])
            for i in range(split, m):
                x[i] = y[m - 1 - i]
            if shape == UNIMODAL and mu == 0.0:
                _fill(h, ahead, x)
        size = np.sqrt(np.sum(x * x))
        excess = size / bound - 1.0
        if (mu == 0.0 and excess <= 0.0) or abs(excess) <= _CLOSE:
            break
        low, high = (mu, high) if excess > 0.0 else (low, mu)
        if high - low <= (_JUMP if search else _CLOSE) * low:
            if not search:
                break
            search, mu, low, high = False, 0.0, 0.0, np.inf  # the peak jumps here: let it stay
            continue
        mu += excess * size * size / steepness
        if not low < mu < high:
            mu = (low + high) / 2
    if size > bound:
        x *= bound / size


@compiled
def _fill(h, points, x):
    """Entries of a unimodal x that have no weight := the smaller one of their neighbours that have.

    So they do not depend on which of many equal places of the peak was taken.
    """
    level = 0.0
    for i in range(x.size):
        level = x[i] if h[i] > 0.0 or points[i] >= 0.0 else level
        x[i] = level
    level = 0.0
    for i in range(x.size - 1, -1, -1):
        if h[i] > 0.0 or points[i] >= 0.0:
            level = x[i]
        else:
            x[i] = min(x[i], level)


@compiled
def _clip(a, h, mu, points, x):
    """x := the minimum over x >= 0; minus half the derivative of |x|^2 by mu."""
    steepness = 0.0
    for i in range(x.size):
        weight = h[i] + mu
        x[i] = a[i] / weight if a[i] > 0.0 and weight > 0.0 else 0.0
        if points[i] >= 0.0:
            x[i] = points[i]
        elif x[i] > 0.0:
            steepness += x[i] * x[i] / weight
    return steepness


@compiled
def _pool(a, h, mu, points, n, x, first, stack, gains):
    """x[:n] := the increasing minimum over x >= 0; minus half the derivative of its |x|^2 by mu.

    Twice what the minimum over the first i entries takes off the objective is gains[i]: minus infinity
    if points decrease there.
    """
    sums, weights, levels, gained = stack[0], stack[1], stack[2], stack[3]
    blocks, begin, low, closed = 0, 0, 0.0, 0.0  # first block after the last point, and its value
    gains[0] = 0.0
    for i in range(n):
        total, weight, start = a[i], h[i] + mu, i
        if points[i] >= 0.0:
            for block in range(begin, blocks):
                levels[block] = min(max(levels[block], low), points[i])
                closed += _gain(sums[block], weights[block], levels[block])
            if points[i] < low:
                closed = -np.inf
            low = points[i]
            first[blocks], sums[blocks], weights[blocks], levels[blocks] = i, 0.0, np.inf, low
            blocks += 1
            begin, gains[i + 1] = blocks, closed
            continue
        if weight <= 0.0:  # nothing is known of it: it belongs to the block before
            gains[i + 1] = gains[i]
            continue
        level = total / weight
        while blocks > begin and levels[blocks - 1] > level:
            blocks -= 1
            total += sums[blocks]
            weight += weights[blocks]
            start = first[blocks]
            level = total / weight
        first[blocks], sums[blocks], weights[blocks], levels[blocks] = start, total, weight, level
        before = gained[blocks] if blocks > begin else closed
        gained[blocks + 1] = before + _gain(total, weight, max(level, low))
        blocks += 1
        gains[i + 1] = gained[blocks]
    steepness = 0.0
    end = n
    for block in range(blocks - 1, -1, -1):
        level = max(levels[block], low) if block >= begin else levels[block]
        count = end - first[block]
        if level == sums[block] / weights[block]:
            steepness += count * level * count * level / weights[block]
        for i in range(first[block], end):
            x[i] = level
        end = first[block]
    for i in range(end):
        x[i] = 0.0
    return steepness


@compiled
def _gain(total, weight, level):
    """Twice what a block of one level takes off the objective."""
    return level * (2.0 * total - weight * level)
