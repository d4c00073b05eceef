"""Compiled steps for lines and bands: an orthonormal wavelet basis, its inverse, and draws in it.

The basis is periodic, and rolled by a shift that is drawn for each sweep. Coefficients of a row are
[smooth | details, coarse to fine]. Each row, place or source has its own stream of random numbers, made
from a key and its index, as in `sparse_kernels`.
"""

import math

import numpy as np

from ngmca._support.compiled import compiled
from ngmca.domains.frame import SYM4
from ngmca.sampling.random_draws import normal, stream, uniform

_LOW = np.array(SYM4)
_HIGH = _LOW[::-1] * (-1.0) ** np.arange(len(SYM4))
_TAPS = len(SYM4)

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
