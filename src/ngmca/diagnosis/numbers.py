"""What a separation leaves unexplained, in numbers."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.data import InMemory, gram, open_data, spread
from ngmca.diagnosis.rank import (
    KEPT,
    LOOKED_AT,
    Data,
    growth,
    looked_at,
    noise_edge,
    roots,
    spectrum,
)
from ngmca.result import Separation

PICKS = 4  # measurements shown with their fit
BINS = np.linspace(-6, 6, 121)  # of the histogram, in standard deviations
FAR = 5  # standard deviations below 0: no noise
LOUDEST = 1e120  # noise in units of an engine, and the largest residual in units of the noise


@dataclass(frozen=True)
class Diagnostics:
    """Numbers about Y, A S and Y - A S, small enough to be kept beside the result."""

    explained: float  # 1 - |Y - AS|^2 / |Y|^2
    negative: float  # share of negative entries of Y
    zeros: float  # share of entries of Y that are exactly 0
    negative_energy: float  # share of the energy of Y in entries below -5 standard deviations
    rough_noise: float  # noise level estimated from Y alone
    directions: float  # number of singular values of Y above that noise, at most 20 more than sources
    sigma: NDArray  # (m,) noise level by which residuals are divided, positive
    row_rms: NDArray  # (m,) root mean square residual of each measurement
    column_rms: NDArray  # (n,) root mean square of the standardised residual of each channel
    histogram: NDArray  # (120,) density of the standardised residual between -6 and 6
    outside: float  # share of the standardised residual beyond 6
    autocorrelation: float  # of neighbouring channels of the standardised residual
    singular: NDArray  # (k,) largest singular values of the standardised residual outside of A
    singular_edge: float  # what the largest would be for pure noise
    share: NDArray  # (r,) energy |a_i|^2 |s_i|^2 of each source in the fit, over the sum of all
    picks: NDArray  # (p,) measurements to show, from best to worst explained
    picked: NDArray  # (p, n) those measurements

    def scaled(self, unit: float) -> "Diagnostics":
        """The same for data that are `unit` times as large."""
        if unit == 1.0:
            return self
        return replace(
            self,
            rough_noise=self.rough_noise * unit,
            sigma=self.sigma * unit,
            row_rms=self.row_rms * unit,
            picked=self.picked * self.picked.dtype.type(unit),
        )


@one_blas_thread
def diagnose(data: Data, separation: Separation) -> Diagnostics:
    """Diagnostics of a separation of data (m, n), an array or an engine."""
    engine = open_data(data)
    A, S = separation.A, separation.S / separation.S.dtype.type(engine.unit)
    rest = row_residuals(engine, A, S)
    row_rms = np.sqrt(rest / engine.shape[1])
    sigma = positive_levels(separation.noise / engine.unit, row_rms)
    column_rms, histogram, outside, neighbours = _standardised(engine, A, S, sigma)
    singular, edge = leftover_structure(engine, A, S, sigma)
    negative, zeros, far = _signs(engine, sigma)
    seen = spectrum(engine, len(S) + KEPT)
    picks = _pick(rest, engine.row_energy)
    found = Diagnostics(
        explained=1 - float(rest.sum()) / engine.energy if engine.energy > 0 else 0.0,
        negative=negative,
        zeros=zeros,
        negative_energy=far,
        rough_noise=seen.noise / engine.unit,
        directions=float(seen.above),
        sigma=sigma,
        row_rms=row_rms,
        column_rms=column_rms,
        histogram=histogram,
        outside=outside,
        autocorrelation=neighbours,
        singular=singular,
        singular_edge=edge,
        share=energy_shares(A, S),
        picks=picks,
        picked=engine.rows(picks),
    )
    return found.scaled(engine.unit)


def negative_share(data: Data) -> float:
    """Share of negative entries of the data."""
    engine = open_data(data)
    return sum(int(np.count_nonzero(y < 0)) for _, y in engine.row_blocks()) / _size(engine)


@one_blas_thread
def signal_to_noise(data: Data, sigma: float) -> float:
    """Signal-to-noise ratio in dB for noise of standard deviation sigma; infinite without."""
    engine = open_data(data)
    level = min(sigma / engine.unit, LOUDEST)
    power, noise = engine.energy / _size(engine), level**2
    if noise <= 0:
        return np.inf
    return float(10 * np.log10(max(power - noise, noise * 1e-3) / noise))


def row_residuals(engine: InMemory, A: NDArray, S: NDArray) -> NDArray:
    """Sum of squares of each row of Y - AS, (m,)."""
    squares = (np.square(y - A[i] @ S, dtype=float) for i, y in engine.row_blocks())
    return np.concatenate([np.sum(block, axis=1) for block in squares])


def leftover_structure(
    engine: InMemory, A: NDArray, S: NDArray, sigma: NDArray
) -> tuple[NDArray, float]:
    """Singular values of the standardised residual outside the span of A, and the edge of noise.

    Inside the span the residual holds what thresholds took from the sources; that is no new source. Of
    large data a part is looked at, see `rank`.
    """
    rows, columns = looked_at(engine.shape)
    part = engine.part(rows, columns)
    m, n = part.shape
    r = A.shape[1]
    if m <= r or n < 2:
        return np.zeros(0), noise_edge(*engine.shape)
    spent = min(np.count_nonzero(S) / S.shape[1] / len(A), 0.5)  # share of the noise in the fit
    A, W = A[rows].astype(float), 1 / sigma[rows][:, None]
    Z = W * (part.rows(slice(None)) - A @ S[:, columns])
    Q = np.linalg.qr(W * A)[0]
    Z -= Q @ (Q.T @ Z)
    values = roots(gram(Z if m > n else Z.T))[: min(KEPT, m - r, n - 1)]
    grown = growth(part, engine)
    return values * grown, noise_edge(m - r, n) / np.sqrt(1 - spent) * grown


def positive_levels(noise: NDArray, row_rms: NDArray) -> NDArray:
    """Noise levels to divide by: the residual's own where the robust estimate is 0 or missing."""
    sigma = np.where(np.isfinite(noise) & (noise > 0), noise, row_rms)
    smallest = sigma[sigma > 0].min(initial=np.inf)
    sigma = np.where(sigma > 0, sigma, smallest if np.isfinite(smallest) else 1.0)
    return np.maximum(sigma, row_rms.max() / LOUDEST)


