"""What the outer loop asks of the data, and the engine that answers from an array in memory.

The sources are kept transposed, one sample a row, in arrays of shape (n, r): everything that concerns
a sample is then contiguous. `S` is the transposed view.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import available, in_parts
from ngmca.engines import robust_noise as noise
from ngmca.engines.blocks import (
    BLOCK_BYTES,
    PART_BYTES,
    Choice,
    column_energies,
    column_runs,
    gram,
    largest,
    picks,
    row_blocks,
    summed,
)
from ngmca.engines.checksum import checksum, told
from ngmca.engines.degrees_of_freedom import corrected
from ngmca.engines.grams import Grams
from ngmca.engines.noise_sample import Probe, thinned
from ngmca.engines.residual_directions import directions, rest_energies
from ngmca.engines.sweep import Solve, Sums, Sweep, added, sweep_columns
from ngmca.nnqp.bounded_rows import descend_rows
from ngmca.nnqp.per_row_grams import solve_each
from ngmca.nnqp.pivoting import solve_rows

SMALL_PRODUCT = 800_000  # multiplications: below a million OpenBLAS has faster kernels for thin factors
CANDIDATES = 1 << 24  # entries at most of columns that a new direction is chosen from
TOGETHER = 8  # blocks of columns in one call
ROWS_AT_ONCE = 2048  # of A, solved together
WORTH_THREADS = 10_000_000  # multiplications in a sweep below which threads cost more than they save
NOISE_COLUMNS = 1 << 14  # for the final level of a measurement: a standard error of 0.9 %
FINAL_SUPPORTS = 1 << 10  # samples or a few more that tell how much of the final noise the fit follows
LARGE = 1 << 22  # entries of a residual held at once


class InMemory:
    """Y (m, n) as an array, asked in blocks: of columns, or of rows where there are more of those."""

    weights: NDArray | None = None  # (m, n) of the entries, where they do not count alike
    parts: tuple[slice, ...] = (slice(None),)  # measurements of each of several data sets
    corrected: bool = True  # whether `noise` knows what the fit follows of it
    whole: bool = True  # all data can be had at once
    place: str = "memory"

    def __init__(
        self, Y: NDArray, *, threads: int | None = None, unit: float = 1.0, seed: int = 0
    ) -> None:
        self._Y = Y
        self.unit = unit
        self.shape: tuple[int, int] = Y.shape
        self.dtype = Y.dtype
        self.energy = self._squares()
        self.block = max(32, BLOCK_BYTES // (Y.itemsize * len(Y)))  # columns that `update_columns` takes
        self._threads = threads
        self._seed = seed
        self._probe = Probe(self, seed)

    def sweep(self, A: NDArray, S: NDArray, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, and collect S S' and Y S'."""
        X = self.new_sources(A.shape[1])
        sweep = self._sweep_tall if self.shape[0] > self.shape[1] else self._sweep_wide
        return self._swept(A, X.T, sweep(A, S.T, X, solve))

    def _swept(self, A: NDArray, S: NDArray, sums: Sums) -> Sweep:
        """What a sweep found, from its sums."""
        SS, YS, total, active, worst = sums
        size = S.shape[0] * S.shape[1]
        return Sweep(S, SS, YS, self.cost(A, SS, YS), active / size, worst, total)

    def cost(self, A: NDArray, SS: Any, YS: NDArray) -> float:
        """1/2 |Y - A S|^2 from S S' and Y S', without another look at the data."""
        return max(self._balance(A, SS, YS), 0.0)

    def _balance(self, A: NDArray, SS: Any, YS: NDArray) -> float:
        """The same as it comes out, which may be below 0 by rounding."""
        return float(self.energy / 2 - np.vdot(A, YS) + np.vdot(gram(A), SS) / 2)

    def _sweep_wide(self, A: NDArray, old: NDArray, X: NDArray, solve: Solve) -> Sums:
        """One pass over blocks of columns: each is read once, for A'Y and for Y S'.

        A few blocks are handed over together, so that threads seldom meet at the interpreter's lock.
        """
        step = self._step(A.shape[1])

        def part(starts: range) -> Sums:
            return sweep_columns(self.column_blocks(starts, step), A, (old, X), solve, step)

        parts = in_parts(
            part,
            self.shape[1],
            step * TOGETHER,
            self.threads_for(A.shape[1]),
            self._most(step * TOGETHER),
        )
        return added(parts)

    def _sweep_tall(self, A: NDArray, old: NDArray, X: NDArray, solve: Solve) -> Sums:
        """A'Y over blocks of rows, the S-step of the few columns, and Y S' over blocks of rows."""
        threads, step, G = self.threads_for(A.shape[1]), self._step(A.shape[1]), gram(A)
        C = np.ascontiguousarray(self._correlations(A, step), dtype=self.dtype)

        def solved(starts: range) -> tuple[float, int]:
            worst, active = 0.0, 0
            for start in starts:
                block = slice(start, start + ROWS_AT_ONCE)
                X[block] = old[block]
                worst = max(worst, solve(G, C[block], X[block], block))
                active += int(np.count_nonzero(X[block]))
            return worst, active

        worst, active = zip(*in_parts(solved, len(X), ROWS_AT_ONCE, threads), strict=True)
        return gram(X), self._products(X, step), X.sum(axis=0), sum(active), max(worst)

    def _correlations(self, A: NDArray, step: int) -> NDArray:
        """Y'A of tall data, in double precision."""
        part, threads = partial(self._correlate, A, step), self.threads_for(A.shape[1])
        return np.asarray(summed(in_parts(part, len(A), step, threads, self._most(step))))

    def _products(self, X: NDArray, step: int) -> NDArray:
        """Y X of tall data, for X (n, r), in double precision."""
        found = np.empty((self.shape[0], X.shape[1]))

        def part(starts: range) -> None:
            for rows, Y in self.blocks_of_rows(starts, step):
                found[rows] = Y @ X

        in_parts(part, len(found), step, self.threads_for(X.shape[1]), self._most(step))
        return found

    def _correlate(self, A: NDArray, step: int, starts: range) -> NDArray:
        """Y'A over some blocks of rows, (n, r)."""
        C = np.zeros((self.shape[1], A.shape[1]))
        for rows, block in self.blocks_of_rows(starts, step):
            C += block.T @ A[rows]
        return C

    def solve_mixing(self, G: Any, C: NDArray, X: NDArray) -> float:
        """The A-step argmin_{X >= 0} 1/2 <X, XG> - <C, X> for the rows of C (m, r), in place of X.

        Returns the violation.
        """
        if isinstance(G, Grams):
            return solve_each(G.stack, G.which, C, X)

        def part(starts: range) -> float:
            worst = 0.0
            for start in starts:
                block = slice(start, start + ROWS_AT_ONCE)
                worst = max(worst, solve_rows(G, C[block], X[block], grouped=True))
            return worst

        return max(in_parts(part, len(C), ROWS_AT_ONCE, self.threads_for(X.shape[1])))

    def bounded_rows(
        self, G: NDArray, C: NDArray, bound: NDArray, X: NDArray, max_iter: int, tol: float
    ) -> float:
        """Rounds of `descend_rows` for the bounded A-step in place of X (r, m); the last change."""
        return float(descend_rows(G, C, bound, X, max_iter, tol)[1])

    def correlate(self, A: NDArray) -> NDArray:
        """A'Y, (r, n)."""
        (m, n), r, dtype = self.shape, A.shape[1], np.result_type(self.dtype, A.dtype)
        step = self._step(r)
        if m > n:
            return np.asarray(self._correlations(A, step).T, dtype=dtype)
        found = np.empty((n, r), dtype=dtype)

        def part(starts: range) -> None:
            for columns, Y in self.column_blocks(starts, step):
                found[columns] = Y.T @ A

        in_parts(part, n, step, self.threads_for(r), self._most(step))
        return found.T

    def moments(self, S: NDArray) -> tuple[Any, NDArray]:
        """S S' and Y S'."""
        (m, n), r = self.shape, len(S)
        X, step = S.T, self._step(r)
        if m > n:
            return gram(X), self._products(X, step)

        def part(starts: range) -> tuple[NDArray, NDArray]:
            SS, YS = np.zeros((r, r)), np.zeros((m, r))
            for columns, Y in self.column_blocks(starts, step):
                SS += gram(X[columns])
                YS += Y @ X[columns]
            return SS, YS

        parts = in_parts(part, n, step, self.threads_for(r), self._most(step))
        SS, YS = zip(*parts, strict=True)
        return summed(SS), summed(YS)

    def peak(self, A: NDArray, S: NDArray) -> float:
        """Largest entry of |A'(AS - Y)|."""
        G, peak, step = gram(A).astype(self.dtype), 0.0, self._step(A.shape[1])
        if self.shape[0] > self.shape[1]:
            return float(np.abs(S.T @ G - self.correlate(A).T).max())
        for columns, Y in self.column_blocks(range(0, self.shape[1], step), step):
            peak = max(peak, float(np.abs(S.T[columns] @ G - Y.T @ A).max()))
        return peak

    def noise(
        self, A: NDArray, S: NDArray, *, final: bool = False, held: NDArray | None = None
    ) -> NDArray:
        """Robust noise level of each measurement, from a seeded set of the residual's entries.

        It is corrected for what the fit follows of the noise (`data.freedom`); sources that are `held`
        follow nothing. Along the way a bounded number of entries is looked at, enough for the noise in
        the gradient to 1 % where sources are spread over many measurements. The final levels have a
        standard error of 1 % for every single measurement, or come from all of its samples.
        """
        if not final or self._probe.exhaustive:
            return self._probe.levels(
                A, partial(self.sources_at, S), held=held, plain=not self.corrected
            )
        n = self.shape[1]
        columns = picks(n, NOISE_COLUMNS, np.random.default_rng(self._seed))
        sources = self.sources_at(S, columns)
        step = max(1, 10 * BLOCK_BYTES // (8 * sources.shape[1]))
        levels = noise.GAUSSIAN * self._final_deviations(A, sources, columns, step)
        if not self.corrected:
            return levels
        few = thinned(columns, n, FINAL_SUPPORTS)
        return corrected(levels, A, self._correlate_few(A, few), self.sources_at(S, few).T, n, held=held)

    def _final_deviations(self, A: NDArray, S: NDArray, columns: Choice, step: int) -> NDArray:
        """Median absolute deviation of each measurement's residual at some columns, S being theirs."""
        blocks = self._rows_at(columns, step)
        return np.concatenate([noise.deviations(Y, A[rows] @ S)[1] for rows, Y in blocks])

    def _rows_at(self, columns: Choice, step: int) -> Iterator[tuple[slice, NDArray]]:
        """All measurements at some columns, `step` at a time."""
        blocks = (slice(i, i + step) for i in range(0, self.shape[0], step))
        return ((rows, self.pick(rows, columns)) for rows in blocks)

    @property
    def memory(self) -> tuple[int, NDArray] | None:
        """What `noise` along the way depends on besides its arguments; None where on nothing."""
        return self._probe.memory

    def recall(self, memory: tuple[int, NDArray] | None) -> None:
        """Go on as an engine did that had this memory."""
        self._probe.recall(memory)

    def fingerprint(self) -> str:
        """A checksum of all numbers, in words, to tell other data from these."""
        blocks = (checksum(Y, rows.start or 0, cols.start or 0) for (rows, cols), Y in self.once())
        total = sum(blocks)
        return told(total if self.weights is None else total + 3 * checksum(self.weights), self.unit)

    def by_residual(self) -> Self:
        """The same data, whose noise is that of the residual as it is: the paper's."""
        found = copy(self)
        found.corrected = False
        return found

    def leftover(self, A: NDArray, S: NDArray, k: int) -> NDArray:
        """k different unit directions (m, k) that the residual points to most strongly, or zeros."""
        count = max(2 * k, min(32 * k, CANDIDATES // len(A)))
        return directions(self._strongest(A, S, count), k)

    def _strongest(self, A: NDArray, S: NDArray, count: int) -> NDArray:
        """The columns of the residual's positive part that are largest."""
        which = largest(self._rest_energies(A, S), count)
        return self._rest(A, S, which, self.pick(slice(None), which))

    def _rest_energies(self, A: NDArray, S: NDArray) -> NDArray:
        """Sum of squares of each column of the residual's positive part."""
        if self.shape[0] > self.shape[1] and self.weights is None:
            return self._rest_energies_tall(A, self.sources_at(S, slice(None)), self._step(A.shape[1]))
        step = max(1, BLOCK_BYTES // (self.dtype.itemsize * len(A)))
        blocks = self.column_blocks(range(0, self.shape[1], step), step)
        return np.concatenate([column_energies(self._rest(A, S, block, Y)) for block, Y in blocks])

    def _rest_energies_tall(self, A: NDArray, S: NDArray, step: int) -> NDArray:
        def part(starts: range) -> NDArray:
            blocks = self.blocks_of_rows(starts, step)
            return np.sum([rest_energies(Y, A[rows], S) for rows, Y in blocks], axis=0)

        threads = self.threads_for(A.shape[1])
        return np.asarray(summed(in_parts(part, len(A), step, threads, self._most(step))))

    def _rest(self, A: NDArray, S: NDArray, columns: slice | NDArray, Y: NDArray) -> NDArray:
        """What is left of some columns Y of the data, where it is positive."""
        return np.maximum(Y - A @ self.sources_at(S, columns), 0)

    def check_local(self, what: str) -> None:
        """Refuse what needs the sources at once where they are spread over a cluster."""

    def check_whole(self, what: str) -> None:
        """Refuse what needs all data at once where they are read in blocks."""

    def fetched(self, S: Any) -> Any:
        """Sources of a sweep where a result has them, which is where those of this engine are."""
        return S

    def returned(self, found: Any) -> Any:
        """A result with A and S where the data came from."""
        return found

    def completed(self) -> "InMemory":
        """Data without gaps; of these, the engine itself."""
        return self

    def transposed(self) -> "InMemory":
        """The data with measurements and samples exchanged."""
        Y = np.ascontiguousarray(self._Y.T)
        return InMemory(Y, threads=self._threads, unit=self.unit, seed=self._seed)

    def whitened(self, rows: NDArray | None, columns: NDArray | None) -> "InMemory":
        """The same data in units of rows (m,) and columns (n,)."""
        return InMemory(
            self._divided(rows, columns), threads=self._threads, unit=self.unit, seed=self._seed
        )

    def _divided(self, rows: NDArray | None, columns: NDArray | None) -> NDArray:
        if rows is None and columns is None:
            return self._Y
        Y = np.empty_like(self._Y)
        for which, block in self.row_blocks():
            Y[which] = block if rows is None else block / rows[which, None]
            if columns is not None:
                Y[which] /= columns
        return Y

    # What rivals, samplers and diagnoses ask besides.

    def in_units(self) -> "InMemory":
        """The same data with the engine's unit for 1: what goes in and comes out is all in that unit."""
        if self.unit == 1.0:
            return self
        same = copy(self)
        same.unit = 1.0
        return same

    def follow(self, A: NDArray, S: NDArray) -> None:
        """Take note of the fit; what data without weights answer does not depend on it."""

    def effective(self, sigma: NDArray) -> NDArray:
        """(m,) noise that the correlations see, for noise sigma of entries of weight 1."""
        return sigma

    def fit_cost(self, A: NDArray, S: NDArray, SS: Any, YS: NDArray) -> float:
        """`cost`, for engines that need S for it."""
        return self.cost(A, SS, YS)

    def single(self) -> "InMemory":
        """The same data in single precision, in units of their largest entry.

        They are for sources in a frame, whose samples do not tell what the fit follows of the noise.
        """
        unit = self.magnitude or 1.0
        Y = np.empty_like(self._Y, dtype=np.float32)
        for rows, block in self.row_blocks():  # no other copy of the data
            Y[rows] = block / unit
        single = InMemory(Y, threads=self._threads, unit=self.unit * unit, seed=self._seed)
        return single.by_residual()

    def times(self, X: NDArray) -> NDArray:
        """Y X for X (n, r), in the precision of the data, as (m, r) in double precision."""
        return _product(self._Y, X)

    def back(self, A: NDArray) -> NDArray:
        """Y'A for A (m, r), in the precision of the data, as (n, r) in double precision."""
        return _product(self._Y.T, A)

    def residual_energy(self, A: NDArray, S: NDArray) -> float:
        """|Y - A S|^2, from the residual itself."""
        step = max(1, LARGE // len(A))
        total = 0.0
        for columns, Y in self.column_blocks(range(0, self.shape[1], step), step):
            rest = Y - A @ S[:, columns]
            total += float(np.vdot(rest, rest))
        return total

    @cached_property
    def row_energy(self) -> NDArray:
        """Sum of squares of each measurement, (m,)."""
        rows = (row.astype(np.float64, copy=False) for row in self._Y)  # one at a time: no copy of Y
        return np.array([np.vdot(row, row) for row in rows])

    @property
    def magnitude(self) -> float:
        """Largest absolute value in Y."""
        return float(np.maximum(self._Y.max(), -self._Y.min()))

    def row_blocks(self, entries: int = LARGE) -> Iterator[tuple[slice, NDArray]]:
        """Measurements in blocks, with their place, for statistics that one pass answers."""
        return row_blocks(self._Y, entries)

    def part(self, rows: Choice, columns: Choice) -> "InMemory":
        """Some of the measurements at some of the channels; this engine itself where it is all."""
        if isinstance(rows, slice) and isinstance(columns, slice):
            return self
        if isinstance(rows, slice) or isinstance(columns, slice):
            Y = self._Y[rows, columns]
        else:
            Y = self._Y[np.ix_(rows, columns)]
        return InMemory(np.ascontiguousarray(Y), threads=self._threads, unit=self.unit, seed=self._seed)

    def rows(self, which: NDArray | slice) -> NDArray:
        """Some of the measurements."""
        return np.asarray(self._Y[which])

    def correlate_into(self, C: NDArray, A: NDArray, threads: int) -> None:
        """C := Y'A, (n, r), block by block."""
        A = A.astype(self.dtype, copy=False)

        def part(starts: range) -> None:
            for start in starts:
                block = slice(start, start + self.block)
                C[block] = self._Y[:, block].T @ A

        in_parts(part, len(C), self.block, threads)

    def update_columns(
        self, X: NDArray, update: Callable[[slice], None], threads: int
    ) -> tuple[NDArray, NDArray]:
        """S S' and Y S' for S = X' (r, n), each block of which `update` changes in place first.

        Every second block is taken first, then the others: an update may look at the neighbouring
        columns of its block, whatever the number of threads.
        """
        m, r = self.shape[0], X.shape[1]

        def part(starts: Iterable[int]) -> tuple[NDArray, NDArray]:
            SS, YS = np.zeros((r, r)), np.zeros((m, r))
            for start in starts:
                block = slice(start, start + self.block)
                update(block)
                Xb = X[block].astype(self.dtype, copy=False)
                YS += self._Y[:, block] @ Xb
                Xb = Xb.astype(np.float64, copy=False)  # rounded alike in both sums
                SS += Xb.T @ Xb
            return SS, YS

        def every_second(first: int) -> list[tuple[NDArray, NDArray]]:
            length = max(len(X) - first, 0)
            return in_parts(
                lambda starts: part(first + s for s in starts), length, 2 * self.block, threads
            )

        parts = every_second(0) + every_second(self.block)
        SS, YS = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        return SS, YS

    # How blocks are come by: what an engine over data elsewhere does in its own way.

    def column_blocks(self, starts: range, step: int) -> Iterator[tuple[slice, NDArray]]:
        """Columns from each start to the next, whole blocks of `step` and what is left at the end."""
        return ((run, self._Y[:, run]) for run in column_runs(starts, self.shape[1], step))

    def blocks_of_rows(self, starts: range, step: int) -> Iterator[tuple[slice, NDArray]]:
        """Blocks of `step` measurements from each start on."""
        return ((slice(i, i + step), self._Y[i : i + step]) for i in starts)

    def pick(self, rows: Choice, columns: Choice) -> NDArray:
        """Some measurements at some columns."""
        return np.asarray(self._Y[rows][:, columns])

    def narrow_blocks(self, columns: Choice) -> Callable[[], Iterable[tuple[slice, NDArray]]]:
        """All measurements at a few columns, in blocks, as often as they are asked for."""
        Y = np.ascontiguousarray(self.pick(slice(None), columns))
        return lambda: [(slice(0, len(Y)), Y)]

    def _correlate_few(self, A: NDArray, few: Choice) -> NDArray:
        """Y'A of a few columns."""
        if self.shape[0] > self.shape[1]:
            return np.asarray(self.correlate(A).T[few])
        return np.ascontiguousarray(self.pick(slice(None), few)).T @ A

    def sources_at(self, S: NDArray, columns: Choice) -> NDArray:
        """Sources at some columns."""
        return S[:, columns]

    def no_sources(self, r: int) -> NDArray:
        """Sources (r, n) that are 0."""
        return np.zeros((r, self.shape[1]), dtype=self.dtype)

    def new_sources(self, r: int) -> NDArray:
        """Room for S' (n, r)."""
        return np.empty((self.shape[1], r), dtype=self.dtype)

    def _squares(self) -> float:
        """|Y|^2 in double precision."""
        return float(sum(square(Y) for _, Y in self.once()))

    def once(self) -> Iterator[tuple[tuple[slice, slice], NDArray]]:
        """All of the data once, with their place, in an order that is that of every engine."""
        step, whole = self._stretch, slice(None)
        starts = range(0, max(self.shape), step)
        if self.shape[0] > self.shape[1]:
            return (((rows, whole), Y) for rows, Y in self.blocks_of_rows(starts, step))
        return (((whole, columns), Y) for columns, Y in self.column_blocks(starts, step))

    @property
    def _stretch(self) -> int:
        """How many columns (rows, of tall data) stay in a core's cache."""
        return max(32, BLOCK_BYTES // (self.dtype.itemsize * min(self.shape)))

    def _most(self, width: int) -> int:
        """How many blocks of so many columns (rows, of tall data) are summed up by themselves."""
        return max(1, PART_BYTES // (self.dtype.itemsize * min(self.shape) * width))

    def _step(self, r: int) -> int:
        """How many columns (or rows, of tall data) make a block."""
        side = min(self.shape)
        return max(32, min(BLOCK_BYTES // (self.dtype.itemsize * side), SMALL_PRODUCT // (side * r)))

    def threads_for(self, r: int) -> int:
        """None for small problems, however many there are."""
        m, n = self.shape
        if m * n * r < WORTH_THREADS:
            return 1
        return available() if self._threads is None else self._threads

    def smaller_gram(self) -> NDArray:
        """Y Y' or Y'Y, whichever is smaller, in double precision."""
        tall = self._Y if self.shape[0] > self.shape[1] else self._Y.T
        return np.asarray(sum(gram(block) for _, block in row_blocks(tall, LARGE)))


def square(Y: NDArray) -> float:
    """|Y|^2 in double precision."""
    Y = Y.astype(np.float64, copy=False)
    return float(np.vdot(Y, Y))


def _product(Y: NDArray, rows: NDArray) -> NDArray:
    rows = rows.astype(Y.dtype, copy=False)
    # BLAS is about twice as fast when the long side of the data is the contiguous one of the result.
    product = Y @ rows if Y.flags.c_contiguous else (rows.T @ Y.T).T
    return np.ascontiguousarray(product, dtype=np.float64)
