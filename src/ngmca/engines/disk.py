"""Engines for data that are not in memory as a whole, and the one for data on disk.

Blocks are those of memory, and come out of slabs that are read ahead. Sums are made of the same blocks
in the same order: the answer does not depend on where the data are, nor on the chunks of a file.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError
from ngmca.engines.blocks import Choice, column_runs, picks, square
from ngmca.engines.blockwise import Blockwise
from ngmca.engines.derived import balance
from ngmca.engines.memory import MemoryEngine
from ngmca.engines.noise_sample import NoiseSample, places
from ngmca.engines.protocol import DType, Engine, Place, Solve, Sources, Sweep, Units
from ngmca.engines.shared_answers import NOISE_COLUMNS, Blocks
from ngmca.engines.sliced_array import Source, in_blocks
from ngmca.engines.units import check_range, unit_for

MAX_GAIN = 1e-3  # of the energy, by which no fit of the same data can be better than perfect
KEPT_BYTES = 1 << 28  # at most of columns that are kept in memory
BLOCK_ENTRIES_READ = 1 << 22  # entries of a block of rows that is read for a few of its columns


class ReadInParts(Blockwise):
    """Y (m, n) that is never in memory as a whole, except columns that noise is estimated from."""

    whole = False
    _source: Source
    _kept: tuple[NDArray, NDArray] | None = None  # indices of columns, and the columns

    def _columns_to_keep(self) -> NDArray | None:
        """Return the columns that noise is estimated from, always and at the end; None for tall data."""
        m, n = self.shape
        if m > n or min(n, NOISE_COLUMNS) * m * self.dtype.itemsize > KEPT_BYTES:
            return None
        always = places(self.shape, np.random.default_rng(self.seed))[1]
        last = picks(n, NOISE_COLUMNS, np.random.default_rng(self.seed))
        if isinstance(always, slice) or isinstance(last, slice):
            return np.arange(n)
        return np.union1d(always, last)

    def _at_kept(self, columns: Choice, values: NDArray) -> NDArray | None:
        """Return the columns of `values` (those kept) that are asked for; None if one is missing."""
        if self._kept is None:
            return None
        known = self._kept[0]
        wanted = np.arange(self.shape[1])[columns] if isinstance(columns, slice) else columns
        at = np.searchsorted(known, wanted)
        if at.max(initial=0) < len(known) and np.array_equal(known[at], wanted):
            return np.asarray(values[:, at])
        return None

    def _checked(self, A: NDArray, found: Sweep) -> Sweep:
        """Return a sweep; raise an error if the data that were opened cannot give its sums."""
        if not np.isfinite(found.YS).all():
            has = "NaN or infinity"
        elif balance(self, A, found.SS, found.YS) < -MAX_GAIN * self.energy:
            has = "other numbers"
        else:
            return found
        raise ArgumentError(
            "Y has changed since it was opened: it now has {}. Start again once nothing writes to it.",
            has,
        )

    def _column_blocks(self, starts: range, step: int) -> Blocks:
        if not starts:
            return iter(())
        n = self.shape[1]
        slabs = self._source.ahead(starts[0], min(starts[-1] + starts.step, n), 1)
        return in_blocks(slabs, column_runs(starts, n, step), 1)

    def _row_blocks(self, starts: range, step: int) -> Blocks:
        if not starts:
            return iter(())
        m = self.shape[0]
        slabs = self._source.ahead(starts[0], min(starts[-1] + step, m), 0)
        return in_blocks(slabs, (slice(i, min(i + step, m)) for i in starts), 0)

    def _rows_at(self, columns: Choice, step: int) -> Blocks:
        """Yield all measurements at some columns, `step` at a time, out of few passes over the data."""
        m = self.shape[0]
        if self._tall:
            blocks = self._row_blocks(range(0, m, step), step)
            return ((rows, Y[:, columns]) for rows, Y in blocks)
        high = max(step, KEPT_BYTES // (8 * self._count(columns)) // step * step)
        slabs = ((i, self.pick(slice(i, i + high), columns)) for i in range(0, m, high))
        return in_blocks(slabs, (slice(i, min(i + step, m)) for i in range(0, m, step)), 0)

    def _count(self, columns: Choice) -> int:
        return len(range(self.shape[1])[columns] if isinstance(columns, slice) else columns)

    def part(self, rows: Choice, columns: Choice) -> Engine:
        """Return an engine in memory for some measurements at some channels; this one for slices."""
        if isinstance(rows, slice) and isinstance(columns, slice):
            return self
        Y = np.ascontiguousarray(self.pick(rows, columns))
        return MemoryEngine(Y, threads=self.threads, unit=self.unit, seed=self.seed)


class DiskEngine(ReadInParts):
    """The engine for Y (m, n) in a file, or any object with slicing, never in memory as a whole.

    Parameters
    ----------
    source : Source
        The object, as a matrix.
    threads, seed
        Those of `MemoryEngine`.
    scratch : Path, optional
        Folder for S, in a file without a name. None: S is kept in memory.
    surveyed : bool
        Whether the numbers are known to be finite, and the unit to suit them.
    """

    place: Place = "disk"

    def __init__(
        self,
        source: Source,
        *,
        threads: int | None = None,
        seed: int = 0,
        scratch: Path | None = None,
        surveyed: bool = False,
    ) -> None:
        self._source, self._scratch = source, scratch
        self.shape, self.dtype, self.unit = source.shape, source.dtype, source.unit
        self.threads, self.seed = threads, seed
        self.energy = self._survey(check=not surveyed)
        self._sample = NoiseSample(self, seed)

    def _survey(self, *, check: bool) -> float:
        """Return |Y|^2, in one pass that also checks, finds the unit, and keeps columns for the noise.

        An error names the first entry that is not a finite number.
        """
        peak, total = 0.0, 0.0
        wanted, kept = self._columns_to_keep(), []
        for (rows, columns), Y in self.blocks():
            if check:
                self._check_finite(Y, rows, columns)
                peak = max(peak, float(Y.max()), -float(Y.min()))
            with np.errstate(over="ignore"):
                total += square(Y)
            if wanted is not None:
                low, high = np.searchsorted(wanted, (columns.start, columns.stop))
                kept.append(Y[:, wanted[low:high] - columns.start])
        unit = unit_for(peak) if check else 1.0
        if unit != 1.0:
            check_range(peak, self.dtype, unit)
            self._source, self.unit = replace(self._source, unit=unit), unit
            return self._survey(check=False)
        if wanted is not None:
            self._kept = wanted, np.concatenate(kept, axis=1)
        return total

    def _check_finite(self, Y: NDArray, rows: slice, columns: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.sum(Y)) or np.isfinite(Y).all():
                return
        i, j = (int(k) for k in np.argwhere(~np.isfinite(Y))[0])
        what = "NaN" if np.isnan(Y[i, j]) else "infinity"
        where = self._source.place_in_words(i + (rows.start or 0), j + (columns.start or 0))
        raise ArgumentError(
            "Y contains {}, first at {}. Data that are read in blocks must not have missing entries: "
            "replace these, or leave out their columns.",
            *(what, where),
        )

    def sweep(self, A: NDArray, S: Sources, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, and collect S S' and Y S'."""
        return self._checked(A, super().sweep(A, S, solve))

    def _room_for_sources(self, r: int) -> NDArray:
        """Return an array for S' (n, r), in a file if there is a folder for it."""
        if self._scratch is None:
            return super()._room_for_sources(r)
        with TemporaryFile(dir=self._scratch) as file:  # gone with the last array that maps it
            return np.memmap(file, self.dtype, "w+", shape=(self.shape[1], r))

    def pick(self, rows: Choice, columns: Choice) -> NDArray:
        """Return some measurements at some columns, which are sorted."""
        if self._kept is not None:
            found = self._at_kept(columns, self._kept[1][rows])
            if found is not None:
                return found
        every = isinstance(rows, slice) and rows == slice(None)
        if self._tall and every and not isinstance(columns, slice):
            return np.concatenate([Y[:, columns] for _, Y in self.blocks(self._rows_read)])
        return self._source.pick(rows, columns)

    @property
    def _rows_read(self) -> int:
        return max(1, BLOCK_ENTRIES_READ // self.shape[1])

    def narrow_blocks(self, columns: Choice) -> Callable[[], Iterable[tuple[slice, NDArray]]]:
        """Return a function that yields all measurements at a few columns, in blocks."""
        if self.shape[0] * self._count(columns) * 8 <= KEPT_BYTES:
            return super().narrow_blocks(columns)
        return lambda: (
            (rows, np.ascontiguousarray(Y[:, columns])) for (rows, _), Y in self.blocks(self._rows_read)
        )

    def transposed(self) -> "DiskEngine":
        """Return the data with measurements and channels exchanged."""
        return self._like(self._source.transposed())

    def divided(
        self, rows: Units = None, columns: Units = None, *, unit: float = 1.0, dtype: DType | None = None
    ) -> "DiskEngine":
        """Return the data divided by units of rows (m,) and columns (n,), and by a unit for all."""
        source, dtype = self._source.whitened(rows, columns), dtype or self.dtype
        return self._like(replace(source, dtype=dtype, unit=source.unit * unit))

    def _like(self, source: Source) -> "DiskEngine":
        return DiskEngine(
            source, threads=self.threads, seed=self.seed, scratch=self._scratch, surveyed=True
        )
