"""Numbers about a separation and its residual."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.answers.how_many import singular_values
from ngmca.answers.how_many.choose_rank import quick_numbers
from ngmca.answers.how_sure.residual_pass import entry_sums, row_residuals
from ngmca.answers.how_sure.residual_structure import structure
from ngmca.answers.missing_entries import filled, observed, values_at, with_gaps
from ngmca.constraints import Baseline
from ngmca.engines import (
    Engine,
    everything,
    gram,
    observed_in,
    open_data,
    row_blocks,
    row_energies,
    without_outliers,
)
from ngmca.result import Separation

LARGEST_RATIO = 1e120  # of the noise to the unit of an engine, and of the residual to the noise


@dataclass(frozen=True)
class Diagnostics:
    """Numbers about Y, AS and Y - AS, small enough to be saved with a result.

    Only observed entries count, and outliers count as missing. A background is a part of AS here. A
    standardised residual is divided by the noise level of its measurement.

    Attributes
    ----------
    explained : float
        1 - |Y - AS|^2 / |Y|^2.
    negative, zeros : float
        Shares of entries of Y that are negative, and exactly 0.
    negative_energy : float
        Share of the energy of Y in entries more than 5 standard deviations below 0.
    rough_noise : float
        Noise level estimated from Y alone.
    directions : float
        Number of singular values of Y above that noise, at most 20 more than there are sources.
    sigma : ndarray of shape (m,)
        Noise level of each measurement, positive.
    row_rms : ndarray of shape (m,)
        Root mean square residual of each measurement.
    column_rms : ndarray of shape (n,)
        Root mean square of the standardised residual of each channel.
    histogram : ndarray of shape (120,)
        Density of the standardised residual between -6 and 6.
    outside : float
        Share of the standardised residual beyond 6.
    autocorrelation : float
        Correlation of neighbouring channels of the standardised residual.
    singular : ndarray of shape (k,)
        Largest singular values of the standardised residual outside the span of A.
    singular_edge : float
        The largest singular value that pure noise would have.
    share : ndarray of shape (r,)
        Energy of each source in the fit, |a_i|^2 |s_i|^2, over the sum of all.
    picks : ndarray of shape (p,)
        Measurements to show, from the best to the worst explained.
    picked : ndarray of shape (p, n)
        These measurements, NaN where entries are missing.
    missing : float
        Share of missing entries.
    outlying : ndarray of shape (k,)
        Values of the outliers.
    structure, left_over, shift, baseline : float
        What the residual has in common over measurements, see `residual_structure.Structure`.
    fewest, most : float
        Numbers of sources that two quick criteria support; NaN if they do not apply.
    """

    explained: float
    negative: float
    zeros: float
    negative_energy: float
    rough_noise: float
    directions: float
    sigma: NDArray
    row_rms: NDArray
    column_rms: NDArray
    histogram: NDArray
    outside: float
    autocorrelation: float
    singular: NDArray
    singular_edge: float
    share: NDArray
    picks: NDArray
    picked: NDArray
    missing: float = 0.0
    outlying: NDArray = field(default_factory=lambda: np.zeros(0))
    structure: float = np.nan
    left_over: float = 0.0
    shift: float = 0.0
    baseline: float = 1.0
    fewest: float = np.nan
    most: float = np.nan

    def scaled(self, unit: float) -> "Diagnostics":
        """Return the diagnostics of data that are `unit` times as large."""
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
def diagnose(data: singular_values.Data, separation: Separation) -> Diagnostics:
    """Return the diagnostics of a separation of data (m, n), an array or an engine."""
    whole, separation = open_data(data), separation.in_memory()
    engine = without_outliers(whole, separation.outliers)
    sources = separation.S / separation.S.dtype.type(engine.unit)
    A, S = _with_background(separation, sources, engine.unit)
    rest = row_residuals(engine, A, S)
    row_rms = np.sqrt(rest / np.maximum(observed_in(engine, 1), 1))
    sigma = positive_levels(separation.noise / engine.unit, row_rms)
    entries = entry_sums(engine, A, S, sigma)
    singular, edge = leftover_structure(engine, A, S, sigma, len(sources))
    seen = singular_values.spectrum(filled(engine, A, S), len(S) + singular_values.DEFAULT_COUNT)
    picks = _pick(rest, row_energies(engine))
    common = structure(engine, A, S, sigma, len(sources))
    fewest, most = supported_numbers(engine, separation)
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
        structure=common.strength,
        left_over=common.left_over,
        shift=common.shift,
        baseline=common.baseline,
        fewest=fewest,
        most=most,
    )
    return found.scaled(engine.unit)


def supported_numbers(engine: Engine, separation: Separation) -> tuple[float, float]:
    """Return the smaller and the larger number of sources that two quick criteria find."""
    background = separation.background
    found = quick_numbers(engine, None if background is None else Baseline(background.basis))
    return (float(min(found)), float(max(found))) if found else (np.nan, np.nan)


def _with_background(separation: Separation, S: NDArray, unit: float) -> tuple[NDArray, NDArray]:
    """Return A and S with the background appended."""
    found = separation.background
    if found is None:
        return separation.A, S
    weights = (found.weights / unit).astype(separation.A.dtype)
    return np.hstack([separation.A, weights]), np.vstack([S, found.basis.astype(S.dtype)])


def negative_share(data: singular_values.Data) -> float:
    """Return the share of negative entries of the data."""
    engine = open_data(data)
    return sum(int(np.count_nonzero(y < 0)) for _, y in row_blocks(engine)) / observed(engine)


@one_blas_thread
def signal_to_noise(data: singular_values.Data, sigma: float) -> float:
    """Return the signal-to-noise ratio in dB for noise of standard deviation sigma; infinite for 0."""
    engine = open_data(data)
    level = min(sigma / engine.unit, LARGEST_RATIO)
    power, noise = engine.energy / observed(engine), level**2
    if noise <= 0:
        return np.inf
    return float(10 * np.log10(max(power - noise, noise * 1e-3) / noise))


def leftover_structure(
    engine: Engine, A: NDArray, S: NDArray, sigma: NDArray, r: int
) -> tuple[NDArray, float]:
    """Return singular values of the standardised residual outside the span of A, and the noise edge.

    Inside the span the residual holds the part of the r sources that thresholds removed, which is no new
    source. Of large data a part is used, see `singular_values`.
    """
    rows, columns = singular_values.examined_part(engine.shape)
    part = engine.part(rows, columns)
    m, n = part.shape
    if m <= r or n < 2:
        return np.zeros(0), singular_values.noise_edge(*engine.shape)
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
    values = singular_values.roots(gram(Z if m > n else Z.T))[
        : min(singular_values.DEFAULT_COUNT, m - r, n - 1)
    ]
    grown = singular_values.growth(part, engine)
    return values * grown, singular_values.noise_edge(m - r, n) * share / np.sqrt(1 - spent) * grown


def positive_levels(noise: NDArray, row_rms: NDArray) -> NDArray:
    """Return positive noise levels: that of the residual where the robust estimate is 0 or missing."""
    sigma = np.where(np.isfinite(noise) & (noise > 0), noise, row_rms)
    smallest = sigma[sigma > 0].min(initial=np.inf)
    sigma = np.where(sigma > 0, sigma, smallest if np.isfinite(smallest) else 1.0)
    return np.maximum(sigma, row_rms.max() / LARGEST_RATIO)


def energy_shares(A: NDArray, S: NDArray) -> NDArray:
    """Return the energy |a_i|^2 |s_i|^2 of each source in the fit, over the sum of all."""
    columns, rows = (np.sum(np.square(X, dtype=float), axis=i) for i, X in enumerate((A, S)))
    energy = columns * rows
    total = float(energy.sum())
    return energy / total if total > 0 else np.zeros(len(energy))


def _pick(rest: NDArray, energy: NDArray) -> NDArray:
    """Return four measurements from the best to the worst explained, evenly spread over the ranking."""
    share = np.divide(rest, energy, out=np.zeros_like(rest), where=energy > 0)
    ranking = np.argsort(share, kind="stable")
    places = np.unique(np.linspace(0, len(ranking) - 1, 4).round().astype(int))
    return ranking[places]
