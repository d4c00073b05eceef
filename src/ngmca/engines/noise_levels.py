"""Noise levels as units: in them, every entry that was observed has the same noise.

Levels of measurements and of samples are units of rows and columns: the fit in them is a plain one, and
costs no more. What is left, levels of single entries and missing ones, are weights.
"""

import warnings
import weakref
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, message, option
from ngmca.engines.blocks import row_blocks
from ngmca.engines.derived import everything
from ngmca.engines.protocol import Engine
from ngmca.engines.weighted import observed_in, weighing

LEAST_EVENTS, MOST_EVENTS = 1e-3, 1e15  # in the largest entry of counts
PRODUCT_TOLERANCE = 1e-9  # relative distance up to which levels are a product of rows and columns


@dataclass(frozen=True)
class Counts:
    """Noise of a counting detector: variance = gain * signal + readout^2.

    `gain` is the value of Y for one event, `readout` the standard deviation where there is no signal.
    """

    gain: float = 1.0
    readout: float = 0.0

    def __post_init__(self) -> None:
        if arguments.check_number(self.gain, "gain") == 0:
            raise ArgumentError(
                "{} must be above 0: it is the value of Y for one event.", option("gain")
            )
        arguments.check_number(self.readout, "readout")

    def variance(self, signal: NDArray) -> NDArray:
        """Of entries with this signal; below one event it is that of one event."""
        return self.gain * np.maximum(signal, self.gain) + self.readout**2


