"""Sparse NMF by alternating exact non-negative least squares (Kim and Park, 2007)."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.engines import back, magnitude
from ngmca.nnqp.pivoting import solve_rows
from ngmca.rivals.alternation import Beginning, Factors, Step, alternate, rival


@rival
def kim_park(problem: Beginning, *, eta: float | None = None, beta: float = 0.01) -> Factors:
    """min_{A >= 0, S >= 0} |Y - AS|^2 + eta |A|^2 + beta sum_t |s_t|_1^2, s_t the columns of S.

    Both penalties only add to the Gram matrix, and every step is solved exactly. The penalty on S
    favours one source in each channel, not sparse sources. With eta = beta = 0 this is exact alternating
    non-negative least squares; if only one of them is 0, the scale of the factors drifts without limit.
    Of the start only A is used: S is solved for it first. Negative entries of Y enter the least squares
    unchanged.

    Parameters
    ----------
    {shared}
    eta : float or None
        Weight of the penalty on A. None is the default of the authors, the largest entry of Y, for Y
        scaled to a root mean square of 1, so that the units of the data do not matter.
    beta : float
        Weight of the penalty on S.

    Returns
    -------
    {returns}

    References
    ----------
    Kim and Park, Sparse non-negative matrix factorizations via alternating non-negativity-constrained
    least squares for microarray data analysis, Bioinformatics 2007.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.kim_park(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    beta = arguments.check_number(beta, "beta")
    if eta is None:
        eta = magnitude(problem.engine) * np.sqrt(problem.engine.energy / np.prod(problem.engine.shape))
    else:
        eta = arguments.check_number(eta, "eta") / problem.engine.unit / problem.engine.unit
    r = problem.r
    a_step, s_step = _exact(eta * np.eye(r)), _exact(beta * np.ones((r, r)))
    s_step(problem.A.T @ problem.A, back(problem.engine, problem.A), problem.X)
    return alternate(problem, a_step, s_step)


def _exact(penalty: NDArray) -> Step:
    """Return the step to argmin_{X >= 0} with `penalty` added to the Gram matrix."""

    def step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        solve_rows(G + penalty, C, X)
        return X

    return step
