"""What the methods without a start share: arguments, the subspace of the data, and amounts.

They find the sources in the r dimensions of the data with the most energy, and the amounts by exact
non-negative least squares.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.seeds import Seed
from ngmca.engines import back, smaller_gram, times
from ngmca.nnqp.pivoting import solve_rows
from ngmca.rivals.alternation import Factors, Problem, cost_of, rival


@dataclass(frozen=True)
class Direct(Problem):
    """Checked arguments, and the data in few dimensions, in the units of the engine."""

    @cached_property
    def subspace(self) -> tuple[NDArray, NDArray]:
        """P (m, k) and V (n, k), k <= r, with V'V = I and P V' the best approximation of Y of that rank.

        The Gram matrix gives small singular values to half the digits only; a product with the data in
        its subspace restores them. Dimensions with nothing but rounding errors are left out.
        """
        m, n = self.engine.shape
        vectors = np.linalg.eigh(smaller_gram(self.engine))[1][:, : -self.r - 1 : -1]
        if m > n:
            vectors = times(self.engine, vectors)
        V = np.linalg.qr(back(self.engine, np.linalg.qr(vectors)[0]))[0]
        U, s, right = np.linalg.svd(times(self.engine, V), full_matrices=False)
        kept = s > max(m, n) * np.finfo(self.engine.dtype).eps * s[0]
        signs = signs_of(V @ right.T)
        return (U * s * signs)[:, kept], (V @ right.T * signs)[:, kept]

    @property
    def left_out(self) -> float:
        """Energy of the data outside the subspace: noise, if r is correct."""
        P, _ = self.subspace
        left = self.engine.energy - float(np.vdot(P, P))
        return left if left > np.sqrt(np.finfo(self.engine.dtype).eps) * self.engine.energy else 0.0

    def amounts(self, X: NDArray, guess: NDArray | None = None) -> tuple[NDArray, float]:
        """Return argmin_{A >= 0} 1/2 |Y - A X'|^2, exactly, and its value."""
        G, C = X.T @ X, times(self.engine, X)
        A = np.zeros_like(C) if guess is None else guess.copy()
        solve_rows(G, C, A)
        return A, cost_of(self.engine, A, X, np.vdot(C, A), np.vdot(G, A.T @ A))

    def picked(self, rows: NDArray) -> Factors:
        """Return the rows (k, n), k <= r, as sources, clipped at 0; the other sources are zero."""
        X = np.zeros((rows.shape[1], self.r))
        X[:, : len(rows)] = np.maximum(rows, 0).T
        A, cost = self.amounts(X)
        return self.factors(A, X, [cost])


def signs_of(vectors: NDArray) -> NDArray:
    """Return a sign for each column that makes its largest entry positive."""
    return np.where(vectors.max(axis=0, initial=0) < -vectors.min(axis=0, initial=0), -1.0, 1.0)


def without_start(
    Y: ArrayLike, r: int, *, n_iter: int = 500, seed: Seed = None, tol: float = 0.0
) -> Direct:
    """Return the problem of a method that starts from the data alone."""
    return Direct.of(Y, r, n_iter, seed, tol)


def without_iterations(Y: ArrayLike, r: int, *, seed: Seed = None) -> Direct:
    """Return the problem of a method that finds its sources at once."""
    return Direct.of(Y, r, 1, seed, 0.0)


direct, at_once = partial(rival, prepare=without_start), partial(rival, prepare=without_iterations)
