"""How many sources there might be: the singular values of the data against those of noise alone.

Of large data a seeded part is looked at: all channels or measurements where there are few of them, and
otherwise a choice of both. Its singular values, those of noise and of signal alike, grow with the root
of its size on average; what is told are those that the whole data would have.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.engines import (
    Choice,
    Engine,
    completed,
    everything,
    mad,
    open_data,
    row_blocks,
    smaller_gram,
    spread,
)

Data = NDArray | Engine

KEPT = 20  # singular values
LOOKED_AT = 1 << 23  # entries at most, of which
SHORT = 1500  # measurements or channels, whichever are fewer: the Gram matrix is not larger
FEWEST = 4  # singular values whose median tells the noise
# Part of the root of the energy of the data below which a singular value is a rounding error: that of
# the entries themselves in single precision, and of the Gram matrix, of half the digits, in double.
ROUNDING = {np.dtype(np.float32): 5e-7, np.dtype(np.float64): 1e-7}


@dataclass(frozen=True)
class Spectrum:
    """The largest singular values of data, beside the largest that their noise alone would have."""

    values: NDArray  # (k,) from the largest on, 0 where they are rounding errors
    noise: float  # standard deviation of the noise before any separation
    edge: float  # singular values up to here may be noise

    @property
    def above(self) -> int:
        """How many of the values stand above the noise: at least as many sources, if it is white."""
        return int(np.count_nonzero(self.values > self.edge))

    def scaled(self, unit: float) -> "Spectrum":
        """The same for data that are `unit` times as large."""
        return Spectrum(self.values * unit, self.noise * unit, self.edge * unit)


@one_blas_thread
def spectrum(data: Data, count: int = KEPT) -> Spectrum:
    """The `count` largest singular values of the data, and how far those of the noise reach."""
    engine = completed(open_data(data))
    part, values, noise = _examined(engine)
    grown = growth(part, engine)
    edge = noise_edge(*part.shape, max(noise, _least_noise(part)))
    return Spectrum(values[:count] * grown, noise, edge * grown).scaled(engine.unit)


@one_blas_thread
def noise_before(data: Data) -> float:
    """Noise level of the data before any separation: the smallest of all estimates that are not 0.

    The small singular values of a few sources in white noise are noise; the median of all of them
    tells its level (Gavish and Donoho, 2014): 0 if most of them are rounding errors. Signal in the way
    only makes an estimate larger.
    """
    engine = completed(open_data(data))
    return _examined(engine)[2] * engine.unit


@one_blas_thread
def singular_values(data: Data, count: int = KEPT) -> NDArray:
    """The largest singular values of the data, 0 where they are rounding errors."""
    return spectrum(data, count).values


def noise_edge(m: int, n: int, sigma: float = 1.0) -> float:
    """The largest singular value that white noise alone gives an (m, n) matrix."""
    return float(sigma * (np.sqrt(m) + np.sqrt(n)))


def median_of_noise(ratio: float) -> float:
    """Median of the Marchenko-Pastur law: of squared singular values of unit noise, over its width."""
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    x = low + (high - low) * (1 - np.cos(np.linspace(0, np.pi, 4001))) / 2  # dense at both ends
    centre = (x[1:] + x[:-1]) / 2
    mass = np.cumsum(np.sqrt((high - centre) * (centre - low)) / centre * np.diff(x))
    return float(centre[np.searchsorted(mass, mass[-1] / 2)])


def looked_at(shape: tuple[int, int]) -> tuple[Choice, Choice]:
    """Measurements and channels, seeded, that tell the singular values; all of them below a limit."""
    m, n = shape
    short = min(m, n, SHORT)
    long = min(max(m, n), max(LOOKED_AT // short, short))
    rng = np.random.default_rng(0)
    return spread(m, short if m <= n else long, rng), spread(n, long if m <= n else short, rng)


def growth(part: Engine, whole: Engine) -> float:
    """How much larger the singular values of the whole data are than those of a part."""
    return float(np.sqrt(np.prod(whole.shape, dtype=float) / np.prod(part.shape, dtype=float)))


def roots(G: NDArray) -> NDArray:
    """All singular values of a matrix with this Gram matrix, the largest first."""
    return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(G)[::-1], 0)))


def _examined(engine: Engine) -> tuple[Engine, NDArray, float]:
    """The part that is looked at, all of its singular values, and the noise before any separation."""
    rows, columns = looked_at(engine.shape)
    part = engine.part(rows, columns)
    values = roots(smaller_gram(part))
    values = np.where(values > ROUNDING[engine.dtype] * np.sqrt(part.energy), values, 0.0)
    levels = float(np.median(_rough_levels(engine, part, rows, columns)))
    m, n = sorted(part.shape)
    if m < FEWEST:
        return part, values, levels
    spectral = float(np.median(values) / np.sqrt(n * median_of_noise(m / n)))
    # 0: most entries are equal, as in counts
    return part, values, min(levels, spectral) if levels > 0 else spectral


def _least_noise(engine: Engine) -> float:
    """The noise below which half of its singular values are rounding errors, and it is found to be 0."""
    m, n = sorted(engine.shape)
    size = np.sqrt(engine.energy / (n * median_of_noise(m / n)))
    return float(ROUNDING[engine.dtype] * size)


def _rough_levels(engine: Engine, part: Engine, rows: Choice, columns: Choice) -> NDArray:
    """Noise of each measurement before any separation: the smaller of two robust estimates.

    The median absolute deviation is right for sparse rows, that of the differences between
    neighbouring channels for smooth ones; what is not noise only makes them larger.
    """
    if isinstance(columns, slice):
        levels = np.concatenate([mad(y) for _, y in row_blocks(part)])
        if engine.shape[1] < 3:
            return levels
        steps = np.concatenate([mad(np.diff(y, axis=1)) for _, y in row_blocks(part)])
    else:  # some of the channels that are looked at, and their neighbours, which are not
        left = columns[columns < engine.shape[1] - 1][::4]
        before, after = (everything(engine.part(rows, left + i)) for i in (0, 1))
        levels, steps = mad(before), mad(after - before)
    return np.minimum(levels, steps / np.sqrt(2))
