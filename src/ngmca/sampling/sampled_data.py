"""The data as chains see them: the whole array, in blocks of columns that are drawn together."""

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import in_parts
from ngmca.engines import Engine, WeightPatterns, everything, row_energies
from ngmca.nnqp.gram import Gram
from ngmca.sampling.sparse_kernels import fill_entries

CACHED_BYTES = 400_000  # of a block of Y, which stays in a core's cache with what is made from it


class SampledData:
    """Y (m, n) in memory, for draws that go through it thousands of times.

    Parameters
    ----------
    engine : Engine
        The data; an error says so if they cannot be in memory as a whole.
    """

    def __init__(self, engine: Engine) -> None:
        self.Y = everything(engine, "the posterior")
        self._engine = engine
        self.shape, self.weights = engine.shape, engine.weights
        self.block = max(32, CACHED_BYTES // (self.Y.itemsize * len(self.Y)))  # columns drawn together

    @cached_property
    def row_energy(self) -> NDArray:
        """Weighted sum of squares of each measurement, (m,)."""
        if self.weights is None:
            return row_energies(self._engine)
        return np.einsum("ij,ij,ij->i", self.weights, self.Y, self.Y)

    @cached_property
    def observed(self) -> NDArray:
        """Number of observed entries of each measurement, (m,)."""
        if self.weights is None:
            return np.full(self.shape[0], self.shape[1])
        return np.count_nonzero(self.weights, axis=1)

    @cached_property
    def _patterns(self) -> WeightPatterns:
        assert self.weights is not None
        return WeightPatterns(self.weights.T)

    def grams(self, A: NDArray) -> Gram:
        """Return A' diag(w_j) A of every sample, for data with weights."""
        return self._patterns.grams(A.astype(np.float64, copy=False))

    def moments(self, S: NDArray) -> tuple[Gram, NDArray]:
        """Return S S' and Y S', weighted if there are weights."""
        return self._engine.moments(S)

    def correlate_into(self, C: NDArray, A: NDArray, threads: int) -> None:
        """C := Y'A, (n, r), block by block; for data with weights, (W Y)'A."""
        if self.weights is not None:
            C[:] = self._engine.correlate(A).T
            return
        A = A.astype(self.Y.dtype, copy=False)

        def part(starts: range) -> None:
            for start in starts:
                block = slice(start, start + self.block)
                C[block] = self.Y[:, block].T @ A

        in_parts(part, len(C), self.block, threads)

    def update_columns(
        self, X: NDArray, update: Callable[[slice], None], threads: int
    ) -> tuple[NDArray, NDArray]:
        """Return S S' and Y S' for S = X' (r, n), each block of which `update` changes in place first.

        Every second block is taken first, then the others: an update may look at the neighbouring
        columns of its block, whatever the number of threads.
        """
        m, r, dtype = self.shape[0], X.shape[1], self.Y.dtype

        def part(starts: Iterable[int]) -> tuple[NDArray, NDArray]:
            SS, YS = np.zeros((r, r)), np.zeros((m, r))
            for start in starts:
                block = slice(start, start + self.block)
                update(block)
                Xb = X[block].astype(dtype, copy=False)
                YS += self.Y[:, block] @ Xb
                Xb = Xb.astype(np.float64, copy=False)  # rounded alike in both sums
                SS += Xb.T @ Xb
            return SS, YS

        def every_second(first: int) -> list[tuple[NDArray, NDArray]]:
            length = max(len(X) - first, 0)
            return in_parts(
                lambda starts: part(first + s for s in starts), length, 2 * self.block, threads
            )

        parts = every_second(0) + every_second(self.block)
        SS, YS = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        return SS, YS


class Filled(SampledData):
    """Data whose missing and noisier entries are sampled too, for chains that need one Gram matrix.

    An entry with weight w, at most 1, has the noise of an entry with weight 1, of variance v, and
    additional noise: Y = Z + N(0, v / w - v), Z = A S + N(0, v). Given A and S, Z is normal with mean
    A S + w (Y - A S) and variance v (1 - w). Chains that use Z instead of Y have the same posterior;
    they only move more slowly.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._observed, self._W, self.weights = self.Y, engine.weights, None
        self.Y = self._observed.copy()

    @staticmethod
    def of(engine: Engine) -> SampledData:
        """Return the data as chains see them; data without weights need no draws."""
        return SampledData(engine) if engine.weights is None else Filled(engine)

    def fill(self, A: NDArray, S: NDArray, variance: NDArray, key: np.uint64) -> None:
        """Draw Z given A and S."""
        assert self._W is not None
        energy = np.zeros(self.shape[0])
        for start in range(0, self.shape[1], self.block):
            block = slice(start, start + self.block)
            fit = A @ S[:, block]
            fill_entries(fit, self._observed, self._W, np.sqrt(variance), key, start, self.Y)
            Z = self.Y[:, block]
            energy += np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
        self.row_energy = energy
