"""Hoyer's sparseness, and the projection on non-negative vectors with given l1 and l2 norms."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.compiled import compiled
from ngmca._support.messages import ArgumentError, option


def sparseness(x: ArrayLike) -> float:
    """Return (sqrt(n) - |x|_1 / |x|_2) / (sqrt(n) - 1): 1 if one entry is not 0, 0 if all are equal.

    Parameters
    ----------
    x : array_like of shape (n,)
        A vector. A single entry has sparseness 1, and a vector of zeros has 0.

    Returns
    -------
    float
        The sparseness, between 0 and 1.

    Raises
    ------
    ValueError
        If x is not a finite vector.

    Examples
    --------
    >>> from ngmca.rivals import sparseness
    >>> sparseness([0, 3, 0])
    1.0
    >>> sparseness([2, 2, 2, 2])
    0.0
    """
    size = np.abs(_vector(x))
    peak = size.max()
    if peak == 0:
        return 0.0
    if size.size == 1:
        return 1.0
    size = size / peak  # so that squares neither overflow nor vanish
    root = math.sqrt(size.size)
    return float((root - size.sum() / np.linalg.norm(size)) / (root - 1))


def project_norms(x: ArrayLike, l1: float, l2: float) -> NDArray:
    """argmin |s - x|^2 over s >= 0 with |s|_1 = l1 and |s|_2 = l2, exactly.

    Parameters
    ----------
    x : array_like of shape (n,)
        A vector.
    l1, l2 : float
        The norms, with l2 <= l1 <= sqrt(n) l2.

    Returns
    -------
    ndarray of shape (n,)
        The nearest point. If several points are equally near, because too many of the largest entries of
        x are equal, one of them.

    Raises
    ------
    ValueError
        If no vector has these norms, or if x is not a finite vector.

    Examples
    --------
    >>> from ngmca.rivals import project_norms
    >>> project_norms([3.0, 1.0, 0.0], l1=1.0, l2=1.0)
    array([1., 0., 0.])
    """
    x = _vector(x)
    l1, l2 = float(l1), float(l2)
    slack = 1e-12 * l1
    if not (0 <= l2 <= l1 + slack and l1 <= math.sqrt(x.size) * l2 + slack and math.isfinite(l1)):
        raise ArgumentError(
            "no vector of {} entries has {} and {}: l1 must lie between l2 and {:.6g} * l2.",
            *(x.size, option("l1", l1), option("l2", l2), math.sqrt(x.size)),
        )
    out = np.empty((1, x.size))
    project_rows(x[None], np.array([l1]), np.array([l2]), out)
    return out[0]


def _vector(x: ArrayLike) -> NDArray:
    x = arguments.as_array(x, "x").astype(np.float64, copy=False)
    if x.ndim != 1 or x.size == 0:
        raise ArgumentError(
            "{} must be a vector with at least one entry, got shape {}.", option("x"), x.shape
        )
    if not np.isfinite(x).all():
        raise ArgumentError("{} must be finite: replace NaN and infinity.", option("x"))
    return x


@compiled
def project_rows(X, l1, l2, out):
    """Project each row of X on its own norms l1 and l2, into out.

    With fixed norms, the nearest point maximises <x, s>. From its Lagrangian, s = b [x - a]_+ with one
    level a, and |s|_1 / |s|_2 falls as a rises. So a follows from the k largest entries, and one pass
    over the sorted entries finds k.
    """
    for t in range(X.shape[0]):
        if l2[t] == 0.0:
            out[t] = 0.0
        else:
            _project(X[t], l1[t], l2[t], out[t])


@compiled
def _project(x, l1, l2, out):
    n = x.size
    ratio = (l1 / l2) ** 2  # at least 1, at most n
    top = x.argmax()
    size = 0.0
    for i in range(n):
        out[i] = x[i] - x[top]  # differences are exact where entries nearly tie
        size = max(size, -out[i])
    if ratio >= n * (1 - 1e-15):
        out[:] = l1 / n
        return
    if ratio <= 1 + 1e-15:
        out[:] = 0.0
        out[top] = l1
        return
    ties = 0
    for i in range(n):
        ties += out[i] == 0.0
    if ties >= ratio:  # all weight on the largest entries, one of them raised to reach l2
        mean = l1 / ties
        raised = math.sqrt(max(l2 * l2 - l1 * mean, 0.0) * (ties - 1) / ties)
        for i in range(n):
            out[i] = mean - raised / (ties - 1) if out[i] == 0.0 else 0.0
        out[top] = mean + raised
        return
    for i in range(n):
        out[i] /= size
    level = _level(np.sort(out)[::-1], ratio)
    total = 0.0
    for i in range(n):
        out[i] = max(out[i] - level, 0.0)
        total += out[i]
    for i in range(n):
        out[i] *= l1 / total


@compiled
def _level(z, ratio):
    """The a for which (sum [z - a]_+)^2 = ratio * sum [z - a]_+^2, for z in falling order."""
    mean = 0.0
    spread = 0.0  # sum of squared deviations of the k largest from their mean
    level = 0.0
    for k in range(1, z.size + 1):
        step = z[k - 1] - mean
        mean += step / k
        spread += step * (z[k - 1] - mean)
        if k <= ratio:
            continue
        level = mean - math.sqrt(ratio * spread / (k * (k - ratio)))
        if k == z.size or level >= z[k]:
            break
    return level
