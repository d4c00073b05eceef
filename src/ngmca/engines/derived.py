"""What follows from the answers of any engine: costs, norms, products with Y, other settings."""

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError
from ngmca._support.threads import available
from ngmca.engines import blocks
from ngmca.engines.blocks import gram
from ngmca.engines.protocol import Engine, Sources
from ngmca.nnqp.gram import Gram

WORTH_THREADS = 10_000_000  # multiplications in a sweep below which threads cost more than they save
WORTH_GPU = 1 << 23  # entries of Y from which single passes over it are made on a GPU
BLOCK_ENTRIES = 1 << 22  # entries of Y, or of a residual, in memory at once
WEIGHTED_BLOCK_ENTRIES = 1 << 21  # the same for data with weights


def is_engine(data: Any) -> bool:
    """Return whether data are opened already."""
    return hasattr(data, "sweep") and hasattr(data, "fingerprint")


def threads_for(engine: Engine, r: int) -> int:
    """Return the number of threads for a pass with r sources: 1 for small problems."""
    m, n = engine.shape
    if m * n * r < WORTH_THREADS:
        return 1
    return available() if engine.threads is None else engine.threads


def workers_for(engine: Engine, r: int, threads: int | None = None) -> int:
    """Return how many starts may run at once: 1 for large data, whose blocks use all threads."""
    if not engine.concurrent or engine.noise_memory is not None or threads_for(engine, r) > 1:
        return 1
    return available() if threads is None else threads


def balance(engine: Engine, A: NDArray, SS: Gram, YS: NDArray) -> float:
    """Return 1/2 |Y - A S|^2 from S S' and Y S'; rounding may make it negative."""
    return float(engine.energy / 2 - np.vdot(A, YS) + SS.energy(A) / 2)


def cost(engine: Engine, A: NDArray, SS: Gram, YS: NDArray) -> float:
    """Return 1/2 |Y - A S|^2, weighted, from S S' and Y S', without another pass over the data."""
    return max(balance(engine, A, SS, YS), 0.0)


