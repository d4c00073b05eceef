"""The engine for data whose entries do not count alike: some are missing, or noisier than others.

With weights w (m, n) every sample has its own Gram matrix, A' diag(w_j) A, and every measurement,
S diag(w_i) S'. They are found for all samples at once, as a product of w with the products of pairs of
columns; samples with equal weights share one, and where few entries are missing those are taken away
from the common one. Nothing is ever filled in.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.compiled import compiled
from ngmca.engines import robust_noise as noise
from ngmca.engines.blocks import Choice, gram, picks
from ngmca.engines.degrees_of_freedom import corrected
from ngmca.engines.memory import NOISE_COLUMNS, InMemory
from ngmca.engines.noise_sample import thinned
from ngmca.engines.sweep import Solve, Sweep
from ngmca.nnqp.gram import Gram

FEW = 0.2  # share of missing entries up to which they are taken away one by one
SHARED = 0.25  # patterns for each sample (measurement), up to which Gram matrices are shared
BLOCK = 1 << 21  # numbers in the Gram matrices held at once
SUPPORTS = 256  # samples or a few more that tell how much of the noise the fit follows
OWN = 8  # observed entries below which a measurement takes the level of the others


class Weighted(InMemory):
    """Y (m, n) with a weight for each entry, 1 / variance up to a factor; 0 where it is missing.

    `Sweep.SS` holds a matrix for each measurement. Costs, energies and residuals are weighted.
    `levels` (m, n) are the weights that entries have by their noise, observed or not: thresholds follow
    them, and are not lower where less was observed. None stands for 1.
    """

    def __init__(
        self,
        Y: NDArray,
        W: NDArray,
        levels: NDArray | None = None,
        *,
        threads: int | None = None,
        unit: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(np.where(W > 0, Y, Y.dtype.type(0)), threads=threads, unit=unit, seed=seed)
        self.weights: NDArray = np.ascontiguousarray(W, dtype=np.float64)
        self.levels = levels
        self._columns = _Patterns.of(self.weights.T)
        self._rows = _Patterns.of(self.weights)
        self._WY = self._Y * self.weights
        self.energy = float(np.einsum("ij,ij->", self._WY, self._Y))

    def single(self) -> InMemory:
        """The same data in single precision, in units of their largest entry, to be followed."""
        return Followed(self, np.float32, self.magnitude or 1.0)

    def grams(self, A: NDArray) -> Gram:
        """A' diag(w_j) A of every sample."""
        return self._columns.grams(A.astype(np.float64, copy=False), slice(0, self.shape[1]))

    def completed(self) -> InMemory:
        """Data without gaps to start from, nothing else: missing entries are products of means."""
        seen = self.weights > 0
        mean = self._Y.sum() / max(np.count_nonzero(seen), 1)
        row = self._Y.sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
        column = self._Y.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        guess = np.outer(row, column) / mean if mean else np.zeros(self.shape)
        Y = np.where(seen, self._Y, guess).astype(self.dtype)
        return InMemory(Y, threads=self._threads, unit=self.unit, seed=self._seed)

    def transposed(self) -> "Weighted":
        """The data with measurements and samples exchanged."""
        levels = None if self.levels is None else self.levels.T
        Y = np.ascontiguousarray(self._Y.T)
        return Weighted(
            Y, self.weights.T, levels, threads=self._threads, unit=self.unit, seed=self._seed
        )

    def whitened(self, rows: NDArray | None, columns: NDArray | None) -> "Weighted":
        """The same data in units of rows (m,) and columns (n,)."""
        return weighing(self, self.weights, self.levels, self._divided(rows, columns))

    def sweep(self, A: NDArray, S: NDArray, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, each sample with its own Gram matrix."""
        (m, n), r = self.shape, A.shape[1]
        A64 = A.astype(np.float64, copy=False)
        X = np.ascontiguousarray(S.T, dtype=np.float64)
        Q = np.empty((n, r * (r + 1) // 2))
        worst, step = 0.0, max(1, BLOCK // (r * r))
        for start in range(0, n, step):
            columns = slice(start, min(start + step, n))
            grams = self._columns.grams(A64, columns)
            if self.levels is not None:
                grams = replace(grams, noise=np.sqrt(self.levels[:, columns].T @ (A64 * A64)))
            C = self._WY[:, columns].T @ A64
            worst = max(worst, solve(grams, C, X[columns], columns))
            Q[columns] = pairs(X[columns])
        X = X.astype(self.dtype, copy=False)
        SS, YS = self._rows.grams(X.astype(np.float64, copy=False), slice(0, m), Q), self._WY @ X
        YS = YS.astype(np.float64, copy=False)
        return Sweep(
            X.T, SS, YS, self.cost(A, SS, YS), np.count_nonzero(X) / X.size, worst, X.sum(axis=0)
        )

    def cost(self, A: NDArray, SS: Gram, YS: NDArray) -> float:
        """1/2 sum w (Y - A S)^2."""
        A = A.astype(np.float64, copy=False)
        return float(max(self.energy / 2 - np.vdot(A, YS) + SS.energy(A) / 2, 0.0))

    def moments(self, S: NDArray) -> tuple[Gram, NDArray]:
        """S diag(w_i) S' of every measurement, and (W Y) S'."""
        X = np.ascontiguousarray(S.T, dtype=np.float64)
        return self._rows.grams(X, slice(0, self.shape[0])), self._WY @ X

    def correlate(self, A: NDArray) -> NDArray:
        """A'(W Y), (r, n)."""
        return np.asarray(np.dot(self._WY.T, A).T, dtype=self.dtype)

    def residual(self, A: NDArray, S: NDArray, columns: Choice = slice(None)) -> NDArray:
        """Y - A S where it was observed, and 0 elsewhere."""
        rest = self._Y[:, columns] - A @ S[:, columns]
        return np.where(self.weights[:, columns] > 0, rest, rest.dtype.type(0))

    def peak(self, A: NDArray, S: NDArray) -> float:
        """Largest entry of |A'W(AS - Y)|."""
        peak, step = 0.0, max(1, BLOCK // self.shape[0])
        for start in range(0, self.shape[1], step):
            part = slice(start, start + step)
            rest = self.weights[:, part] * self.residual(A, S, part)
            peak = max(peak, float(np.abs(A.T @ rest).max()))
        return peak

    def noise(
        self, A: NDArray, S: NDArray, *, final: bool = False, held: NDArray | None = None
    ) -> NDArray:
        """Robust noise level of each measurement for an entry of weight 1.

        It comes from a seeded set of the samples. Measurements with hardly any entry have the level of
        the others.
        """
        most = NOISE_COLUMNS if final else max(256, (1 << 17) // self.shape[0])
        columns = picks(self.shape[1], most, np.random.default_rng(self._seed))
        weights = self.weights[:, columns]
        rest = np.where(weights > 0, self.residual(A, S, columns) * np.sqrt(weights), np.inf)
        count = np.isfinite(rest).sum(axis=1)
        centre = _medians(rest, count)
        levels = noise.GAUSSIAN * _medians(np.abs(rest - centre[:, None]), count)
        if self.corrected:
            levels = self._corrected(levels, A, S, thinned(columns, self.shape[1], SUPPORTS), held)
        sure = count >= OWN
        common = float(np.sqrt(np.mean(levels[sure] ** 2))) if sure.any() else 0.0
        return np.where(sure, levels, common)

    def _corrected(
        self, levels: NDArray, A: NDArray, S: NDArray, few: Choice, held: NDArray | None
    ) -> NDArray:
        """Levels of the noise itself, told from a few samples."""
        A, observed = A.astype(np.float64, copy=False), np.count_nonzero(self.weights, axis=1)
        G, C = self._columns.grams(A, few), self._WY[:, few].T @ A
        given = {"stack": G.values, "which": G.which, "weights": self.weights[:, few], "held": held}
        return corrected(levels, A, C, S[:, few].T, observed, **given)

    def residual_energy(self, A: NDArray, S: NDArray) -> float:
        """sum w (Y - A S)^2, from the residual itself."""
        step = max(1, BLOCK // self.shape[0])
        parts = [slice(j, j + step) for j in range(0, self.shape[1], step)]
        return float(sum(np.vdot(self.weights[:, p], self.residual(A, S, p) ** 2) for p in parts))

    def _rest(self, A: NDArray, S: NDArray, columns: slice | NDArray, Y: NDArray) -> NDArray:
        rest = self.weights[:, columns] * self.residual(A, S, columns)
        return np.maximum(rest, 0).astype(self.dtype, copy=False)


class Followed(InMemory):
    """Weighted data, all weights at most 1, seen from the last fit: Z = fit + W (Y - fit).

    1/2 |Z - AS|^2 is above the weighted cost, up to a constant, and touches it at the fit: what lowers
    the first lowers the second. It serves where samples cannot each have a Gram matrix of their own.
    """

    def __init__(self, engine: Weighted, dtype: Any, unit: float = 1.0) -> None:
        self._own = engine.by_residual()  # sources in a frame, as those of `single`
        self._observed = (engine.rows(slice(None)) / unit).astype(dtype)
        self._W = engine.weights.astype(dtype)
        super().__init__(
            self._observed.copy(), threads=engine._threads, unit=engine.unit * unit, seed=engine._seed
        )
        self._ratio = unit

    def follow(self, A: NDArray, S: NDArray) -> None:
        """See the data from the fit A S."""
        fit = np.dot(A.astype(self.dtype, copy=False), S.astype(self.dtype, copy=False))
        np.subtract(self._observed, fit, out=self._Y)
        self._Y *= self._W
        self._Y += fit

    def effective(self, sigma: NDArray) -> NDArray:
        """(m,) noise that the correlations see on average over the samples."""
        levels = self._own.levels
        return sigma if levels is None else sigma * np.sqrt(levels.mean(axis=1))

    def noise(
        self, A: NDArray, S: NDArray, *, final: bool = False, held: NDArray | None = None
    ) -> NDArray:
        """That of the weighted data."""
        return self._own.noise(A, S * self._ratio, final=final, held=held) / self._ratio

    def fit_cost(self, A: NDArray, S: NDArray, SS: Gram, YS: NDArray) -> float:
        """1/2 sum w (Y - A S)^2."""
        return self._own.residual_energy(A, S * self._ratio) / (2 * self._ratio**2)


def weighing(engine: InMemory, W: NDArray, levels: NDArray | None, Y: NDArray | None = None) -> Weighted:
    """The data of an engine with other weights; what it has not observed keeps a weight of 0."""
    if engine.weights is not None:
        W = np.where(engine.weights > 0, W, 0)
    Y = engine.rows(slice(None)) if Y is None else Y
    return Weighted(Y, W, levels, threads=engine._threads, unit=engine.unit, seed=engine._seed)


def without(engine: InMemory, entries: NDArray) -> Weighted:
    """The data of an engine without the entries that are true in (m, n)."""
    weights = np.ones(engine.shape) if engine.weights is None else engine.weights
    levels = engine.levels if isinstance(engine, Weighted) else None
    return weighing(engine, np.where(entries, 0.0, weights), levels)


class _Patterns:
    """Weights of the rows of a problem, samples or measurements: which are equal, and sums with them."""

    def __init__(self, W: NDArray, which: NDArray, few: "tuple[NDArray, ...] | None") -> None:
        self._W, self._which, self._few = W, which, few

    @classmethod
    def of(cls, W: NDArray) -> "_Patterns":
        """For weights W, one row for each row of the problem."""
        keys = np.ascontiguousarray(W).view(np.dtype((np.void, W.shape[1] * W.itemsize)))[:, 0]
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) > SHARED * len(W):
            first, which = np.arange(len(W)), np.arange(len(W))
        W = np.ascontiguousarray(W[first])
        most = np.count_nonzero(W == 1, axis=1) > np.count_nonzero(W == 0, axis=1)
        other = most[:, None] != W  # fewer than half: what is taken away does not cancel what is left
        if np.count_nonzero(other) > FEW * other.size:
            return cls(W, which, None)
        places = np.nonzero(other)
        ends = np.concatenate([[0], np.cumsum(other.sum(axis=1))])
        return cls(W, which, (most, ends, places[1], W[places] - most[places[0]]))

    def grams(self, A: NDArray, rows: Choice, Q: NDArray | None = None) -> Gram:
        """A' diag(w) A for some rows of the problem; Q holds `pairs(A)`, if they are known already."""
        which = self._which[rows]
        needed, which = np.unique(which, return_inverse=True)
        r = A.shape[1]
        if self._few is None:
            upper = self._W[needed] @ (pairs(A) if Q is None else Q)
        else:
            most, ends, places, changes = self._few
            upper = most[needed, None] * gram(A)[np.triu_indices(r)]
            _add_pairs(ends, places, changes, needed, A, upper)
        stack = np.empty((len(needed), r, r))
        i, j = np.triu_indices(r)
        stack[:, i, j] = upper
        stack[:, j, i] = upper
        return Gram(stack, which)


def pairs(A: NDArray) -> NDArray:
    """Products of every pair of columns of A (m, r), each once, (m, r (r + 1) / 2)."""
    i, j = np.triu_indices(A.shape[1])
    return A[:, i] * A[:, j]


@compiled
def _add_pairs(ends, places, changes, needed, A, upper):
    """upper[p] += change * products of pairs of row `place` of A, for each change of pattern p."""
    r = A.shape[1]
    for p in range(needed.size):
        row = upper[p]
        for t in range(ends[needed[p]], ends[needed[p] + 1]):
            a = A[places[t]]
            k = 0
            for i in range(r):
                share = changes[t] * a[i]
                for j in range(i, r):
                    row[k] += share * a[j]
                    k += 1


def _medians(X: NDArray, count: NDArray) -> NDArray:
    """Median of the `count` smallest entries of each row (others are infinite); 0 without any."""
    ordered = np.sort(X, axis=1)
    rows, last = np.arange(len(X)), np.maximum(count - 1, 0)
    middle = (ordered[rows, last // 2] + ordered[rows, (last + 1) // 2]) / 2
    return np.where(count > 0, middle, 0.0)
