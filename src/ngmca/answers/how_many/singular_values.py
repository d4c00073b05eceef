"""Singular values of the data compared with those of white noise.

Of large data a seeded part is used: all measurements or all channels if there are few of them, and
otherwise some of both. On average, singular values grow with the root of the size of the part, both
those of noise and those of signal. They are scaled to the size of the whole data.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca import engines
from ngmca._support.threads import one_blas_thread

Data = NDArray | engines.Engine

DEFAULT_COUNT = 20
MAX_ENTRIES = 1 << 23  # of the part that is used
MAX_GRAM_SIZE = 1500  # measurements or channels of that part, whichever are fewer
MIN_VALUES_FOR_MEDIAN = 4
# A singular value below this part of the root of the energy is a rounding error: of the entries in
# single precision, and of the Gram matrix, which has half of the digits, in double precision.
ROUNDING = {np.dtype(np.float32): 5e-7, np.dtype(np.float64): 1e-7}


@dataclass(frozen=True)
class Spectrum:
    """The largest singular values of data, and the largest that their noise alone would have.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Singular values, the largest first; 0 where they are rounding errors.
    noise : float
        Standard deviation of the noise, estimated without a separation.
    edge : float
        The largest singular value of white noise of that level.
    """

    values: NDArray
    noise: float
    edge: float

    @property
    def above(self) -> int:
        """Number of values above the edge: if the noise is white, there are at least as many sources."""
        return int(np.count_nonzero(self.values > self.edge))

    def scaled(self, unit: float) -> "Spectrum":
        """Return the spectrum of data that are `unit` times as large."""
        return Spectrum(self.values * unit, self.noise * unit, self.edge * unit)


@one_blas_thread
def spectrum(data: Data, count: int = DEFAULT_COUNT) -> Spectrum:
    """Return the `count` largest singular values of the data, their noise, and the edge of the noise.

    The noise level is that before any separation: the smallest estimate that is not 0. With a few
    sources in white noise most singular values are noise, and their median gives its level (Gavish and
    Donoho, 2014): 0 if most of them are rounding errors. Signal only makes an estimate larger.
    """
    engine = engines.completed(engines.open_data(data))
    part, values, noise = _examined(engine)
    grown = growth(part, engine)
    edge = noise_edge(*part.shape, max(noise, _least_noise(part)))
    return Spectrum(values[:count] * grown, noise, edge * grown).scaled(engine.unit)


def noise_edge(m: int, n: int, sigma: float = 1.0) -> float:
    """Return the largest singular value of an (m, n) matrix of white noise."""
    return float(sigma * (np.sqrt(m) + np.sqrt(n)))


def median_of_noise(ratio: float) -> float:
    """Return the median of the Marchenko-Pastur law, of squared singular values of unit noise over n."""
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    x = low + (high - low) * (1 - np.cos(np.linspace(0, np.pi, 4001))) / 2  # dense at both ends
    centre = (x[1:] + x[:-1]) / 2
    mass = np.cumsum(np.sqrt((high - centre) * (centre - low)) / centre * np.diff(x))
    return float(centre[np.searchsorted(mass, mass[-1] / 2)])


def examined_part(shape: tuple[int, int]) -> tuple[engines.Choice, engines.Choice]:
    """Return the measurements and channels that are used: all, or a seeded choice of large data."""
    m, n = shape
    short = min(m, n, MAX_GRAM_SIZE)
    long = min(max(m, n), max(MAX_ENTRIES // short, short))
    rng = np.random.default_rng(0)
    return engines.spread(m, short if m <= n else long, rng), engines.spread(
        n, long if m <= n else short, rng
    )


def growth(part: engines.Engine, whole: engines.Engine) -> float:
    """Return how much larger the singular values of the whole data are than those of a part."""
    return float(np.sqrt(np.prod(whole.shape, dtype=float) / np.prod(part.shape, dtype=float)))


def roots(G: NDArray) -> NDArray:
    """Return all singular values of a matrix with this Gram matrix, the largest first."""
    return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(G)[::-1], 0)))


def _examined(engine: engines.Engine) -> tuple[engines.Engine, NDArray, float]:
    """Return the part that is used, all of its singular values, and the noise before any separation."""
    rows, columns = examined_part(engine.shape)
    part = engine.part(rows, columns)
    values = roots(engines.smaller_gram(part))
    values = np.where(values > ROUNDING[engine.dtype] * np.sqrt(part.energy), values, 0.0)
    levels = float(np.median(_rough_levels(engine, part, rows, columns)))
    m, n = sorted(part.shape)
    if m < MIN_VALUES_FOR_MEDIAN:
        return part, values, levels
    spectral = float(np.median(values) / np.sqrt(n * median_of_noise(m / n)))
    # 0: most entries are equal, as in counts
    return part, values, min(levels, spectral) if levels > 0 else spectral


def _least_noise(engine: engines.Engine) -> float:
    """Return the noise level below which half of the singular values are rounding errors."""
    m, n = sorted(engine.shape)
    size = np.sqrt(engine.energy / (n * median_of_noise(m / n)))
    return float(ROUNDING[engine.dtype] * size)


def _rough_levels(
    engine: engines.Engine, part: engines.Engine, rows: engines.Choice, columns: engines.Choice
) -> NDArray:
    """Return the noise of each measurement before any separation: the smaller of two robust estimates.

    The median absolute deviation of the entries is right for sparse rows, that of the differences
    between neighbouring channels for smooth rows. Signal only makes them larger.
    """
    if isinstance(columns, slice):
        levels = np.concatenate([engines.mad(y) for _, y in engines.row_blocks(part)])
        if engine.shape[1] < 3:
            return levels
        steps = np.concatenate([engines.mad(np.diff(y, axis=1)) for _, y in engines.row_blocks(part)])
    else:  # some of the chosen channels, and their neighbours
        left = columns[columns < engine.shape[1] - 1][::4]
        before, after = (engines.everything(engine.part(rows, left + i)) for i in (0, 1))
        levels, steps = engines.mad(before), engines.mad(after - before)
    return np.minimum(levels, steps / np.sqrt(2))
