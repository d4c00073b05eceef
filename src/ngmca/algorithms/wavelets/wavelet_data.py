"""The data as iterations in wavelets see them: in a precision of their own, with weights of channels.

Large data are in single precision. Small data keep their precision, which costs a tenth of the time:
kernels are compiled for one precision only, because the last step needs that of the data.

Single entries cannot have weights of their own there. Let w_j be the largest weight in channel j. The
data are replaced by Z = fit + W / w (Y - fit) for the last fit: 1/2 |sqrt(w) (Z - AS)|^2 is above the
weighted cost, up to a constant, and equal to it at the fit, so that a step that lowers the first lowers
the second. If all entries of each channel have the same weight, both are the same.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import in_parts
from ngmca.domains import Frame
from ngmca.engines import (
    Engine,
    by_residual,
    cost,
    everything,
    in_gradient,
    in_memory,
    in_precision,
    magnitude,
    placed,
    threads_for,
)
from ngmca.nnqp.gram import Gram

CACHED_ENTRIES = 1 << 16  # entries of the data that stay in the cache of a core
SMALL = 1 << 17  # coefficients of all sources, up to which the precision of the data is kept
RHO = 0.15  # of ADMM, for columns of norm 1: small, so that S follows A quickly


class WaveletData:
    """Data without weights.

    Parameters
    ----------
    engine : Engine
        The data.
    dtype : dtype
        Precision to work in.
    W : Frame
        The frame, on a GPU if sources are there (`engines.placed`).

    Attributes
    ----------
    engine : Engine
        The data that the steps are made with, times the roots of the weights of channels.
    W : Frame
        The frame, where the engine has its sources.
    roots : ndarray of shape (n,) or None
        The roots; None is 1.
    """

    engine: Engine
    W: Frame
    roots: NDArray | None = None

    def __init__(self, engine: Engine, dtype: np.dtype, W: Frame) -> None:
        self.engine, self.W = in_precision(engine, dtype), W

    @property
    def rho(self) -> float:
        """Step of ADMM, in units of a typical weight."""
        return RHO if self.roots is None else RHO * float(np.exp(2 * np.mean(np.log(self.roots))))

    @property
    def weights(self) -> NDArray | None:
        """Weights (n,) of channels, at most 1; None is 1."""
        return None if self.roots is None else self.roots.astype(np.float64) ** 2

    def times_roots(self, X: NDArray) -> NDArray:
        """Return X (r, n) times the roots of the weights of channels."""
        return X if self.roots is None else X * self.roots

    def there(self, X: NDArray) -> NDArray:
        """Return an array where the sources are."""
        return X if self.W.on is None else self.W.on.there(X)

    def shown(self, S: NDArray) -> Any:
        """Return sources as engines and states have them."""
        return S if self.W.on is None else self.W.on.shown(S)

    def correlations(self, engine: Engine, A: NDArray) -> NDArray:
        """Return A'Y for the data of an engine, where the sources are."""
        A, on = A.astype(engine.dtype), self.W.on
        return np.ascontiguousarray(engine.correlate(A)) if on is None else on.correlate(engine, A)

    def correlate(self, A: NDArray) -> NDArray:
        """Return A'Y, weighted."""
        return self.times_roots(self.correlations(self.engine, A))

    def moments(self, S: NDArray) -> tuple[Gram, NDArray]:
        """Return S S' and Y S', weighted."""
        return self.engine.moments(self.shown(self.times_roots(S)))

    @staticmethod
    def of(engine: Engine, W: Frame, r: int) -> "WaveletData":
        """Return the data of an engine, with or without weights, for r sources in a frame."""
        dtype = engine.dtype if r * W.bands * W.period <= SMALL else np.dtype(np.float32)
        if engine.weights is None:
            return WaveletData(engine, dtype, placed(engine, W, r))
        return WeightedWaveletData(engine, dtype, W, magnitude(engine) or 1.0)

    def follow(self, A: NDArray, S: NDArray) -> None:
        """Note the fit A S, on which the answers about weighted data depend."""

    @property
    def noise_weights(self) -> NDArray | None:
        """Weights (m, n) that entries have by their noise; None is 1."""
        return None

    def noise(self, A: NDArray, S: NDArray, *, final: bool = False) -> NDArray:
        """Return the noise level of each measurement."""
        return self.engine.noise(A, self.shown(S), final=final)

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
    W : Frame
        The frame.
    unit : float
        Value of the engine's data that is 1 here.
    """

    def __init__(self, engine: Engine, dtype: Any, W: Frame, unit: float = 1.0) -> None:
        assert engine.weights is not None
        self.W = W
        self._own, self._unit = by_residual(engine), unit
        self._observed = (everything(engine) / unit).astype(dtype)
        largest = engine.weights.max(axis=0)
        roots = np.sqrt(np.where(largest > 0, largest, 1))
        self._W = (engine.weights / roots).astype(dtype)
        self._roots = roots.astype(dtype)
        self.roots = self._roots if (roots != 1).any() else None
        self._energy = 0.0
        self._Z = self._observed.copy()
        self.engine = in_memory(self._Z, like=engine, unit=unit)

    def follow(self, A: NDArray, S: NDArray) -> None:
        """See the data from the fit A S."""
        dtype = self._Z.dtype
        A, S = A.astype(dtype, copy=False), S.astype(dtype, copy=False)
        step = max(1, CACHED_ENTRIES // S.shape[1])
        starts = range(0, len(A), step)

        def seen(some: range) -> float:
            energy = 0.0
            for start in starts[some.start : some.stop]:
                rows = slice(start, start + step)
                fit = A[rows] @ S
                rest = np.subtract(self._observed[rows], fit, out=self._Z[rows])
                fit *= self._roots
                weighted = self._W[rows] * rest
                rest *= self._roots
                energy += float(np.vdot(weighted, rest))
                np.add(weighted, fit, out=rest)
            return energy

        self._energy = sum(in_parts(seen, len(starts), 1, threads_for(self._own, len(S))))

    @property
    def noise_weights(self) -> NDArray | None:
        """Weights (m, n) that entries have by their noise; None is 1."""
        return self._own.noise_weights

    def noise(self, A: NDArray, S: NDArray, *, final: bool = False) -> NDArray:
        """Return the noise level of each measurement, from the weighted data."""
        return self._own.noise(A, S * self._unit, final=final) / self._unit

    def cost(self, A: NDArray, S: NDArray, SS: Gram, YS: NDArray) -> float:
        """Return 1/2 sum w (Y - A S)^2 for the last fit."""
        return self._energy / 2


def noise_and_weights(A: NDArray, sigma: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray]:
    """Return the noise of correlations A'WY, and the weights of sources; (r, 1) if all weights are 1.

    The noise of a source is the first over the second. `sigma` (m,) is the noise of entries of weight
    1, and `weights` (m, n) are those that entries have by their noise.
    """
    if weights is None:
        level = in_gradient(A, sigma)[:, None]
        return level, np.ones_like(level)
    squares = (A * A).T.astype(np.float64)
    return np.sqrt((squares * sigma**2) @ weights), squares @ weights
