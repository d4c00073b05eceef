"""Smooth non-negative backgrounds, such as fluorescence or offsets."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option

DEGREES = {"constant": 0, "linear": 1, "quadratic": 2, "polynomial": 4}
KINDS = (*DEGREES, "splines")  # from the stiffest to the most flexible


def basis(baseline: str | ArrayLike, n: int) -> NDArray:
    """Return the non-negative rows of a baseline, with a largest value of 1.

    Parameters
    ----------
    baseline : {"constant", "linear", "quadratic", "polynomial", "splines"}, array_like of shape (q, n)
        Kind of the baseline, or its rows.
    n : int
        Number of channels.

    Returns
    -------
    ndarray of shape (q, n)
        The rows.

    Examples
    --------
    >>> from ngmca.domains.backgrounds import basis
    >>> basis("splines", 100).shape
    (8, 100)
    """
    if isinstance(baseline, str):
        arguments.check_choice(baseline, "Baseline", KINDS)
        return splines(n) if baseline == "splines" else polynomial(n, DEGREES[baseline])
    found = arguments.as_array(baseline, "Baseline").astype(np.float64)
    if found.ndim != 2 or found.shape[1] != n or not len(found):
        raise ArgumentError(
            "{} must be a name ({}) or rows of {} channels, got shape {}.",
            *(option("Baseline"), ", ".join(KINDS), n, found.shape),
        )
    if not np.isfinite(found).all() or (found < 0).any() or not found.any(axis=1).all():
        raise ArgumentError(
            "rows of {} must be finite and not negative, and none may be all 0.", option("Baseline")
        )
    return found / found.max(axis=1, keepdims=True)


def polynomial(n: int, degree: int = 4) -> NDArray:
    """Return Bernstein polynomials: sums with weights >= 0 are polynomials >= 0.

    Parameters
    ----------
    n : int
        Number of channels.
    degree : int
        Degree of the polynomials.

    Returns
    -------
    ndarray of shape (degree + 1, n)
        The polynomials, each with a largest value of 1.

    Examples
    --------
    >>> from ngmca.domains.backgrounds import polynomial
    >>> polynomial(3, degree=1)
    array([[1. , 0.5, 0. ],
           [0. , 0.5, 1. ]])
    """
    from scipy.special import comb

    x = np.linspace(0, 1, n)
    k = np.arange(arguments.check_count(degree, "degree", low=0) + 1)[:, None]
    found = comb(degree, k) * x**k * (1 - x) ** (degree - k)
    return np.asarray(found / np.maximum(found.max(axis=1, keepdims=True), 1e-300))


def splines(n: int, count: int = 8) -> NDArray:
    """Return cubic B-splines on equidistant knots.

    Parameters
    ----------
    n : int
        Number of channels.
    count : int
        Number of splines, at least 4.

    Returns
    -------
    ndarray of shape (count, n)
        The splines, each with a largest value of 1.

    Examples
    --------
    >>> from ngmca.domains.backgrounds import splines
    >>> splines(50, count=5).shape
    (5, 50)
    """
    count = arguments.check_count(count, "count", low=4)
    knots = np.concatenate([[0.0] * 3, np.linspace(0, 1, count - 2), [1.0] * 3])[:, None]
    x = np.linspace(0, 1, n)
    before = (knots[1:] > x) | (knots[1:] == 1)  # the last interval includes its end
    found = ((knots[:-1] <= x) & before & (knots[:-1] < knots[1:])).astype(float)
    for degree in range(1, 4):  # each spline from two of a lower degree (Cox and de Boor)
        width = knots[degree:] - knots[:-degree]
        share = np.divide(x - knots[:-degree], width, where=width > 0, out=np.zeros((len(width), n)))
        found = share[:-1] * found[:-1] + np.where(width[1:] > 0, 1 - share[1:], 0) * found[1:]
    return np.asarray(found / np.maximum(found.max(axis=1, keepdims=True), 1e-300))
