"""Regularised alternating least squares with a penalty that decreases (Zdunek and Cichocki, 2007)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.rivals._als import least_squares
from ngmca.rivals.alternation import Factors, Seed, alternate, prepare


@one_blas_thread
def zdunek_cichocki(
    Y: ArrayLike,
    r: int,
    *,
    n_iter: int = 500,
    start: Any = None,
    seed: Seed = None,
    tol: float = 0.0,
    beta: float = 20.0,
    decay: float = 50.0,
) -> Factors:
    """A := [Y S^+]_+, S := [(A'A + b 11')^-1 A'Y]_+, in turns, with b = beta exp(-k / decay).

    The penalty b/2 sum_t |s_t|_1^2 keeps sources apart at first and fades, to pass by local minima.
    As in `als` the projection ignores the fit: the cost can rise, and it need not settle. Columns of A
    have norm 1, so that beta has no unit. Negative entries of Y enter the least squares as they are. A
    source that loses its direction gets a new one out of the residual.

    Zdunek and Cichocki, Nonnegative matrix factorization with constrained second-order optimization,
    Signal Processing 2007.
    """
    problem = prepare(Y, r, n_iter, start, seed, tol)
    penalty = arguments.check_number(beta, "beta")
    fading = np.exp(-1 / max(arguments.check_number(decay, "decay"), 1e-3))

    def s_step(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
        nonlocal penalty
        X = least_squares(G + penalty, C, X)
        penalty *= fading
        return X

    return alternate(problem, least_squares, s_step, unit=True, rescue=True)
