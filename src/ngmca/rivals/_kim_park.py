"""Sparse NMF by alternating exact non-negative least squares (Kim and Park, 2007)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.engines import back, magnitude
from ngmca.nnqp.pivoting import solve_rows
from ngmca.rivals.alternation import Factors, Seed, Step, alternate, prepare


@one_blas_thread
def kim_park(
    Y: ArrayLike,
    r: int,
    *,
    n_iter: int = 500,
    start: Any = None,
    seed: Seed = None,
    tol: float = 0.0,
    eta: float | None = None,
    beta: float = 0.01,
) -> Factors:
    """min_{A >= 0, S >= 0} |Y - AS|^2 + eta |A|^2 + beta sum_t |s_t|_1^2, s_t the columns of S.

    Both penalties only add to the Gram matrix, and every step is solved exactly. The penalty on S
    favours one source a sample, not sparse sources. If `eta` is not given it is the default of the
    authors, the largest entry of Y, for Y scaled to a root mean square of 1, so that the units of the
    data do not matter. With eta = beta = 0 it is exact alternating non-negative least squares; if only
    one of them is 0, the factors drift in scale without end. Of the start only A is used: S is solved
    for it first. Negative entries of Y enter the least squares as they are.

    Kim and Park, Sparse non-negative matrix factorizations via alternating non-negativity-constrained
    least squares for microarray data analysis, Bioinformatics 2007.
    """
    problem = prepare(Y, r, n_iter, start, seed, tol)
    beta = arguments.check_number(beta, "beta")
    if eta is None:
        eta = magnitude(problem.engine) * np.sqrt(problem.engine.energy / np.prod(problem.engine.shape))
    else:
        eta = arguments.check_number(eta, "eta") / problem.engine.unit / problem.engine.unit
    a_step, s_step = _exact(eta * np.eye(r)), _exact(beta * np.ones((r, r)))
    s_step(problem.A.T @ problem.A, back(problem.engine, problem.A), problem.X)
    return alternate(problem, a_step, s_step)


def _exact(penalty: NDArray) -> Step:
    """argmin_{X >= 0} of the problem with `penalty` added to its Gram matrix."""

    def step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        solve_rows(G + penalty, C, X)
        return X

    return step
