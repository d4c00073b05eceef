"""Vertex component analysis (Nascimento and Bioucas-Dias, 2005)."""

import numpy as np
from numpy.typing import NDArray

from ngmca.rivals.alternation import Factors
from ngmca.rivals.subspace import Direct, at_once, signs_of

ROUNDING = 1e-9  # of the largest extent: no measurement extends in such a direction
MIN_COSINE = 1e-3  # to the mean, below which a measurement is no mixture of the same sources


@at_once
def vca(problem: Direct) -> Factors:
    """S := r measurements, each extreme along a random direction; A := argmin_{A>=0} |Y - AS|^2.

    The directions are orthogonal to the measurements picked before. The extremes are the corners of the
    simplex that the measurements fill: these are the sources, if each of them is measured alone once.
    Above a signal-to-noise ratio of 15 + 10 log10(r) dB the measurements are divided by their projection
    on their mean, so that amounts do not matter. Below it this would raise the noise. They are then
    projected on the r - 1 principal axes around their mean, and the amounts must have about the same sum
    in all measurements. A source is the projected measurement, clipped at 0. If the data have fewer than
    r dimensions, the other sources are zero. There are no iterations.

    Parameters
    ----------
    {shared}

    Returns
    -------
    {returns}

    References
    ----------
    Nascimento and Bioucas-Dias, Vertex component analysis: a fast algorithm to unmix hyperspectral data,
    IEEE Transactions on Geoscience and Remote Sensing 2005.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.vca(data.Y, 2, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    P, V = problem.subspace
    if _clean(problem):
        points = _on_plane(P)
    else:
        P, points = _on_axes(P)
    which = _corners(points, np.einsum("ij,ij->i", P, P), problem.rng)
    return problem.picked(P[which] @ V.T)


def _clean(problem: Direct) -> bool:
    """Return whether the signal-to-noise ratio is above the paper's limit."""
    total, left, k = problem.engine.energy, problem.left_out, problem.subspace[0].shape[1]
    signal = total - left - k / problem.engine.shape[1] * total  # less the noise in the subspace
    return signal > left * 10**1.5 * k


def _on_plane(P: NDArray) -> NDArray:
    """Return measurements divided by their projection on the mean; zeros if it is too small."""
    mean = P.mean(axis=0)
    along = P @ mean
    seen = along > MIN_COSINE * np.linalg.norm(P, axis=1) * np.linalg.norm(mean)
    return np.divide(P, along[:, None], out=np.zeros_like(P), where=seen[:, None])


def _on_axes(P: NDArray) -> tuple[NDArray, NDArray]:
    """Return measurements on all principal axes but the last, and points with a constant coordinate."""
    mean = P.mean(axis=0)
    axes = np.linalg.svd(P - mean, full_matrices=False)[2][: P.shape[1] - 1]
    axes = axes * signs_of(axes.T)[:, None]
    inside = (P - mean) @ axes.T
    height = float(np.linalg.norm(inside, axis=1).max(initial=0)) or 1.0
    return inside @ axes + mean, np.column_stack([inside, np.full(len(P), height)])


def _corners(points: NDArray, energy: NDArray, rng: np.random.Generator) -> list[int]:
    """Return the indices of at most k corners of points (m, k); among equals, the largest energy."""
    k = points.shape[1]
    extent = np.linalg.norm(points, axis=1).max(initial=0)
    corners, which = np.zeros((k, k)), []
    corners[-1:, :1] = 1.0  # the first direction is orthogonal to the last coordinate
    for i in range(k):
        drawn = rng.standard_normal(k)
        level = drawn - corners @ (np.linalg.pinv(corners, rcond=1e-10) @ drawn)
        direction = level if k > 1 else drawn  # in one dimension there is only one
        along = np.abs(points @ direction) / np.linalg.norm(direction)
        if along.max() <= ROUNDING * extent:
            break
        equal = np.flatnonzero(along >= (1 - ROUNDING) * along.max())
        which.append(int(equal[energy[equal].argmax()]))
        corners[:, i] = points[which[-1]]
    return which
