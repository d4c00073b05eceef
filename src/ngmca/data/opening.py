"""From what the user has to the engine that holds it."""

from itertools import pairwise
from typing import Any

import numpy as np

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.data.engine import InMemory
from ngmca.data.units import check_unit, in_own_units
from ngmca.data.weighted import Weighted


@one_blas_thread
def open_data(data: Any, *, mask: Any = None, threads: int | None = None) -> InMemory:
    """The engine for an array, or for what is an engine already; errors name what is wrong.

    It holds the data in units in which squares neither overflow nor vanish, `engine.unit`. All that
    goes in and comes out is in these units; results are brought back by their method `scaled`.

    Entries that are NaN, masked (NumPy's masked arrays), or where `mask` (m, n) is true, are missing. Of
    a list of matrices, several data sets with the same channels, the rows follow each other.
    """
    if isinstance(data, InMemory):
        if mask is not None:
            raise ValueError("mask belongs to an array: these data are opened already.")
        return data
    if threads is not None:
        arguments.check_count(threads, "threads")
    if is_several(data):
        return _several(data, mask, threads)
    values, missing = arguments.check_observed(data, mask)
    Y, unit = in_own_units(values)
    check_unit(Y, unit)
    if missing is None:
        return InMemory(Y, threads=threads, unit=unit)
    return Weighted(Y, 1.0 - missing, threads=threads, unit=unit)


def open_whole(data: Any, *, threads: int | None = None) -> InMemory:
    """`open_data` for methods that need every entry: what is missing is refused."""
    if not isinstance(data, InMemory):
        arguments.check_data(data)
    engine = open_data(data, threads=threads)
    if engine.weights is not None:
        raise ValueError("Y has missing entries, which this method cannot do without: use soft or anls.")
    return engine


def is_several(data: Any) -> bool:
    """Whether these are several data sets: a list of matrices."""
    return isinstance(data, list | tuple) and bool(data) and all(np.ndim(one) == 2 for one in data)


def _several(data: Any, mask: Any, threads: int | None) -> InMemory:
    """The engine of several data sets, one after the other."""
    sizes = [np.shape(one) for one in data]
    if len({n for _, n in sizes}) > 1:
        told = ", ".join(f"{m} x {n}" for m, n in sizes)
        raise ValueError(
            f"Y holds data sets of {told}: they must have the same channels. `ngmca.io.read` brings "
            "files with axes that overlap to a common one."
        )
    if mask is not None:
        if not isinstance(mask, list | tuple) or [np.shape(one) for one in mask] != sizes:
            raise ValueError("mask must be a list with one array for each data set in Y, of its shape.")
        mask = np.concatenate([np.asarray(one) for one in mask])
    ends = np.cumsum([0] + [m for m, _ in sizes]).tolist()
    engine = open_data(np.ma.concatenate(data) if any(map(np.ma.isMaskedArray, data)) else
                       np.concatenate([arguments.as_array(one, "Y") for one in data]),
                       mask=mask, threads=threads)  # fmt: skip
    engine.parts = tuple(slice(a, b) for a, b in pairwise(ends))
    return engine


def by_part(value: Any, engine: InMemory) -> Any:
    """One value a data set, or one for each measurement of each, as one for each measurement."""
    parts = engine.parts
    if len(parts) == 1 or not isinstance(value, list | tuple) or len(value) != len(parts):
        return value
    sizes = [part.stop - part.start for part in parts]
    if any(np.ndim(one) > 1 for one in value):
        return np.concatenate(
            [np.broadcast_to(one, (m, engine.shape[1])) for one, m in zip(value, sizes, strict=True)]
        )
    return np.concatenate([np.broadcast_to(one, m) for one, m in zip(value, sizes, strict=True)])
