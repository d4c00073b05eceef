"""Data whose missing and noisier entries are sampled too, for chains that need one Gram matrix.

An entry with weight w has the noise of an entry with weight 1, of variance v, and additional noise:
Y = Z + N(0, v / w - v), Z = A S + N(0, v). Given A and S, Z is normal with mean A S + w (Y - A S) and
variance v (1 - w). Chains that use Z instead of Y have the same posterior; they only move more slowly.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import Engine
from ngmca.sampling.sampled_data import SampledData
from ngmca.sampling.sparse_kernels import fill_entries


class Filled(SampledData):
    """The data Z of one chain, for data with weights of at most 1."""

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
            fit, Z = A @ S[:, block], self.Y[:, block]
            entries = (self._observed[:, block], self._W[:, block])
            fill_entries(fit, *entries, np.sqrt(variance), key, start, Z)
            energy += np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
        self.row_energy = energy
