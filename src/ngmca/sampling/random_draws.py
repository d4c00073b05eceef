"""Compiled random numbers, Mills ratio and slice sampling, for the draws of S and A.

With the density phi of the standard normal distribution and its integral Phi,

    M(t) = Phi(t) / phi(t)

is the Mills ratio at -t. Up to t = 4 it is interpolated in a table.

These functions become part of the kernels that use them. Numba's cache checks only the file of a kernel:
after a change here delete `__pycache__`, or change that file too.
"""

import math

import numpy as np
from scipy.special import erfcx

from ngmca._support.compiled import compiled, inlined

_LOW, _HIGH, _STEPS = -20.0, 4.0, 64  # range of the table, and nodes per unit: accurate to 1e-7
_NODES = np.linspace(_LOW, _HIGH, int((_HIGH - _LOW) * _STEPS) + 1)
_MILLS = math.sqrt(math.pi / 2) * erfcx(-_NODES / math.sqrt(2))
_DENSITY = 1 / math.sqrt(2 * math.pi)
_CERTAIN = 1e-300  # 1 / M(t) is at least this

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD1342543DE82EF95)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53

_TAIL, _AREA = 3.6541528853610088, 0.00492867323399  # of 256 layers of equal area under a half-normal


def _layers() -> np.ndarray:
    """Return the right ends of the layers, from the bottom up; the tail of the first counts as a box."""
    ends = [_AREA / math.exp(-0.5 * _TAIL**2), _TAIL]
    while len(ends) < 256:
        ends.append(math.sqrt(-2 * math.log(_AREA / ends[-1] + math.exp(-0.5 * ends[-1] ** 2))))
    return np.array([*ends, 0.0])


_ENDS = _layers()
_HEIGHTS = np.exp(-0.5 * _ENDS**2)
TABLES = _MILLS, _ENDS, _HEIGHTS


@inlined
def stream(key, index):
    """Return the first state of the stream with this index."""
    return _mix(key + _mix(np.uint64(index) * _ODD + _GOLDEN))


@inlined
def _mix(z):
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@inlined
def uniform(state):
    """Return the next state, and a number in (0, 1)."""
    state = state + _GOLDEN
    return state, (np.float64(_mix(state) >> np.uint64(11)) + 0.5) * _TO_UNIT


@inlined
def inverse_mills(t):
    """Return 1 / M(t), and t + 1 / M(t) without cancellation."""
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
    """Return M(t) by cubic interpolation with known slopes: M' = 1 + t M."""
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
def normal(state):
    """Return the next state, and a standard normal draw (ziggurat, Marsaglia and Tsang, 2000)."""
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
        state, v = uniform(state)
        if _HEIGHTS[layer] + v * (_HEIGHTS[layer + 1] - _HEIGHTS[layer]) < math.exp(-0.5 * x * x):
            return state, x


@compiled
def _normal_tail(state, sign):
    """Return the next state, and a normal draw beyond the last layer, with the sign of `sign`."""
    while True:
        state, u = uniform(state)
        state, v = uniform(state)
        x = -math.log(u) / _TAIL
        if -2.0 * math.log(v) > x * x:
            return state, _TAIL + x if sign > 0 else -_TAIL - x


@compiled
def positive_normal(state, t):
    """Return the next state, and a draw from the normal of mean t and variance 1, given that it is > 0.

    By rejection, from the normal itself, or from an exponential if 0 is in its tail (Robert, 1995).
    """
    if t > -0.4:
        while True:
            state, z = normal(state)
            if t + z > 0.0:
                return state, t + z
    rate = 0.5 * (math.sqrt(t * t + 4.0) - t)
    while True:
        state, u = uniform(state)
        state, v = uniform(state)
        z = -math.log(u) / rate
        if v <= math.exp(-0.5 * (z - t - rate) ** 2):
            return state, z


@inlined
def log_mills(t):
    """Return the logarithm of M(t)."""
    if t > 30.0:
        return 0.5 * t * t - math.log(_DENSITY)
    inverse, _ = inverse_mills(t)
    return -math.log(inverse)


@inlined
def slice_draw(state, density, given, low, width, steps_out, rounds, narrowest):
    """Draw c >= low by slice sampling from 0 (Neal, 2003); return the next state, c and the slice width.

    ``density(c, given)`` is the logarithm of the density, up to a constant. The first slice has this
    `width`, and is widened by it at most `steps_out` times. It then shrinks until a point inside is
    accepted, or until it is narrower than `narrowest`. After `rounds` rejections c is 0.
    """
    state, v = uniform(state)
    level = density(0.0, given) + math.log(v)
    state, v = uniform(state)
    left = -width * v
    right = left + width
    state, v = uniform(state)
    leftwards = int(v * steps_out)
    for _ in range(leftwards):
        if left <= low or density(left, given) <= level:
            break
        left -= width
    for _ in range(steps_out - 1 - leftwards):
        if density(right, given) <= level:
            break
        right += width
    left = max(left, low)
    for _ in range(rounds):
        state, v = uniform(state)
        c = left + v * (right - left)
        if density(c, given) >= level or right - left < narrowest:
            return state, c, right - left
        if c < 0.0:
            left = c
        else:
            right = c
    return state, 0.0, right - left
