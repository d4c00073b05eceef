"""The compiled draws: every entry of S, and of A, from its distribution given all the others.

Given the rest, an entry s of S has the likelihood exp(-g s^2/2 + c s). Under the slab (exponential of
rate b) it is a normal distribution cut off at 0, of mean t / sqrt(g) and variance 1 / g before the cut,
with t = (c - b) / sqrt(g); and all that is needed of it is one function,

    M(t) = Phi(t) / phi(t),

the ratio of Mills at -t: the data multiply the odds against the spike by b M(t) / sqrt(g), the mean is
(t + 1/M(t)) / sqrt(g), the second moment (1 + t (t + 1/M(t))) / g. Up to t = 4 it is read off a table.
Whether an entry is active depends on its neighbours, the entries of the same source one sample before
and one after: `neighbour_odds` has the odds for every state that these can have.

Every column of S, and every row of A, has its own stream of random numbers, made from a key and its
index: what is drawn does not depend on threads. (It depends on the blocks, which the shape of the data
fixes: an entry sees its neighbours in other blocks as they are when its block is drawn.)
"""

import math

import numpy as np
from scipy.special import erfcx

from ngmca.compiled import compiled, inlined

_LOW, _HIGH, _STEPS = -20.0, 4.0, 64  # range of the table, and nodes a unit: good to 1e-7
_NODES = np.linspace(_LOW, _HIGH, int((_HIGH - _LOW) * _STEPS) + 1)
_MILLS = math.sqrt(math.pi / 2) * erfcx(-_NODES / math.sqrt(2))
_DENSITY = 1 / math.sqrt(2 * math.pi)
_CERTAIN = 1e-300  # 1 / M(t) is never taken below this

_WIDTH, _STEPS_OUT = 4.0, 100  # of the first slice, in errors, and how often it grows at most

_NOTHING, _INSIDE = 2, 3  # beside a run of entries: there is no entry, or one of the run

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD1342543DE82EF95)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53

_TAIL, _AREA = 3.6541528853610088, 0.00492867323399  # of 256 layers of equal area under a half-normal


def _layers() -> np.ndarray:
    """Right ends of the layers, from the bottom to 0; the first as if its tail were a rectangle too."""
    ends = [_AREA / math.exp(-0.5 * _TAIL**2), _TAIL]
    while len(ends) < 256:
        ends.append(math.sqrt(-2 * math.log(_AREA / ends[-1] + math.exp(-0.5 * ends[-1] ** 2))))
    return np.array([*ends, 0.0])


_ENDS = _layers()
_HEIGHTS = np.exp(-0.5 * _ENDS**2)


@inlined
def _stream(key, index):
    """Where the stream of a column starts."""
    return _mix(key + _mix(np.uint64(index) * _ODD + _GOLDEN))


@inlined
def _mix(z):
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@inlined
def _uniform(state):
    """The state moved on, and a number in (0, 1)."""
    state = state + _GOLDEN
    return state, (np.float64(_mix(state) >> np.uint64(11)) + 0.5) * _TO_UNIT


@inlined
def _inverse_mills(t):
    """1 / M(t), and t + 1 / M(t) without cancellation."""
    if t < _LOW:
        y = 1.0 / (t * t)
        excess = -(1.0 + y * (-2.0 + y * (10.0 - 74.0 * y))) / t
        return excess - t, excess
    if t > _HIGH:  # Phi(t) = 1 - phi(t) M(-t)
        density = _DENSITY * math.exp(-0.5 * t * t)
        inverse = max(density / (1.0 - density * _table(max(-t, _LOW))), _CERTAIN)
    else:
        inverse = 1.0 / _table(t)
    return inverse, t + inverse


@inlined
def _table(t):
    """M(t) by cubic pieces whose slopes are known: M' = 1 + t M."""
    place = (t - _LOW) * _STEPS
    k = min(int(place), _MILLS.size - 2)
    s = place - k
    left = _LOW + k / _STEPS
    before = _MILLS[k]
    rise = _MILLS[k + 1] - before
    slope = (1.0 + left * before) / _STEPS
    next_slope = (1.0 + (left + 1.0 / _STEPS) * _MILLS[k + 1]) / _STEPS
    return before + s * (
        slope + s * (3.0 * rise - 2.0 * slope - next_slope + s * (slope + next_slope - 2.0 * rise))
    )


