"""A number that tells data apart: the same wherever they lie and however they are cut."""

import numpy as np
from numpy.typing import NDArray


def checksum(Y: NDArray, row: int = 0, column: int = 0) -> int:
    """The sum, modulo 2^64, of a number for every entry, scrambled from its bits and its place.

    The first entry of Y has this place in all of the data. Sums of blocks are those of the whole, to the
    bit: integers do not round.
    """
    kind = np.uint32 if Y.dtype == np.float32 else np.uint64
    bits = np.ascontiguousarray(Y).view(kind).astype(np.uint64)
    bits ^= _places(row, len(bits))[:, None]
    bits += _places(column, bits.shape[1])
    return int(_scrambled(bits).sum())


def told(total: int, unit: float) -> str:
    """A checksum of data in units of their own, in words."""
    return f"{total % 2**64:016x}, in units of {unit:g}"


def _places(first: int, count: int) -> NDArray:
    """A number for each place, far from its neighbours'."""
    return _scrambled(np.arange(first + 1, first + 1 + count, dtype=np.uint64))


def _scrambled(values: NDArray) -> NDArray:
    """64 bits that all depend on all 64 before (the steps of SplitMix64), in place."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values ^= values >> np.uint64(shift)
        values *= np.uint64(factor)
    values ^= values >> np.uint64(31)
    return values
