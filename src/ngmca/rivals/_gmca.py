"""GMCA, the signed ancestor (Bobin, Starck, Fadili and Moudden, 2007)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms import schedule as thresholds
from ngmca.engines import robust_noise as noise
from ngmca.rivals.alternation import Factors, Seed, alternate, prepare


@one_blas_thread
def gmca(
    Y: ArrayLike,
    r: int,
    *,
    n_iter: int = 500,
    start: Any = None,
    seed: Seed = None,
    tol: float = 0.0,
    tau: float = 1.0,
    refinement: float = 0.2,
) -> Factors:
    """S := Hard_lam(A^+ Y), A := Y S^+, in turns; both factors may be negative.

    The threshold of a source is a multiple of its noise, estimated by the median absolute deviation. The
    multiple falls to `tau`, such that the number of active entries rises linearly, and stays there for
    the last `refinement` of the iterations. There is no constraint on signs: negative entries of Y, A
    and S are as good as positive ones. Columns of A have norm 1 and a sum that is not negative.

    Bobin, Starck, Fadili and Moudden, Sparsity and morphological diversity in blind source separation,
    IEEE Transactions on Image Processing 2007.
    """
    problem = prepare(Y, r, n_iter, start, seed, tol)
    tau = arguments.check_number(tau, "tau")
    refinement = arguments.check_number(refinement, "refinement", high=1.0)
    n_decrease = max(1, problem.n_iter - int(refinement * problem.n_iter))
    k = 0

    def s_step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        nonlocal k
        k += 1
        return _threshold(_least_squares(G, C), tau, min(k / n_decrease, 1.0))

    return alternate(problem, _directions, s_step, unit=True, rescue=True, settle_after=n_decrease)


def _least_squares(G: NDArray, C: NDArray) -> NDArray:
    return C @ np.linalg.pinv(G, rcond=1e-10, hermitian=True)


def _directions(G: NDArray, C: NDArray, A: NDArray) -> NDArray:
    """Y S^+, with the sign of a column such that its sum is not negative; S follows in its own step."""
    A = _least_squares(G, C)
    return A * np.where(A.sum(axis=0) < 0, -1.0, 1.0)


def _threshold(X: NDArray, tau: float, share: float) -> NDArray:
    """Columns of X without what is below a multiple of their noise, the same for all."""
    sigma = noise.mad(X.T)
    size = np.abs(X)
    ratios = np.divide(size, sigma, out=np.where(size > 0, np.inf, 0.0), where=sigma > 0)
    return np.where(ratios >= thresholds.multiple_for_count(ratios, tau, share), X, 0.0)
