"""Compiled steps for lines and bands: an orthonormal wavelet basis, its inverse, and draws in it.

The basis is periodic, and rolled by a shift that is drawn for each sweep. Coefficients of a row are
[smooth | details, coarse to fine]. Each row, place or source has its own stream of random numbers, made
from a key and its index, as in `sparse_kernels`.
"""

import math

import numpy as np

from ngmca._support.compiled import compiled
from ngmca.domains.frame import SYM4
from ngmca.sampling.random_draws import normal, slice_draw, stream, uniform

_LOW = np.array(SYM4)
_HIGH = _LOW[::-1] * (-1.0) ** np.arange(len(SYM4))
_TAPS = len(SYM4)

_STEPS_OUT = 16  # how often a slice is widened, on both sides together
_ROUNDS = 60  # how often a slice shrinks
_MAX_PRODUCT = 1e100  # a larger product is added to the sum of logarithms
_MIN_PIVOT = 1e-13  # over the diagonal: a smaller pivot is rounding error


@compiled
def to_basis(X, levels, shift, C):
    """C := coefficients (r, n) of the rows of X, rolled by shift. n is a multiple of 2^levels."""
    r, n = X.shape
    line = np.empty(n + _TAPS)
    for i in range(r):
        for t in range(n):
            line[t] = X[i, (t + shift) % n]
        size = n
        for _ in range(levels):
            for q in range(_TAPS):
                line[size + q] = line[q % size]
            half = size // 2
            for k in range(half):
                smooth = 0.0
                detail = 0.0
                for q in range(_TAPS):
                    smooth += _LOW[q] * line[2 * k + q]
                    detail += _HIGH[q] * line[2 * k + q]
                C[i, k] = smooth
                C[i, half + k] = detail
            for k in range(half):
                line[k] = C[i, k]
            size = half


@compiled
def from_basis(C, levels, shift, X):
    """X := rows (r, n) whose coefficients are C: the inverse, and transpose, of `to_basis`."""
    r, n = X.shape
    line = np.empty(n)
    longer = np.empty(n + _TAPS)
    for i in range(r):
        size = n >> levels
        for k in range(size):
            line[k] = C[i, k]
        for _ in range(levels):
            whole = 2 * size
            longer[: whole + _TAPS] = 0.0
            for k in range(size):
                for q in range(_TAPS):
                    longer[2 * k + q] += _LOW[q] * line[k] + _HIGH[q] * C[i, size + k]
            for q in range(_TAPS):
                longer[q % whole] += longer[whole + q]
            for t in range(whole):
                line[t] = longer[t]
            size = whole
        for t in range(n):
            X[i, (t + shift) % n] = line[t]


@compiled
def draw_variances(C, squares, scale, key, V, precision):
    """V := draws of the variances of Cauchy coefficients C (r, n), given the squares of their scales.

    `squares` (r, levels + 1) holds one for each source and scale of the basis; scale (n,) is the index
    of the scale of each place. `precision` (r, levels + 1) becomes the sums of 1 / V.
    """
    r, n = C.shape
    precision[:] = 0.0
    for i in range(r):
        state = stream(key, i)
        for t in range(n):
            j = scale[t]
            state, u = uniform(state)
            V[i, t] = -0.5 * (squares[i, j] + C[i, t] * C[i, t]) / math.log(u)
            precision[i, j] += 1.0 / V[i, t]


@compiled
def draw_coefficients(G, B, V, key, C):
    """C := draws (r, n), place by place, of precision G + diag(1 / V_t) and right-hand sides B."""
    r, n = C.shape
    L = np.zeros((r, r))
    h = np.empty(r)
    for t in range(n):
        state = stream(key, t)
        for i in range(r):
            for k in range(i + 1):
                x = G[i, k]
                if i == k:
                    x += 1.0 / V[i, t]
                least = _MIN_PIVOT * x
                for q in range(k):
                    x -= L[i, q] * L[k, q]
                L[i, k] = math.sqrt(max(x, least)) if i == k else x / L[k, k]
            x = B[i, t]
            for q in range(i):
                x -= L[i, q] * h[q]
            h[i] = x / L[i, i]
        for i in range(r - 1, -1, -1):
            state, x = normal(state)
            x += h[i]
            for q in range(i + 1, r):
                x -= L[q, i] * C[q, t]
            C[i, t] = x / L[i, i]


@compiled
def draw_shears(A, S, C, squares, scale, noise, law, partners, width, adapt, key):
    """For sources i and partners k draw c in a_k + c a_i, s_i - c s_k, which does not change A S.

    Changed in place: A (m, r), columns of norm 1, S and C (r, n), and the squared scales (r, levels +
    1). noise (r,) is that of the entries of S without a prior, `law` is (power of the evidence, noise
    levels below 0 without a penalty), partners (r, number) are the k, and width (r, r) are the widths of
    the first slices, which are learnt if `adapt`.
    """
    r, n = S.shape
    evidence, slack = law
    root = math.sqrt(evidence)
    weight = np.empty(n)
    for i in range(r):
        state = stream(key, i)
        for t in range(n):
            weight[t] = 1.0 / squares[i, scale[t]]
        for k in partners[i]:
            # the penalty has the same power as the prior: the root of the power goes into its unit
            part = (C[i], C[k], weight, S[i], S[k], root / noise[i], slack * root, evidence)
            low = _lowest(A[:, k], A[:, i])
            state, c, found = slice_draw(
                state, _along_shear, part, low, width[i, k], _STEPS_OUT, _ROUNDS, 0.0
            )
            if adapt:
                width[i, k] = max(0.8 * width[i, k] + 0.4 * found, 1e-8)
            for t in range(n):
                S[i, t] -= c * S[k, t]
                C[i, t] -= c * C[k, t]
            norm = 0.0
            for j in range(len(A)):
                A[j, k] = max(A[j, k] + c * A[j, i], 0.0)
                norm += A[j, k] * A[j, k]
            norm = math.sqrt(norm)
            for j in range(len(A)):
                A[j, k] /= norm
            for t in range(n):
                S[k, t] *= norm
                C[k, t] *= norm
            squares[k] *= norm * norm


@compiled
def _lowest(a, b):
    """Return just above the smallest c for which a + c b >= 0, so that no column vanishes."""
    low = -np.inf
    for j in range(a.size):
        if b[j] > 0.0:
            low = max(low, -a[j] / b[j])
    return low * (1.0 - 1e-9)


@compiled
def _along_shear(c, part):
    """Return the log density of s_i - c s_k, up to a constant: Cauchy prior, and a penalty below 0."""
    C_i, C_k, weight, s_i, s_k, unit, slack, evidence = part
    logs = 0.0
    one = 1.0
    two = 1.0
    for t in range(0, C_i.size, 2):  # few logarithms of long products; n is even
        x = C_i[t] - c * C_k[t]
        y = C_i[t + 1] - c * C_k[t + 1]
        one *= 1.0 + x * x * weight[t]
        two *= 1.0 + y * y * weight[t + 1]
        if one > _MAX_PRODUCT or two > _MAX_PRODUCT:
            logs += math.log(one) + math.log(two)
            one = 1.0
            two = 1.0
    logs += math.log(one) + math.log(two)
    below = 0.0
    for t in range(s_i.size):
        x = min((s_i[t] - c * s_k[t]) * unit + slack, 0.0)
        below += x * x
    return -evidence * logs - 0.5 * below