def residual_energy(engine: Engine, A: NDArray, S: NDArray) -> float:
    """Return |Y - A S|^2, weighted, from the residual itself."""
    (m, n), weights, total = engine.shape, engine.weights, 0.0
    step = max(1, (BLOCK_ENTRIES if weights is None else WEIGHTED_BLOCK_ENTRIES) // m)
    for columns in (slice(j, min(j + step, n)) for j in range(0, n, step)):
        rest = engine.pick(slice(None), columns) - A @ S[:, columns]
        if weights is None:
            total += float(np.vdot(rest, rest))
        else:
            rest = np.where(weights[:, columns] > 0, rest, rest.dtype.type(0))
            total += float(np.vdot(weights[:, columns], rest**2))
    return total


def row_blocks(engine: Engine, entries: int | None = None) -> Iterator[tuple[slice, NDArray]]:
    """Yield whole measurements in blocks of about so many entries, with their rows."""
    step = max(1, (BLOCK_ENTRIES if entries is None else entries) // engine.shape[1])
    return ((rows, Y) for (rows, _), Y in engine.blocks(step))


def passes_there(engine: Engine) -> bool:
    """Return whether passes over all of Y are made on a GPU: Y is there as a whole, and large."""
    m, n = engine.shape
    large = engine.place == "gpu" and m * n >= WORTH_GPU
    return large and engine.there is not None  # type: ignore[attr-defined]


def rows_there(engine: Engine, entries: int, most: int) -> Iterator[tuple[slice, Any]]:
    """Yield whole measurements as `row_blocks`; if passes are made on a GPU, `most` entries at once."""
    if not passes_there(engine):
        return row_blocks(engine, entries)
    return blocks.row_blocks(engine.there, most)  # type: ignore[attr-defined]


def here(array: Any) -> NDArray:
    """Return an array in the memory of the host."""
    return np.asarray(array.get() if hasattr(array, "get") else array)


def row_energies(engine: Engine) -> NDArray:
    """Return the sum of squares of each measurement, (m,)."""
    if engine.whole:
        rows = (row.astype(np.float64, copy=False) for row in everything(engine))
        return np.array([np.vdot(row, row) for row in rows])
    found = np.zeros(engine.shape[0])
    for (where, _), Y in engine.blocks():
        found[where] += np.einsum("ij,ij->i", Y, Y, dtype=np.float64)
    return found


def magnitude(engine: Engine) -> float:
    """Return the largest absolute value in Y."""
    if engine.place == "gpu":
        return engine.magnitude  # type: ignore[attr-defined]
    return max(float(np.maximum(Y.max(), -Y.min())) for _, Y in engine.blocks())


def everything(engine: Engine, what: str = "this") -> NDArray:
    """Return all of Y as an array in memory; `what` needs it, and an error says so."""
    require_whole(engine, what)
    return engine.pick(slice(None), slice(None))


def times(engine: Engine, X: NDArray) -> NDArray:
    """Return Y X for X (n, r), calculated in the precision of the data, in double precision."""
    if engine.whole:
        return _product(everything(engine), X)
    return np.asarray(engine.moments(X.astype(engine.dtype, copy=False).T)[1])


def back(engine: Engine, A: NDArray) -> NDArray:
    """Return Y'A for A (m, r), calculated in the precision of the data, in double precision."""
    if engine.whole:
        return _product(everything(engine).T, A)
    return np.ascontiguousarray(engine.correlate(A.astype(engine.dtype, copy=False)).T, dtype=np.float64)


def smaller_gram(engine: Engine) -> NDArray:
    """Return Y Y' or Y'Y, whichever is smaller, in double precision."""
    Y = everything(engine)
    tall = Y if engine.shape[0] > engine.shape[1] else Y.T
    return np.asarray(sum(gram(block) for _, block in blocks.row_blocks(tall, BLOCK_ENTRIES)))


def _product(Y: NDArray, rows: NDArray) -> NDArray:
    rows = rows.astype(Y.dtype, copy=False)
    # BLAS is about twice as fast when the long side of the data is the contiguous one of the result.
    product = Y @ rows if Y.flags.c_contiguous else (rows.T @ Y.T).T
    return np.ascontiguousarray(product, dtype=np.float64)


def by_residual(engine: Engine) -> Engine:
    """Return the same data with noise levels of the residual as it is, as the paper has them."""
    found = copy(engine)
    found.corrected = False
    return found


def in_its_unit(engine: Engine) -> Engine:
    """Return the same data with the engine's unit for 1: arguments and results are in that unit."""
    if engine.unit == 1.0:
        return engine
    found = copy(engine)
    found.unit = 1.0
    return found


def in_precision(engine: Engine, dtype: np.dtype) -> Engine:
    """Return the same data in a precision, in units of their largest entry.

    They are for sources in a frame, whose samples do not show what the fit follows of the noise.
    """
    unit = magnitude(engine) or 1.0
    return by_residual(engine.divided(unit=unit, dtype=dtype))


def fetched(S: Sources) -> Any:
    """Return sources of a sweep where a result has them: those on a GPU come to memory."""
    return S.fetched() if hasattr(S, "fetched") else S


def returned(engine: Engine, found: Any) -> Any:
    """Return a result with A and S as arrays of the kind that the data came as."""
    xp = engine.array_module
    return found if xp is np else replace(found, A=xp.asarray(found.A), S=xp.asarray(found.S))


def require_whole(engine: Engine, what: object) -> None:
    """Raise an error if all of Y cannot be in memory at once, which `what` needs."""
    if engine.whole:
        return
    if engine.place == "dask":
        raise ArgumentError(
            "{} needs all data in memory, but Y is a Dask array. Take some of its columns, or pass "
            "Y.compute().",
            what,
        )
    size = float(np.prod(engine.shape)) * engine.dtype.itemsize
    raise ArgumentError(
        "{} needs all data in memory, but Y, {} GB, is read in blocks. Take some of its columns, or "
        "pass Y as an array.",
        *(what, f"{size / 1e9:.2g}"),
    )