@inlined
def _normal(state):
    """The state moved on, and a standard normal draw (the ziggurat of Marsaglia and Tsang, 2000)."""
    while True:
        state = state + _GOLDEN
        bits = _mix(state)
        layer = np.int64(bits & np.uint64(255))
        u = 2.0 * ((np.float64(bits >> np.uint64(11)) + 0.5) * _TO_UNIT) - 1.0
        x = u * _ENDS[layer]
        if abs(x) < _ENDS[layer + 1]:
            return state, x
        if layer == 0:
            return _normal_tail(state, x)
        state, v = _uniform(state)
        if _HEIGHTS[layer] + v * (_HEIGHTS[layer + 1] - _HEIGHTS[layer]) < math.exp(-0.5 * x * x):
            return state, x


@compiled
def _normal_tail(state, sign):
    """The state moved on, and a normal draw beyond the last layer, on the side that `sign` has."""
    while True:
        state, u = _uniform(state)
        state, v = _uniform(state)
        x = -math.log(u) / _TAIL
        if -2.0 * math.log(v) > x * x:
            return state, _TAIL + x if sign > 0 else -_TAIL - x


@compiled
def _positive_normal(state, t):
    """The state moved on, and a draw from the normal of mean t and variance 1, given that it is > 0.

    By rejection: from the normal itself, or where 0 is in its tail from an exponential (Robert, 1995).
    """
    if t > -0.4:
        while True:
            state, z = _normal(state)
            if t + z > 0.0:
                return state, t + z
    rate = 0.5 * (math.sqrt(t * t + 4.0) - t)
    while True:
        state, u = _uniform(state)
        state, v = _uniform(state)
        z = -math.log(u) / rate
        if v <= math.exp(-0.5 * (z - t - rate) ** 2):
            return state, z


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
        state = _stream(key, first + j)
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
                inverse, excess = _inverse_mills(t)
                here = ratio[_neighbours(X, first + j, i), i]
                active = here / (here + inverse)
                if collect:
                    sums[0, j, i] += share * active
                    sums[1, j, i] += share * active * excess * root[i]
                    sums[2, j, i] += share * active * max(1.0 + t * excess, 0.0) * root[i] * root[i]
                state, u = _uniform(state)
                new = 0.0
                if u < active:
                    state, new = _positive_normal(state, t)
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
        state = _stream(key, j)
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
            state, new = _positive_normal(state, t)
            a[i] = new * root
            change = a[i] - old
            for k in range(r):
                h[k] += SS[i, k] * change
        for i in range(r):
            squares[j] += a[i] * (h[i] - 2.0 * YS[j, i])


@compiled
def shear(G, C, X, A, rate, start, stay, weak, key):
    """For every source k draw c in a_k + c a_i, with another source i at random, and with it row i of S.

    Where k is active only together with i, the data hardly tell (a_k, s_i) from (a_k + c a_i,
    s_i - c s_k), and single entries would take for ever to go from one to the other. So c is drawn with
    s_i integrated out where k is active: over the values in closed form, and over the patterns of
    active entries along each run of samples by going through it forwards. Afterwards s_i is drawn
    there, going backwards. G, C, X and A, all in place, are as above, with C whole (n, r); `weak` (r,)
    are the inverse variances of the columns of A.
    """
    n, r = X.shape
    where = np.empty(n, np.int64)
    x = np.empty(n)
    u = np.empty(n)
    edges = np.empty((2, n), np.int64)
    forward = np.empty(n)
    for k in range(r):
        state = _stream(key, k)
        state, v = _uniform(state)
        i = int(v * (r - 1))
        i += i >= k
        g = G[i, i]
        count = 0
        for j in range(n):
            if X[j, k] > 0.0:
                where[count] = j
                x[count] = X[j, k]
                rest = C[j, i] + g * X[j, i]
                for q in range(r):
                    rest -= G[i, q] * X[j, q]
                u[count] = rest  # a_i' times the residual without source i
                count += 1
        if count == 0:
            continue
        for p in range(count):
            j = where[p]
            edges[0, p] = _INSIDE
            if p == 0 or where[p - 1] < j - 1:
                edges[0, p] = j > 0 and X[j - 1, i] > 0.0
            edges[1, p] = _INSIDE
            if p == count - 1 or where[p + 1] > j + 1:
                edges[1, p] = _NOTHING if j == n - 1 else X[j + 1, i] > 0.0
        law = (g, rate[i], start[i], stay[i], weak[k])
        part = (x[:count], u[:count], edges[:, :count], forward[:count])
        state, c = _draw_shear(state, part, A[:, k], A[:, i], law)
        for j in range(len(A)):
            A[j, k] = max(A[j, k] + c * A[j, i], 0.0)
        for j in range(n):
            C[j, k] += c * C[j, i]
        G[k, k] += c * (2.0 * G[i, k] + c * g)
        for q in range(r):
            if q != k:
                G[k, q] += c * G[i, q]
                G[q, k] = G[k, q]
        _forwards(c, part, law)
        root = 1.0 / math.sqrt(g)
        after = 0
        for p in range(count - 1, -1, -1):
            if edges[1, p] != _INSIDE:
                after = edges[1, p]
            on = forward[p] * _chance(after, stay[i])
            off = (1.0 - forward[p]) * _chance(after, start[i])
            state, v = _uniform(state)
            new = 0.0
            after = 0
            if v * (on + off) < on:
                after = 1
                state, new = _positive_normal(state, (u[p] - c * x[p] * g - rate[i]) * root)
            X[where[p], i] = new * root


