"""Calibration lines through 0: weight = slope x concentration, with errors in the weights alone.

Concentrations of standards are taken as exact. The scatter of standards around the line contains
everything that differs between measurements: noise, and other substances that a source contains.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from ngmca._support.assignment import cheapest_pairs

MAX_VARIANCE_RATIO = 1e6
CURRIE = 3.3  # standard deviations of a weight near 0: limit of detection with 5 % errors of both kinds


@dataclass(frozen=True)
class Line:
    """weight = slope * concentration + error of variance scale * (extra + noise).

    Attributes
    ----------
    slope : float
        Weight for one unit of concentration.
    scale : float
        Factor of all variances.
    extra : float
        Variance besides the noise.
    information : float
        Sum of squared concentrations over variances, before the scale.
    dof : int
        Degrees of freedom.
    errors : tuple of float
        Error of each standard when the others predict it, as a concentration.
    offset : float
        Probability that an offset improves the fit that much by chance.
    """

    slope: float
    scale: float
    extra: float
    information: float
    dof: int
    errors: tuple[float, ...]
    offset: float


def fitted(x: NDArray, y: NDArray, v: NDArray) -> Line:
    """Return the line through concentrations x and weights y, whose noise has variances v up to a
    factor.

    Each standard is weighted by its own noise and by additional scatter, which is the same for all.
    """
    k = len(x)
    rest = y - x * (x @ y) / (x @ x)
    extra = max(0.0, float(rest @ rest) / (k - 1) - float(v.mean()))
    u = extra + v
    least = 1e-12 * max(float(v.max()), extra)  # 0 if nothing scatters: then all count equally
    u = np.maximum(u, least) if least > 0 else np.ones(k)
    Q = float(np.sum(x * x / u))
    slope = float(np.sum(x * y / u)) / Q
    scale = float(np.sum((y - slope * x) ** 2 / u)) / (k - 1)
    others = (slope * Q - x * y / u) / (Q - x * x / u)  # the slope without each of them
    predicted = np.divide(y, others, out=np.full(k, np.inf), where=others > 0)
    return Line(slope, scale, extra, Q, k - 1, tuple((predicted - x).tolist()), _offset(x, y, u))


def _offset(x: NDArray, y: NDArray, u: NDArray) -> float:
    """Return the p-value of an F test: does an offset improve the fit?"""
    k = len(x)
    w = 1 / np.sqrt(u)
    plain = np.sum((w * (y - x * np.sum(x * y / u) / np.sum(x * x / u))) ** 2)
    both = np.stack([w * x, w], axis=1)
    found, _, rank, _ = np.linalg.lstsq(both, w * y, rcond=None)
    better = np.sum((w * y - both @ found) ** 2)
    if k < 4 or rank < 2 or not plain > 0:
        return 1.0
    return float(fdtrc(1, k - 2, (plain - better) * (k - 2) / max(better, plain * 1e-12)))


def variety(y: NDArray, others: NDArray, used: NDArray) -> float:
    """Return how much more other substances vary in the measurements than in the standards, at least 1.

    This is a ratio of variances of the other weights, without the part that rises with y, which the
    slope contains. If a source contains some of the others, it scatters around the line as much as these
    vary. If they vary less in the standards, these show less scatter than there is elsewhere.
    """
    own = float(y[used] @ y[used])
    if np.count_nonzero(used) < 2 or not own > 0:
        return float(MAX_VARIANCE_RATIO)
    rest = others - np.outer(y, y[used] @ others[used] / own)
    energy = np.sum(rest * rest, axis=1)
    known = float(energy[used].sum()) / (np.count_nonzero(used) - 1)
    rest_of = energy[~used] if not used.all() else energy
    return (
        float(np.clip(rest_of.mean() / max(known, 1e-300), 1, MAX_VARIANCE_RATIO))
        if others.size
        else 1.0
    )


def interval(line: Line, y: NDArray, v: NDArray, level: float) -> tuple[NDArray, NDArray]:
    """Return the ends of Fieller's interval of the concentration for weights y with noise v.

    It contains all x with |y - slope x| <= t sqrt(scale (extra + v + x^2 / information)). If the slope
    may be 0, there is no upper end.
    """
    t2 = float(stdtrit(line.dof, (1 + level) / 2)) ** 2 * line.scale
    h, g = t2 / line.information, line.slope
    q = g * g - h
    if q <= 0:
        return np.zeros_like(y), np.full_like(y, np.inf)
    half = np.sqrt(h * y * y + t2 * (line.extra + v) * q)
    return np.maximum((y * g - half) / q, 0), (y * g + half) / q


def variance(line: Line, y: NDArray, v: NDArray) -> NDArray:
    """Return variances of the concentrations for weights y with noise v."""
    square = (y / line.slope) ** 2
    return np.asarray(line.scale * (line.extra + v + square / line.information) / line.slope**2)


def detection(line: Line, v: NDArray) -> NDArray:
    """Return the limit of detection for weights with noise v."""
    return np.asarray(CURRIE * np.sqrt(line.scale * (line.extra + v)) / line.slope)


def median_limit(limits: NDArray) -> NDArray:
    """Return (k,) the median of the limits of detection (m, k), over finite ones."""
    kept = [column[np.isfinite(column)] for column in limits.T]
    return np.array([np.median(column) if column.size else np.nan for column in kept])


def log_likelihood(x: NDArray, Y: NDArray, v: NDArray) -> NDArray:
    """Return (r,) log-likelihoods that concentrations x belong to each column of weights Y, on one line.

    The scatter is unknown, and at least the noise, of variance v (r,).
    """
    k, own = len(x), np.sum(Y * Y, axis=0)
    along = np.divide((x @ Y) ** 2, own * (x @ x), out=np.zeros(len(own)), where=own > 0)
    least = np.divide(k * v, own, out=np.ones(len(own)), where=own > 0)
    return -(k - 1) / 2 * np.log(np.clip(1 - along, np.minimum(least, 1) + 1e-12, 1))


def assigned(scores: NDArray, fixed: Sequence[int | None]) -> tuple[list[int], list[float], list[int]]:
    """Return for each row its column in the best assignment, the probability of this, and the next best.

    The probability compares with the best assignment without this pair. Fixed pairs are certain.
    """
    scores = np.array(scores)
    never = -1e6 - np.abs(scores).sum()
    for j, i in enumerate(fixed):
        if i is not None:
            kept = scores[j, i]
            scores[j], scores[:, i] = never, never
            scores[j, i] = kept

    def best(table: NDArray) -> tuple[list[int], float]:
        rows, columns = cheapest_pairs(-table)
        return columns.tolist(), float(table[rows, columns].sum())

    chosen, total = best(scores)
    sure, second = [], []
    for j, i in enumerate(chosen):
        without = scores.copy()
        without[j, i] = 2 * never
        others, less = best(without)
        sure.append(1.0 if fixed[j] is not None else float(1 / (1 + np.exp(max(less - total, -700)))))
        second.append(others[j])
    return chosen, sure, second
