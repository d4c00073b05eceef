"""How many sources there might be: the singular values of the data against those of noise alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds

from ngmca._support.threads import one_blas_thread
from ngmca.data import InMemory, gram, mad, open_data

Data = NDArray | InMemory

KEPT = 20  # singular values
GRAM = 1000  # largest Gram matrix whose eigenvalues are all computed
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
    engine = open_data(data)
    every = _every_value(engine)
    noise = _noise_before(engine, every)
    values = _largest_values(engine, count) if every is None else every[:count]
    m, n = engine.shape
    edge = noise_edge(m, n, max(noise, _least_noise(engine)))
    return Spectrum(values, noise, edge).scaled(engine.unit)


@one_blas_thread
def noise_before(data: Data) -> float:
    """Noise level of the data before any separation: the smallest of all estimates that are not 0.

    The small singular values of a few sources in white noise are noise; the median of all of them
    tells its level (Gavish and Donoho, 2014): 0 if most of them are rounding errors. Signal in the way
    only makes an estimate larger.
    """
    engine = open_data(data)
    return _noise_before(engine, _every_value(engine)) * engine.unit


@one_blas_thread
def singular_values(data: Data, count: int = KEPT) -> NDArray:
    """The largest singular values of the data, 0 where they are rounding errors."""
    engine = open_data(data)
    every = _every_value(engine)
    values = _largest_values(engine, count) if every is None else every[:count]
    return values * engine.unit


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


def double_products(engine: InMemory) -> LinearOperator:
    """Y x and Y'z for vectors, in double precision whatever that of the data, in its units."""

    def times(x: NDArray) -> NDArray:
        return np.concatenate([y @ np.ravel(x) for _, y in engine.double_blocks()])

    def back(z: NDArray) -> NDArray:
        total = np.zeros(engine.shape[1])
        for i, y in engine.double_blocks():
            total += y.T @ np.ravel(z)[i]
        return total

    return LinearOperator(engine.shape, times, back, dtype=float)


def largest(operator: LinearOperator, count: int) -> NDArray:
    """The largest singular values of an operator, by Lanczos, or all at once where it is small."""
    m, n = operator.shape
    if count >= min(m, n) - 1 or min(m, n) <= 64:
        dense = operator @ np.eye(n) if n <= m else (operator.H @ np.eye(m)).T
        return np.linalg.svd(dense, compute_uv=False)[:count]
    start = np.random.default_rng(0).standard_normal(min(m, n))
    values = svds(operator, k=count, v0=start, return_singular_vectors=False)
    return np.sort(values)[::-1]


def _noise_before(engine: InMemory, values: NDArray | None) -> float:
    """Noise before any separation, from all singular values where they are known."""
    rows = float(np.median(_rough_levels(engine)))
    m, n = sorted(engine.shape)
    if values is None:  # some of the measurements tell it as well
        few = np.random.default_rng(0).permutation(engine.shape[0])[:GRAM]
        m, n = GRAM, engine.shape[1]
        values = _roots(gram(engine.rows(few).T), engine.dtype)
    if m < FEWEST:
        return rows
    spectral = float(np.median(values) / np.sqrt(n * median_of_noise(m / n)))
    return min(rows, spectral) if rows > 0 else spectral  # 0: most entries are equal, as in counts


def _least_noise(engine: InMemory) -> float:
    """The noise below which half of its singular values are rounding errors, and it is found to be 0."""
    m, n = sorted(engine.shape)
    size = np.sqrt(engine.energy / (n * median_of_noise(m / n)))
    return float(ROUNDING[engine.dtype] * size)


def _rough_levels(engine: InMemory) -> NDArray:
    """Noise of each measurement before any separation: the smaller of two robust estimates.

    The median absolute deviation is right for sparse rows, that of the differences between
    neighbouring channels for smooth ones; what is not noise only makes them larger.
    """
    rows = np.concatenate([mad(y) for _, y in engine.row_blocks()])
    if engine.shape[1] < 3:
        return rows
    steps = np.concatenate([mad(np.diff(y, axis=1)) for _, y in engine.row_blocks()])
    return np.minimum(rows, steps / np.sqrt(2))


def _every_value(engine: InMemory) -> NDArray | None:
    """All singular values by the Gram matrix, or None where that is too large."""
    if min(engine.shape) > GRAM:
        return None
    return _roots(engine.smaller_gram(), engine.dtype)


def _largest_values(engine: InMemory, count: int) -> NDArray:
    """The largest singular values by Lanczos."""
    values = largest(double_products(engine), min(count, *engine.shape))
    return _resolved(values, np.sqrt(engine.energy), engine.dtype)


def _roots(G: NDArray, dtype: np.dtype) -> NDArray:
    """All singular values of data of this precision, from their Gram matrix, the largest first."""
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(G)[::-1], 0))
    return _resolved(values, np.sqrt(np.trace(G)), dtype)


def _resolved(values: NDArray, size: float, dtype: np.dtype) -> NDArray:
    """The singular values, 0 where they are rounding errors of data with this root of the energy."""
    return np.where(values > ROUNDING[dtype] * size, values, 0.0)