@inlined
def _chance(after, p):
    """Probability of the next entry if it is active with probability p; 1 if there is none."""
    if after == 1:
        return p
    if after == 0:
        return 1.0 - p
    return 1.0


@compiled
def _draw_shear(state, part, a, b, law):
    """The state moved on, and c by slice sampling (Neal, 2003) from 0.

    The first slice is as wide as the data would leave c if source i were silent; that width is the same
    wherever c goes, as slices ask for, and follows the units of both sources.
    """
    width = _WIDTH / math.sqrt(law[0] * np.sum(part[0] * part[0]))
    low = -np.inf
    lean = 0.0
    square = 0.0
    for j in range(a.size):
        if b[j] > 0.0:
            low = max(low, -a[j] / b[j])
        lean += a[j] * b[j]
        square += b[j] * b[j]
    pull = (law[4] * lean, law[4] * square)
    state, v = _uniform(state)
    level = _shear_density(0.0, part, law, pull) + math.log(v)
    state, v = _uniform(state)
    left = -width * v
    right = left + width
    state, v = _uniform(state)
    leftwards = int(v * _STEPS_OUT)
    for _ in range(leftwards):
        if left <= low or _shear_density(left, part, law, pull) <= level:
            break
        left -= width
    for _ in range(_STEPS_OUT - 1 - leftwards):
        if _shear_density(right, part, law, pull) <= level:
            break
        right += width
    left = max(left, low)
    while True:
        state, v = _uniform(state)
        c = left + v * (right - left)
        if _shear_density(c, part, law, pull) >= level or right - left < 1e-12 * width:
            return state, c
        if c < 0.0:
            left = c
        else:
            right = c


@compiled
def _shear_density(c, part, law, pull):
    """Logarithm of the density of c, up to a constant."""
    return _forwards(c, part, law) - c * (pull[0] + 0.5 * c * pull[1])


@compiled
def _forwards(c, part, law):
    """Logarithm of the sum over all patterns of active entries; `forward` (part[3]) becomes the
    probability of each to be active, given what lies before."""
    x, u, edges, forward = part
    g, rate, start, stay, _ = law
    root = 1.0 / math.sqrt(g)
    scale = math.log(rate) + math.log(root)
    total = 0.0
    active = 0.0
    for p in range(x.size):
        if edges[0, p] != _INSIDE:
            active = float(edges[0, p])
        move = c * x[p]
        total += move * (u[p] - 0.5 * move * g)
        chance = active * stay + (1.0 - active) * start
        weight = scale + _log_mills((u[p] - move * g - rate) * root)
        on, off = chance, 1.0 - chance
        if weight > 0.0:
            total += weight
            off *= math.exp(-weight)
        else:
            on *= math.exp(weight)
        total += math.log(on + off)
        active = on / (on + off)
        forward[p] = active
        if edges[1, p] < _NOTHING:
            after = edges[1, p]
            total += math.log(active * _chance(after, stay) + (1.0 - active) * _chance(after, start))
    return total


@inlined
def _log_mills(t):
    """Logarithm of M(t)."""
    if t > 30.0:
        return 0.5 * t * t - math.log(_DENSITY)
    inverse, _ = _inverse_mills(t)
    return -math.log(inverse)
