"""Regularised alternating least squares with a penalty that decreases (Zdunek and Cichocki, 2007)."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.rivals._als import least_squares
from ngmca.rivals.alternation import Beginning, Factors, alternate, rival


@rival
def zdunek_cichocki(problem: Beginning, *, beta: float = 20.0, decay: float = 50.0) -> Factors:
    """A := [Y S^+]_+, S := [(A'A + b 11')^-1 A'Y]_+, in turn, with b = beta exp(-k / decay).

    The penalty b/2 sum_t |s_t|_1^2 separates the sources at first and then decreases, to avoid local
    minima. As in `als` the projection ignores the fit: the cost can rise, and the iterations may not
    converge. Columns of A have norm 1, so that beta has no unit. Negative entries of Y enter the least
    squares unchanged. A source whose column of A becomes zero gets a new direction from the residual.

    Parameters
    ----------
    {shared}
    beta : float
        Weight of the penalty at the start.
    decay : float
        Iterations in which the weight falls by a factor of e.

    Returns
    -------
    {returns}

    References
    ----------
    Zdunek and Cichocki, Nonnegative matrix factorization with constrained second-order optimization,
    Signal Processing 2007.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.zdunek_cichocki(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    penalty = arguments.check_number(beta, "beta")
    fading = np.exp(-1 / max(arguments.check_number(decay, "decay"), 1e-3))

    def s_step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        nonlocal penalty
        X = least_squares(G + penalty, C, X)
        penalty *= fading
        return X

    return alternate(problem, least_squares, s_step, unit=True, rescue=True)
