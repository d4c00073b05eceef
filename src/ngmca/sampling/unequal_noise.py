"""Data with unequal noise, as the sampler uses them: one variance for each row, and weights.

The noise of entry (i, j) has the variance variance_i / weights_ij. Missing entries and outliers have
zero weight. If all other entries have the same weight, the variances can be learnt; otherwise they are
given.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca.engines import Counts, Engine, everything, in_memory

NoiseArgument = str | ArrayLike | Counts | None

MIN_LOG_SPREAD = 0.2  # of the noise levels, above which a level is learnt for each row


@dataclass(frozen=True, eq=False)
class Weighing:
    """Variances and weights of the noise.

    Attributes
    ----------
    kind : {"white", "rows", "given"}
        Which variances are learnt: one, one for each measurement, or none.
    weights : ndarray of shape (m, n), optional
        Weights of the entries, 0 for missing entries; None if all are equal.
    variance : ndarray of shape (m,)
        Variance at the start of an entry with weight 1.
    spread : ndarray of shape (m,)
        Root mean square of the noise levels of the observed entries, over the level at weight 1.
    """

    kind: str
    weights: NDArray | None
    variance: NDArray
    spread: NDArray

    @classmethod
    def of(
        cls,
        engine: Engine,
        noise: NoiseArgument,
        levels: NDArray,
        fit: NDArray,
        outliers: NDArray | None,
        *,
        wavelet: bool,
    ) -> "Weighing":
        """Return it for the argument `noise` of `posterior`, and levels (m,) and fit of a separation."""
        seen = _seen(engine, outliers)
        ones = np.ones(len(levels))
        weights = None if seen is None else seen.astype(np.float64)
        if noise is None or (isinstance(noise, str) and noise != "poisson"):
            count = engine.shape[1] if seen is None else np.median(seen.sum(axis=1))
            return cls(_learnt(noise, levels, count), weights, levels**2, ones)
        given = _variances(noise, engine, fit)
        if given.shape[1] == 1:
            return cls("given", weights, given[:, 0] * ones, ones)
        seen = np.ones(engine.shape, bool) if seen is None else seen
        return cls._of_entries(given * ones[:, None], seen, wavelet=wavelet)

    @classmethod
    def _of_entries(cls, given: NDArray, seen: NDArray, *, wavelet: bool) -> "Weighing":
        """Return it for variances of entries; in wavelets no weight may be above 1."""
        count = np.maximum(seen.sum(axis=1), 1)
        if wavelet:
            variance = np.where(seen > 0, given, np.inf).min(axis=1)
        else:
            variance = count / np.maximum((seen / given).sum(axis=1), 1e-300)
        variance = np.where(seen.any(axis=1), variance, given.min(axis=1))
        weights = seen * variance[:, None] / given
        spread = np.sqrt((seen * given).sum(axis=1) / count / variance)
        return cls("given", weights, variance, np.where(spread > 0, spread, 1.0))

    def observed(self, shape: tuple[int, int]) -> tuple[NDArray, NDArray]:
        """Return which measurements (m,) and channels (n,) have an entry with a weight above 0."""
        seen = np.ones(shape, bool) if self.weights is None else self.weights > 0
        return np.asarray(seen.any(axis=1)), np.asarray(seen.any(axis=0))


def _seen(engine: Engine, outliers: NDArray | None) -> NDArray | None:
    """Return where an entry was observed and is no outlier, (m, n), or None if all are."""
    few = np.empty((0, 2), int) if outliers is None else np.asarray(outliers, int)
    if engine.weights is None and not len(few):
        return None
    seen = np.ones(engine.shape, bool) if engine.weights is None else engine.weights > 0
    seen[few[:, 0], few[:, 1]] = False
    return seen


def _learnt(noise: str | None, levels: NDArray, n: float) -> str:
    """Return "white" or "rows": whether levels of rows with n entries differ more than by chance."""
    if noise is not None:
        return arguments.check_choice(noise, "noise", ("white", "rows", "poisson"))
    positive = levels[levels > 0]
    chance = 2.4 / np.sqrt(min(n, 1 << 14))  # twice the spread of estimates for equal noise
    unequal = positive.size > 1 and np.log(positive).std() > max(MIN_LOG_SPREAD, chance)
    return "rows" if unequal else "white"


def _variances(noise: str | ArrayLike | Counts, engine: Engine, fit: NDArray) -> NDArray:
    """Return known variances (1 or m, 1 or n), or those of counts whose mean is the fit."""
    if isinstance(noise, str):
        noise = Counts()
    if isinstance(noise, Counts):
        counts = Counts(noise.gain / engine.unit, noise.readout / engine.unit)
        return counts.variance(fit)
    return arguments.check_levels(noise, engine) ** 2


def weighed(engine: Engine, weights: NDArray | None, rows: NDArray, columns: NDArray) -> Engine:
    """Return the data of some rows and columns (booleans), with these weights."""
    if rows.all() and columns.all() and weights is None:
        return engine
    Y, part = everything(engine), np.ix_(rows, columns)
    if weights is None:
        return in_memory(np.ascontiguousarray(Y[part]), unit=engine.unit)
    return in_memory(Y[part], weights[part], unit=engine.unit)
