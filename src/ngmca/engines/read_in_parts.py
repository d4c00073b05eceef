"""What engines have in common whose data are not in memory: columns that are kept there, and checks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError
from ngmca.engines.blocks import Choice, column_runs, picks
from ngmca.engines.blockwise import Blockwise
from ngmca.engines.derived import balance
from ngmca.engines.memory import MemoryEngine
from ngmca.engines.noise_sample import places
from ngmca.engines.protocol import Engine, Sweep
from ngmca.engines.shared_answers import NOISE_COLUMNS, Blocks
from ngmca.engines.sliced_array import Source, in_blocks

MAX_GAIN = 1e-3  # of the energy, by which no fit of the same data can be better than perfect
KEPT_BYTES = 1 << 28  # at most of columns that are kept in memory


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
        slabs = self._source.columns_ahead(starts[0], min(starts[-1] + starts.step, n))
        return in_blocks(slabs, column_runs(starts, n, step), 1)

    def _row_blocks(self, starts: range, step: int) -> Blocks:
        if not starts:
            return iter(())
        m = self.shape[0]
        slabs = self._source.rows_ahead(starts[0], min(starts[-1] + step, m))
        return in_blocks(slabs, (slice(i, min(i + step, m)) for i in starts), 0)

    def _rows_at(self, columns: Choice, step: int) -> Blocks:
        """Yield all measurements at some columns, `step` at a time, out of few passes over the data."""
        m = self.shape[0]
        if self._tall:
            blocks = self._row_blocks(range(0, m, step), step)
            return ((rows, Y[:, columns]) for rows, Y in blocks)
        high = max(step, KEPT_BYTES // (8 * self._count(columns)) // step * step)
        return self._rows_of_slabs(columns, step, high)

    def _rows_of_slabs(self, columns: Choice, step: int, high: int) -> Iterator[Any]:
        for i in range(0, self.shape[0], high):
            Y = self.pick(slice(i, i + high), columns)
            for k in range(0, len(Y), step):
                yield slice(i + k, min(i + k + step, i + len(Y))), Y[k : k + step]

    def _count(self, columns: Choice) -> int:
        return len(range(self.shape[1])[columns] if isinstance(columns, slice) else columns)

    def part(self, rows: Choice, columns: Choice) -> Engine:
        """Return an engine in memory for some measurements at some channels; this one for slices."""
        if isinstance(rows, slice) and isinstance(columns, slice):
            return self  # type: ignore[return-value]  # every engine that extends this is one
        Y = np.ascontiguousarray(self.pick(rows, columns))
        return MemoryEngine(Y, threads=self.threads, unit=self.unit, seed=self.seed)
