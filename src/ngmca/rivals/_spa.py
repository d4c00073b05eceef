"""The successive projection algorithm (Araujo et al., 2001; Gillis and Vavasis, 2014)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.rivals.alternation import Factors, Seed
from ngmca.rivals.subspace import Direct, direct

CLEAR = 4.0  # times the energy of the noise that a measurement must have to be picked
ROUNDING = 1e-12  # of the largest energy: what is left of measurements that have been taken away


@one_blas_thread
def spa(
    Y: ArrayLike,
    r: int,
    *,
    start: Any = None,
    seed: Seed = None,
) -> Factors:
    """S := r measurements, each the one farthest from those before it; A := argmin_{A>=0} |Y - AS|^2.

    Where every source is once measured alone, and there is no noise, these measurements are the
    sources. The measurements are compared in the r dimensions that hold most of the data, each
    divided by its sum, so that amounts do not matter; those that are hardly more than noise are passed
    over. What is picked is the measurement in these dimensions, without most of its noise, clipped at
    0. Where the data have fewer than r dimensions, the other sources are silent.

    There are no iterations and nothing is drawn: a `seed` changes nothing, and a `start` is refused.

    Gillis and Vavasis, Fast and robust recursive algorithms for separable nonnegative matrix
    factorization, IEEE Transactions on Pattern Analysis and Machine Intelligence 2014.
    """
    problem = direct("spa", Y, r, 1, start, seed, 0.0)
    P, V = problem.subspace
    which = _farthest(_candidates(problem), P.shape[1])
    return problem.picked(P[which] @ V.T)


def _candidates(problem: Direct) -> NDArray:
    """Measurements (m, k) in the subspace, divided by their sums; zeros where there is only noise."""
    P, V = problem.subspace
    m, n = problem.engine.shape
    k = P.shape[1]
    freedom = (m - k) * (n - k)
    noise = k * problem.left_out / freedom if freedom else 0.0
    energy = np.einsum("ij,ij->i", P, P)
    clear = energy > CLEAR * noise
    if not clear.any():
        clear = energy > 0
    # The sum of entries that are not negative is at least their norm: less than that is noise.
    scale = np.maximum(P @ V.sum(axis=0), np.sqrt(energy))
    return np.divide(P, scale[:, None], out=np.zeros_like(P), where=clear[:, None])


def _farthest(points: NDArray, k: int) -> list[int]:
    """At most k rows, each the longest once the directions of those before it are taken away."""
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
