"""Data whose entries do not count alike, as the sampler takes them: a variance a row, and weights.

The noise of entry (i, j) has the variance variance_i / weights_ij. Missing entries, and outliers, have
no weight. Where all others have the same, the variances may be learnt; else they are given.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.engines import Counts, Engine, everything, in_memory

LEARNT = ("white", "rows")
UNEQUAL = 0.2  # spread of the logarithms of noise levels above which each row learns its own


@dataclass(frozen=True, eq=False)
class Weighing:
    """How much entries count: what is to be learnt of the noise, and what is given."""

    kind: str  # "white", "rows" or "given"
    weights: NDArray | None  # (m, n), 0 for what is missing; None where all count alike
    variance: NDArray  # (m,) of an entry of weight 1, at first
    spread: NDArray  # (m,) noise level over that of weight 1: root mean square over what was observed

    @classmethod
    def of(
        cls, engine: Engine, noise: Any, levels: NDArray, fit: NDArray, outliers: Any, *, bands: bool
    ) -> "Weighing":
        """For noise as `posterior` takes it, levels (m,) of a separation, and its fit."""
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
        return cls._of_entries(given * ones[:, None], seen, bands=bands)

    @classmethod
    def _of_entries(cls, given: NDArray, seen: NDArray, *, bands: bool) -> "Weighing":
        """For variances of entries; weights for bands must not be above 1: rows have their least."""
        count = np.maximum(seen.sum(axis=1), 1)
        if bands:
            variance = np.where(seen > 0, given, np.inf).min(axis=1)
        else:
            variance = count / np.maximum((seen / given).sum(axis=1), 1e-300)
        variance = np.where(seen.any(axis=1), variance, given.min(axis=1))
        weights = seen * variance[:, None] / given
        spread = np.sqrt((seen * given).sum(axis=1) / count / variance)
        return cls("given", weights, variance, np.where(spread > 0, spread, 1.0))

    def observed(self, shape: tuple[int, int]) -> tuple[NDArray, NDArray]:
        """Measurements (m,) and samples (n,) of which anything has a weight."""
        seen = np.ones(shape, bool) if self.weights is None else self.weights > 0
        return np.asarray(seen.any(axis=1)), np.asarray(seen.any(axis=0))


def _seen(engine: Engine, outliers: Any) -> NDArray | None:
    """(m, n) where an entry was observed and is no outlier; None where all are."""
    few = np.empty((0, 2), int) if outliers is None else np.asarray(outliers, int)
    if engine.weights is None and not len(few):
        return None
    seen = np.ones(engine.shape, bool) if engine.weights is None else engine.weights > 0
    seen[few[:, 0], few[:, 1]] = False
    return seen


def _learnt(noise: str | None, levels: NDArray, n: float) -> str:
    """Whether one level is learnt, or one for each measurement, of which n entries were observed."""
    if noise is not None:
        return arguments.check_choice(noise, "noise", (*LEARNT, "poisson"))
    positive = levels[levels > 0]
    chance = 2.4 / np.sqrt(min(n, 1 << 14))  # twice the spread that equal noise leads to
    unequal = positive.size > 1 and np.log(positive).std() > max(UNEQUAL, chance)
    return "rows" if unequal else "white"


def _variances(noise: Any, engine: Engine, fit: NDArray) -> NDArray:
    """(1 or m, 1 or n) variances that are given, or those of counts whose mean is the fit."""
    if isinstance(noise, str):
        noise = Counts()
    if isinstance(noise, Counts):
        counts = Counts(noise.gain / engine.unit, noise.readout / engine.unit)
        return counts.variance(fit)
    return arguments.check_levels(noise, engine) ** 2


def weighed(engine: Engine, weights: NDArray | None, rows: NDArray, columns: NDArray) -> Engine:
    """The data of some rows and columns (booleans), with these weights."""
    if rows.all() and columns.all() and weights is None:
        return engine
    Y, part = everything(engine), np.ix_(rows, columns)
    if weights is None:
        return in_memory(np.ascontiguousarray(Y[part]), unit=engine.unit)
    return in_memory(Y[part], weights[part], unit=engine.unit)
