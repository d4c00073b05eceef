"""nGMCA^S as the paper describes it, in plain NumPy: 80 FISTA steps per sub-problem.

The yardstick for the library's speed: written straightforwardly, with Gram matrices formed once a
step, the noise estimated at every iteration and the bounded refinement that the library has.
"""

import numpy as np
from numpy.typing import NDArray


def separate(
    Y: NDArray, A: NDArray, S: NDArray, *, tau: float = 1.0, n_iter: int = 500, stop: int | None = None
) -> tuple[NDArray, NDArray]:
    """A and S after n_iter iterations (or the first `stop` of them) from a first guess."""
    n_decrease = n_iter - n_iter // 5
    A, S = _unit(A, S)
    lam = np.full(A.shape[1], np.abs(A.T @ (A @ S - Y)).max())
    for k in range(1, (stop or n_iter) + 1):
        S = _fista(A.T @ A, A.T @ Y - lam[:, None], S)
        if k == n_iter:
            break
        if k < n_decrease:
            residual = Y - A @ S
            centre = np.median(residual, axis=1, keepdims=True)
            sigma = 1.4826 * np.median(np.abs(residual - centre), axis=1)
            A = _fista(S @ S.T, S @ Y.T, A.T).T
            A, S = _unit(A, S)
            target = tau * np.sqrt((A**2).T @ sigma**2)
            lam = lam - (lam - target) / (n_decrease - k)
        else:
            size = np.linalg.norm(S, axis=1, keepdims=True)
            unit = S / np.maximum(size, 1e-300)
            A = (_fista(unit @ unit.T, unit @ Y.T, (A * size.T).T, bound=size) / size).T
            A, S = _unit(A, S)
    return A, S


def _fista(G: NDArray, C: NDArray, X: NDArray, bound: NDArray | None = None) -> NDArray:
    """80 accelerated steps on min_{X >= 0} 1/2 <X, GX> - <C, X>."""
    L = np.linalg.norm(G, 2)
    R, t = X, 1.0
    for _ in range(80):
        previous, X = X, np.maximum(R - (G @ R - C) / L, 0)
        if bound is not None:
            norms = np.linalg.norm(X, axis=1, keepdims=True)
            X = X * np.minimum(1, bound / np.maximum(norms, 1e-300))
        t_next = (1 + np.sqrt(1 + 4 * t * t)) / 2
        R = X + (t - 1) / t_next * (X - previous)
        t = t_next
    return X


def _unit(A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
    norms = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    return A / norms, S * norms[:, None]
