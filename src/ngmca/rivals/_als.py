"""Alternating least squares with projection (Paatero and Tapper, 1994)."""

import numpy as np
from numpy.typing import NDArray

from ngmca.nnqp.gram import Gram
from ngmca.rivals.alternation import Beginning, Factors, alternate, rival


@rival
def als(problem: Beginning) -> Factors:
    """A := [Y S^+]_+, S := [A^+ Y]_+, in turn: alternating least squares with projection.

    The projection ignores the fit: no objective is minimised, the cost can rise, and the iterations may
    not converge. Negative entries of Y enter the least squares unchanged. A source whose column of A
    becomes zero gets a new direction from the residual.

    Parameters
    ----------
    {shared}

    Returns
    -------
    {returns}

    References
    ----------
    Paatero and Tapper, Positive matrix factorization, Environmetrics 1994.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> found = ngmca.rivals.als(data.Y, 2, n_iter=50, seed=0)
    >>> found.A.shape, found.S.shape
    ((10, 2), (2, 40))
    """
    return alternate(problem, least_squares, least_squares, unit=True, rescue=True)


def least_squares(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
    """[C G^+]_+."""
    X = np.empty_like(C)
    Gram(G).project(C, X)
    return X
