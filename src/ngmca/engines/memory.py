"""The engine for an array in memory."""

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.blocks import Choice, row_blocks, square
from ngmca.engines.blockwise import Blockwise
from ngmca.engines.derived import BLOCK_ENTRIES
from ngmca.engines.noise_sample import NoiseSample
from ngmca.engines.protocol import DType, Units
from ngmca.engines.shared_answers import SharedAnswers


class InMemory(SharedAnswers):
    """Parts and other forms of Y, which is the array `_Y` in memory."""

    _Y: NDArray

    @abstractmethod
    def _like(self, Y: NDArray, unit: float = 1.0) -> Self:
        """Return an engine for other data, with the settings of this one and a factor of its unit."""

    def pick(self, rows: Choice, columns: Choice) -> NDArray:
        """Return some measurements at some columns."""
        return np.asarray(self._Y[rows][:, columns])

    def part(self, rows: Choice, columns: Choice) -> Self:
        """Return an engine for some measurements at some channels; this one if both are slices."""
        if isinstance(rows, slice) and isinstance(columns, slice):
            return self
        return self._like(np.ascontiguousarray(self.pick(rows, columns)))

    def transposed(self) -> Self:
        """Return the data with measurements and channels exchanged."""
        return self._like(np.ascontiguousarray(self._Y.T))

    def divided(
        self, rows: Units = None, columns: Units = None, *, unit: float = 1.0, dtype: DType | None = None
    ) -> Self:
        """Return the data divided by units of rows (m,) and columns (n,), and by a unit for all."""
        found = np.empty_like(self._Y, dtype=dtype)
        for which, block in row_blocks(self._Y, BLOCK_ENTRIES):  # no other copy of the data
            found[which] = block / unit if rows is None else block / rows[which, None] / unit
            if columns is not None:
                found[which] /= columns
        return self._like(found, unit)


class MemoryEngine(InMemory, Blockwise):
    """The engine for Y (m, n) as an array in memory, all entries of which count alike.

    Parameters
    ----------
    Y : array of shape (m, n)
        The measurements in their unit. They are not copied.
    threads : int, optional
        Threads to use. None: as many as there are.
    unit : float
        Value of the original data that is 1 in Y.
    seed : int
        Seed of the columns and rows that noise levels are estimated from.
    """

    concurrent = True

    def __init__(
        self, Y: NDArray, *, threads: int | None = None, unit: float = 1.0, seed: int = 0
    ) -> None:
        self._Y = Y
        self.unit, self.threads, self.seed = unit, threads, seed
        self.shape, self.dtype = Y.shape, Y.dtype
        self.energy = float(sum(square(block) for _, block in self.blocks()))
        self._sample = NoiseSample(self, seed)

    def _like(self, Y: NDArray, unit: float = 1.0) -> Self:
        return type(self)(Y, threads=self.threads, unit=self.unit * unit, seed=self.seed)
