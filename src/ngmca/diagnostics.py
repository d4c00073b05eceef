"""What a separation leaves unexplained, and the warnings a specialist would give about it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds

from ngmca import noise as levels
from ngmca.records import Separation

PICKS = 4  # measurements shown with their fit
BLOCK = 1 << 22  # entries of a residual held at once
BINS = np.linspace(-6, 6, 121)  # of the histogram, in standard deviations
SINGULAR = 20  # singular values kept
GRAM = 1000  # largest Gram matrix whose eigenvalues are all computed


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
    column_rms: NDArray  # (n,) root mean square of the standardised residual of each sample
    histogram: NDArray  # (120,) density of the standardised residual between -6 and 6
    outside: float  # share of the standardised residual beyond 6
    autocorrelation: float  # of neighbouring samples of the standardised residual
    singular: NDArray  # (k,) largest singular values of the standardised residual outside of A
    singular_edge: float  # what the largest would be for pure noise
    share: NDArray  # (r,) part of the energy of the fit due to each source, summing to 1
    picks: NDArray  # (p,) measurements to show, from best to worst explained
    picked: NDArray  # (p, n) those measurements


def diagnose(Y: NDArray, separation: Separation) -> Diagnostics:
    """Diagnostics of a separation of Y (m, n), in passes over blocks of its rows."""
    A, S = separation.A, separation.S
    row_energy = np.concatenate([np.sum(np.square(y, dtype=float), axis=1) for _, y in _blocks(Y)])
    rest = np.concatenate([np.sum((y - A[i] @ S) ** 2, axis=1) for i, y in _blocks(Y)])
    row_rms = np.sqrt(rest / Y.shape[1])
    sigma = positive_levels(separation.noise, row_rms)
    column, histogram, outside, neighbours = _standardised(Y, A, S, sigma)
    singular, edge = leftover_structure(Y, A, S, sigma)
    total = float(row_energy.sum())
    before = noise_before(Y)
    strongest = singular_values(Y, len(S) + SINGULAR)
    picks = _pick(rest, row_energy)
    low = -5 * sigma[:, None]
    return Diagnostics(
        explained=1 - float(rest.sum()) / total if total > 0 else 0.0,
        negative=negative_share(Y),
        zeros=1 - sum(int(np.count_nonzero(y)) for _, y in _blocks(Y)) / Y.size,
        negative_energy=sum(float(np.sum(np.where(y < low[i], y, 0) ** 2)) for i, y in _blocks(Y))
        / (total or 1.0),
        rough_noise=before,
        directions=float(np.count_nonzero(strongest > noise_edge(len(Y), Y.shape[1], before))),
        sigma=sigma,
        row_rms=row_rms,
        column_rms=column,
        histogram=histogram,
        outside=outside,
        autocorrelation=neighbours,
        singular=singular,
        singular_edge=edge,
        share=_shares(A, S),
        picks=picks,
        picked=np.asarray(Y[picks]),
    )


def rough_noise(Y: NDArray) -> NDArray:
    """Noise of each row before any separation: the smaller of two robust estimates.

    The median absolute deviation is right for sparse rows, that of the differences between
    neighbouring samples for smooth ones; what is not noise only makes them larger.
    """
    rows = np.concatenate([levels.mad(y) for _, y in _blocks(Y)])
    if Y.shape[1] < 3:
        return rows
    steps = np.concatenate([levels.mad(np.diff(y, axis=1)) for _, y in _blocks(Y)]) / np.sqrt(2)
    return np.minimum(rows, steps)


def noise_before(Y: NDArray) -> float:
    """Noise level of Y before any separation: the smallest of all estimates that are not 0.

    The small singular values of a few sources in white noise are noise; the median of all of them
    tells its level (Gavish and Donoho, 2014). Signal in the way only makes an estimate larger.
    """
    rows = float(np.median(rough_noise(Y)))
    few = np.random.default_rng(0).permutation(len(Y))[:GRAM] if min(Y.shape) > GRAM else slice(None)
    part = Y[few]
    m, n = sorted(part.shape)
    if m < 4 or m > GRAM:
        return rows
    middle = float(np.median(singular_values(part, m)))
    spectral = middle / np.sqrt(n * median_of_noise(m / n))
    return min(rows, spectral) if rows > 0 else spectral  # 0: most entries are equal, as in counts


def median_of_noise(ratio: float) -> float:
    """Median of the Marchenko-Pastur law: of squared singular values of unit noise, over its width."""
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    x = low + (high - low) * (1 - np.cos(np.linspace(0, np.pi, 4001))) / 2  # dense at both ends
    centre = (x[1:] + x[:-1]) / 2
    mass = np.cumsum(np.sqrt((high - centre) * (centre - low)) / centre * np.diff(x))
    return float(centre[np.searchsorted(mass, mass[-1] / 2)])


def negative_share(Y: NDArray) -> float:
    """Share of negative entries of Y."""
    return sum(int(np.count_nonzero(y < 0)) for _, y in _blocks(Y)) / Y.size


def signal_to_noise(Y: NDArray, sigma: float) -> float:
    """Signal-to-noise ratio of Y in dB for noise of standard deviation sigma; infinite without."""
    power = sum(float(np.sum(np.square(y, dtype=float))) for _, y in _blocks(Y)) / Y.size
    noise = sigma**2
    if noise <= 0:
        return np.inf
    return float(10 * np.log10(max(power - noise, noise * 1e-3) / noise))


def singular_values(Y: NDArray, count: int = SINGULAR) -> NDArray:
    """The largest singular values of Y, by Gram matrix where it is small, else by Lanczos."""
    m, n = Y.shape
    count = min(count, m, n)
    if min(m, n) <= GRAM:
        G = np.zeros((min(m, n), min(m, n)))
        if m <= n:
            G = (Y @ Y.T).astype(float)
        else:
            for _, y in _blocks(Y):
                G += y.T.astype(float) @ y
        return np.sqrt(np.maximum(np.linalg.eigvalsh(G)[::-1][:count], 0))
    return _lanczos(LinearOperator((m, n), lambda x: Y @ x, lambda x: Y.T @ x, dtype=float), count)


def noise_edge(m: int, n: int, sigma: float = 1.0) -> float:
    """The largest singular value that white noise alone gives an (m, n) matrix."""
    return sigma * (np.sqrt(m) + np.sqrt(n))


def leftover_structure(Y: NDArray, A: NDArray, S: NDArray, sigma: NDArray) -> tuple[NDArray, float]:
    """Singular values of the standardised residual outside the span of A, and the edge of noise.

    Inside the span the residual holds what thresholds took from the sources; that is no new source.
    """
    m, n = Y.shape
    r = A.shape[1]
    if m <= r or n < 2:
        return np.zeros(0), noise_edge(m, n)
    W = 1 / sigma
    Q = np.linalg.qr((A * W[:, None]).astype(float))[0]

    def outside(x: NDArray) -> NDArray:
        z = W * (Y @ x - A @ (S @ x))
        return z - Q @ (Q.T @ z)

    def transposed(z: NDArray) -> NDArray:
        z = W * (z - Q @ (Q.T @ z))
        return Y.T @ z - S.T @ (A.T @ z)

    operator = LinearOperator((m, n), lambda x: outside(np.ravel(x)), lambda z: transposed(np.ravel(z)))
    count = min(SINGULAR, m - r, n - 1)
    spent = min(np.count_nonzero(S) / n / m, 0.5)  # share of the noise that the fit has taken in
    return _lanczos(operator, count), noise_edge(m - r, n) / np.sqrt(1 - spent)


def positive_levels(noise: NDArray, row_rms: NDArray) -> NDArray:
    """Noise levels to divide by: the residual's own where the robust estimate is 0 or missing."""
    sigma = np.where(np.isfinite(noise) & (noise > 0), noise, row_rms)
    smallest = sigma[sigma > 0].min(initial=np.inf)
    return np.where(sigma > 0, sigma, smallest if np.isfinite(smallest) else 1.0)


