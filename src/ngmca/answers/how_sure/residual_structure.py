"""Whether the residual holds more than noise: what its measurements have in common.

The largest singular value of the residual is compared with that of copies in which measurements have
nothing in common any more. In some copies every row is rotated along the axis by a random distance, in
others blocks of channels have random signs. Both keep noise that is correlated along the axis, so that
only signal stands out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ngmca.constraints import smooth_part
from ngmca.engines import Engine, everything, spread

MAX_MEASUREMENTS, MAX_CHANNELS = 300, 2000
MIN_MEASUREMENTS, MIN_CHANNELS = 5, 24  # outside the span of A
COPIES = 8
UNCORRELATED = 0.1  # autocorrelation from which on channels count as independent
SHAPES_OF_NOISE = 4  # times the correlation length is the length of a block with one sign


@dataclass(frozen=True)
class Structure:
    """What the residual has in common over measurements.

    Attributes
    ----------
    strength : float
        Largest singular value over the largest one that chance leaves; NaN if data are too few.
    left_over : float
        Energy of the strongest direction over that of the weakest source.
    shift : float
        Share of this direction that derivatives of the sources explain and the sources do not.
    baseline : float
        How many times a smooth background lowers the residual; 1 if there is none, or if it is fitted.
    """

    strength: float = np.nan
    left_over: float = 0.0
    shift: float = 0.0
    baseline: float = 1.0


def structure(engine: Engine, A: NDArray, S: NDArray, sigma: NDArray, r: int) -> Structure:
    """Return what the residual Y - AS has in common; sources after the first r are a background."""
    part = _Part.of(engine, A, S, sigma)
    m, n = part.Y.shape
    if m - r < MIN_MEASUREMENTS or n < MIN_CHANNELS:
        return Structure()
    Q = np.linalg.qr(part.A[:, :r])[0]
    R = part.Y - part.A @ part.S
    R = R - Q @ (Q.T @ R)  # inside the span of A it holds what thresholds removed from the sources
    rng = np.random.default_rng(0)
    size = _largest(R)
    chance = _chance(R, rng)
    energy = np.sum(part.A[:, :r] ** 2, axis=0) * np.sum(part.S[:r] ** 2, axis=1)
    weakest = float(energy[energy > 1e-6 * energy.sum()].min(initial=np.inf))
    smooth = smooth_part(part.Y, r) if len(S) == r else None
    return Structure(
        strength=size / chance if chance > 0 else np.nan,
        left_over=size**2 / weakest,
        shift=_shift(R, part.S[:r]),
        baseline=1.0 if smooth is None else smooth.lowers,
    )


@dataclass(frozen=True)
class _Part:
    """Some measurements in units of their noise, with neighbouring channels averaged."""

    Y: NDArray
    A: NDArray
    S: NDArray

    @classmethod
    def of(cls, engine: Engine, A: NDArray, S: NDArray, sigma: NDArray) -> "_Part":
        m, n = engine.shape
        rows = spread(m, min(m, MAX_MEASUREMENTS), np.random.default_rng(0))
        block = -(-n // MAX_CHANNELS)
        starts = np.arange(0, n - n % block, block)
        level = sigma[rows][:, None]
        chosen = engine.part(rows, slice(None))
        Y = everything(chosen).astype(np.float64)
        fit = A[rows].astype(np.float64) @ S
        if engine.weights is not None:
            Y = np.where(engine.weights[rows] > 0, Y, fit)

        def averaged(X: NDArray) -> NDArray:
            return np.add.reduceat(X[:, : starts[-1] + block], starts, axis=1) / block

        return cls(averaged(Y) / level, A[rows] / level, averaged(S.astype(np.float64)))


def _chance(R: NDArray, rng: np.random.Generator) -> float:
    """Return the larger of the values that chance leaves by rotated rows and by random signs."""
    n = R.shape[1]
    rotated = _most(partial(_rotated, R, rng))
    U, s, Vt = np.linalg.svd(R, full_matrices=False)
    k = min(5, min(R.shape) // 4)
    flips = []
    for noise in (R, R - (U[:, :k] * s[:k]) @ Vt[:k]):
        length = int(np.clip(SHAPES_OF_NOISE * _correlation_length(noise), 1, max(n // 4, 1)))
        flips.append(_most(partial(_with_signs, R, length, rng)))
    return max(rotated, min(flips))


def _most(copy: Callable[[], NDArray]) -> float:
    return max(_largest(copy()) for _ in range(COPIES))


def _rotated(R: NDArray, rng: np.random.Generator) -> NDArray:
    n = R.shape[1]
    places = (np.arange(n) + rng.integers(0, n, (len(R), 1))) % n
    return np.take_along_axis(R, places, axis=1)


def _with_signs(R: NDArray, length: int, rng: np.random.Generator) -> NDArray:
    """Return R with random signs of blocks of channels, which begin elsewhere in every row."""
    block = (np.arange(R.shape[1]) + rng.integers(0, length, (len(R), 1))) // length
    signs = rng.choice([-1.0, 1.0], (len(R), int(block.max()) + 1))
    return R * np.take_along_axis(signs, block, axis=1)


def _correlation_length(R: NDArray) -> int:
    """Return the number of channels over which the residual is correlated; 1 for white noise."""
    n = R.shape[1]
    power = np.abs(np.fft.rfft(R - R.mean(axis=1, keepdims=True), 2 * n, axis=1)) ** 2
    correlation = np.fft.irfft(power.sum(axis=0))[:n]
    low = correlation < UNCORRELATED * correlation[0]
    return int(np.argmax(low)) if low.any() else n


def _largest(R: NDArray) -> float:
    """Return the largest singular value."""
    G = R @ R.T if len(R) <= R.shape[1] else R.T @ R
    return float(np.sqrt(max(np.linalg.eigvalsh(G)[-1], 0)))


def _shift(R: NDArray, S: NDArray) -> float:
    """Return the share of the strongest direction that derivatives of the sources alone explain."""
    direction = np.linalg.svd(R, full_matrices=False)[2][0]
    sources = np.linalg.qr(S.T)[0]
    slopes = np.linalg.qr(np.gradient(S, axis=1).T)[0]
    alone = float(np.sum((sources.T @ direction) ** 2))
    return float(np.sum((slopes.T @ direction) ** 2)) - alone
