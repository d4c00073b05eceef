"""How far from optimal: the KKT violation and the duality gap of `min_{X >= 0} 1/2 <X,GX> - <C,X>`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments


@dataclass(frozen=True)
class Solution:
    """X >= 0 and its certificate: the relative KKT violation, 0 at the exact solution."""

    X: NDArray
    violation: float
    n_iter: int = 1


def equilibrate(G: NDArray) -> tuple[NDArray, NDArray]:
    """D G D with a diagonal between 1/2 and 2, and the diagonal of D (0 where G has a zero row).

    D holds powers of 2, so that nothing is rounded. G is one matrix, or a stack of them.
    """
    scale = scales(G)
    return G * scale[..., None, :] * scale[..., :, None], scale


def scales(G: NDArray) -> NDArray:
    """The diagonal of the D of `equilibrate`."""
    diagonal = np.asarray(np.diagonal(G, axis1=-2, axis2=-1), dtype=np.float64)
    scale = np.ldexp(1.0, -(np.frexp(diagonal)[1] // 2))
    scale[diagonal <= 0] = 0
    return scale


def violation(G: NDArray, C: NDArray, X: NDArray) -> float:
    """Relative distance to optimality: 0 iff X >= 0, GX - C >= 0 and their product is 0.

    With D = diag(G)^-1/2, to the next power of 2, it is the largest entry of |min(Z, Gz Z - Cz)| for
    Z = X / D, Gz = D G D and Cz = D C, in units of the largest entry of Cz or Z in its column:
    independent of the units of the rows, and near the rounding error for an exact solution. Stacks of
    problems, (..., r, r) and (..., r, n), are one problem after the other.
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
    """1/2 x'Gx - c'x of every column."""
    G, C, X = np.asarray(G), np.asarray(C), np.asarray(X)
    return np.einsum("ij,ij->j", X, G @ X / 2 - C)


def duality_gap(G: NDArray, C: NDArray, X: NDArray) -> NDArray:
    """An upper bound, per column, on how far the objective at X >= 0 is above its minimum.

    Every V with GV >= C bounds the minimum from below by -1/2 v'Gv. V is X pushed into that set along
    a direction u with Gu > 0; the bound is infinite where no such direction is known.
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
    """Thresholds or bounds as an array; an error if one is NaN or negative."""
    values = arguments.as_array(level, name).astype(np.float64, copy=False)
    if not (values >= 0).all():  # also where a comparison with NaN fails
        raise ValueError(f"{name} must not be negative, nor NaN.")
    return values


def check_problem(
    G: NDArray, C: NDArray, X0: NDArray | None, which: NDArray | None = None
) -> tuple[NDArray, NDArray, NDArray | None]:
    """The arrays as floats, or an error that names the one that is wrong.

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
    """An error unless every column has a matrix of the stack."""
    which = np.asarray(which)
    whole = which.shape == (n,) and which.dtype.kind in "iu"
    if not whole or (n and not 0 <= which.min() <= which.max() < p):
        raise ValueError(
            f"which must name a matrix of G, 0 to {p - 1}, for each of the {n} columns of C."
        )
