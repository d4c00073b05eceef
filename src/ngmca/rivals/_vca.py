"""Vertex component analysis (Nascimento and Bioucas-Dias, 2005)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.rivals.alternation import Factors, Seed
from ngmca.rivals.subspace import Direct, direct, signs_of

ROUNDING = 1e-9  # of the largest extent: along a direction in which there is no other measurement
ASIDE = 1e-3  # cosine to the mean below which a measurement is no mixture of what the others hold


@one_blas_thread
def vca(
    Y: ArrayLike,
    r: int,
    *,
    start: Any = None,
    seed: Seed = None,
) -> Factors:
    """S := r measurements, each extreme along a random direction; A := argmin_{A>=0} |Y - AS|^2.

    The directions are orthogonal to the measurements picked before: the extremes are corners of the
    simplex that the measurements fill, which are the sources if each is once measured alone. Above a
    signal-to-noise ratio of 15 + 10 log10(r) dB the measurements are divided by their projection on
    their mean, so that amounts do not matter. Below it, where this would raise the noise, they are
    projected on the r - 1 principal axes around their mean, and the amounts must sum to about one
    number in all of them. What is picked is the projected measurement, clipped at 0. Where the data
    have fewer than r dimensions, the other sources are silent.

    There are no iterations, and a `start` is refused.

    Nascimento and Bioucas-Dias, Vertex component analysis: a fast algorithm to unmix hyperspectral data,
    IEEE Transactions on Geoscience and Remote Sensing 2005.
    """
    problem = direct("vca", Y, r, 1, start, seed, 0.0)
    P, V = problem.subspace
    if _clean(problem):
        points = _on_plane(P)
    else:
        P, points = _on_axes(P)
    which = _corners(points, np.einsum("ij,ij->i", P, P), problem.rng)
    return problem.picked(P[which] @ V.T)


def _clean(problem: Direct) -> bool:
    """Whether the signal-to-noise ratio is above the paper's limit."""
    total, left, k = problem.engine.energy, problem.left_out, problem.subspace[0].shape[1]
    signal = total - left - k / problem.engine.shape[1] * total  # less the noise in the subspace
    return signal > left * 10**1.5 * k


def _on_plane(P: NDArray) -> NDArray:
    """Measurements divided by their projection on the mean; zeros for those that hardly have one."""
    mean = P.mean(axis=0)
    along = P @ mean
    seen = along > ASIDE * np.linalg.norm(P, axis=1) * np.linalg.norm(mean)
    return np.divide(P, along[:, None], out=np.zeros_like(P), where=seen[:, None])


def _on_axes(P: NDArray) -> tuple[NDArray, NDArray]:
    """Measurements on the principal axes but the last, and as points with a constant coordinate."""
    mean = P.mean(axis=0)
    axes = np.linalg.svd(P - mean, full_matrices=False)[2][: P.shape[1] - 1]
    axes = axes * signs_of(axes.T)[:, None]
    inside = (P - mean) @ axes.T
    height = float(np.linalg.norm(inside, axis=1).max(initial=0)) or 1.0
    return inside @ axes + mean, np.column_stack([inside, np.full(len(P), height)])


def _corners(points: NDArray, energy: NDArray, rng: np.random.Generator) -> list[int]:
    """At most k rows of points (m, k); among equals, that of the largest energy."""
    k = points.shape[1]
    extent = np.linalg.norm(points, axis=1).max(initial=0)
    corners, which = np.zeros((k, k)), []
    corners[-1:, :1] = 1.0  # the first direction is level: orthogonal to the last coordinate
    for i in range(k):
        drawn = rng.standard_normal(k)
        level = drawn - corners @ (np.linalg.pinv(corners, rcond=1e-10) @ drawn)
        direction = level if k > 1 else drawn  # in one dimension there is but one
        along = np.abs(points @ direction) / np.linalg.norm(direction)
        if along.max() <= ROUNDING * extent:
            break
        equal = np.flatnonzero(along >= (1 - ROUNDING) * along.max())
        which.append(int(equal[energy[equal].argmax()]))
        corners[:, i] = points[which[-1]]
    return which
