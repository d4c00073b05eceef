"""What a separation leaves unexplained, in numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import in_parts, one_blas_thread
from ngmca.answers.how_many.singular_values import (
    KEPT,
    LOOKED_AT,
    Data,
    growth,
    looked_at,
    noise_edge,
    roots,
    spectrum,
)
from ngmca.answers.how_sure.missing_entries import (
    filled,
    observed,
    observed_in,
    values_at,
    with_gaps,
    without,
)
from ngmca.engines import (
    Engine,
    everything,
    gram,
    open_data,
    row_blocks,
    row_energies,
    spread,
    threads_for,
)
from ngmca.result import Separation

PICKS = 4  # measurements shown with their fit
BINS = np.linspace(-6, 6, 121)  # of the histogram, in standard deviations
FAR = 5  # standard deviations below 0: no noise
LOUDEST = 1e120  # noise in units of an engine, and the largest residual in units of the noise
TILE = 1 << 17  # entries of a residual that stay in a core's cache
FEW = 16  # measurements of a tile at least: the sources are read once for all of them


@dataclass(frozen=True)
class Diagnostics:
    """Numbers about Y, A S and Y - A S, small enough to be kept beside the result.

    They count what was observed, and outliers as missing. A background is a part of A S here.
    """

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
    picked: NDArray  # (p, n) those measurements, NaN where they are missing
    missing: float = 0.0  # share of entries that are missing
    outlying: NDArray = field(default_factory=lambda: np.zeros(0))  # (k,) values of the outliers

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
            outlying=self.outlying * unit,
        )


@one_blas_thread
def diagnose(data: Data, separation: Separation) -> Diagnostics:
    """Diagnostics of a separation of data (m, n), an array or an engine."""
    whole, separation = open_data(data), separation.in_memory()
    engine = without(whole, separation.outliers)
    sources = separation.S / separation.S.dtype.type(engine.unit)
    A, S = _with_background(separation, sources, engine.unit)
    rest = row_residuals(engine, A, S)
    row_rms = np.sqrt(rest / np.maximum(observed_in(engine, 1), 1))
    sigma = positive_levels(separation.noise / engine.unit, row_rms)
    entries = _entries(engine, A, S, sigma)
    singular, edge = leftover_structure(engine, A, S, sigma, len(sources))
    seen = spectrum(filled(engine, A, S), len(S) + KEPT)
    picks = _pick(rest, row_energies(engine))
    found = Diagnostics(
        explained=1 - float(rest.sum()) / engine.energy if engine.energy > 0 else 0.0,
        negative=entries.negative / observed(engine),
        zeros=entries.zeros / observed(engine),
        negative_energy=entries.far / (engine.energy or 1.0),
        rough_noise=seen.noise / engine.unit,
        directions=float(seen.above),
        sigma=sigma,
        row_rms=row_rms,
        column_rms=np.sqrt(entries.columns / np.maximum(observed_in(engine, 0), 1)),
        histogram=entries.density,
        outside=entries.outside,
        autocorrelation=entries.autocorrelation,
        singular=singular,
        singular_edge=edge,
        share=energy_shares(separation.A, sources),
        picks=picks,
        picked=with_gaps(whole, picks),
        missing=1 - observed(whole) / (whole.shape[0] * whole.shape[1]),
        outlying=values_at(whole, separation.outliers),
    )
    return found.scaled(engine.unit)


def _with_background(separation: Separation, S: NDArray, unit: float) -> tuple[NDArray, NDArray]:
    """A and S, the rows of the background among them."""
    found = separation.background
    if found is None:
        return separation.A, S
    weights = (found.weights / unit).astype(separation.A.dtype)
    return np.hstack([separation.A, weights]), np.vstack([S, found.basis.astype(S.dtype)])


def negative_share(data: Data) -> float:
    """Share of negative entries of the data."""
    engine = open_data(data)
    return sum(int(np.count_nonzero(y < 0)) for _, y in row_blocks(engine)) / observed(engine)


@one_blas_thread
def signal_to_noise(data: Data, sigma: float) -> float:
    """Signal-to-noise ratio in dB for noise of standard deviation sigma; infinite without."""
    engine = open_data(data)
    level = min(sigma / engine.unit, LOUDEST)
    power, noise = engine.energy / observed(engine), level**2
    if noise <= 0:
        return np.inf
    return float(10 * np.log10(max(power - noise, noise * 1e-3) / noise))


@one_blas_thread
def row_residuals(engine: Engine, A: NDArray, S: NDArray) -> NDArray:
    """Sum of squares of each row of Y - AS, (m,)."""
    total = np.zeros(len(A))

    def part(starts: range) -> None:
        for i, _, _, rest in _tiles(engine, A, S, starts):
            total[i] += np.einsum("ij,ij->i", rest, rest, dtype=float)

    in_parts(part, len(A), _height(engine), threads_for(engine, len(S)))
    return total


def leftover_structure(
    engine: Engine, A: NDArray, S: NDArray, sigma: NDArray, r: int
) -> tuple[NDArray, float]:
    """Singular values of the standardised residual outside the span of A, and the edge of noise.

    Inside the span the residual holds what thresholds took from the r sources; that is no new source. Of
    large data a part is looked at, see `rank`.
    """
    rows, columns = looked_at(engine.shape)
    part = engine.part(rows, columns)
    m, n = part.shape
    if m <= r or n < 2:
        return np.zeros(0), noise_edge(*engine.shape)
    spent = min(np.count_nonzero(S) / S.shape[1] / len(A), 0.5)  # share of the noise in the fit
    A, W = A[rows].astype(float), 1 / sigma[rows][:, None]
    Z = A @ S[:, columns]
    np.subtract(everything(part), Z, out=Z)
    share = 1.0
    if engine.weights is not None:
        seen = engine.weights[rows][:, columns] > 0
        Z *= seen
        share = float(np.sqrt(seen.mean()))
    Z *= W
    Q = np.linalg.qr(W * A[:, :r])[0]
    Z -= Q @ (Q.T @ Z)
    values = roots(gram(Z if m > n else Z.T))[: min(KEPT, m - r, n - 1)]
    grown = growth(part, engine)
    return values * grown, noise_edge(m - r, n) * share / np.sqrt(1 - spent) * grown


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


class _Entries:
    """What one look at every entry of Y, and of Z = (Y - AS) / sigma, adds up."""

    def __init__(self, channels: int) -> None:
        self.negative, self.zeros, self.far = 0, 0, 0.0  # of Y; energy of what is far below 0
        self.columns = np.zeros(channels)  # sum of squares of Z
        self.product = 0.0  # of neighbouring channels of Z
        self.counts = np.zeros(len(BINS) - 1)  # in the bins, of
        self.seen = 0  # entries of Z

    def __iadd__(self, other: "_Entries") -> "_Entries":
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self

    @property
    def density(self) -> NDArray:
        return self.counts / (self.seen * (BINS[1] - BINS[0]))

    @property
    def outside(self) -> float:
        return 1 - float(self.counts.sum()) / self.seen

    @property
    def autocorrelation(self) -> float:
        energy = float(self.columns.sum())
        return self.product / energy if energy > 0 else 0.0


def _entries(engine: Engine, A: NDArray, S: NDArray, sigma: NDArray) -> _Entries:
    """The sums over all entries; the histogram is of a seeded choice of rows where data are large."""
    m, n = engine.shape
    chosen = np.zeros(m, dtype=bool)
    chosen[spread(m, max(1, LOOKED_AT // n), np.random.default_rng(0))] = True

    def part(starts: range) -> _Entries:
        found, last = _Entries(n), np.zeros(0)
        for i, j, y, rest in _tiles(engine, A, S, starts):
            z = rest / sigma[i][:, None]
            there = None if engine.weights is None else engine.weights[i, j] > 0
            if there is not None:
                y = np.where(there, y, np.nan)  # which is neither negative nor 0
            low = y[y < -FAR * sigma[i][:, None]].astype(float)
            found.negative += int(np.count_nonzero(y < 0))
            found.zeros += int(np.count_nonzero(y == 0))  # ten times as fast as that of y
            found.far += float(low @ low)
            found.columns[j] += np.einsum("ij,ij->j", z, z)
            found.product += float(np.einsum("ij,ij->", z[:, 1:], z[:, :-1]))
            found.product += float(last @ z[:, 0]) if j.start else 0.0
            last = z[:, -1]
            shown = z[chosen[i]] if there is None else z[chosen[i]][there[chosen[i]]]
            found.counts += np.histogram(shown, len(BINS) - 1, (BINS[0], BINS[-1]))[0]
            found.seen += shown.size
        return found

    total = _Entries(n)
    for one in in_parts(part, m, _height(engine), threads_for(engine, len(S))):
        total += one
    if engine.weights is not None:  # neighbours of which one is missing add nothing to the product
        there = engine.weights > 0
        both = float(np.mean(there[:, 1:] & there[:, :-1]))
        total.product *= float(there.mean()) / both if both else 0.0
    return total


def _height(engine: Engine) -> int:
    """How many measurements a tile has."""
    return max(FEW, TILE // engine.shape[1])


def _tiles(
    engine: Engine, A: NDArray, S: NDArray, starts: range
) -> Iterator[tuple[slice, slice, NDArray, NDArray]]:
    """Rows and columns of pieces of Y, these pieces, and those of Y - AS, from left to right."""
    for start in starts:
        i = slice(start, start + starts.step)
        Y, weights = (
            engine.pick(i, slice(None)),
            A[i].astype(np.result_type(A, engine.dtype), copy=False),
        )
        for left in range(0, engine.shape[1], max(1, TILE // starts.step)):
            j = slice(left, left + max(1, TILE // starts.step))
            rest = weights @ S[:, j]
            np.subtract(Y[:, j], rest, out=rest)  # memory that is asked for anew costs more than a pass
            if engine.weights is not None:
                rest *= engine.weights[i, j] > 0
            yield i, j, Y[:, j], rest


def _pick(rest: NDArray, energy: NDArray) -> NDArray:
    """Measurements from the best to the worst explained, evenly spread over the ranking."""
    share = np.divide(rest, energy, out=np.zeros_like(rest), where=energy > 0)
    ranking = np.argsort(share, kind="stable")
    places = np.unique(np.linspace(0, len(ranking) - 1, PICKS).round().astype(int))
    return ranking[places]
