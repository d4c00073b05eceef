"""Data with missing entries: counts of observed entries, and values that stand in for the others."""

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import Choice, Engine, everything, in_memory


def filled(engine: Engine, A: NDArray, S: NDArray) -> Engine:
    """Return the data with the fit in place of missing entries: singular values need all entries."""
    if engine.weights is None:
        return engine
    Y = np.where(engine.weights > 0, everything(engine), A @ S)
    return in_memory(Y.astype(engine.dtype), unit=engine.unit)


def with_gaps(engine: Engine, rows: Choice) -> NDArray:
    """Return some measurements, NaN where entries are missing."""
    Y = engine.pick(rows, slice(None))
    return Y if engine.weights is None else np.where(engine.weights[rows] > 0, Y, Y.dtype.type(np.nan))


def values_at(engine: Engine, outliers: NDArray | None) -> NDArray:
    """Return the values of outliers (k, 2)."""
    if outliers is None:
        return np.zeros(0)
    return np.array([engine.pick(slice(i, i + 1), slice(None))[0, j] for i, j in outliers], dtype=float)


def observed(engine: Engine) -> int:
    """Return the number of observed entries."""
    if engine.weights is not None:
        return int(np.count_nonzero(engine.weights))
    return engine.shape[0] * engine.shape[1]


def bridged(engine: Engine) -> Engine:
    """Return the data with straight lines across their gaps."""
    if engine.weights is None:
        return engine
    Y, seen, places = everything(engine).copy(), engine.weights > 0, np.arange(engine.shape[1])
    for row, there in zip(Y, seen, strict=True):
        if there.any() and not there.all():
            row[~there] = np.interp(places[~there], places[there], row[there])
    return in_memory(Y, unit=engine.unit)
