"""The part of the data that is fitted, and the largest number of sources that it can support."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, message, option
from ngmca.answers.how_many.cross_validation import PartNoise, speckles
from ngmca.engines import Counts, Engine, spread

MAX_RANK = 20  # sources to try if nothing else is given
FITTED_ENTRIES = 100_000  # or a sixteenth of all entries if that is more
NoiseModel = ArrayLike | str | Counts | None


def part_to_fit(
    engine: Engine, noise: NoiseModel, entries: int | None, rng: np.random.Generator
) -> tuple[NDArray, PartNoise]:
    """Return values, NaN where they are missing, and their noise, in units of the engine.

    Of larger data they are a part: one measurement and one channel out of each stretch of neighbours.
    """
    m, n = engine.shape
    limit = max(FITTED_ENTRIES, m * n // 16) if entries is None else entries
    arguments.check_count(limit, "entries", low=100)
    short = min(m, n, math.isqrt(limit))
    long = min(max(m, n), limit // short)
    rows = np.arange(m)[spread(m, short if m <= n else long, rng)]
    columns = np.arange(n)[spread(n, long if m <= n else short, rng)]
    if engine.weights is not None:
        rows = rows[(engine.weights[rows] > 0).any(axis=1)]
    values = engine.pick(rows, slice(None))[:, columns].astype(np.float64)
    if engine.weights is not None:
        values[engine.weights[np.ix_(rows, columns)] == 0] = np.nan
    return values, _noise_of_part(noise, engine, rows, columns)


def _noise_of_part(noise: NoiseModel, engine: Engine, rows: NDArray, columns: NDArray) -> PartNoise:
    """Return noise levels of some entries, (1 or m, 1 or n), or of counts, in units of the engine."""
    if noise is None:
        return None
    if isinstance(noise, str | Counts):
        counts = noise if isinstance(noise, Counts) else Counts()
        return Counts(counts.gain / engine.unit, counts.readout / engine.unit)
    levels = arguments.check_levels(noise, engine)
    levels = levels[rows] if len(levels) > 1 else levels
    return levels[:, columns] if levels.shape[1] > 1 else levels


def rank_limit(max_rank: int | None, values: NDArray, folds: int) -> int:
    """Return the largest number of sources to try: one fewer than any data of this shape have."""
    m, n = values.shape
    shown = np.count_nonzero(~np.isnan(values)) * (1 - 1 / max(folds, 10))
    possible = [k for k in range(1, min(m, n)) if k * (m + n - k) < shown]
    if not possible:
        raise _too_small(values)
    if max_rank is not None and max_rank > possible[-1]:
        raise ArgumentError(
            "{} is too large for {} measurements x {} channels: use at most {}.",
            option("max_rank", max_rank), m, n, possible[-1],
        )  # fmt: skip
    return min(possible[-1], MAX_RANK) if max_rank is None else max_rank


def fold_labels(values: NDArray, folds: int, rng: np.random.Generator) -> NDArray:
    """Return `speckles` of the observed entries; raise an error if a fold would hide nothing."""
    found = speckles(~np.isnan(values), folds, rng)
    if np.bincount(found[found >= 0], minlength=folds).min() == 0:
        raise _too_small(values, folds)
    return found


def _too_small(values: NDArray, folds: int = 2) -> ArgumentError:
    m, n = values.shape
    remedy = message(", or a smaller {} than {}", option("folds"), folds) if folds > 2 else ""
    return ArgumentError(
        "{} is too small to choose the number of sources: it has {} measurements x {} channels, and {} "
        "observed entries. Use more measurements or channels{}.",
        option("Y"), m, n, np.count_nonzero(~np.isnan(values)), remedy,
    )  # fmt: skip