def energy_shares(A: NDArray, S: NDArray) -> NDArray:
    """Energy |a_i|^2 |s_i|^2 of each source in the fit, over the sum of all: they sum to 1."""
    columns, rows = (np.sum(np.square(X, dtype=float), axis=i) for i, X in enumerate((A, S)))
    energy = columns * rows
    total = float(energy.sum())
    return energy / total if total > 0 else np.zeros(len(energy))


def _signs(engine: InMemory, sigma: NDArray) -> tuple[float, float, float]:
    """Shares of negative entries, of zeros, and of the energy in entries far below 0."""
    negative, zeros, far = 0, 0, 0.0
    for i, y in engine.row_blocks():
        negative += int(np.count_nonzero(y < 0))
        zeros += y.size - int(np.count_nonzero(y))
        far += float(np.sum(np.where(y < -FAR * sigma[i][:, None], y, 0) ** 2))
    return negative / _size(engine), zeros / _size(engine), far / (engine.energy or 1.0)


def _standardised(
    engine: InMemory, A: NDArray, S: NDArray, sigma: NDArray
) -> tuple[NDArray, NDArray, float, float]:
    """Column RMS, histogram density, share beyond it and neighbour correlation of (Y - AS) / sigma.

    The histogram is that of a seeded choice of measurements where data are large.
    """
    m, n = engine.shape
    chosen = np.zeros(m, dtype=bool)
    chosen[spread(m, max(1, LOOKED_AT // n), np.random.default_rng(0))] = True
    columns = np.zeros(n)
    counts = np.zeros(len(BINS) - 1)
    product = 0.0
    for i, y in engine.row_blocks():
        z = (y - A[i] @ S) / sigma[i][:, None]
        columns += np.einsum("ij,ij->j", z, z)
        counts += np.histogram(z[chosen[i]], BINS)[0]
        product += float(np.einsum("ij,ij->", z[:, 1:], z[:, :-1]))
    energy = float(columns.sum())
    seen = n * np.count_nonzero(chosen)
    return (
        np.sqrt(columns / m),
        counts / (seen * (BINS[1] - BINS[0])),
        1 - float(counts.sum()) / seen,
        product / energy if energy > 0 else 0.0,
    )


def _pick(rest: NDArray, energy: NDArray) -> NDArray:
    """Measurements from the best to the worst explained, evenly spread over the ranking."""
    share = np.divide(rest, energy, out=np.zeros_like(rest), where=energy > 0)
    ranking = np.argsort(share, kind="stable")
    places = np.unique(np.linspace(0, len(ranking) - 1, PICKS).round().astype(int))
    return ranking[places]


def _size(engine: InMemory) -> int:
    """Number of entries."""
    return engine.shape[0] * engine.shape[1]
