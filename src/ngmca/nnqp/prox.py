"""Proximal operators of the penalties and constraints of the paper."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def nonnegative(Z: NDArray) -> NDArray:
    """argmin_{X >= 0} 1/2 |X - Z|^2."""
    return np.maximum(Z, 0)


def nonnegative_soft(Z: NDArray, threshold: ArrayLike) -> NDArray:
    """argmin_{X >= 0} 1/2 |X - Z|^2 + <threshold, X>."""
    return np.maximum(Z - threshold, 0)


def nonnegative_hard(Z: NDArray, threshold: ArrayLike) -> NDArray:
    """[Hard_threshold(Z)]_+: entries of Z that are positive and reach the threshold, 0 elsewhere."""
    return np.where(threshold <= Z, nonnegative(Z), 0)


def rows_in_ball(Z: NDArray, radius: ArrayLike) -> NDArray:
    """argmin 1/2 |X - Z|^2 with the norm of each row of X at most its radius.

    After `nonnegative` it is the projection onto the intersection of the orthant and the ball: a
    cone and a ball around its apex can be projected on one after the other.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    radius = np.broadcast_to(np.asarray(radius, dtype=Z.dtype), norms.shape)
    shrink = np.divide(radius, norms, out=np.ones_like(norms), where=norms > radius)
    return Z * shrink[:, None]
