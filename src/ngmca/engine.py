"""What the outer loop asks of the data, and the engine that answers from an array in memory.

The sources are kept transposed, one sample a row, in arrays of shape (n, r): everything that concerns
a sample is then contiguous. `S` is the transposed view.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca import noise

# Solves the S-step for one block: (G, C (b, r), X (b, r) in place) -> violation
Solve = Callable[[NDArray, NDArray, NDArray], float]

BLOCK_BYTES = 1 << 19  # a block of Y and what is made from it stay in a core's cache
NOISE_COLUMNS = 4096  # enough samples for the noise of a measurement


@dataclass(frozen=True)
class Sweep:
    """New sources for given mixing directions, and all that the A-step needs of them."""

    S: NDArray  # (r, n)
    SS: NDArray  # S S', (r, r)
    YS: NDArray  # Y S', (m, r)
    cost: float  # 1/2 |Y - A S|^2
    violation: float


class InMemory:
    """Y (m, n) as an array, asked in blocks of columns."""

    def __init__(self, Y: NDArray, *, seed: int = 0) -> None:
        self.Y = Y
        self.shape = Y.shape
        self.dtype = Y.dtype
        self.energy = float(np.vdot(Y, Y)) if Y.flags.f_contiguous else float(np.einsum("ij,ij->", Y, Y))
        m, n = Y.shape
        self._block = max(32, BLOCK_BYTES // (Y.itemsize * m))
        picks = np.arange(n)
        if n > NOISE_COLUMNS:
            picks = np.sort(np.random.default_rng(seed).choice(n, NOISE_COLUMNS, replace=False))
        self._picks = slice(None) if n <= NOISE_COLUMNS else picks

    def sweep(self, A: NDArray, S: NDArray, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, and collect S S' and Y S', in one pass over Y."""
        r = A.shape[1]
        G = _gram(A)
        X = np.array(S.T, dtype=self.dtype, order="C")
        SS = np.zeros((r, r))
        YS = np.zeros((len(A), r))
        worst = 0.0
        for columns in self._blocks():
            Yb, Xb = self.Y[:, columns], X[columns]
            worst = max(worst, solve(G, Yb.T @ A, Xb))
            SS += Xb.T @ Xb
            YS += Yb @ Xb
        cost = max(self.energy / 2 - np.vdot(A, YS) + np.vdot(G, SS) / 2, 0.0)
        return Sweep(S=X.T, SS=SS, YS=YS, cost=float(cost), violation=worst)

    def correlate(self, A: NDArray) -> NDArray:
        """A'Y, (r, n)."""
        return (self.Y.T @ A).T

    def moments(self, S: NDArray) -> tuple[NDArray, NDArray]:
        """S S' and Y S'."""
        return S @ S.T, self.Y @ S.T

    def peak(self, A: NDArray, S: NDArray) -> float:
        """Largest entry of |A'(AS - Y)|."""
        G = _gram(A)
        return max(
            float(np.abs(S.T[block] @ G - self.Y[:, block].T @ A).max()) for block in self._blocks()
        )

    def noise(self, A: NDArray, S: NDArray) -> NDArray:
        """Robust noise level of each measurement, from the residual in a seeded set of columns."""
        return noise.mad(self.Y[:, self._picks] - A @ S[:, self._picks]).astype(np.float64)

    def leftover(self, A: NDArray, S: NDArray, k: int) -> NDArray:
        """k directions (m, k) of unit norm that the residual points to most strongly, or zeros.

        Each is a column of the residual's positive part, the strongest once the directions before it
        are taken away from all of them.
        """
        energy = np.concatenate([_energies(self._rest(A, S, block)) for block in self._blocks()])
        strongest = np.sort(np.argsort(energy, kind="stable")[::-1][: 32 * k])
        columns = self._rest(A, S, strongest)
        found = np.zeros((len(A), k), dtype=self.dtype)
        rest = columns
        for i in range(k):
            pick = _energies(rest).argmax()
            if not rest[:, pick].any():
                break
            found[:, i] = columns[:, pick] / np.linalg.norm(columns[:, pick])
            rest = np.maximum(rest - np.outer(found[:, i], found[:, i] @ rest), 0)
        return found

    def _rest(self, A: NDArray, S: NDArray, columns: slice | NDArray) -> NDArray:
        return np.maximum(self.Y[:, columns] - A @ S[:, columns], 0)

    def _blocks(self) -> Iterator[slice]:
        n = self.shape[1]
        return (slice(j, min(j + self._block, n)) for j in range(0, n, self._block))


def _energies(X: NDArray) -> NDArray:
    return np.einsum("ij,ij->j", X, X)


def _gram(A: NDArray) -> NDArray:
    A = A.astype(np.float64, copy=False)
    return A.T @ A
