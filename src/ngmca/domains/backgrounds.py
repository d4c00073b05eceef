"""Smooth non-negative backgrounds, for what belongs to no substance, as fluorescence or offsets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments

KINDS = ("polynomial", "splines")
DEGREE = 4  # of "polynomial"
SPLINES = 8  # of "splines"


def basis(baseline: Any, n: int) -> NDArray | None:
    """(q, n) non-negative rows for what `separate` calls baseline; None for none."""
    if baseline is None:
        return None
    if isinstance(baseline, str):
        arguments.check_choice(baseline, "baseline", KINDS)
        return polynomial(n) if baseline == "polynomial" else splines(n)
    found = arguments.as_array(baseline, "baseline").astype(np.float64)
    if found.ndim != 2 or found.shape[1] != n or not len(found):
        raise ValueError(
            f"baseline must be 'polynomial', 'splines' or rows of {n} channels, got shape {found.shape}."
        )
    if not np.isfinite(found).all() or (found < 0).any() or not found.any(axis=1).all():
        raise ValueError("baseline must have finite rows that are not negative, and not all 0.")
    return found / found.max(axis=1, keepdims=True)


def polynomial(n: int, degree: int = DEGREE) -> NDArray:
    """(degree + 1, n) Bernstein polynomials: sums with weights >= 0 are polynomials >= 0."""
    from scipy.special import comb

    x = np.linspace(0, 1, n)
    k = np.arange(arguments.check_count(degree, "degree", low=0) + 1)[:, None]
    found = comb(degree, k) * x**k * (1 - x) ** (degree - k)
    return np.asarray(found / found.max(axis=1, keepdims=True))


def splines(n: int, count: int = SPLINES) -> NDArray:
    """(count, n) cubic B-splines on even knots, at least 4."""
    from scipy.interpolate import BSpline

    count = arguments.check_count(count, "count", low=4)
    knots = np.concatenate([[0.0] * 3, np.linspace(0, 1, count - 2), [1.0] * 3])
    found = BSpline.design_matrix(np.linspace(0, 1, n), knots, 3).toarray().T
    return np.asarray(found / np.maximum(found.max(axis=1, keepdims=True), 1e-300))
