"""The successive projection algorithm (Araujo et al., 2001; Gillis and Vavasis, 2014)."""

import numpy as np
from numpy.typing import NDArray

from ngmca.rivals.alternation import Factors
from ngmca.rivals.subspace import Direct, at_once

MIN_ENERGY = 4.0  # of a measurement, over the energy of its noise
ROUNDING = 1e-12  # of the largest energy: no further direction is left


@at_once
def spa(problem: Direct) -> Factors:
    """S := r measurements, each the one farthest from those before it; A := argmin_{A>=0} |Y - AS|^2.

    If every source is measured alone once, and without noise, these measurements are the sources. The
    measurements are compared in the r dimensions with the most energy, each divided by its sum, so that
    amounts do not matter; those that are hardly above the noise are left out. A source is the picked
    measurement in these dimensions, without most of its noise, clipped at 0. If the data have fewer than
    r dimensions, the other sources are zero.

    There are no iterations and no random numbers: `seed` has no effect.

    Parameters
    ----------
    {shared}

    Returns
    -------
    {returns}

    References
    ----------
    Gillis and Vavasis, Fast and robust recursive algorithms for separable nonnegative matrix
    factorization, IEEE Transactions on Pattern Analysis and Machine Intelligence 2014.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.spa(data.Y, 2)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    P, V = problem.subspace
    which = _farthest(_candidates(problem), P.shape[1])
    return problem.picked(P[which] @ V.T)


def _candidates(problem: Direct) -> NDArray:
    """Return measurements (m, k) in the subspace, divided by their sums; zeros for mere noise."""
    P, V = problem.subspace
    m, n = problem.engine.shape
    k = P.shape[1]
    freedom = (m - k) * (n - k)
    noise = k * problem.left_out / freedom if freedom else 0.0
    energy = np.einsum("ij,ij->i", P, P)
    clear = energy > MIN_ENERGY * noise
    if not clear.any():
        clear = energy > 0
    # The sum of non-negative entries is at least their norm: a smaller sum is noise.
    scale = np.maximum(P @ V.sum(axis=0), np.sqrt(energy))
    return np.divide(P, scale[:, None], out=np.zeros_like(P), where=clear[:, None])


def _farthest(points: NDArray, k: int) -> list[int]:
    """Return at most k rows, each the longest after subtracting the directions of those before it."""
    rest, which = points.copy(), []
    largest = np.einsum("ij,ij->i", rest, rest).max(initial=0)
    for _ in range(k):
        energy = np.einsum("ij,ij->i", rest, rest)
        pick = int(energy.argmax())
        if energy[pick] <= ROUNDING * largest:
            break
        which.append(pick)
        direction = rest[pick] / np.sqrt(energy[pick])
        rest -= np.outer(rest @ direction, direction)
    return which
