"""Robust noise levels: what is left over when the sources are taken away."""

import numpy as np
from numpy.typing import NDArray

GAUSSIAN = 1.4826  # standard deviation of a Gaussian over its median absolute deviation


def mad(X: NDArray) -> NDArray:
    """Robust standard deviation of each row: 1.4826 times the median absolute deviation."""
    centre = np.median(X, axis=1, keepdims=True)
    deviation = np.abs(X - centre)
    return GAUSSIAN * np.median(deviation, axis=1, overwrite_input=True)


def in_gradient(A: NDArray, sigma: NDArray) -> NDArray:
    """Standard deviation of the noise in each row of A'(AS - Y), for noise sigma in each row of Y."""
    return np.sqrt((A * A).T @ (sigma * sigma))
