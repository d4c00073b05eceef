"""The engine for data whose entries do not count alike: some are missing, or noisier than others.

Every sample and every measurement has its own Gram matrix (`weight_patterns`). Nothing is filled in.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import robust_noise as noise
from ngmca.engines.blocks import BLOCK_BYTES, Choice, column_energies, picks
from ngmca.engines.degrees_of_freedom import corrected
from ngmca.engines.derived import WEIGHTED_BLOCK_ENTRIES, cost
from ngmca.engines.memory import InMemory, MemoryEngine
from ngmca.engines.noise_sample import NoiseSample, thinned
from ngmca.engines.protocol import Engine, Solve, Sources, Sweep
from ngmca.engines.shared_answers import NOISE_COLUMNS
from ngmca.engines.weight_patterns import WeightPatterns, pairs
from ngmca.nnqp.gram import Gram

SUPPORTS = 256  # samples, or a few more, that show how much of the noise the fit follows
MIN_OBSERVED = 8  # entries below which a measurement gets the noise level of the others


class WeightedEngine(InMemory):
    """The engine for Y (m, n) with a weight for each entry.

    `Sweep.SS` holds one matrix for each measurement. Costs, energies and residuals are weighted.

    Parameters
    ----------
    Y : array of shape (m, n)
        The measurements in their unit; entries without weight may have any value.
    W : array of shape (m, n)
        Weights, 1 / variance up to a factor; 0 for missing entries.
    noise_weights : array of shape (m, n), optional
        Weights that entries have by their noise, observed or not. Thresholds follow these, and are not
        lower for samples of which less was observed. None stands for 1.
    threads, unit, seed
        Those of `MemoryEngine`.
    """

    concurrent = True
    weights: NDArray

    def __init__(
        self,
        Y: NDArray,
        W: NDArray,
        noise_weights: NDArray | None = None,
        *,
        threads: int | None = None,
        unit: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.weights = np.ascontiguousarray(W, dtype=np.float64)
        self._Y = np.ascontiguousarray(np.where(self.weights > 0, Y, Y.dtype.type(0)))
        self.unit, self.threads, self.seed = unit, threads, seed
        self.shape, self.dtype = self._Y.shape, self._Y.dtype
        self.noise_weights = noise_weights
        self._columns, self._rows = WeightPatterns(self.weights.T), WeightPatterns(self.weights)
        self._WY = self._Y * self.weights
        self.energy = float(np.einsum("ij,ij->", self._WY, self._Y))
        self._sample = NoiseSample(self, seed)

    def sweep(self, A: NDArray, S: Sources, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, each sample with its own Gram matrix."""
        (m, n), r = self.shape, A.shape[1]
        A64 = A.astype(np.float64, copy=False)
        X = np.array(S.T, dtype=np.float64, order="C")  # solved in place, and S stays
        Q = np.empty((n, r * (r + 1) // 2))
        worst, step = 0.0, max(1, WEIGHTED_BLOCK_ENTRIES // (r * r))
        for start in range(0, n, step):
            columns = slice(start, min(start + step, n))
            grams = self._columns.grams(A64, columns)
            if self.noise_weights is not None:
                level = np.sqrt(self.noise_weights[:, columns].T @ (A64 * A64))
                grams = replace(grams, noise=level)
            C = self._WY[:, columns].T @ A64
            worst = max(worst, solve(grams, C, X[columns], columns))
            Q[columns] = pairs(X[columns])
        X = X.astype(self.dtype, copy=False)
        SS, YS = self._rows.grams(X.astype(np.float64, copy=False), slice(0, m), Q), self._WY @ X
        YS = YS.astype(np.float64, copy=False)
        active = np.count_nonzero(X) / X.size
        return Sweep(X.T, SS, YS, cost(self, A, SS, YS), active, worst, X.sum(axis=0))

    def moments(self, S: Sources) -> tuple[Gram, NDArray]:
        """Return S diag(w_i) S' of every measurement, and (W Y) S'."""
        X = np.ascontiguousarray(S.T, dtype=np.float64)
        return self._rows.grams(X), self._WY @ X

    def correlate(self, A: NDArray) -> NDArray:
        """Return A'(W Y), (r, n)."""
        return np.asarray(np.dot(self._WY.T, A).T, dtype=self.dtype)

    def _residual(self, A: NDArray, S: NDArray, columns: Choice) -> NDArray:
        """Return Y - A S for observed entries, and 0 for the others."""
        rest = self._Y[:, columns] - A @ S[:, columns]
        return np.where(self.weights[:, columns] > 0, rest, rest.dtype.type(0))

    def peak(self, A: NDArray, S: Sources) -> float:
        """Return the largest entry of |A'W(AS - Y)|."""
        peak, step = 0.0, max(1, WEIGHTED_BLOCK_ENTRIES // self.shape[0])
        for start in range(0, self.shape[1], step):
            part = slice(start, start + step)
            rest = self.weights[:, part] * self._residual(A, S, part)
            peak = max(peak, float(np.abs(A.T @ rest).max()))
        return peak

    def noise(
        self, A: NDArray, S: Sources, *, final: bool = False, held: NDArray | None = None
    ) -> NDArray:
        """Return the robust noise level of each measurement for an entry of weight 1.

        It comes from a seeded set of the samples. Measurements with hardly any entry get the level of
        the others.
        """
        most = NOISE_COLUMNS if final else max(256, (1 << 17) // self.shape[0])
        columns = picks(self.shape[1], most, np.random.default_rng(self.seed))
        weights = self.weights[:, columns]
        rest = np.where(weights > 0, self._residual(A, S, columns) * np.sqrt(weights), np.inf)
        count = np.isfinite(rest).sum(axis=1)
        centre = _medians(rest, count)
        levels = noise.GAUSSIAN * _medians(np.abs(rest - centre[:, None]), count)
        if self.corrected:
            levels = self._corrected(levels, A, S, thinned(columns, self.shape[1], SUPPORTS), held)
        sure = count >= MIN_OBSERVED
        common = float(np.sqrt(np.mean(levels[sure] ** 2))) if sure.any() else 0.0
        return np.where(sure, levels, common)

    def _corrected(
        self, levels: NDArray, A: NDArray, S: NDArray, few: Choice, held: NDArray | None
    ) -> NDArray:
        """Return levels of the noise itself, estimated from a few samples."""
        A, observed = A.astype(np.float64, copy=False), np.count_nonzero(self.weights, axis=1)
        G, C = self._columns.grams(A, few), self._WY[:, few].T @ A
        given = {"stack": G.values, "which": G.which, "weights": self.weights[:, few], "held": held}
        return corrected(levels, A, C, S[:, few].T, observed, **given)

    def _rest_energies(self, A: NDArray, S: Sources) -> NDArray:
        step = max(1, BLOCK_BYTES // (self.dtype.itemsize * len(A)))
        blocks = (slice(j, j + step) for j in range(0, self.shape[1], step))
        return np.concatenate([column_energies(self._rest(A, S, block)) for block in blocks])

    def _rest(self, A: NDArray, S: Sources, columns: Choice) -> NDArray:
        """Return some columns of the positive part of the weighted residual."""
        rest = self.weights[:, columns] * self._residual(A, S, columns)
        return np.maximum(rest, 0).astype(self.dtype, copy=False)

    def part(self, rows: Choice, columns: Choice) -> Self:
        """Return an engine for some measurements at some channels; this one if both are slices."""
        if isinstance(rows, slice) and isinstance(columns, slice):
            return self
        which: Any = rows, columns
        if not (isinstance(rows, slice) or isinstance(columns, slice)):
            which = np.ix_(rows, columns)
        own = None if self.noise_weights is None else self.noise_weights[which]
        return self._like(self._Y[which], 1.0, self.weights[which], own)

    def transposed(self) -> Self:
        """Return the data with measurements and channels exchanged."""
        own = None if self.noise_weights is None else self.noise_weights.T
        return self._like(np.ascontiguousarray(self._Y.T), 1.0, self.weights.T, own)

    def _like(
        self, Y: NDArray, unit: float = 1.0, W: NDArray | None = None, own: NDArray | None = None
    ) -> Self:
        W, own = (self.weights, self.noise_weights) if W is None else (W, own)
        return type(self)(Y, W, own, threads=self.threads, unit=self.unit * unit, seed=self.seed)


def weighing(
    engine: Engine, W: NDArray, noise_weights: NDArray | None, Y: NDArray | None = None
) -> Engine:
    """Return the data of an engine with other weights; missing entries keep a weight of 0."""
    if engine.weights is not None:
        W = np.where(engine.weights > 0, W, 0)
    Y = engine.pick(slice(None), slice(None)) if Y is None else Y
    found = WeightedEngine(
        Y, W, noise_weights, threads=engine.threads, unit=engine.unit, seed=engine.seed
    )
    found.techniques = engine.techniques
    return found


def without(engine: Engine, entries: NDArray) -> Engine:
    """Return the data of an engine without the entries that are true in (m, n)."""
    weights = np.ones(engine.shape) if engine.weights is None else engine.weights
    return weighing(engine, np.where(entries, 0.0, weights), engine.noise_weights)


def without_outliers(engine: Engine, outliers: NDArray | None) -> Engine:
    """Return the data without their outliers (k, 2), the measurement and channel of each."""
    if outliers is None or not len(outliers):
        return engine
    entries = np.zeros(engine.shape, dtype=bool)
    entries[tuple(outliers.T)] = True
    return without(engine, entries)


def observed_in(engine: Engine, axis: int) -> NDArray:
    """Return the number of observed entries of each measurement (axis 1) or channel (axis 0)."""
    if engine.weights is None:
        return np.full(engine.shape[1 - axis], engine.shape[axis])
    return np.count_nonzero(engine.weights, axis=axis)


def completed(engine: Engine) -> Engine:
    """Return data without gaps, to start from: missing entries are products of means."""
    if engine.weights is None:
        return engine
    seen, Y = engine.weights > 0, engine.pick(slice(None), slice(None))
    mean = Y.sum() / max(np.count_nonzero(seen), 1)
    row = Y.sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    column = Y.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    guess = np.outer(row, column) / mean if mean else np.zeros(engine.shape)
    Y = np.where(seen, Y, guess).astype(engine.dtype)
    return MemoryEngine(Y, threads=engine.threads, unit=engine.unit, seed=engine.seed)


def _medians(X: NDArray, count: NDArray) -> NDArray:
    """Return the median of the `count` smallest entries of each row (others are infinite), or 0."""
    ordered = np.sort(X, axis=1)
    rows, last = np.arange(len(X)), np.maximum(count - 1, 0)
    middle = (ordered[rows, last // 2] + ordered[rows, (last + 1) // 2]) / 2
    return np.where(count > 0, middle, 0.0)
