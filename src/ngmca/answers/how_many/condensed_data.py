"""The data in units of their noise, condensed to a bounded size, and without their baseline."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.messages import ArgumentError, option
from ngmca.answers.how_many.directions import filled
from ngmca.constraints import Baseline
from ngmca.engines import Counts, Engine, Levels, here, passes_there, row_blocks, rows_there, spread
from ngmca.io.technique import borders

MAX_RANK = 20  # sources to try if nothing else is given
ENTRIES = 80_000  # of the condensed data
ENTRIES_AT_ONCE = 1 << 23  # of whole measurements on a GPU
FILLED_RANK = 15  # of a fit of sources and background in place of missing entries
NoiseModel = ArrayLike | str | Counts | None


@dataclass(frozen=True, eq=False)
class Condensed:
    """What the criteria work on; NaN is a missing entry.

    Neighbouring channels of large data are averaged. Of many measurements there are averages of
    neighbours, which have less noise, and some that are chosen, which are not mixed any further.

    Attributes
    ----------
    averages : ndarray of shape (m, n)
        Averages over neighbouring measurements and channels, without the baseline.
    chosen : ndarray of shape (k, n)
        Some measurements, with their baseline.
    baseline : Baseline or None
        The curves of the baseline.
    scale : ndarray of shape (n,)
        Factors from these units to those of the data.
    channels : ndarray of shape (n,)
        The position of each column among the channels of the data.
    noise : float
        Noise level of the averages; 0 if it is unknown.
    """

    averages: NDArray
    chosen: NDArray
    baseline: Baseline | None
    scale: NDArray
    channels: NDArray
    noise: float


def condensed(
    engine: Engine, noise: NoiseModel, baseline: Baseline | None, rng: np.random.Generator
) -> Condensed:
    """Return the condensed data."""
    m, n = engine.shape
    levels = Levels.of(noise, engine)
    rows, columns = levels.units(engine.shape)
    short = min(m, n, math.isqrt(ENTRIES))
    long = min(max(m, n), ENTRIES // short)
    across, along = _ends(m, short if m <= n else long), _ends(n, long if m <= n else short)
    binned = _binned(engine, rows, columns, along)
    observed = ~np.isnan(binned).all(axis=1)
    averages = _averaged(binned, across)
    curves = None
    if baseline is not None:
        basis = baseline.basis(n, borders(engine.techniques))
        curves = np.add.reduceat(basis / columns, along[:-1], axis=1) / np.diff(along)
        averages = _without_baseline(averages, curves)
    kept = binned[observed]
    entries = np.diff(across).mean() * np.diff(along).mean()
    return Condensed(
        averages=averages[~np.isnan(averages).all(axis=1)],
        chosen=kept[spread(len(kept), len(across) - 1, rng)],
        baseline=None if curves is None else Baseline(curves),
        scale=np.add.reduceat(columns, along[:-1]) / np.diff(along) * engine.unit,
        channels=(along[:-1] + along[1:] - 1) / 2,
        noise=float(levels.level or 0) / math.sqrt(entries),
    )


def rank_limits(max_rank: int | None, values: NDArray) -> tuple[int, int]:
    """Return the largest number that criteria can count, and the largest that may be chosen."""
    m, n = values.shape
    possible = min(m, n) - 2
    if possible < 1:
        raise ArgumentError(
            "{} is too small to choose the number of sources: it has {} measurements x {} channels with "
            "observed entries. Use at least 3 of both.",
            *(option("Y"), m, n),
        )
    if max_rank is not None and max_rank > possible:
        raise ArgumentError(
            "{} is too large for {} measurements x {} channels: use at most {}.",
            *(option("max_rank", max_rank), m, n, possible),
        )
    limit = min(possible, max(MAX_RANK, max_rank or 0))
    return limit, limit if max_rank is None else max_rank


def _ends(length: int, count: int) -> NDArray:
    """Return where `count` stretches of neighbours begin, and the end."""
    return np.arange(count + 1) * length // count


def _binned(engine: Engine, rows: NDArray, columns: NDArray, along: NDArray) -> NDArray:
    """Return averages over stretches of channels, in units of the noise; NaN if nothing is observed."""
    found = np.empty((engine.shape[0], len(along) - 1))
    if passes_there(engine):
        for where, Y in rows_there(engine, ENTRIES_AT_ONCE, ENTRIES_AT_ONCE):
            units = np.array(rows[where, None] * columns, like=Y)
            sums = np.zeros((len(Y), Y.shape[1] + 1), like=Y)
            sums[:, 1:] = np.cumsum(Y / units, axis=1)  # stretches are differences of sums
            found[where] = here(np.diff(sums[:, np.array(along, like=Y)], axis=1)) / np.diff(along)
        return found
    for where, Y in row_blocks(engine):
        values = Y / (rows[where, None] * columns)
        if engine.weights is None:
            found[where] = np.add.reduceat(values, along[:-1], axis=1) / np.diff(along)
        else:
            seen = engine.weights[where] > 0
            found[where] = _means(np.where(seen, values, 0), seen, along, axis=1)
    return found


def _averaged(values: NDArray, ends: NDArray) -> NDArray:
    """Return averages over stretches of rows; NaN where nothing is observed."""
    if len(ends) == len(values) + 1:
        return values
    seen = ~np.isnan(values)
    return _means(np.where(seen, values, 0), seen, ends, axis=0)


def _means(values: NDArray, seen: NDArray, ends: NDArray, axis: int) -> NDArray:
    total = np.add.reduceat(values, ends[:-1], axis=axis)
    count = np.add.reduceat(seen.astype(float), ends[:-1], axis=axis)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def _without_baseline(values: NDArray, curves: NDArray) -> NDArray:
    """Return rows minus their best fit by the curves.

    Missing entries are filled for this fit: it would take another part of the sources in every row.
    """
    complete = filled(values, min(FILLED_RANK, min(values.shape) // 3))
    return np.asarray(values - np.linalg.lstsq(curves.T, complete.T, rcond=None)[0].T @ curves)
