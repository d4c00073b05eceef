"""Similarity of spectra, whatever their scale, sign and baseline, and the role of chance."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

NOISE_WIDTH = 1 / 1000  # of the range: narrower structure counts as noise
BASELINE_WIDTH = 1 / 20  # of the range: broader structure counts as baseline
POWER = 0.7  # weak bands count more than in a scalar product, and noise less than with a square root
SAME_SPECTRUM = 0.999  # spectra of this similarity are one substance, whatever their names

MAX_CHANCE = 0.06  # a match is confident if chance gives as good a match at most so often
MIN_SUBSTANCES = 33  # with fewer substances so small a chance cannot be estimated
MIN_SIMILARITY = 0.95  # of a confident match then
MIN_GAIN = 0.5  # then a match leaves at most this share of the difference of the two nearest substances


def averaged(x: NDArray, y: NDArray, axis: NDArray) -> NDArray:
    """Return the means of a spectrum (x rising) over the width of each channel of a rising axis.

    NaN where less than half of the width of a channel is known. A channel is as wide as the step to its
    nearer neighbour, so that a channel beside a gap does not reach across it.
    """
    steps = np.diff(axis)
    half = np.minimum(np.r_[steps[0], steps], np.r_[steps, steps[-1]]) / 2
    low, high = (np.clip(end, x[0], x[-1]) for end in (axis - half, axis + half))
    known = np.isfinite(y)
    holes = np.where(known, 0.0, 1.0)
    values = np.where(known, y, 0.0)
    peak = float(np.abs(values).max(initial=0)) or 1.0
    width = high - low
    enough = (width >= 0.999 * half) & (width > 0)
    mean = [
        _integral(x, part, low, high) / np.where(enough, width, 1) for part in (values / peak, holes)
    ]
    return np.where(enough & (mean[1] < 1e-9), mean[0], np.nan) * peak


def _integral(x: NDArray, y: NDArray, low: NDArray, high: NDArray) -> NDArray:
    """Return the integrals from low to high of the line through the points (x, y)."""
    total = np.r_[0.0, np.cumsum((y[1:] + y[:-1]) / 2 * np.diff(x))]

    def until(t: NDArray) -> NDArray:
        i = np.clip(np.searchsorted(x, t, side="right") - 1, 0, len(x) - 2)
        return np.asarray(total[i] + (t - x[i]) * (y[i] + np.interp(t, x, y)) / 2)

    return until(high) - until(low)


def structure(X: NDArray) -> NDArray:
    """Return rows of norm 1 without noise and baseline; 0 where X is NaN, and for flat rows."""
    from scipy.ndimage import gaussian_filter1d  # slow to load

    known = np.isfinite(X)
    peaks = np.where(known, np.abs(X), 0).max(axis=1, keepdims=True)
    rows = np.where(known, X, 0) / np.where(peaks > 0, peaks, 1)

    def smooth(width: float) -> NDArray:
        # unknown entries are left out of every mean
        parts = (gaussian_filter1d(Z, width * X.shape[1], axis=1) for Z in (rows, known.astype(float)))
        sums, weights = parts
        return np.asarray(sums / np.where(weights > 0, weights, 1))

    return _unit(np.where(known, smooth(NOISE_WIDTH) - smooth(BASELINE_WIDTH), 0))


def levelled(H: NDArray) -> NDArray:
    """Return the structure with weak bands made stronger."""
    return _unit(np.sign(H) * np.abs(H) ** POWER)


def _unit(rows: NDArray) -> NDArray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    seen = norms > 1e-9 * np.sqrt(rows.shape[1])
    return np.where(seen, rows, 0) / np.where(seen, norms, 1)


def moved(rows: NDArray, axis: NDArray, by: float) -> NDArray:
    """Return rows on a rising axis moved along it; 0 where they come from beyond its ends."""
    if by == 0:
        return rows
    start = axis - by
    i = np.clip(np.searchsorted(axis, start, side="right") - 1, 0, len(axis) - 2)
    share = (start - axis[i]) / (axis[i + 1] - axis[i])
    inside = (start >= axis[0]) & (start <= axis[-1])
    return np.asarray(np.where(inside, rows[:, i] * (1 - share) + rows[:, i + 1] * share, 0))


def moves(axis: NDArray, tolerance: float) -> NDArray:
    """Return shifts to try, the smallest first: whole steps within the tolerance, and the tolerance."""
    step = float(np.median(np.diff(axis)))
    count = int(tolerance / step)
    steps = np.r_[np.arange(1, count + 1) * step, [tolerance] if tolerance > count * step else []]
    return np.r_[0.0, np.stack([-steps, steps], axis=1).ravel()]


def alike(V: NDArray, U: NDArray, axis: NDArray, shifts: Iterable[float]) -> tuple[NDArray, NDArray]:
    """Return scalar products (v, u) of the largest modulus over all shifts of U, and these shifts."""
    best, where = np.zeros((len(V), len(U))), np.zeros((len(V), len(U)))
    for shift in shifts:
        products = np.clip(V @ moved(U, axis, float(shift)).T, -1, 1)
        better = np.abs(products) > np.abs(best) + 1e-9
        best[better], where[better] = products[better], shift
    return best, where


def kinds_of(names: Sequence[str], among: NDArray) -> NDArray:
    """Return the number of the substance of each spectrum: the same for equal names or equal spectra."""
    from scipy.sparse.csgraph import connected_components  # slow to load

    named = np.unique(names, return_inverse=True)[1]
    return np.asarray(
        connected_components((named[:, None] == named) | (np.abs(among) > SAME_SPECTRUM))[1]
    )


def nearest_other(among: NDArray, kinds: NDArray) -> NDArray:
    """Return the similarity of each spectrum to the most similar one of another substance."""
    other = kinds[:, None] != kinds[None, :]
    return np.asarray(np.where(other, np.abs(among), 0).max(axis=1))


def chance(similarity: NDArray, nearest: NDArray, kinds: NDArray) -> NDArray:
    """Return how often a substance that is not in the library would be as similar to one in it.

    `similarity` (k,) is that of one source to each spectrum. If its substance is not in the library, the
    source is just one more substance among those of the library. Each of them is equally likely to have
    the largest similarity to another one. The share of those with as large a similarity is therefore a
    p-value, whatever the spectra look like.
    """
    similarity = np.abs(similarity)
    scores = np.zeros(kinds.max() + 1)
    np.maximum.at(scores, kinds, np.maximum(nearest, similarity))
    as_good = len(scores) - np.searchsorted(np.sort(scores), similarity - 1e-9)
    return np.asarray((1 + as_good) / (1 + len(scores)))


def chance_by_turning(
    v: NDArray, similarity: NDArray, U: NDArray, axis: NDArray, shifts: NDArray
) -> NDArray:
    """Return how often the bands of a source, moved elsewhere, are as similar to a spectrum."""
    n = len(v)
    by = np.unique(np.linspace(n // 10, n - n // 10, 199).astype(int))
    turned = v[(np.arange(n) - by[:, None]) % n]
    best = np.abs(alike(turned, U, axis, shifts)[0]).max(axis=1)
    as_good = (best[None, :] >= np.abs(similarity)[:, None] - 1e-9).sum(axis=1)
    return np.asarray((1 + as_good) / (1 + len(best)))


def by_two(first: NDArray, second: NDArray, product: NDArray) -> tuple[NDArray, NDArray]:
    """Return the similarity of a spectrum to the best sum of two others, and the share of the second.

    `first` and `second` are its scalar products with the two, `product` is that of the two with each
    other. The similarity is 0 if one of the weights is not positive.
    """
    rest = np.maximum(1 - product**2, 1e-6)
    a, b = (first - product * second) / rest, (second - product * first) / rest
    both = (a > 0) & (b > 0) & (np.abs(product) < SAME_SPECTRUM)
    square = np.where(both, first * a + second * b, 0)
    return np.sqrt(np.clip(square, 0, 1)), np.where(both, b / np.where(both, a + b, 1), 0)