def _standardised(
    Y: NDArray, A: NDArray, S: NDArray, sigma: NDArray
) -> tuple[NDArray, NDArray, float, float]:
    """Column RMS, histogram density, share beyond it and neighbour correlation of (Y - AS) / sigma."""
    columns = np.zeros(Y.shape[1])
    counts = np.zeros(len(BINS) - 1)
    product = 0.0
    for i, y in _blocks(Y):
        z = (y - A[i] @ S) / sigma[i][:, None]
        columns += np.sum(z * z, axis=0)
        counts += np.histogram(z, BINS)[0]
        product += float(np.sum(z[:, 1:] * z[:, :-1]))
    energy = float(columns.sum())
    width = BINS[1] - BINS[0]
    return (
        np.sqrt(columns / len(Y)),
        counts / (Y.size * width),
        1 - float(counts.sum()) / Y.size,
        product / energy if energy > 0 else 0.0,
    )


def _shares(A: NDArray, S: NDArray) -> NDArray:
    """Share of each source in the sum of all entries of A S."""
    amount = A.sum(axis=0) * S.sum(axis=1)
    total = float(amount.sum())
    return np.asarray(amount / total if total > 0 else np.zeros(len(amount)), dtype=float)


def _pick(rest: NDArray, energy: NDArray) -> NDArray:
    """Measurements from the best to the worst explained, evenly spread over the ranking."""
    share = np.divide(rest, energy, out=np.zeros_like(rest), where=energy > 0)
    ranking = np.argsort(share, kind="stable")
    places = np.unique(np.linspace(0, len(ranking) - 1, PICKS).round().astype(int))
    return ranking[places]


def _lanczos(operator: LinearOperator, count: int) -> NDArray:
    m, n = operator.shape
    if count >= min(m, n) - 1 or min(m, n) <= 64:
        dense = operator @ np.eye(n) if n <= m else (operator.H @ np.eye(m)).T
        return np.linalg.svd(dense, compute_uv=False)[:count]
    start = np.random.default_rng(0).standard_normal(min(m, n))
    values = svds(operator, k=count, v0=start, return_singular_vectors=False)
    return np.sort(values)[::-1]


def _blocks(Y: NDArray) -> Iterator[tuple[slice, NDArray]]:
    """Rows of Y in blocks, so that no temporary is as large as the data."""
    size = max(1, BLOCK // Y.shape[1])
    return ((slice(i, i + size), Y[i : i + size]) for i in range(0, len(Y), size))
