"""A checksum of data: the same wherever they are, and however they are cut into blocks."""

import numpy as np
from numpy.typing import NDArray


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
