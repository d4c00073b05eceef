"""Alternating least squares with projection (Paatero and Tapper, 1994)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.nnqp.gram import Gram
from ngmca.rivals.alternation import Factors, Seed, alternate, prepare


@one_blas_thread
def als(
    Y: ArrayLike,
    r: int,
    *,
    n_iter: int = 500,
    start: Any = None,
    seed: Seed = None,
    tol: float = 0.0,
) -> Factors:
    """A := [Y S^+]_+, S := [A^+ Y]_+, in turns.

    The projection ignores the fit: no objective is minimised, the cost can rise, and the iterations need
    not settle. Negative entries of Y enter the least squares as they are. A source that loses its
    direction gets a new one out of the residual.

    Paatero and Tapper, Positive matrix factorization, Environmetrics 1994.
    """
    problem = prepare(Y, r, n_iter, start, seed, tol)
    return alternate(problem, least_squares, least_squares, unit=True, rescue=True)


def least_squares(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
    """[C G^+]_+."""
    X = np.empty_like(C)
    Gram(G).project(C, X)
    return X
