"""Robust noise levels of the residual, from medians."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.compiled import compiled
from ngmca.engines.units import in_own_units

GAUSSIAN = 1.4826  # standard deviation of a Gaussian over its median absolute deviation


def mad(X: NDArray) -> NDArray:
    """Return the robust standard deviation of each row: 1.4826 times the median absolute deviation."""
    return GAUSSIAN * deviations(X, np.zeros_like(X))[1]


def deviations(X: NDArray, model: NDArray, guess: NDArray | None = None) -> NDArray:
    """Return median and median absolute deviation of each row of X - model, (2, rows).

    A guess, such as the result for a similar model, saves time and does not change the result.
    """
    if guess is None:
        residual = (X - model).astype(np.float64, copy=False)
        centre = _medians(residual)
        return np.stack([centre, _medians(np.abs(residual - centre[:, None]))])
    if not (X.dtype == model.dtype == np.float64 and X.flags.writeable):
        # the kernel is compiled once, for double precision and arrays that are not read-only
        X, model = (X - model).astype(np.float64), np.zeros(X.shape)
    found = np.empty((2, len(X)))
    _deviations(*map(np.ascontiguousarray, (X, model, guess)), found)
    return found


def _medians(X: NDArray) -> NDArray:
    """Return the median of each row."""
    n = X.shape[1]
    parted = np.partition(X, n // 2, axis=1)
    upper = parted[:, n // 2]
    return upper if n % 2 else (upper + parted[:, : n // 2].max(axis=1)) / 2


def in_gradient(A: NDArray, sigma: NDArray) -> NDArray:
    """Return the standard deviation of the noise in each row of A'(AS - Y), for noise sigma of Y."""
    sigma, unit = in_own_units(sigma)
    return np.sqrt((A * A).T @ (sigma * sigma)) * unit


@compiled
def _deviations(X, model, guess, found):
    """found := median and median absolute deviation of each row of X - model."""
    m, n = X.shape
    row = np.empty(n)
    scratch = np.empty(n + 1)
    for j in range(m):
        for t in range(n):
            row[t] = X[j, t] - model[j, t]
        reach = 0.03 * guess[1, j]
        centre = _median(row, guess[0, j], reach, scratch)
        for t in range(n):
            row[t] = abs(row[t] - centre)
        found[0, j] = centre
        found[1, j] = _median(row, guess[1, j], reach, scratch)


@compiled
def _median(x, guess, reach, scratch):
    """Return the median of x; entries within `reach` of the guess are sorted, or 6 times it, or all."""
    n = x.size
    upper = n // 2
    lower = (n - 1) // 2
    for factor in (1.0, 6.0, np.inf):
        low = guess - factor * reach if factor < np.inf else -np.inf
        high = guess + factor * reach if factor < np.inf else np.inf
        below = 0
        inside = np.intp(0)  # not the literal, for which `_select` would be compiled once more
        for t in range(n):
            value = x[t]
            scratch[inside] = value
            below += value < low
            inside += (value >= low) & (value <= high)
        if below <= lower and upper < below + inside:
            break
    second = _select(scratch, inside, upper - below)
    if lower == upper:
        return second
    first = scratch[0]  # the largest of what now stands before the upper one
    for t in range(1, upper - below):
        first = max(first, scratch[t])
    return (first + second) / 2


@compiled
def _select(x, n, k):
    """Return the k-th smallest of the first n entries of x, which are reordered around it (Hoare)."""
    left = 0
    right = n - 1
    while left < right:
        middle = x[(left + right) // 2]
        i = left
        j = right
        while i <= j:
            while x[i] < middle:
                i += 1
            while middle < x[j]:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        if k <= j:
            right = j
        elif k >= i:
            left = i
        else:
            break
    return x[k]
