"""Data that lie elsewhere: read slab by slab, the next one while this one is worked on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, ArgumentTypeError
from ngmca.engines.blocks import Choice

SLAB = 1 << 24  # bytes read at once
MAX_CHUNK = 1 << 28  # bytes of a chunk of the store that is read at once, even if it is larger than SLAB
MAX_GAP = 8  # between picked rows or columns that are read together


@dataclass(frozen=True, eq=False)
class Source:
    """Any object with a shape, a dtype and slicing, as a matrix of floats in units that suit them."""

    array: Any
    shape: tuple[int, int]
    dtype: np.dtype
    unit: float = 1.0
    turned: bool = False  # the array holds the matrix transposed
    rows: NDArray | None = None  # (m,) units besides
    columns: NDArray | None = None  # (n,)

    @classmethod
    def of(cls, array: Any) -> "Source":
        """Return the source; raise an error if the object is not a matrix of real numbers."""
        shape, kind = tuple(map(int, array.shape)), np.dtype(array.dtype)
        if kind.kind == "c":
            raise ArgumentError(
                "Y is complex. Complex data not supported: take its real part or its modulus."
            )
        if kind.kind not in "biuf":
            raise ArgumentTypeError("Y must hold numbers only, got dtype {}.", kind)
        if len(shape) != 2:
            raise ArgumentError(
                "Y must be two-dimensional, measurements x channels, got shape {}.", shape
            )
        if 0 in shape:
            raise ArgumentError("Y is empty, shape {}: there is nothing to separate.", shape)
        single = kind == np.float32
        return cls(array, (shape[0], shape[1]), np.dtype(np.float32 if single else np.float64))

    def transposed(self) -> "Source":
        """The same with rows and columns exchanged."""
        shape = (self.shape[1], self.shape[0])
        return replace(self, shape=shape, turned=not self.turned, rows=self.columns, columns=self.rows)

    def whitened(self, rows: NDArray | None, columns: NDArray | None) -> "Source":
        """The same in units of rows (m,) and columns (n,) besides."""
        return replace(self, rows=_times(self.rows, rows), columns=_times(self.columns, columns))

    @property
    def chunk(self) -> tuple[int, int]:
        """Rows and columns that the store keeps together; 1 where it does not say."""
        told = getattr(self.array, "chunks", None)
        if not isinstance(told, tuple) or len(told) != 2 or not all(isinstance(c, int) for c in told):
            return (1, 1)
        return (told[1], told[0]) if self.turned else (told[0], told[1])

    def read(self, rows: slice, columns: slice) -> NDArray:
        """A part of the matrix, as floats, in its units; an error names the part that is damaged."""
        where = (columns, rows) if self.turned else (rows, columns)
        try:
            got = self.array[where]
            found = np.asarray(got)
        except MemoryError:
            raise
        except Exception as error:  # stores raise what comes for a chunk that is damaged
            reason = str(error) or type(error).__name__
            raise OSError(
                f"Y cannot be read at {self._place(rows, columns)}: {reason}. "
                "Its file is damaged, or a part of it is gone."
            ) from error
        self._check_whole(got, rows, columns)
        if found.dtype != np.float32:
            found = found.astype(np.float64, copy=False)
        found = found.T if self.turned else found
        if self.unit != 1.0:
            found = found / found.dtype.type(self.unit)
        if self.rows is not None:
            found = found / self.rows[rows, None]
        if self.columns is not None:
            found = found / self.columns[columns]
        return np.ascontiguousarray(found, dtype=self.dtype)

    def _check_whole(self, got: Any, rows: slice, columns: slice) -> None:
        """Raise an error if a part is shorter than it claims, or has masked entries."""
        parts = zip((rows, columns), self.shape, strict=True)
        shape = tuple(len(range(*part.indices(size))) for part, size in parts)
        if np.shape(got) != (shape[::-1] if self.turned else shape):
            raise OSError(
                f"Y cannot be read at {self._place(rows, columns)}: there is less than it claims."
            )
        if np.ma.is_masked(got):
            raise ArgumentError(
                "Y has masked entries at {}. Data that are read in blocks must not have missing "
                "entries: fill these, or leave out their columns.",
                self._place(rows, columns),
            )

    def _place(self, rows: slice, columns: slice) -> str:
        """Where a part is, in words, and in which chunks."""
        m, n = (size.indices(whole) for size, whole in zip((rows, columns), self.shape, strict=True))
        told = f"rows {m[0]} to {m[1] - 1}, columns {n[0]} to {n[1] - 1}"
        high, wide = self.chunk
        if (high, wide) == (1, 1):
            return told
        first, last = (m[0] // high, n[0] // wide), ((m[1] - 1) // high, (n[1] - 1) // wide)
        names = [".".join(map(str, at[::-1] if self.turned else at)) for at in (first, last)]
        return told + (
            f" (chunk {names[0]})" if first == last else f" (chunks {names[0]} to {names[1]})"
        )

    def place_in_words(self, i: int, j: int) -> str:
        """Where an entry is, in words; an array may know better words for it."""
        if hasattr(self.array, "place_in_words"):
            return str(self.array.place_in_words(*((j, i) if self.turned else (i, j))))
        high, wide = self.chunk
        at = (i // high, j // wide)
        chunk = ".".join(map(str, at[::-1] if self.turned else at))
        return f"row {i}, column {j}" + (f" (chunk {chunk})" if (high, wide) != (1, 1) else "")

    def ahead(self, low: int, high: int, axis: int) -> Iterator[tuple[int, NDArray]]:
        """Yield slabs of whole rows (axis 0) or columns (axis 1), each with its first one."""
        whole = slice(None)
        ends = _ends(low, high, self.chunk[axis], self.shape[1 - axis] * self.dtype.itemsize)
        if axis:
            return _ahead(lambda a, b: self.read(whole, slice(a, b)), ends)
        return _ahead(lambda a, b: self.read(slice(a, b), whole), ends)

    def pick(self, rows: Choice, columns: Choice) -> NDArray:
        """Some rows at some columns; both sorted."""
        if not isinstance(columns, slice):
            runs = [self.read_rows(rows, run)[:, at] for run, at in _runs(columns, self.chunk[1])]
            return np.concatenate(runs, axis=1) if runs else np.empty((0, 0), self.dtype)
        return self.read_rows(rows, columns)

    def read_rows(self, rows: Choice, columns: slice) -> NDArray:
        """Some rows at a run of columns."""
        if isinstance(rows, slice):
            return self.read(rows, columns)
        return np.concatenate([self.read(run, columns)[at] for run, at in _runs(rows, self.chunk[0])])


def _runs(which: NDArray, chunk: int) -> Iterator[tuple[slice, NDArray]]:
    """Stretches that hold sorted indices, and where in them these are; one for every chunk or so."""
    ends = np.flatnonzero((np.diff(which) > MAX_GAP) & (np.diff(which // chunk) > 0)) + 1
    for part in np.split(which, ends):
        if len(part):
            yield slice(int(part[0]), int(part[-1]) + 1), part - part[0]


def _ends(low: int, high: int, chunk: int, width: int) -> list[int]:
    """Where slabs end: where chunks do, if that makes them neither too small nor too large."""
    step = max(1, SLAB // width)
    if chunk * width <= MAX_CHUNK:
        step = max(1, step // chunk) * chunk
    first = (low // step + 1) * step
    return [low, *range(first, high, step), high]


def _ahead(read: Any, ends: list[int]) -> Iterator[tuple[int, NDArray]]:
    """What `read` returns from each end to the next, the next one while this one is worked on."""
    parts = list(pairwise(ends))
    with ThreadPoolExecutor(1, thread_name_prefix="ngmca-read") as reader:
        coming = reader.submit(read, *parts[0])
        for i, (start, _) in enumerate(parts):
            here = coming.result()
            if i + 1 < len(parts):
                coming = reader.submit(read, *parts[i + 1])
            yield start, here


def in_blocks(
    slabs: Iterator[tuple[int, NDArray]], blocks: Iterator[slice], axis: int
) -> Iterator[tuple[slice, NDArray]]:
    """Blocks cut out of slabs, along an axis, that follow each other as the slabs do."""
    start, slab = next(slabs)
    for block in blocks:
        parts, at = [], block.start
        while True:
            stop = min(block.stop, start + slab.shape[axis])
            here = slice(at - start, stop - start)
            parts.append(slab[:, here] if axis else slab[here])
            at = stop
            if at == block.stop:
                break
            start, slab = next(slabs)
        yield block, parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


def _times(one: NDArray | None, other: NDArray | None) -> NDArray | None:
    if one is None or other is None:
        return other if one is None else one
    return one * other
