"""The paper's appendix: accelerated forward-backward steps (FISTA), soft and hard.

Approximate after a fixed number of steps; it serves where `pivot` cannot: hard thresholds and bounded
row norms. On the plain problem it is the paper's own solver, kept to compare with.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.nnqp import prox
from ngmca.nnqp.certificate import Solution, check_level, check_problem


@one_blas_thread
def fista(
    G: NDArray,
    C: NDArray,
    X0: NDArray | None = None,
    *,
    threshold: ArrayLike = 0.0,
    hard: bool = False,
    bound: ArrayLike | None = None,
    max_iter: int = 80,
    tol: float = 1e-7,
) -> Solution:
    """Solve argmin_{X >= 0} 1/2 <X, GX> - <C, X> + <threshold, X> by accelerated gradient steps.

    With `hard`, each step is followed by a hard threshold at threshold / L instead of a soft one, where
    L is the norm of G. A fixed point then has a gradient of 0 on its support, and no entry below
    threshold / L; it is not the minimum of a convex problem.

    Parameters
    ----------
    G : ndarray of shape (r, r)
        Symmetric and positive semi-definite, as A.T @ A is.
    C : ndarray of shape (r, n)
        Correlations, one problem in each column.
    X0 : ndarray of shape (r, n), optional
        Where to start; 0 by default.
    threshold : float or array_like of shape (r,), (r, 1) or (r, n)
        Threshold of all entries, of each row, or of each entry.
    hard : bool
        Use hard thresholds.
    bound : float or array_like of shape (r,), optional
        Largest norm of each row of X.
    max_iter : int
        Largest number of steps.
    tol : float
        Stop when no entry of X moves by more than this share of the largest entry.

    Returns
    -------
    Solution
        X, and as violation the largest change of one more plain step, divided by the largest entry of
        its column.

    Raises
    ------
    ValueError
        If an argument has a wrong shape, is not finite, or if G is not positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.nnqp import fista
    >>> fista(np.eye(2), np.array([[3.0], [1.0]]), threshold=2.0).X
    array([[1.],
           [0.]])
    """
    G, C, X0 = check_problem(G, C, X0)
    check_level(threshold, "threshold")
    if bound is not None:
        check_level(bound, "bound")
    X = np.zeros_like(C) if X0 is None else X0
    return accelerated(G, C, X, threshold=threshold, hard=hard, bound=bound, max_iter=max_iter, tol=tol)


def accelerated(
    G: NDArray,
    C: NDArray,
    X: NDArray,
    *,
    threshold: ArrayLike = 0.0,
    hard: bool = False,
    bound: ArrayLike | None = None,
    max_iter: int = 80,
    tol: float = 1e-7,
) -> Solution:
    """Take the steps of `fista` from X, without checks of the arguments.

    Rounding makes the singular G of data in single precision indefinite, which a check would refuse.
    """
    X = np.maximum(X, 0)
    step = _forward_backward(G, C, threshold, hard, bound)
    R, t = X, 1.0
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        previous, X = X, step(R)
        t_next = (1 + np.sqrt(1 + 4 * t * t)) / 2
        moved = X - previous
        R = X + ((t - 1) / t_next) * moved
        t = t_next
        if np.abs(moved).max(initial=0) <= tol * X.max(initial=0):
            break
    wrong = np.abs(step(X) - X).max(axis=0, initial=0)
    size = X.max(axis=0, initial=0)
    relative = np.divide(wrong, size, out=(wrong > 0).astype(wrong.dtype), where=size > 0)
    return Solution(X=X, violation=float(relative.max(initial=0)), n_iter=n_iter)


def _forward_backward(
    G: NDArray, C: NDArray, threshold: ArrayLike, hard: bool, bound: ArrayLike | None
) -> Callable[[NDArray], NDArray]:
    """The map X -> prox(X - (GX - C) / L) with the proximal operator of the constraints."""
    L = np.linalg.norm(G, 2) if len(G) else 0.0
    inverse = C.dtype.type(1 / L if L > 0 else 0.0)
    level = np.asarray(threshold, dtype=C.dtype)
    level = level[:, None] if level.ndim == 1 else level
    if level.ndim and level.shape not in (C.shape, (len(C), 1)):
        raise ValueError(
            f"threshold must be a number, one a row ({len(C)}), or have the shape of C, {C.shape}."
        )
    level = level * inverse
    scaled = G.astype(C.dtype) * inverse
    drift = C * inverse
    if not hard:
        drift = drift - level

    def step(X: NDArray) -> NDArray:
        Z = X - scaled @ X
        Z += drift
        Z = prox.nonnegative_hard(Z, level) if hard else prox.nonnegative(Z)
        return Z if bound is None else prox.rows_in_ball(Z, bound)

    return step
