"""The data as iterations in wavelets see them: in single precision, and without weights.

Single samples cannot have Gram matrices of their own there. Weighted data, all weights at most 1, are
replaced by Z = fit + W (Y - fit) for the last fit: 1/2 |Z - AS|^2 is above the weighted cost, up to a
constant, and equal to it at the fit, so that a step that lowers the first lowers the second.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import (
    Engine,
    by_residual,
    cost,
    everything,
    in_memory,
    magnitude,
    residual_energy,
    single,
)
from ngmca.nnqp.gram import Gram


class WaveletData:
    """Data without weights, in single precision.

    Attributes
    ----------
    engine : Engine
        The data that the steps are made with.
    """

    engine: Engine

    def __init__(self, engine: Engine) -> None:
        self.engine = single(engine)

    @staticmethod
    def of(engine: Engine) -> "WaveletData":
        """Return the data of an engine, with or without weights, in single precision."""
        if engine.weights is None:
            return WaveletData(engine)
        return WeightedWaveletData(engine, np.float32, magnitude(engine) or 1.0)

    def follow(self, A: NDArray, S: NDArray) -> None:
        """Note the fit A S, on which the answers about weighted data depend."""

    def noise_in_correlations(self, sigma: NDArray) -> NDArray:
        """Return the noise (m,) that correlations have, for noise sigma of entries of weight 1."""
        return sigma

    def noise(self, A: NDArray, S: NDArray, *, final: bool = False) -> NDArray:
        """Return the noise level of each measurement."""
        return self.engine.noise(A, S, final=final)

    def cost(self, A: NDArray, S: NDArray, SS: Gram, YS: NDArray) -> float:
        """Return 1/2 |Y - A S|^2, weighted."""
        return cost(self.engine, A, SS, YS)


class WeightedWaveletData(WaveletData):
    """Weighted data, seen from the last fit.

    Parameters
    ----------
    engine : Engine
        The data, with weights of at most 1.
    dtype : dtype
        Precision to work in.
    unit : float
        Value of the engine's data that is 1 here.
    """

    def __init__(self, engine: Engine, dtype: Any, unit: float = 1.0) -> None:
        assert engine.weights is not None
        self._own, self._unit = by_residual(engine), unit
        self._observed = (everything(engine) / unit).astype(dtype)
        self._W = engine.weights.astype(dtype)
        self._Z = self._observed.copy()
        self.engine = in_memory(self._Z, like=engine, unit=unit)

    def follow(self, A: NDArray, S: NDArray) -> None:
        """See the data from the fit A S."""
        dtype = self._Z.dtype
        fit = np.dot(A.astype(dtype, copy=False), S.astype(dtype, copy=False))
        np.subtract(self._observed, fit, out=self._Z)
        self._Z *= self._W
        self._Z += fit

    def noise_in_correlations(self, sigma: NDArray) -> NDArray:
        """Return the noise (m,) that correlations have on average over the samples."""
        weights = self._own.noise_weights
        return sigma if weights is None else sigma * np.sqrt(weights.mean(axis=1))

    def noise(self, A: NDArray, S: NDArray, *, final: bool = False) -> NDArray:
        """Return the noise level of each measurement, from the weighted data."""
        return self._own.noise(A, S * self._unit, final=final) / self._unit

    def cost(self, A: NDArray, S: NDArray, SS: Gram, YS: NDArray) -> float:
        """Return 1/2 sum w (Y - A S)^2."""
        return residual_energy(self._own, A, S * self._unit) / (2 * self._unit**2)
