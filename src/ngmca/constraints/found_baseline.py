"""Whether measurements have a smooth background, and of which kind: decided before the separation.

Smooth curves, other ones for each measurement, are projected out of the data. A background is there if r
directions then fit much better, and about as well as one or two directions more without the curves. The
stiffest kind that fits is taken.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca.constraints.baseline import Baseline
from ngmca.domains.backgrounds import KINDS, basis
from ngmca.engines import Engine, everything, spread

MAX_MEASUREMENTS, MAX_CHANNELS = 300, 2000  # that are looked at
MIN_CHANNELS = 24
SPARE_DIRECTIONS = 5  # beyond the sources, before the residual counts as noise
MUCH_BETTER = 1.4  # times that curves lower the residual of as many sources
AS_GOOD_AS_SOURCES = 0.9  # residual of one or two sources more, over that with the curves
HARDLY_WORSE = 1.005  # times the residual of the best kind: a stiffer one is taken
WIDER_THAN_BANDS = 3.0  # times the width of bands that the finest feature of a background has
BINS = 64  # of the axis, on which widths are measured
FAR_STRONGER = 10.0  # times the median norm of a measurement
ROUNDING = 1e-7  # of the data, below which a residual is no noise


@dataclass(frozen=True)
class SmoothPart:
    """A smooth background that was found.

    Attributes
    ----------
    kind : str
        One of `ngmca.backgrounds.KINDS`.
    lowers : float
        The residual of r directions without the curves, over that with them.
    """

    kind: str
    lowers: float


def found_baseline(engine: Engine, r: int) -> Baseline | None:
    """Return the baseline of r sources that the data show, or None if they show none.

    None is also the answer for data that are read in blocks, that have missing entries, or that have too
    few measurements.
    """
    if engine.place not in ("memory", "gpu") or engine.weights is not None:
        return None
    m = engine.shape[0]
    rows = spread(m, min(m, MAX_MEASUREMENTS), np.random.default_rng(0))
    Y = everything(engine.part(rows, slice(None))).astype(np.float64)
    spans = [one.channels for one in engine.techniques] or [slice(None)]
    found = [smooth_part(binned(Y[:, span], MAX_CHANNELS), r) for span in spans]
    kinds = [one.kind for one in found if one is not None]  # the most flexible one is for all techniques
    return Baseline(max(kinds, key=KINDS.index), found=True) if kinds else None


def smooth_part(Y: NDArray, r: int) -> SmoothPart | None:
    """Return the smooth background of measurements with r sources, or None.

    Single measurements that are far stronger than the others, such as an axis, are not looked at.
    """
    size = np.linalg.norm(Y, axis=1)
    Y = Y[size <= FAR_STRONGER * np.median(size)]
    m, n = Y.shape
    most = len(basis(KINDS[-1], max(n, MIN_CHANNELS)))
    if n < MIN_CHANNELS or min(m, n - most) <= 2 * (r + SPARE_DIRECTIONS):
        return None
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    plain = [_level(s, k, m, n) for k in (r, r + 1, r + 2)]
    if not plain[0] > ROUNDING * float(np.sqrt(np.mean(Y**2))):
        return None
    bands = _width(s[:r, None] * Vt[:r])
    k = r + SPARE_DIRECTIONS
    noise = (U[:, k:] * s[k:]) @ Vt[k:]
    fits = {}
    for kind in KINDS:
        curves = basis(kind, n)
        q = len(curves)
        level = _level_beside(curves, Y, noise, r)
        stiff = q <= 2
        if plain[0] <= MUCH_BETTER * level or plain[min(q, 2)] <= AS_GOOD_AS_SOURCES * level:
            continue
        if stiff or WIDER_THAN_BANDS * bands < _width(curves):
            fits[kind] = level
    best = min(fits.values(), default=0.0)
    chosen = next((kind for kind, level in fits.items() if level <= HARDLY_WORSE * best), None)
    return None if chosen is None else SmoothPart(chosen, plain[0] / fits[chosen])


def _level(s: NDArray, r: int, m: int, n: int) -> float:
    """Return the root mean square of what r directions leave of m x n entries, by degrees of freedom."""
    return float(np.sqrt(np.sum(s[r:] ** 2) / ((m - r) * (n - r))))


def _level_beside(curves: NDArray, Y: NDArray, noise: NDArray, r: int) -> float:
    """Return the level that r directions leave beside the curves, as if these did nothing to noise.

    Noise that is correlated along the axis is smooth too, and the curves take more than their share.
    """
    (m, n), q = Y.shape, len(curves)
    Q = np.linalg.qr(curves.T)[0]
    s = np.linalg.svd(Y - (Y @ Q) @ Q.T, compute_uv=False)
    rest = noise - (noise @ Q) @ Q.T
    usual = np.sqrt(np.sum(noise**2) / n / max(np.sum(rest**2) / (n - q), 1e-300))
    return max(_level(s, r, m, n - q) * max(float(usual), 1.0), 1e-300)


def _width(X: NDArray) -> float:
    """Return the width of the features in rows, as the standard deviation of Gaussian bands would be.

    The unit is the length of the axis. Straight lines have an infinite width.
    """
    X = binned(X, BINS)
    slope, curvature = (float(np.linalg.norm(np.diff(X, order, axis=1))) for order in (1, 2))
    straight = curvature <= 1e-9 * slope
    return np.inf if straight else float(np.sqrt(1.5)) * slope / curvature / X.shape[1]


def binned(X: NDArray, most: int) -> NDArray:
    """Return averages over blocks of neighbouring channels; there are less than twice as many as `most`.

    The last channels are left out if they fill no block.
    """
    block = max(1, X.shape[1] // most)
    kept = X[:, : X.shape[1] // block * block]
    return np.asarray(kept.reshape(len(X), -1, block).mean(axis=2))
