"""Answers block by block: blocks of columns, or of rows if there are more of those.

The sources are kept transposed, one sample a row, in arrays of shape (n, r): the numbers of a sample are
then contiguous. `S` is the transposed view.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import in_parts
from ngmca.engines.blocks import BLOCK_BYTES, PART_BYTES, Choice, gram, stacked, summed
from ngmca.engines.derived import cost, threads_for
from ngmca.engines.protocol import Engine, Solve, Sources, Sweep
from ngmca.engines.shared_answers import ROWS_AT_ONCE, SharedAnswers, rest_energies
from ngmca.nnqp.gram import Gram

SMALL_PRODUCT = 800_000  # multiplications: below a million OpenBLAS has faster kernels for thin factors
BLOCKS_IN_A_CALL = 8  # so that threads seldom meet at the interpreter's lock

# S S', Y S', the sum of each source, entries of S that are not 0, worst violation
Sums = tuple[NDArray, NDArray, NDArray, int, float]


class Blockwise(SharedAnswers):
    """Answers from blocks of Y, which an engine brings along: `_column_blocks` and `_row_blocks`."""

    def sweep(self, A: NDArray, S: Sources, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, and collect S S' and Y S'."""
        X = self._room_for_sources(A.shape[1])
        sweep = self._sweep_tall if self._tall else self._sweep_wide
        return summary(self, A, X.T, sweep(A, S.T, X, solve))

    @property
    def _tall(self) -> bool:
        """Whether there are more measurements than channels."""
        return self.shape[0] > self.shape[1]

    def _room_for_sources(self, r: int) -> NDArray:
        """Return an array for S' (n, r)."""
        return np.empty((self.shape[1], r), dtype=self.dtype)

    def _sweep_wide(self, A: NDArray, old: NDArray, X: NDArray, solve: Solve) -> Sums:
        """One pass over blocks of columns: each is read once, for A'Y and for Y S'."""
        step = self._step(A.shape[1])

        def part(starts: range) -> Sums:
            return sweep_columns(self._column_blocks(starts, step), A, (old, X), solve, step)

        width = step * BLOCKS_IN_A_CALL
        threads = threads_for(self, A.shape[1])
        return added(in_parts(part, self.shape[1], width, threads, self._blocks_in_a_sum(width)))

    def _sweep_tall(self, A: NDArray, old: NDArray, X: NDArray, solve: Solve) -> Sums:
        """A'Y over blocks of rows, the S-step of the few columns, and Y S' over blocks of rows."""
        threads, step, G = threads_for(self, A.shape[1]), self._step(A.shape[1]), Gram(gram(A))
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
        """Return Y'A of tall data, in double precision."""

        def part(starts: range) -> NDArray:
            return correlate_rows(self._row_blocks(starts, step), A, self.shape[1])

        threads = threads_for(self, A.shape[1])
        return np.asarray(summed(in_parts(part, len(A), step, threads, self._blocks_in_a_sum(step))))

    def _products(self, X: NDArray, step: int) -> NDArray:
        """Return Y X of tall data, for X (n, r), in double precision."""
        found = np.empty((self.shape[0], X.shape[1]))

        def part(starts: range) -> None:
            for rows, Y in self._row_blocks(starts, step):
                found[rows] = Y @ X

        threads = threads_for(self, X.shape[1])
        in_parts(part, len(found), step, threads, self._blocks_in_a_sum(step))
        return found

    def correlate(self, A: NDArray) -> NDArray:
        """Return A'Y, (r, n)."""
        n, r, dtype = self.shape[1], A.shape[1], np.result_type(self.dtype, A.dtype)
        step = self._step(r)
        if self._tall:
            return np.asarray(self._correlations(A, step).T, dtype=dtype)
        found = np.empty((n, r), dtype=dtype)

        def part(starts: range) -> None:
            for columns, Y in self._column_blocks(starts, step):
                found[columns] = Y.T @ A

        in_parts(part, n, step, threads_for(self, r), self._blocks_in_a_sum(step))
        return found.T

    def moments(self, S: Sources) -> tuple[Gram, NDArray]:
        """Return S S' and Y S'."""
        (m, n), r = self.shape, len(S)
        X, step = S.T, self._step(r)
        if self._tall:
            return Gram(gram(X)), self._products(X, step)

        def part(starts: range) -> tuple[NDArray, NDArray]:
            return moments_of(self._column_blocks(starts, step), X, m)

        parts = in_parts(part, n, step, threads_for(self, r), self._blocks_in_a_sum(step))
        SS, YS = zip(*parts, strict=True)
        return Gram(summed(SS)), summed(YS)

    def peak(self, A: NDArray, S: Sources) -> float:
        """Return the largest entry of |A'(AS - Y)|."""
        G, peak, step = gram(A).astype(self.dtype), 0.0, self._step(A.shape[1])
        if self._tall:
            return float(np.abs(S.T @ G - self.correlate(A).T).max())
        for columns, Y in self._column_blocks(range(0, self.shape[1], step), step):
            peak = max(peak, float(np.abs(S.T[columns] @ G - Y.T @ A).max()))
        return peak

    def _rest_energies(self, A: NDArray, S: Sources) -> NDArray:
        """Return the sum of squares of each column of the residual's positive part."""
        if self._tall:
            return self._rest_energies_tall(A, self._sources_at(S, slice(None)), self._step(A.shape[1]))
        step = max(1, BLOCK_BYTES // (self.dtype.itemsize * len(A)))
        blocks = self._column_blocks(range(0, self.shape[1], step), step)
        return np.concatenate([rest_energies(Y, A, self._sources_at(S, which)) for which, Y in blocks])

    def _rest_energies_tall(self, A: NDArray, S: NDArray, step: int) -> NDArray:
        def part(starts: range) -> NDArray:
            blocks = self._row_blocks(starts, step)
            return np.sum([rest_energies(Y, A[rows], S) for rows, Y in blocks], axis=0)

        threads = threads_for(self, A.shape[1])
        return np.asarray(summed(in_parts(part, len(A), step, threads, self._blocks_in_a_sum(step))))

    def _correlate_few(self, A: NDArray, few: Choice) -> NDArray:
        """Return Y'A for a few columns of Y."""
        return np.asarray(self.correlate(A).T[few]) if self._tall else super()._correlate_few(A, few)

    def _blocks_in_a_sum(self, width: int) -> int:
        """How many blocks of so many columns (rows, of tall data) are summed up by themselves."""
        return max(1, PART_BYTES // (self.dtype.itemsize * min(self.shape) * width))

    def _step(self, r: int) -> int:
        """How many columns (rows, of tall data) make a block."""
        side = min(self.shape)
        return max(32, min(BLOCK_BYTES // (self.dtype.itemsize * side), SMALL_PRODUCT // (side * r)))


def correlate_rows(blocks: Iterable[tuple[slice, NDArray]], A: NDArray, n: int) -> NDArray:
    """Return Y'A (n, r) over blocks of rows."""
    C = np.zeros((n, A.shape[1]))
    for rows, Y in blocks:
        C += Y.T @ A[rows]
    return C


def moments_of(blocks: Iterable[tuple[slice, NDArray]], X: NDArray, m: int) -> tuple[NDArray, NDArray]:
    """Return X'X and Y X over blocks of columns, for X (n, r)."""
    SS, YS = np.zeros((X.shape[1],) * 2), np.zeros((m, X.shape[1]))
    for columns, Y in blocks:
        SS += gram(X[columns])
        YS += Y @ X[columns]
    return SS, YS


def sweep_columns(
    blocks: Iterable[tuple[slice, NDArray]],
    A: NDArray,
    sources: tuple[NDArray, NDArray],
    solve: Solve,
    step: int,
    first: int = 0,
) -> Sums:
    """The S-step for blocks of columns, from old sources (n, r) to new ones, and its sums.

    The sources are those from column `first` on.
    """
    (m, r), (old, X), G = A.shape, sources, Gram(gram(A))
    SS, YS, total, active, worst = np.zeros((r, r)), np.zeros((m, r)), np.zeros(r), 0, 0.0
    room = np.empty((0, r), dtype=X.dtype)  # the same for all blocks: to get fresh memory is slow
    for columns, Y in blocks:
        here = slice(columns.start - first, columns.stop - first)
        Yb, Xb = stacked(Y, step), X[here]
        Xb[:] = old[here]
        room = room if len(room) >= len(Xb) else np.empty_like(Xb)
        C = room[: len(Xb)]
        np.matmul(Yb.mT, A, out=C.reshape(len(Yb), -1, r))
        worst = max(worst, solve(G, C, Xb, columns))
        SS += Xb.T @ Xb
        product = np.matmul(Yb, Xb.reshape(len(Yb), -1, r))
        YS += product[0] if len(product) == 1 else product.sum(axis=0)
        total += Xb.sum(axis=0)
        active += int(np.count_nonzero(Xb))
    return SS, YS, total, active, worst


def added(parts: Sequence[Sums]) -> Sums:
    """Return the sums of several parts."""
    SS, YS, total, active, worst = zip(*parts, strict=True)
    return summed(SS), summed(YS), summed(total), sum(active), max(worst)


def summary(engine: Engine, A: NDArray, S: Sources, sums: Sums) -> Sweep:
    """Return a sweep from its sources and sums."""
    total, YS, each, active, worst = sums
    SS, size = Gram(total), S.shape[0] * S.shape[1]
    return Sweep(S, SS, YS, cost(engine, A, SS, YS), active / size, worst, each)
