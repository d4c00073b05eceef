"""GMCA, the signed ancestor (Bobin, Starck, Fadili and Moudden, 2007)."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.algorithms import schedule as thresholds
from ngmca.engines import robust_noise as noise
from ngmca.rivals.alternation import Beginning, Factors, alternate, rival


@rival
def gmca(problem: Beginning, *, tau: float = 1.0, refinement: float = 0.2) -> Factors:
    """S := Hard_lam(A^+ Y), A := Y S^+, in turn; both factors may be negative.

    The threshold of a source is a multiple of its noise, estimated by the median absolute deviation. The
    multiple falls to `tau` in such a way that the number of active entries rises linearly. Signs are not
    constrained: A and S may have negative entries. Columns of A have norm 1 and a sum that is not
    negative.

    Parameters
    ----------
    {shared}
    tau : float
        Final threshold of a source in standard deviations of its noise.
    refinement : float
        Share of the iterations, at the end, with the final threshold.

    Returns
    -------
    {returns}

    References
    ----------
    Bobin, Starck, Fadili and Moudden, Sparsity and morphological diversity in blind source separation,
    IEEE Transactions on Image Processing 2007.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.gmca(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
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
    """Return Y S^+, with column signs that make the sums non-negative; the next step on S follows."""
    A = _least_squares(G, C)
    return A * np.where(A.sum(axis=0) < 0, -1.0, 1.0)


def _threshold(X: NDArray, tau: float, share: float) -> NDArray:
    """Return X without entries below a multiple of the noise of their column, the same for all."""
    sigma = noise.mad(X.T)
    size = np.abs(X)
    ratios = np.divide(size, sigma, out=np.where(size > 0, np.inf, 0.0), where=sigma > 0)
    return np.where(ratios >= thresholds.multiple_for_count(ratios, tau, share), X, 0.0)
