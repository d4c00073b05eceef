"""The engine for data on disk: blocks are those of `InMemory`, and come out of slabs read ahead.

Sums are made of the same blocks in the same order, so that the answer does not depend on where the data
lie, nor on how their store cuts them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.blocks import BLOCK_BYTES, Choice, column_runs, picks
from ngmca.engines.memory import LARGE, NOISE_COLUMNS, InMemory, square
from ngmca.engines.noise_sample import Probe, places
from ngmca.engines.sliced_array import Source, in_blocks
from ngmca.engines.sweep import Solve, Sweep
from ngmca.engines.units import check_range, unit_for

WIDE = 1 << 22  # entries of a block of correlations and the like
CHANGED = 1e-3  # of the energy, by which no fit of the same data can be better than perfect
KEPT = 1 << 28  # bytes at most of columns that are kept in memory


class Chunked(InMemory):
    """Y (m, n) in a file, or wherever slicing gets it from, which is never held whole.

    S is kept in memory, or in a file without a name in the folder `scratch`.
    """

    whole = False
    place = "disk"

    def __init__(
        self,
        source: Source,
        *,
        threads: int | None = None,
        seed: int = 0,
        scratch: Path | None = None,
        surveyed: bool = False,
    ) -> None:
        self._source = source
        self.shape = source.shape
        self.dtype = source.dtype
        self.block = max(32, BLOCK_BYTES // (self.dtype.itemsize * self.shape[0]))
        self._threads = threads
        self._seed = seed
        self._scratch = scratch
        self.unit = source.unit
        self._kept: tuple[NDArray, NDArray] | None = None
        self.energy = self._survey(check=not surveyed)
        self._probe = Probe(self, seed)

    def _survey(self, *, check: bool) -> float:
        """|Y|^2, in one pass that also checks, finds the unit, and keeps columns that tell the noise.

        An error names the entry that is no finite number.
        """
        peak, total = 0.0, 0.0
        wanted, kept = self._columns_to_keep(), []
        for (rows, columns), Y in self.once():
            if check:
                self._check_finite(Y, rows, columns)
                peak = max(peak, float(Y.max()), -float(Y.min()))
            with np.errstate(over="ignore"):
                total += square(Y)
            if wanted is not None:
                low, high = np.searchsorted(wanted, (columns.start, columns.stop))
                kept.append(Y[:, wanted[low:high] - columns.start])
        unit = unit_for(peak, self.dtype) if check else 1.0
        if unit != 1.0:
            check_range(peak, self.dtype, unit)
            self._source, self.unit = replace(self._source, unit=unit), unit
            return self._survey(check=False)
        if wanted is not None:
            self._kept = wanted, np.concatenate(kept, axis=1)
        return total

    def _columns_to_keep(self) -> NDArray | None:
        """Those that the noise is told from, on the way and in the end; None of tall data."""
        (m, n), final = self.shape, NOISE_COLUMNS
        if m > n or min(n, final) * m * self.dtype.itemsize > KEPT:
            return None
        on_the_way = places(self.shape, np.random.default_rng(self._seed))[1]
        last = picks(n, final, np.random.default_rng(self._seed))
        if isinstance(on_the_way, slice) or isinstance(last, slice):
            return np.arange(n)
        return np.union1d(on_the_way, last)

    def _check_finite(self, Y: NDArray, rows: slice, columns: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.sum(Y)) or np.isfinite(Y).all():
                return
        i, j = (int(k) for k in np.argwhere(~np.isfinite(Y))[0])
        what = "NaN" if np.isnan(Y[i, j]) else "infinity"
        i, j = i + (rows.start or 0), j + (columns.start or 0)
        raise ValueError(
            f"Y contains {what}, first at {self._source.told_at(i, j)}: data that are read in blocks "
            "must be whole. Replace such entries or leave out their columns."
        )

    def sweep(self, A: NDArray, S: NDArray, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, and collect S S' and Y S'."""
        found = super().sweep(A, S, solve)
        self._check_unchanged(A, found.SS, found.YS)
        return found

    def _check_unchanged(self, A: NDArray, SS: NDArray, YS: NDArray) -> None:
        """Refuse sums that the data which were opened cannot give."""
        if not np.isfinite(YS).all():
            has = "NaN or infinity"
        elif self._balance(A, SS, YS) < -CHANGED * self.energy:
            has = "other numbers"
        else:
            return
        raise ValueError(
            f"Y has changed since it was opened: it now has {has}. Begin anew once nothing writes to it."
        )

    def new_sources(self, r: int) -> NDArray:
        """Room for S' (n, r)."""
        if self._scratch is None:
            return super().new_sources(r)
        shape = (self.shape[1], r)
        with TemporaryFile(dir=self._scratch) as file:  # gone with the last array that maps it
            return np.memmap(file, self.dtype, "w+", shape=shape)

    def column_blocks(self, starts: range, step: int) -> Iterator[tuple[slice, NDArray]]:
        """Columns from each start to the next, whole blocks of `step` and what is left at the end."""
        if not starts:
            return iter(())
        slabs = self._source.columns_ahead(starts[0], min(starts[-1] + starts.step, self.shape[1]))
        return in_blocks(slabs, column_runs(starts, self.shape[1], step), 1)

    def blocks_of_rows(self, starts: range, step: int) -> Iterator[tuple[slice, NDArray]]:
        """Blocks of `step` measurements from each start on."""
        if not starts:
            return iter(())
        m = self.shape[0]
        slabs = self._source.rows_ahead(starts[0], min(starts[-1] + step, m))
        return in_blocks(slabs, (slice(i, min(i + step, m)) for i in starts), 0)

    def pick(self, rows: Choice, columns: Choice) -> NDArray:
        """Some measurements at some columns, which are sorted."""
        if self._kept is not None:
            known, Y = self._kept
            wanted = np.arange(self.shape[1])[columns] if isinstance(columns, slice) else columns
            at = np.searchsorted(known, wanted)
            if at.max(initial=0) < len(known) and np.array_equal(known[at], wanted):
                return np.asarray(Y[rows][:, at])
        m, n = self.shape
        every = isinstance(rows, slice) and rows == slice(None)
        if m > n and every and not isinstance(columns, slice):
            step = max(1, WIDE // n)
            blocks = self.blocks_of_rows(range(0, m, step), step)
            return np.concatenate([Y[:, columns] for _, Y in blocks])
        return self._source.pick(rows, columns)

    def _rows_at(self, columns: Choice, step: int) -> Iterator[tuple[slice, NDArray]]:
        """All measurements at some columns, `step` at a time, out of few passes over the data."""
        m, n = self.shape
        if m > n:
            blocks = self.blocks_of_rows(range(0, m, step), step)
            return ((rows, Y[:, columns]) for rows, Y in blocks)
        width = 8 * len(range(n)[columns] if isinstance(columns, slice) else columns)
        high = max(step, KEPT // width // step * step)
        return (
            (slice(i + k, min(i + k + step, i + len(Y))), Y[k : k + step])
            for i in range(0, m, high)
            for Y in (self.pick(slice(i, i + high), columns),)
            for k in range(0, len(Y), step)
        )

    def narrow_blocks(self, columns: Choice) -> Callable[[], Iterable[tuple[slice, NDArray]]]:
        """All measurements at a few columns, in blocks, as often as they are asked for."""
        m, n = self.shape
        if m * len(range(n)[columns] if isinstance(columns, slice) else columns) * 8 <= KEPT:
            Y = np.ascontiguousarray(self.pick(slice(None), columns))
            return lambda: [(slice(0, m), Y)]
        step = max(1, WIDE // n)
        blocks = range(0, m, step)
        return lambda: (
            (rows, np.ascontiguousarray(Y[:, columns])) for rows, Y in self.blocks_of_rows(blocks, step)
        )

    def back(self, A: NDArray) -> NDArray:
        """Y'A for A (m, r), in the precision of the data, as (n, r) in double precision."""
        return np.ascontiguousarray(self.correlate(A.astype(self.dtype, copy=False)).T, dtype=np.float64)

    def times(self, X: NDArray) -> NDArray:
        """Y X for X (n, r), in the precision of the data, as (m, r) in double precision."""
        return np.asarray(self.moments(X.astype(self.dtype, copy=False).T)[1])

    @cached_property
    def row_energy(self) -> NDArray:
        """Sum of squares of each measurement, (m,)."""
        found = np.zeros(self.shape[0])
        for (rows, _), Y in self.once():
            found[rows] += np.einsum("ij,ij->i", Y, Y, dtype=np.float64)
        return found

    @property
    def magnitude(self) -> float:
        """Largest absolute value in Y."""
        return max(float(np.maximum(Y.max(), -Y.min())) for _, Y in self.once())

    def row_blocks(self, entries: int = LARGE) -> Iterator[tuple[slice, NDArray]]:
        """Measurements in blocks, with their place, for statistics that one pass answers."""
        step = max(1, entries // self.shape[1])
        return self.blocks_of_rows(range(0, self.shape[0], step), step)

    def part(self, rows: Choice, columns: Choice) -> InMemory:
        """Some of the measurements at some of the channels, in memory."""
        if isinstance(rows, slice) and isinstance(columns, slice):
            return self
        Y = np.ascontiguousarray(self.pick(rows, columns))
        return InMemory(Y, threads=self._threads, unit=self.unit, seed=self._seed)

    def rows(self, which: NDArray | slice) -> NDArray:
        """Some of the measurements; not all of them."""
        if isinstance(which, slice) and len(range(*which.indices(self.shape[0]))) == self.shape[0] > 1:
            self.check_whole("this")
        return self.pick(which if isinstance(which, slice) else np.asarray(which), slice(None))

    def transposed(self) -> "Chunked":
        """The data with measurements and samples exchanged."""
        return self._like(self._source.transposed())

    def whitened(self, rows: NDArray | None, columns: NDArray | None) -> InMemory:
        """The same data in units of rows (m,) and columns (n,)."""
        return self._like(self._source.whitened(rows, columns))

    def single(self) -> InMemory:
        """The same data in single precision, in units of their largest entry."""
        unit = self.magnitude or 1.0
        source = replace(self._source, dtype=np.dtype(np.float32), unit=self._source.unit * unit)
        return self._like(source).by_residual()

    def _like(self, source: Source) -> "Chunked":
        return Chunked(
            source, threads=self._threads, seed=self._seed, scratch=self._scratch, surveyed=True
        )

    def smaller_gram(self) -> NDArray:
        """Not for data on disk."""
        self._refuse("this")

    def correlate_into(self, C: NDArray, A: NDArray, threads: int) -> None:
        """Not for data on disk: a sampler would read them thousands of times."""
        self._refuse("the posterior")

    def update_columns(self, X: NDArray, update: Any, threads: int) -> tuple[NDArray, NDArray]:
        """Not for data on disk: a sampler would read them thousands of times."""
        self._refuse("the posterior")

    def check_whole(self, what: str) -> None:
        """Refuse what needs all data at once."""
        self._refuse(what)

    def _refuse(self, what: str) -> NoReturn:
        size = float(np.prod(self.shape)) * self.dtype.itemsize
        raise ValueError(
            f"{what} needs all data in memory at once, and these, {size / 1e9:.2g} GB, are read in "
            "blocks: take some of their columns, or pass them as an array."
        )
