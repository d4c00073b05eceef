"""What the methods without a start share: arguments, the subspace of the data, and amounts.

They find the sources in the r dimensions of the data with the most energy, and the amounts by exact
non-negative least squares.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.seeds import Seed, generator
from ngmca.engines import Engine, back, open_whole, smaller_gram, times
from ngmca.nnqp.pivoting import solve_rows
from ngmca.rivals.alternation import Beginning, Factors, cost_of


@dataclass(frozen=True)
class Direct:
    """Checked arguments, and the data in few dimensions, in the units of the engine.

    Attributes
    ----------
    engine : Engine
        The data.
    r : int
        Number of sources.
    n_iter : int
        Largest number of iterations.
    tol : float
        Move of A at which the iterations stop.
    rng : Generator
        Random numbers of the method.
    """

    engine: Engine
    r: int
    n_iter: int
    tol: float
    rng: np.random.Generator

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

    def factors(self, A: NDArray, X: NDArray, cost: list[float], *, scale_in_A: bool = False) -> Factors:
        """Return the factors in the units and the precision of the data."""
        problem = Beginning(self.engine, A, X, self.n_iter, self.tol)
        return problem.factors(A, X, cost, scale_in_A=scale_in_A)

    def picked(self, rows: NDArray) -> Factors:
        """Return the rows (k, n), k <= r, as sources, clipped at 0; the other sources are zero."""
        X = np.zeros((rows.shape[1], self.r))
        X[:, : len(rows)] = np.maximum(rows, 0).T
        A, cost = self.amounts(X)
        return self.factors(A, X, [cost])


def signs_of(vectors: NDArray) -> NDArray:
    """Return a sign for each column that makes its largest entry positive."""
    return np.where(vectors.max(axis=0, initial=0) < -vectors.min(axis=0, initial=0), -1.0, 1.0)


def direct(Y: ArrayLike, r: int, seed: Seed, n_iter: int = 1, tol: float = 0.0) -> Direct:
    """Return the problem, or raise an error that says which argument is wrong."""
    engine = open_whole(Y, threads=1)
    r = arguments.check_rank(r, engine.shape)
    n_iter = arguments.check_count(n_iter, "n_iter")
    tol = arguments.check_number(tol, "tol")
    return Direct(engine, r, n_iter, tol, generator(seed).spawn(1)[0])
