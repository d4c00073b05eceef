"""What of the data is fitted and predicted to count their sources, and how many that can tell."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.answers.how_many.cross_validation import speckles
from ngmca.engines import Counts, Engine, spread

LOOKED_AT, SHARE = 100_000, 16  # entries, or one of so many, that are fitted and predicted
MOST = 20  # sources to look for, where nothing else is said


def part(
    engine: Engine, noise: Any, entries: int | None, rng: np.random.Generator
) -> tuple[NDArray, Any]:
    """Values, NaN where they are missing, and their noise, in units of the engine.

    Of larger data they are a part, one out of each stretch of measurements and of channels.
    """
    m, n = engine.shape
    most = max(LOOKED_AT, m * n // SHARE) if entries is None else entries
    arguments.check_count(most, "entries", low=100)
    short = min(m, n, math.isqrt(most))
    long = min(max(m, n), most // short)
    rows = np.arange(m)[spread(m, short if m <= n else long, rng)]
    columns = np.arange(n)[spread(n, long if m <= n else short, rng)]
    if engine.weights is not None:
        rows = rows[(engine.weights[rows] > 0).any(axis=1)]
    values = engine.pick(rows, slice(None))[:, columns].astype(np.float64)
    if engine.weights is not None:
        values[engine.weights[np.ix_(rows, columns)] == 0] = np.nan
    return values, _noise_of(noise, engine, rows, columns)


def _noise_of(noise: Any, engine: Engine, rows: NDArray, columns: NDArray) -> Any:
    """Levels of some entries, (1 or m, 1 or n), or those of counts, in units of the engine; or None."""
    if noise is None:
        return None
    if isinstance(noise, str | Counts):
        counts = noise if isinstance(noise, Counts) else Counts()
        return Counts(counts.gain / engine.unit, counts.readout / engine.unit)
    levels = arguments.check_levels(noise, engine)
    levels = levels[rows] if len(levels) > 1 else levels
    return levels[:, columns] if levels.shape[1] > 1 else levels


def most(max_rank: int | None, values: NDArray, folds: int) -> int:
    """The largest number of sources to try: one fewer than all that any data of this shape have."""
    m, n = values.shape
    shown = np.count_nonzero(~np.isnan(values)) * (1 - 1 / max(folds, 10))
    possible = [k for k in range(1, min(m, n)) if k * (m + n - k) < shown]
    if not possible:
        raise ValueError(_too_small(values))
    if max_rank is not None and max_rank > possible[-1]:
        raise ValueError(
            f"max_rank={max_rank} is more than {m} measurements x {n} channels can tell: use at most "
            f"{possible[-1]}."
        )
    return min(possible[-1], MOST) if max_rank is None else max_rank


def labels(values: NDArray, folds: int, rng: np.random.Generator) -> NDArray:
    """`speckles` of what was observed; an error where a fold would hide nothing."""
    found = speckles(~np.isnan(values), folds, rng)
    if np.bincount(found[found >= 0], minlength=folds).min() == 0:
        raise ValueError(_too_small(values, f", or fewer folds than {folds}" if folds > 2 else ""))
    return found


def _too_small(values: NDArray, remedy: str = "") -> str:
    """The words for data that cannot tell."""
    m, n = values.shape
    seen = np.count_nonzero(~np.isnan(values))
    return (
        f"Y of {m} measurements x {n} channels, {seen} entries of which were observed, is too small to "
        f"tell how many sources there are: use more measurements or channels{remedy}."
    )
