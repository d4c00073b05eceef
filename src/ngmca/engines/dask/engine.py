"""The engine for data on a Dask cluster, or in any Dask array: blocks are solved where they are.

Blocks and the order of sums are those of `InMemory`, unless the array's own blocks are large: these stay
where they are, and the answer is the same to rounding. Sources stay on the workers, one block of columns
each; small sums come back by a tree, in one pass over Y for each sweep. A block that is lost with its
worker is computed again by Dask.

A task runs where Y is: whatever else it needs is in the task itself, or was made of that block of Y. A
value that tasks share, or that lies elsewhere, would draw blocks of Y to its worker.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np
from cloudpickle import dumps  # arrays come out as they went in: compiled code is the same
from dask.base import persist
from dask.delayed import delayed
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError
from ngmca._support.threads import grouped
from ngmca.engines.blocks import PART_BYTES, Choice, in_words, largest
from ngmca.engines.blockwise import BLOCKS_IN_A_CALL, summary
from ngmca.engines.dask import worker_tasks as on_workers
from ngmca.engines.dask.waiting import NoWorkersError, gathered, tree, value
from ngmca.engines.disk import ReadInParts
from ngmca.engines.noise_sample import NoiseSample
from ngmca.engines.protocol import DType, Place, Solve, Sources, Sweep, Units
from ngmca.engines.sliced_array import Source
from ngmca.engines.units import check_range, unit_for
from ngmca.nnqp.gram import Gram

MAX_OWN_BLOCK = 4 * PART_BYTES  # bytes of a block of the array that stays as it is

Cut = list[tuple[slice, Any]]  # columns (rows, of tall data) of each part, and its delayed block


def as_matrix(data: Any) -> Any:
    """The Dask array of what is one, or holds one (xarray, a lazy signal of HyperSpy); None of others.

    Positions of a signal are measurements, one after the other.
    """
    if isinstance(data, da.Array):
        return data
    inside = getattr(data, "data", None)
    if not isinstance(inside, da.Array):
        return None
    if hasattr(data, "axes_manager"):  # of HyperSpy: positions first, in its own order
        channels = int(np.prod(data.axes_manager.signal_shape))
        return inside.reshape(-1, channels)
    return inside


class DaskEngine(ReadInParts):
    """The engine for Y (m, n) as a Dask array, whose blocks are never all in one place.

    Parameters
    ----------
    array : dask.array.Array
        The measurements.
    unit : float
        Value of the original data that is 1 in the array.
    seed : int
        Seed of the columns and rows that noise levels are estimated from.
    surveyed : bool
        Whether the numbers are known to be finite, and their squares neither to overflow nor to vanish.
    """

    place: Place = "dask"

    def __init__(self, array: Any, *, unit: float = 1.0, seed: int = 0, surveyed: bool = False) -> None:
        self._source = Source.of(array)
        self.shape, self.dtype, self.unit = self._source.shape, self._source.dtype, unit
        self.seed = seed
        self._array = array.astype(self.dtype)
        self._cuts: dict[int, Cut] = {}
        self._last: tuple[str, list[Any]] | None = None  # name of the last S, and what its sweep left
        self._seen: tuple[str, NDArray] | None = None  # name of the last S, its values at kept columns
        self.energy = self._survey(check=not surveyed)
        self._sample = NoiseSample(self, seed)

    def _cut(self, width: int) -> Cut:
        """Return the parts of the data for blocks of a width."""
        if width not in self._cuts:
            sizes = self._own_sizes() or self._sizes(width)
            chunks = (sizes, self.shape[1]) if self._tall else (self.shape[0], sizes)
            blocks = self._array.rechunk(chunks).to_delayed().ravel()
            parts = (slice(a, b) for a, b in pairwise(np.cumsum((0, *sizes)).tolist()))
            self._cuts[width] = list(zip(parts, blocks, strict=True))
        return self._cuts[width]

    def _sizes(self, width: int) -> tuple[int, ...]:
        """Columns (rows) of each part, as they are in memory."""
        parts = grouped(max(self.shape), width, self._blocks_in_a_sum(width))
        return tuple(b - a for a, b in pairwise([*(part[0] for part in parts), max(self.shape)]))

    def _own_sizes(self) -> tuple[int, ...] | None:
        """The same of the array's own blocks, which then stay where they are, if they suit.

        Those that are small, or hold but a part of each column (row), are put together.
        """
        along, across = (0, 1) if self._tall else (1, 0)
        sizes = self._array.chunks[along]
        width = BLOCKS_IN_A_CALL * self._stretch
        suits = self._array.numblocks[across] == 1 and max(self.shape) >= len(sizes) * width
        largest = max(sizes) * min(self.shape) * self.dtype.itemsize
        return sizes if suits and largest <= MAX_OWN_BLOCK else None

    def _survey(self, *, check: bool) -> float:
        """|Y|^2, in one pass that also checks, finds the unit, and keeps columns that tell the noise."""
        step = self._stretch
        wanted = self._columns_to_keep()
        cut = self._cut(step)
        parts = [
            delayed(on_workers.surveyed, pure=False)(Y, part.start, here, step, self._tall)
            for (part, Y), here in zip(cut, self._wanted_in(cut, wanted), strict=True)
        ]
        try:
            found = gathered(parts)
        except NoWorkersError:
            raise
        except Exception as error:
            self._blame(error)
            raise
        if check:
            self._check_found(found)
        self._kept = None
        if wanted is not None:
            self._kept = wanted, np.concatenate([one["kept"] for one in found], axis=1)
        total = 0.0  # added up as in memory, block after block
        for square in (square for one in found for square in one["squares"]):
            total += square
        return total

    def _blame(self, error: Exception) -> None:
        """Name the block that cannot be read, if there is one."""
        for place in np.ndindex(*self._array.numblocks):
            try:
                value(self._array.blocks[place])
            except Exception as own:
                told, reason = ".".join(map(str, place)), str(own) or type(own).__name__
                raise OSError(
                    f"Y cannot be read at chunk {told} of its Dask array: {reason}. "
                    "Its file is damaged, or a part of it is gone."
                ) from error

    def _check_found(self, found: list[dict[str, Any]]) -> None:
        for one in found:
            if one["bad"] is not None:
                i, j, what = one["bad"]
                raise ArgumentError(
                    "Y contains {}, first at row {}, column {}{}. Data that are read in blocks must not "
                    "have missing entries: replace these, or leave out their columns.",
                    *(what, i, j, _block_at(self._array, i, j)),
                )
        peak = max(one["peak"] for one in found)
        unit = unit_for(peak)
        if unit != 1.0:
            check_range(peak, self.dtype, unit)
            raise ArgumentError(
                "the largest entry of Y is {}. Divide a Dask array by a number of its size, so that "
                "squares neither overflow nor vanish.",
                f"{peak:.3g}",
            )

    def sweep(self, A: NDArray, S: NDArray, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, and collect S S' and Y S'."""
        if self._tall:
            return super().sweep(A, np.asarray(S), solve)
        step = self._step(A.shape[1])
        cut = self._cut(step * BLOCKS_IN_A_CALL)
        wanted = None if self._kept is None else self._kept[0]
        common = dumps((A, solve))
        blocks = zip(cut, self._old_blocks(S, cut), self._wanted_in(cut, wanted), strict=True)
        parts = [
            delayed(on_workers.swept, pure=False)(
                Y, old, common, here, (columns.start, step, step * BLOCKS_IN_A_CALL)
            )
            for (columns, Y), old, here in blocks
        ]
        sums = tree([part[1] for part in parts], on_workers.added_with_seen)
        *parts, sums = persist(*parts, sums)
        total, seen = value(sums)
        found = self._as_array([part[0] for part in parts], cut, A.shape[1])
        self._last = found.name, parts
        if wanted is not None:
            self._seen = found.name, np.concatenate(seen, axis=1)
        return self._checked(A, summary(self, A, found, total))

    def _wanted_in(self, cut: Cut, wanted: NDArray | None) -> list[NDArray | None]:
        """Return the wanted columns of each block, counted from its first one."""
        if wanted is None:
            return [None] * len(cut)
        firsts = [columns.start for columns, _ in cut]
        parts = np.split(wanted, np.searchsorted(wanted, firsts[1:]))
        return [part - first for part, first in zip(parts, firsts, strict=True)]

    def _as_array(self, blocks: list[Any], cut: Cut, r: int) -> Any:
        """Return S (r, n) as a Dask array of delayed blocks."""
        parts = [
            da.from_delayed(block, (r, columns.stop - columns.start), dtype=self.dtype)
            for block, (columns, _) in zip(blocks, cut, strict=True)
        ]
        return da.concatenate(parts, axis=1)

    def _old_blocks(self, S: Any, cut: Cut) -> list[Any]:
        """Delayed blocks of S for a sweep: what the last one left, or those that are cut out of S."""
        last = self._last
        if last is not None and isinstance(S, da.Array) and S.name == last[0]:
            return last[1]
        return self._blocks_of(S, cut)

    def _blocks_of(self, S: Any, cut: Cut) -> list[Any]:
        """Return delayed blocks of S (r, n) at the columns of the blocks of Y."""
        if not isinstance(S, da.Array):
            return [np.ascontiguousarray(S[:, columns]) for columns, _ in cut]
        widths = tuple(columns.stop - columns.start for columns, _ in cut)
        return list(S.rechunk((len(S), widths)).to_delayed().ravel())

    def _by_columns(self, work: Callable[..., Any], S: Any, *more: Any, width: int) -> list[Any]:
        """Return work(Y, S, *more), delayed, for each part of the columns of Y and of S."""
        cut = self._cut(width)
        blocks = zip(cut, self._blocks_of(S, cut), strict=True)
        return [delayed(work, pure=False)(Y, here, *more) for (_, Y), here in blocks]

    def _sources_at(self, S: Sources, columns: Choice) -> NDArray:
        """Return the sources at some columns, in memory."""
        if isinstance(S, np.ndarray):
            return S[:, columns]
        if self._seen is not None and self._seen[0] == S.name:
            found = self._at_kept(columns, self._seen[1])
            if found is not None:
                return found
        return np.asarray(value(S[:, columns]))

    def zero_sources(self, r: int) -> Sources:
        """Return sources (r, n) that are 0, in blocks on the workers."""
        if self._tall:
            return super().zero_sources(r)
        cut = self._cut(self._step(r) * BLOCKS_IN_A_CALL)
        return self._as_array([delayed(on_workers.nothing)(Y, r) for _, Y in cut], cut, r)

    def _by_rows(self, work: Callable[..., NDArray], A: NDArray, *more: Any, step: int) -> list[Any]:
        """Return work(Y, A, *more, step), delayed, for each part of the rows of tall data and of A."""
        return [delayed(work, pure=False)(Y, A[rows], *more, step) for rows, Y in self._cut(step)]

    def _correlations(self, A: NDArray, step: int) -> NDArray:
        parts = self._by_rows(on_workers.correlated, A, step=step)
        return np.asarray(gathered([tree(parts, on_workers.summed_once)])[0])

    def _products(self, X: NDArray, step: int) -> NDArray:
        X = np.ascontiguousarray(X)
        parts = [delayed(on_workers.multiplied, pure=False)(Y, X, step) for _, Y in self._cut(step)]
        return np.concatenate(gathered(parts))

    def correlate(self, A: NDArray) -> NDArray:
        """A'Y, (r, n)."""
        if self._tall:
            return super().correlate(A)
        cut = self._cut(self._step(A.shape[1]))
        blocks = [delayed(on_workers.back, pure=False)(Y, A) for _, Y in cut]
        return np.concatenate(gathered(blocks)).T

    def moments(self, S: NDArray) -> tuple[Gram, NDArray]:
        """S S' and Y S'."""
        if self._tall:
            return super().moments(np.asarray(S))
        step = self._step(len(S))
        parts = self._by_columns(on_workers.moments, S, step, width=step)
        SS, YS = gathered([tree(parts, on_workers.summed_pairs)])[0]
        return Gram(SS), YS

    def peak(self, A: NDArray, S: NDArray) -> float:
        """Largest entry of |A'(AS - Y)|."""
        if self._tall:
            return super().peak(A, np.asarray(S))
        step = self._step(A.shape[1])
        return max(
            gathered(self._by_columns(on_workers.peak, S, A, step, width=step * BLOCKS_IN_A_CALL))
        )

    def _rest_energies_tall(self, A: NDArray, S: NDArray, step: int) -> NDArray:
        parts = self._by_rows(on_workers.rest_of_rows, A, S, step=step)
        return np.asarray(gathered([tree(parts, on_workers.summed_once)])[0])

    def _strongest(self, A: NDArray, S: NDArray, count: int) -> NDArray:
        if self._tall:
            return super()._strongest(A, S, count)
        width = self._step(A.shape[1]) * BLOCKS_IN_A_CALL
        tops = gathered(self._by_columns(on_workers.strongest, S, A, count, width=width))
        columns = np.concatenate([top for top, _ in tops], axis=1)
        energy = np.concatenate([energy for _, energy in tops])
        return np.asarray(columns[:, largest(energy, count)])

    def _final_deviations(self, A: NDArray, S: NDArray, columns: Choice, step: int) -> NDArray:
        if not self._tall:
            return super()._final_deviations(A, S, columns, step)
        return np.concatenate(gathered(self._by_rows(on_workers.deviations, A, S, columns, step=step)))

    def fingerprint(self) -> str:
        """Return a checksum of all numbers, to tell these data from others."""
        step = self._stretch
        parts = [
            delayed(on_workers.checked, pure=False)(Y, part.start, step, self._tall)
            for part, Y in self._cut(step)
        ]
        return in_words(sum(gathered(parts)), self.unit)

    def pick(self, rows: Choice, columns: Choice) -> NDArray:
        """Some measurements at some columns, which are sorted."""
        if self._kept is not None and not isinstance(columns, slice):
            found = self._at_kept(columns, self._kept[1][rows])
            if found is not None:
                return found
        return np.asarray(value(self._array[rows][:, columns]))

    def transposed(self) -> "DaskEngine":
        """Return the data with measurements and channels exchanged."""
        return DaskEngine(self._array.T, unit=self.unit, seed=self.seed, surveyed=True)

    def divided(
        self, rows: Units = None, columns: Units = None, *, unit: float = 1.0, dtype: DType | None = None
    ) -> "DaskEngine":
        """Return the data divided by units of rows (m,) and columns (n,), and by a unit for all."""
        Y = self._array
        Y = Y if rows is None else (Y / rows[:, None]).astype(self.dtype)
        Y = Y if columns is None else (Y / columns).astype(self.dtype)
        Y = Y if unit == 1.0 else Y / self.dtype.type(unit)
        Y = Y if dtype is None else Y.astype(dtype)
        return DaskEngine(Y, unit=self.unit * unit, seed=self.seed, surveyed=True)


def _block_at(array: Any, i: int, j: int) -> str:
    """The block of a Dask array that holds an entry, in words."""
    pairs = zip(array.chunks, (i, j), strict=True)
    place = [int(np.searchsorted(np.cumsum(sizes), at, side="right")) for sizes, at in pairs]
    return f" (chunk {place[0]}.{place[1]})"
