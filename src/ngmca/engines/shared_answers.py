"""What all engines answer in the same way: noise levels, directions of the residual, the A-step."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import in_parts
from ngmca.engines import robust_noise as noise
from ngmca.engines.blocks import (
    BLOCK_BYTES,
    Choice,
    checksum,
    column_energies,
    column_runs,
    in_words,
    largest,
    picks,
)
from ngmca.engines.degrees_of_freedom import corrected
from ngmca.engines.derived import threads_for
from ngmca.engines.gpu.stacks import Stacks
from ngmca.engines.noise_sample import NoiseSample, thinned
from ngmca.engines.protocol import Engine, NoiseMemory, Sources
from ngmca.nnqp.gram import Gram

CANDIDATES = 1 << 24  # entries at most of columns that a new direction is chosen from
ROWS_AT_ONCE = 2048  # rows of A, or columns of S, solved together
NOISE_COLUMNS = 1 << 14  # for the final level of a measurement: a standard error of 0.9 %
FINAL_SUPPORTS = 1 << 10  # samples, or a few more, that show how much of the final noise the fit follows

Blocks = Iterator[tuple[slice, NDArray]]


class SharedAnswers(Engine):
    """Answers that need Y only through `pick`, blocks, and the energies of the residual's columns."""

    _sample: NoiseSample

    # What some engines do in another way.

    def _column_blocks(self, starts: range, step: int) -> Blocks:
        """Yield columns from each start to the next: blocks of `step`, and the rest at the end."""
        return ((run, self.pick(slice(None), run)) for run in column_runs(starts, self.shape[1], step))

    def _row_blocks(self, starts: range, step: int) -> Blocks:
        """Yield blocks of `step` measurements from each start on."""
        blocks = (slice(i, i + step) for i in starts)
        return ((rows, self.pick(rows, slice(None))) for rows in blocks)

    @abstractmethod
    def _rest_energies(self, A: NDArray, S: Sources) -> NDArray:
        """Return the sum of squares of each column of the residual's positive part."""

    def _rest(self, A: NDArray, S: Sources, columns: Choice) -> NDArray:
        """Return some columns of the residual's positive part."""
        return np.maximum(self.pick(slice(None), columns) - A @ self._sources_at(S, columns), 0)

    def _strongest(self, A: NDArray, S: Sources, count: int) -> NDArray:
        """Return the largest columns of the residual's positive part."""
        return self._rest(A, S, largest(self._rest_energies(A, S), count))

    def _correlate_few(self, A: NDArray, few: Choice) -> NDArray:
        """Return Y'A for a few columns of Y."""
        return np.ascontiguousarray(self.pick(slice(None), few)).T @ A

    def _sources_at(self, S: Sources, columns: Choice) -> NDArray:
        """Return the sources at some columns, in memory."""
        return np.asarray(S[:, columns])

    def narrow_blocks(self, columns: Choice) -> Callable[[], Iterable[tuple[slice, NDArray]]]:
        """Return a function that yields all measurements at a few columns, in blocks."""
        Y = np.ascontiguousarray(self.pick(slice(None), columns))
        return lambda: [(slice(0, len(Y)), Y)]

    # Noise.

    def noise(
        self, A: NDArray, S: Sources, *, final: bool = False, held: NDArray | None = None
    ) -> NDArray:
        """Return the robust noise level of each measurement, from a seeded set of entries.

        It is corrected for what the fit follows of the noise (`degrees_of_freedom`); sources that are
        `held` follow nothing. During the iterations a bounded number of entries is used, enough for the
        noise in the gradient to 1 % if sources are spread over many measurements. The final levels have
        a standard error of 1 % for every single measurement, or come from all of its samples.
        """
        if not final or self._sample.exhaustive:
            return self._sample.levels(
                A, partial(self._sources_at, S), held=held, plain=not self.corrected
            )
        n = self.shape[1]
        columns = picks(n, NOISE_COLUMNS, np.random.default_rng(self.seed))
        sources = self._sources_at(S, columns)
        step = max(1, 10 * BLOCK_BYTES // (8 * sources.shape[1]))
        levels = noise.GAUSSIAN * self._final_deviations(A, sources, columns, step)
        if not self.corrected:
            return levels
        few = thinned(columns, n, FINAL_SUPPORTS)
        correlations, X = self._correlate_few(A, few), self._sources_at(S, few).T
        return corrected(levels, A, correlations, X, n, held=held)

    def _final_deviations(self, A: NDArray, S: NDArray, columns: Choice, step: int) -> NDArray:
        """Return the median absolute deviation of each row of the residual at some columns."""
        blocks = self._rows_at(columns, step)
        return np.concatenate([noise.deviations(Y, A[rows] @ S)[1] for rows, Y in blocks])

    def _rows_at(self, columns: Choice, step: int) -> Blocks:
        """Yield all measurements at some columns, `step` at a time."""
        blocks = (slice(i, i + step) for i in range(0, self.shape[0], step))
        return ((rows, self.pick(rows, columns)) for rows in blocks)

    @property
    def noise_memory(self) -> NoiseMemory:
        """What the next noise levels depend on besides their arguments; None if on nothing."""
        return self._sample.memory

    @noise_memory.setter
    def noise_memory(self, memory: NoiseMemory) -> None:
        self._sample.memory = memory

    # Directions of the residual, and the A-step.

    def leftover(self, A: NDArray, S: Sources, k: int) -> NDArray:
        """Return k different unit directions (m, k) that the residual points to, or zeros."""
        count = max(2 * k, min(32 * k, CANDIDATES // len(A)))
        return directions(self._strongest(A, S, count), k)

    def solve_mixing(
        self, G: Gram, C: NDArray, A: NDArray, bounded: NDArray | None = None
    ) -> tuple[NDArray, float]:
        """argmin_{X >= 0} 1/2 <X, XG> - <C, X> for the rows of C (m, r), from A; X and its certificate.

        Columns that are `bounded` (r,) have norms of at most 1.
        """
        if bounded is not None:
            return G.solve_bounded(C, A, bounded)
        X = np.array(A)
        if not G.shared:
            return X, G.solve(C, X)

        def part(starts: range) -> float:
            blocks = (slice(start, start + ROWS_AT_ONCE) for start in starts)
            return max(G.solve(C[block], X[block], grouped=True) for block in blocks)

        return X, max(in_parts(part, len(C), ROWS_AT_ONCE, threads_for(self, X.shape[1])))

    def zero_sources(self, r: int) -> Sources:
        """Return sources (r, n) that are 0."""
        return np.zeros((r, self.shape[1]), dtype=self.dtype)

    def stacks(self, r: int) -> Stacks | None:
        """Return None: starts run one after the other."""
        return None

    # All of Y.

    def blocks(self, rows: int | None = None) -> Iterator[tuple[tuple[slice, slice], NDArray]]:
        """Yield all of Y once, in blocks, each with its rows and columns."""
        (m, n), every = self.shape, slice(None)
        if rows is not None or m > n:
            step = self._stretch if rows is None else rows
            return (((which, every), Y) for which, Y in self._row_blocks(range(0, m, step), step))
        starts = range(0, n, self._stretch)
        return (((every, columns), Y) for columns, Y in self._column_blocks(starts, self._stretch))

    def fingerprint(self) -> str:
        """Return a checksum of all numbers, to tell these data from others."""
        blocks = (checksum(Y, rows.start or 0, cols.start or 0) for (rows, cols), Y in self.blocks())
        total = sum(blocks)
        if self.weights is not None:
            total += 3 * checksum(self.weights)
        return in_words(total, self.unit)

    @property
    def _stretch(self) -> int:
        """How many columns (rows, if there are more of those) stay in a core's cache."""
        return max(32, BLOCK_BYTES // (self.dtype.itemsize * min(self.shape)))


def rest_energies(Y: NDArray, A: NDArray, S: NDArray) -> NDArray:
    """Return the sum of squares of each column of the positive part of Y - A S."""
    return column_energies(np.maximum(Y - A @ S, 0))


def directions(columns: NDArray, k: int) -> NDArray:
    """Return k different unit directions (m, k) among columns of a residual's positive part, or zeros.

    Each is the strongest once the directions before it are subtracted from all columns. A column of
    which hardly anything is left gives no direction.
    """
    little = 1e3 * np.finfo(columns.dtype).eps * column_energies(columns)
    found = np.zeros((len(columns), k), dtype=columns.dtype)
    rest = columns
    for i in range(k):
        left = column_energies(rest)
        left[left <= little] = 0  # what rounding leaves of a direction that is taken
        pick = left.argmax()
        if not left[pick]:
            break
        little[pick] = np.inf
        found[:, i] = columns[:, pick] / np.linalg.norm(columns[:, pick])
        rest = np.maximum(rest - np.outer(found[:, i], found[:, i] @ rest), 0)
    return found
