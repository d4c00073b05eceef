"""How alike spectra are, whatever their scale, sign and baseline, and how often chance does as well."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

FINE, BROAD = (
    1 / 1000,
    1 / 20,
)  # of the channels: what is narrower counts as noise, what is broader as baseline
POWER = 0.7  # weak bands count more than in a scalar product, and noise less than below a square root
FLAT = 1e-9  # structure over the largest value, below which there is none
ONE = 0.999  # spectra as alike as that are one, whatever their names
TURNS = 199  # places to which a spectrum is turned to see what chance does

SURE = 0.06  # a claim is confident where chance does as well no more often
FEW = 33  # substances: from fewer, no chance can be told that is as small as that
HIGH = 0.95  # similarity that a confident claim needs then
NEARER = 0.5  # and it leaves at most that share of what the nearest two of them leave


def averaged(x: NDArray, y: NDArray, axis: NDArray) -> NDArray:
    """Means of a spectrum (x rising) over the width of each channel of a rising axis.

    NaN where less than half of a channel's width is known. A channel is as wide as the step to the
    nearer of its neighbours, so that one beside a gap does not reach across it.
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
    """Integrals from low to high of the line through the points (x, y)."""
    total = np.r_[0.0, np.cumsum((y[1:] + y[:-1]) / 2 * np.diff(x))]

    def until(t: NDArray) -> NDArray:
        i = np.clip(np.searchsorted(x, t, side="right") - 1, 0, len(x) - 2)
        return np.asarray(total[i] + (t - x[i]) * (y[i] + np.interp(t, x, y)) / 2)

    return until(high) - until(low)


def structure(X: NDArray) -> NDArray:
    """Rows of norm 1 without noise and baseline; 0 where X is NaN, and all along where X is flat."""
    from scipy.ndimage import gaussian_filter1d  # only here: it takes long to load

    known = np.isfinite(X)
    peaks = np.where(known, np.abs(X), 0).max(axis=1, keepdims=True)
    rows = np.where(known, X, 0) / np.where(peaks > 0, peaks, 1)

    def smooth(width: float) -> NDArray:
        # What is unknown is left out of every mean.
        parts = (gaussian_filter1d(Z, width * X.shape[1], axis=1) for Z in (rows, known.astype(float)))
        sums, weights = parts
        return np.asarray(sums / np.where(weights > 0, weights, 1))

    return _unit(np.where(known, smooth(FINE) - smooth(BROAD), 0))


def levelled(H: NDArray) -> NDArray:
    """Structure in which weak bands count more."""
    return _unit(np.sign(H) * np.abs(H) ** POWER)


def _unit(rows: NDArray) -> NDArray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    seen = norms > FLAT * np.sqrt(rows.shape[1])
    return np.where(seen, rows, 0) / np.where(seen, norms, 1)


def moved(rows: NDArray, axis: NDArray, by: float) -> NDArray:
    """Rows on a rising axis, moved up it; 0 where they come from beyond its ends."""
    if by == 0:
        return rows
    start = axis - by
    i = np.clip(np.searchsorted(axis, start, side="right") - 1, 0, len(axis) - 2)
    share = (start - axis[i]) / (axis[i + 1] - axis[i])
    inside = (start >= axis[0]) & (start <= axis[-1])
    return np.asarray(np.where(inside, rows[:, i] * (1 - share) + rows[:, i + 1] * share, 0))


def moves(axis: NDArray, tolerance: float) -> NDArray:
    """Shifts to try, the smallest first: whole steps of the axis within a tolerance, and its ends."""
    step = float(np.median(np.diff(axis)))
    count = int(tolerance / step)
    steps = np.r_[np.arange(1, count + 1) * step, [tolerance] if tolerance > count * step else []]
    return np.r_[0.0, np.stack([-steps, steps], axis=1).ravel()]


def alike(V: NDArray, U: NDArray, axis: NDArray, shifts: Iterable[float]) -> tuple[NDArray, NDArray]:
    """Scalar products (v, u) of the largest modulus over all shifts of U, and these shifts."""
    best, where = np.zeros((len(V), len(U))), np.zeros((len(V), len(U)))
    for shift in shifts:
        products = np.clip(V @ moved(U, axis, float(shift)).T, -1, 1)
        better = np.abs(products) > np.abs(best) + 1e-9
        best[better], where[better] = products[better], shift
    return best, where


def kinds_of(names: Sequence[str], among: NDArray) -> NDArray:
    """A number for each substance: spectra of one name are one, and those that are the same."""
    from scipy.sparse.csgraph import connected_components  # only here: it takes long to load

    named = np.unique(names, return_inverse=True)[1]
    return np.asarray(connected_components((named[:, None] == named) | (np.abs(among) > ONE))[1])


def nearest_other(among: NDArray, kinds: NDArray) -> NDArray:
    """How alike each spectrum is to the most similar one of another substance."""
    other = kinds[:, None] != kinds[None, :]
    return np.asarray(np.where(other, np.abs(among), 0).max(axis=1))


def chance(similarity: NDArray, nearest: NDArray, kinds: NDArray) -> NDArray:
    """How often a substance that is not in the library would be as similar to one of it.

    `similarity` (k,) is that of one source to each spectrum. If its substance is none of the library,
    it is to the library as any substance of it is to the others and to the source: of all of them, it
    would have the largest similarity to another no more often than each of the others. The share of
    those that have as large a one is therefore a p-value, whatever the spectra look like.
    """
    similarity = np.abs(similarity)
    scores = np.zeros(kinds.max() + 1)
    np.maximum.at(scores, kinds, np.maximum(nearest, similarity))
    as_good = len(scores) - np.searchsorted(np.sort(scores), similarity - 1e-9)
    return np.asarray((1 + as_good) / (1 + len(scores)))


def chance_by_turning(
    v: NDArray, similarity: NDArray, U: NDArray, axis: NDArray, shifts: NDArray
) -> NDArray:
    """How often the bands of a source, put elsewhere, are as similar to one of a few spectra."""
    n = len(v)
    by = np.unique(np.linspace(n // 10, n - n // 10, TURNS).astype(int))
    turned = v[(np.arange(n) - by[:, None]) % n]
    best = np.abs(alike(turned, U, axis, shifts)[0]).max(axis=1)
    as_good = (best[None, :] >= np.abs(similarity)[:, None] - 1e-9).sum(axis=1)
    return np.asarray((1 + as_good) / (1 + len(best)))


def by_two(first: NDArray, second: NDArray, product: NDArray) -> tuple[NDArray, NDArray]:
    """How alike something is to the best sum of two spectra, and the share of the second in it.

    `first` and `second` are its scalar products with them, `product` is theirs with each other. Both
    weights must be positive: elsewhere the similarity is 0.
    """
    rest = np.maximum(1 - product**2, 1e-6)
    a, b = (first - product * second) / rest, (second - product * first) / rest
    both = (a > 0) & (b > 0) & (np.abs(product) < ONE)
    square = np.where(both, first * a + second * b, 0)
    return np.sqrt(np.clip(square, 0, 1)), np.where(both, b / np.where(both, a + b, 1), 0)
