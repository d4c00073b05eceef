"""Pieces of a matrix that stay in a core's cache, and sums that do not depend on how it is cut."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

Choice = slice | NDArray  # of rows or columns: all of them, or their sorted indices

BLOCK_BYTES = 400_000  # a block of Y and what is made from it stay in a core's cache
PART_BYTES = 1 << 27  # of Y that are summed up by themselves: sums are the same wherever the data lie
STRETCHES = 64  # of neighbouring columns that stand for all: they are read at once
SUMS_AT_ONCE = 16  # in each branch of a tree of sums


def row_blocks(Y: NDArray, entries: int = BLOCK_BYTES // 8) -> Iterator[tuple[slice, NDArray]]:
    """Rows of Y, about so many entries at a time: no temporary is as large as the data."""
    size = max(1, entries // Y.shape[1])
    return ((slice(i, i + size), Y[i : i + size]) for i in range(0, len(Y), size))


def column_runs(starts: range, n: int, step: int) -> Iterator[slice]:
    """Columns from each start to the next: whole blocks, and at the end of the data what is left."""
    for start in starts:
        stop = min(start + starts.step, n)
        whole = stop - (stop - start) % step
        if whole > start:
            yield slice(start, whole)
        if stop > whole:
            yield slice(whole, stop)


def stacked(Y: NDArray, step: int) -> NDArray:
    """Columns of Y as a stack of blocks (blocks, m, step), without a copy."""
    m, n = Y.shape
    if n <= step or n % step:
        return Y[None]
    strides = (step * Y.strides[1], *Y.strides)
    return as_strided(Y, (n // step, m, step), strides, writeable=False)


def picks(length: int, count: int, rng: np.random.Generator) -> Choice:
    """A sorted random choice, or everything."""
    if count >= length:
        return slice(None)
    return np.sort(rng.choice(length, count, replace=False))


def spread(length: int, count: int, rng: np.random.Generator) -> Choice:
    """A sorted random choice, one out of each of `count` stretches, or everything."""
    if count >= length:
        return slice(None)
    ends = np.arange(count + 1) * length // count
    return rng.integers(ends[:-1], ends[1:])


def stretches(length: int, count: int) -> NDArray:
    """About `count` sorted indices in stretches, one anywhere in each share, always the same."""
    width = max(1, count // STRETCHES)
    ends = np.arange(STRETCHES + 1) * length // STRETCHES
    free = np.maximum(np.diff(ends) - width, 0)
    starts = ends[:-1] + np.random.default_rng(0).integers(0, free + 1)
    return np.unique(np.minimum((starts[:, None] + np.arange(width)).ravel(), length - 1))


def gram(A: NDArray) -> NDArray:
    """A'A in double precision."""
    A = A.astype(np.float64, copy=False)
    return A.T @ A


def column_energies(X: NDArray) -> NDArray:
    """Sum of squares of each column."""
    return np.einsum("ij,ij->j", X, X)


def largest(values: NDArray, count: int) -> NDArray:
    """Where the largest values are, in order of place; of equal ones the last."""
    if count >= values.size:
        return np.arange(values.size)
    least = np.partition(values, values.size - count)[values.size - count]
    candidates = np.flatnonzero(values >= least)
    order = np.argsort(values[candidates], kind="stable")
    return np.sort(candidates[order[-count:]])


def summed(parts: Sequence[Any]) -> Any:
    """The sum of arrays or numbers, by a tree: the same, to the bit, wherever its branches are."""
    while len(parts) > 1:
        parts = [np.sum(parts[i : i + SUMS_AT_ONCE], axis=0) for i in range(0, len(parts), SUMS_AT_ONCE)]
    return parts[0]


def square(Y: NDArray) -> float:
    """Return |Y|^2 in double precision."""
    Y = Y.astype(np.float64, copy=False)
    return float(np.vdot(Y, Y))


def checksum(Y: NDArray, row: int = 0, column: int = 0) -> int:
    """Return the sum, modulo 2^64, of one number for every entry, made from its bits and its place.

    `row` and `column` are the place of the first entry of Y in all of the data. The sum over blocks is
    that of the whole: integers do not round.
    """
    kind = np.uint32 if Y.dtype == np.float32 else np.uint64
    bits = np.ascontiguousarray(Y).view(kind).astype(np.uint64)
    bits ^= _places(row, len(bits))[:, None]
    bits += _places(column, bits.shape[1])
    return int(_scrambled(bits).sum())


def in_words(total: int, unit: float) -> str:
    """Return a checksum as text, with the unit of the data."""
    return f"{total % 2**64:016x}, in units of {unit:g}"


def _places(first: int, count: int) -> NDArray:
    """Return a number for each place, far from that of its neighbours."""
    return _scrambled(np.arange(first + 1, first + 1 + count, dtype=np.uint64))


def _scrambled(values: NDArray) -> NDArray:
    """Mix the 64 bits of every number (the steps of SplitMix64), in place."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values ^= values >> np.uint64(shift)
        values *= np.uint64(factor)
    values ^= values >> np.uint64(31)
    return values