@dataclass(frozen=True, eq=False)
class Levels:
    """Noise of entry (i, j): level * rows[i] * columns[j] / sqrt(weights[i, j])."""

    level: float | None = None  # in units of the engine; None: to be estimated, for each measurement
    rows: NDArray | None = None  # (m,), of geometric mean 1
    columns: NDArray | None = None  # (n,), of geometric mean 1
    weights: NDArray | None = None  # (m, n), at most 1
    counts: Counts | None = None  # the weights follow from the fit
    _kept: list[tuple[weakref.ref[NDArray], NDArray]] = field(
        init=False, repr=False, default_factory=list
    )

    @classmethod
    def of(cls, noise: Any, engine: Engine) -> "Levels":
        """Checked levels, in units of the engine."""
        if noise is None:
            return cls()
        if isinstance(noise, str):
            arguments.check_choice(noise, "noise", ("poisson",))
            noise = Counts()
        if isinstance(noise, Counts):
            return cls._counted(noise, engine)
        levels = arguments.check_levels(_completed(noise, engine), engine)
        if levels.min() == levels.max():
            return cls(float(levels.max()))
        observed = None if engine.weights is None else engine.weights > 0
        return cls._unequal(levels, observed)

    @classmethod
    def of_rows(cls, levels: NDArray) -> "Levels":
        """Levels (m,) of measurements, all above 0."""
        return cls._unequal(levels[:, None], None)

    @classmethod
    def _unequal(cls, levels: NDArray, observed: NDArray | None) -> "Levels":
        """Levels (m, 1), (1, n) or (m, n), all above 0."""
        logs = np.log(levels)
        level = float(logs.mean())
        rows, columns = logs.mean(axis=1) - level, logs.mean(axis=0) - level
        rest = logs - level - rows[:, None] - columns
        if np.abs(rest).max() <= PRODUCT_TOLERANCE:
            return cls(float(np.exp(level)), _varied(rows), _varied(columns))
        seen = logs if observed is None else np.where(observed, logs, np.inf)
        rows = seen.min(axis=1)  # weights are at most 1
        rows = np.where(np.isfinite(rows), rows, level)
        level = float(rows.mean())
        weights = np.exp(2 * np.minimum(rows[:, None] - logs, 0))
        return cls(float(np.exp(level)), _varied(rows - level), None, weights)

    @classmethod
    def _counted(cls, counts: Counts, engine: Engine) -> "Levels":
        """Counting noise at first: that of the product of the sums over rows and over columns."""
        counts = Counts(counts.gain / engine.unit, counts.readout / engine.unit)
        Y = everything(engine)  # missing entries are 0
        peak = float(Y.max(initial=0)) / counts.gain
        if peak > 0 and not LEAST_EVENTS < peak < MOST_EVENTS:
            raise ArgumentError(
                "the largest entry of Y is {:.3g} events: Y does not hold counts. Give the value of one "
                "event with {}.",
                *(peak, option("gain")),
            )
        observed = observed_in(engine, 1)
        row = Y.sum(axis=1, dtype=np.float64)
        mean = max(float(row.sum() / max(observed.sum(), 1)), counts.gain)
        row = np.maximum(row / np.maximum(observed, 1), 0) / mean
        column = Y.sum(axis=0, dtype=np.float64) / np.maximum(observed_in(engine, 0), 1)
        column = np.maximum(column, 0)
        by_row, by_column = np.empty(len(row)), np.zeros(len(column))
        for some, _ in row_blocks(Y):
            variance = counts.variance(np.outer(row[some], column))
            by_row[some] = variance.mean(axis=1)
            by_column += variance.sum(axis=0) / len(row)
        if Y.max(initial=0) < 5 * counts.gain:
            warnings.warn(
                message(
                    "the largest entry of Y is less than 5 events. If Y does not hold counts, give the "
                    "value of one event as ngmca.Counts(gain=...)."
                ),
                UserWarning,
                stacklevel=6,
            )
        by_column /= np.sqrt(by_row.mean())
        by_row /= np.sqrt(by_row.mean())
        logs = np.log(by_row) / 2, np.log(by_column) / 2
        level = float(logs[0].mean() + logs[1].mean())
        rows, columns = (_varied(part - part.mean()) for part in logs)
        return cls(float(np.exp(level)), rows, columns, counts=counts)

    def transposed(self) -> "Levels":
        """For data with measurements and samples exchanged."""
        weights = None if self.weights is None else self.weights.T
        return replace(self, rows=self.columns, columns=self.rows, weights=weights)

    def of_part(self, rows: NDArray) -> "Levels":
        """For some of the measurements."""
        own = None if self.rows is None else self.rows[rows]
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, rows=own, weights=weights)

    @property
    def equal(self) -> bool:
        """Whether all entries have the same level."""
        return self.rows is None and self.columns is None and self.weights is None

    def applied(self, engine: Engine) -> Engine:
        """The data in units of their noise; the engine itself where that is the same for all."""
        found = engine
        if self.rows is not None or self.columns is not None:
            found = engine.divided(self.rows, self.columns)
        return found if self.weights is None else weighing(found, self.weights, self.weights)

    def following(self, engine: Engine, A: NDArray, S: NDArray) -> Engine:
        """The whitened data with weights that follow from the fit A S of counts."""
        assert self.counts is not None
        assert self.level is not None
        rows, columns = self.units(engine.shape)
        weights = np.empty(engine.shape)
        S = S * columns
        for some, part in row_blocks(weights):
            fit = (A[some] * rows[some, None]) @ S
            units = rows[some, None] * columns
            part[:] = (self.level * units) ** 2 / self.counts.variance(np.maximum(fit, 0))
        return weighing(engine, weights, weights)

    def noise(self, m: int) -> NDArray | None:
        """(m,) the level of entries of weight 1 in whitened data, or None to estimate it."""
        return None if self.level is None else np.full(m, self.level)

    def spread(self, weights: NDArray | None, shape: tuple[int, int]) -> NDArray:
        """(m,) noise over that of whitened data: root mean square over what was observed of a row."""
        rows, columns = self.units(shape)
        if weights is None:
            return rows * np.sqrt(np.mean(columns**2))
        for known, spread in self._kept:  # every state asks for it, and weights rarely change
            if known() is weights:
                return spread
        seen = weights > 0
        variance = np.divide(columns**2, weights, out=np.zeros(shape), where=seen)
        count = seen.sum(axis=1)
        spread = rows * np.sqrt(np.where(count, variance.sum(axis=1), 1) / np.maximum(count, 1))
        self._kept[:] = [*self._kept[-1:], (weakref.ref(weights), spread)]
        return spread

    def units(self, shape: tuple[int, int]) -> tuple[NDArray, NDArray]:
        """Of rows and of columns."""
        rows = np.ones(shape[0]) if self.rows is None else self.rows
        return rows, np.ones(shape[1]) if self.columns is None else self.columns


def _completed(noise: Any, engine: Engine) -> Any:
    """Levels of entries, where those of missing ones may be missing too."""
    if engine.weights is None or np.ndim(noise) != 2 or np.shape(noise) != engine.shape:
        return noise
    levels = np.ma.filled(np.ma.asarray(noise, dtype=np.float64), np.nan)
    gone = (engine.weights == 0) & np.isnan(levels)
    return np.where(gone, np.nanmedian(levels), levels) if gone.any() else levels


def _varied(logs: NDArray) -> NDArray | None:
    """Units, or None where all are 1."""
    return np.exp(logs) if np.abs(logs).max(initial=0) > PRODUCT_TOLERANCE else None
