"""The engine for data on disk: blocks are those of memory, and come out of slabs that are read ahead.

Sums are made of the same blocks in the same order, so that the answer does not depend on where the data
are, nor on how a file divides them into chunks.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError
from ngmca.engines import read_in_parts
from ngmca.engines.blocks import Choice, square
from ngmca.engines.noise_sample import NoiseSample
from ngmca.engines.protocol import Place, Solve, Sources, Sweep
from ngmca.engines.read_in_parts import ReadInParts
from ngmca.engines.sliced_array import Source
from ngmca.engines.units import check_range, unit_for

BLOCK_ENTRIES_READ = 1 << 22  # entries of a block of rows that is read for a few of its columns


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
        unit = unit_for(peak, self.dtype) if check else 1.0
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
        if self.shape[0] * self._count(columns) * 8 <= read_in_parts.KEPT_BYTES:
            return super().narrow_blocks(columns)
        return lambda: (
            (rows, np.ascontiguousarray(Y[:, columns])) for (rows, _), Y in self.blocks(self._rows_read)
        )

    def transposed(self) -> "DiskEngine":
        """Return the data with measurements and channels exchanged."""
        return self._like(self._source.transposed())

    def divided(
        self,
        rows: NDArray | None = None,
        columns: NDArray | None = None,
        *,
        unit: float = 1.0,
        dtype: np.dtype | None = None,
    ) -> "DiskEngine":
        """Return the data divided by units of rows (m,) and columns (n,), and by a unit for all."""
        source, dtype = self._source.whitened(rows, columns), dtype or self.dtype
        return self._like(replace(source, dtype=dtype, unit=source.unit * unit))

    def _like(self, source: Source) -> "DiskEngine":
        return DiskEngine(
            source, threads=self.threads, seed=self.seed, scratch=self._scratch, surveyed=True
        )
