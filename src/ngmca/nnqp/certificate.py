"""How far from optimal: the KKT violation and the duality gap of `min_{X >= 0} 1/2 <X,GX> - <C,X>`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments


@dataclass(frozen=True)
class Solution:
    """X >= 0 with its certificate.

    Attributes
    ----------
    X : ndarray of shape (r, n)
        The solution.
    violation : float
        Relative violation of the optimality conditions, 0 at the exact solution.
    n_iter : int
        Number of iterations, 1 for exact solvers.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.nnqp import pivot
    >>> pivot(np.eye(2), np.ones((2, 3))).violation
    0.0
    """

    X: NDArray
    violation: float
    n_iter: int = 1


def equilibrate(G: NDArray) -> tuple[NDArray, NDArray]:
    """Return D G D with a diagonal between 1/2 and 2, and the diagonal of D.

    D holds powers of 2, so that nothing is rounded, and 0 where G has a zero row. G is one matrix, or a
    stack of them.
    """
    scale = scales(G)
    return G * scale[..., None, :] * scale[..., :, None], scale


def scales(G: NDArray) -> NDArray:
    """Return the diagonal of the matrix D of `equilibrate`."""
    diagonal = np.asarray(np.diagonal(G, axis1=-2, axis2=-1), dtype=np.float64)
    scale = np.ldexp(1.0, -(np.frexp(diagonal)[1] // 2))
    scale[diagonal <= 0] = 0
    return scale


def violation(G: NDArray, C: NDArray, X: NDArray) -> float:
    """Return the relative violation of the optimality conditions of min_{X >= 0} 1/2 <X, GX> - <C, X>.

    It is 0 if and only if X >= 0, GX - C >= 0, and their product is 0. For an exact solution it is close
    to the rounding error. It does not depend on the units of the rows: with D = diag(G)^-1/2, rounded to
    powers of 2, it is the largest entry of |min(Z, Gz Z - Cz)| for Z = X / D, Gz = D G D and Cz = D C,
    divided by the largest entry of Cz or Z in its column.

    Parameters
    ----------
    G : ndarray of shape (..., r, r)
        One matrix, or a stack of them.
    C, X : ndarray of shape (..., r, n)
        Correlations and solutions, or stacks of them.

    Returns
    -------
    float
        The largest violation of all columns; infinite if the objective has no minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.nnqp import violation
    >>> violation(np.eye(1), np.array([[2.0]]), np.array([[2.0]]))
    0.0
    """
    G, C, X = (np.asarray(array, dtype=np.float64) for array in (G, C, X))
    Gz, scale = equilibrate(G)
    scale = scale[..., None]
    Cz = C * scale
    Z = np.divide(X, scale, out=np.zeros_like(Cz), where=scale > 0)
    wrong = np.abs(np.minimum(Z, Gz @ Z - Cz)).max(axis=-2, initial=0)
    unbounded = ((scale == 0) & ((C > 0) | (X < 0))).any(axis=-2)
    size = np.maximum(np.abs(Cz), np.abs(Z)).max(axis=-2, initial=0)
    relative = np.divide(wrong, size, out=np.zeros_like(wrong), where=size > 0)
    return float(np.where(unbounded, np.inf, relative).max(initial=0))


def objective(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
    """Return the objective 1/2 x'Gx - c'x of every column.

    Parameters
    ----------
    G : ndarray of shape (r, r)
        The matrix.
    C, X : ndarray of shape (r, n)
        Correlations, and points at which the objective is computed.

    Returns
    -------
    ndarray of shape (n,)
        The objective of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.nnqp import objective
    >>> objective(np.eye(1), np.array([[2.0]]), np.array([[2.0]]))
    array([-2.])
    """
    G, C, X = np.asarray(G), np.asarray(C), np.asarray(X)
    return np.einsum("ij,ij->j", X, G @ X / 2 - C)


def duality_gap(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
    """Return an upper bound of the distance between the objective at X >= 0 and its minimum.

    Every V with GV >= C gives a lower bound of the minimum, -1/2 v'Gv. V is X, moved into that set along
    a direction u with Gu > 0.

    Parameters
    ----------
    G : ndarray of shape (r, r)
        Symmetric and positive semi-definite.
    C, X : ndarray of shape (r, n)
        Correlations, and non-negative points.

    Returns
    -------
    ndarray of shape (n,)
        The bound for each column; infinite if no direction u is known.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.nnqp import duality_gap
    >>> duality_gap(np.eye(1), np.array([[2.0]]), np.array([[2.0]]))
    array([0.])
    """
    Gz, scale = equilibrate(G)
    Cz = C * scale[:, None]
    Z = np.divide(X, scale[:, None], out=np.zeros_like(Cz), where=scale[:, None] > 0)
    u = np.linalg.lstsq(Gz, np.ones(len(Gz)), rcond=1e-12)[0] if len(Gz) else np.ones(0)
    if not np.all(Gz @ u > 0.5):
        u = np.ones(len(Gz))
    rise = (Gz @ u)[:, None]
    missing = np.maximum(Cz - Gz @ Z, 0)
    push = np.divide(missing, rise, out=np.where(missing > 0, np.inf, 0.0), where=rise > 0)
    reach = push.max(axis=0, initial=0)
    reachable = np.isfinite(reach)
    V = Z + u[:, None] * np.where(reachable, reach, 0)
    gap = objective(Gz, Cz, Z) + np.einsum("ij,ij->j", V, Gz @ V) / 2
    unbounded = ((scale == 0)[:, None] & (C > 0)).any(axis=0)
    return np.where(reachable & ~unbounded, gap, np.inf)


def check_level(level: ArrayLike, name: str) -> NDArray:
    """Return thresholds or bounds as an array; raise an error if one is NaN or negative."""
    values = arguments.as_array(level, name).astype(np.float64, copy=False)
    if not (values >= 0).all():  # also where a comparison with NaN fails
        raise ValueError(f"{name} must not be negative, nor NaN.")
    return values


def check_problem(
    G: NDArray, C: NDArray, X0: NDArray | None, which: NDArray | None = None
) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return the arrays as floats, or raise an error that names the one that is wrong.

    With `which` (n,), G is a stack (p, r, r), and column t of C has the matrix G[which[t]].
    """
    G = arguments.as_array(G, "G").astype(np.float64, copy=False)
    C = arguments.as_array(C, "C")
    C = C if C.dtype == np.float32 else C.astype(np.float64, copy=False)
    shape = "(r, r)" if which is None else "(p, r, r), a stack for `which`"
    if G.ndim != (2 if which is None else 3) or G.shape[-2] != G.shape[-1]:
        raise ValueError(f"G must be square {shape}, got shape {G.shape}.")
    r = G.shape[-1]
    if C.ndim != 2 or C.shape[0] != r:
        raise ValueError(f"C must have shape ({r}, n) to fit G, got {C.shape}.")
    if which is not None:
        _check_which(which, len(G), C.shape[1])
    if not (np.isfinite(G).all() and np.isfinite(C).all()):
        raise ValueError("G and C must be finite: replace NaN and infinity before solving.")
    scaled, scale = equilibrate(G)
    if (G[scale == 0] != 0).any() or not np.allclose(scaled, scaled.swapaxes(-1, -2), rtol=0, atol=1e-8):
        raise ValueError("G must be symmetric and positive semi-definite, as A.T @ A is.")
    if r and np.linalg.eigvalsh(scaled).min(initial=0) < -1e-8 * r:
        raise ValueError(
            "G must be positive semi-definite, as A.T @ A is: it has a negative eigenvalue."
        )
    if X0 is None:
        return G, C, None
    X0 = arguments.as_array(X0, "X0")
    if X0.shape != C.shape:
        raise ValueError(f"X0 must have the shape of C, {C.shape}, got {X0.shape}.")
    if not np.isfinite(X0).all():
        raise ValueError("X0 must be finite: replace NaN and infinity, or leave it out.")
    return G, C, X0.astype(C.dtype, copy=False)


def _check_which(which: NDArray, p: int, n: int) -> None:
    """Raise an error unless every column has a matrix of the stack."""
    which = np.asarray(which)
    whole = which.shape == (n,) and which.dtype.kind in "iu"
    if not whole or (n and not 0 <= which.min() <= which.max() < p):
        raise ValueError(
            f"which must name a matrix of G, 0 to {p - 1}, for each of the {n} columns of C."
        )
