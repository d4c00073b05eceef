"""Lines through the origin: weight = slope x concentration, what scatters around it, and what follows.

All errors are in the weights; concentrations of standards are taken as exact. The scatter of standards
around the line has everything in it that goes wrong from one measurement to the next: noise, and other
substances that a source holds a little of.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

MOST = 1e6  # ratio of variances that is calculated with
CURRIE = 3.3  # standard deviations of a weight near 0: limit of detection at 5 % errors of both kinds


@dataclass(frozen=True)
class Line:
    """weight = slope * concentration + error of variance scale * (extra + own noise), in given units."""

    slope: float
    scale: float
    extra: float  # variance besides the noise
    information: float  # sum of squared concentrations over variances, before the scale
    dof: int
    errors: tuple[float, ...]  # of each standard, predicted by the others, as concentrations
    offset: float  # chance that an offset fits that much better by accident


def fitted(x: NDArray, y: NDArray, v: NDArray) -> Line:
    """The line through concentrations x and weights y, whose noise has variances v up to a factor.

    Standards count by their noise and by the scatter besides it, which is alike for all of them.
    """
    k = len(x)
    rest = y - x * (x @ y) / (x @ x)
    extra = max(0.0, float(rest @ rest) / (k - 1) - float(v.mean()))
    u = extra + v
    least = 1e-12 * max(float(v.max()), extra)  # 0 where nothing scatters, and all count alike
    u = np.maximum(u, least) if least > 0 else np.ones(k)
    Q = float(np.sum(x * x / u))
    slope = float(np.sum(x * y / u)) / Q
    scale = float(np.sum((y - slope * x) ** 2 / u)) / (k - 1)
    others = (slope * Q - x * y / u) / (Q - x * x / u)  # the slope without each of them
    predicted = np.divide(y, others, out=np.full(k, np.inf), where=others > 0)
    return Line(slope, scale, extra, Q, k - 1, tuple((predicted - x).tolist()), _offset(x, y, u))


def _offset(x: NDArray, y: NDArray, u: NDArray) -> float:
    """How often chance lets an offset improve the fit as much: an F test."""
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
    """How much more other substances vary in all measurements than in the standards, at least 1.

    It is a ratio of variances of the other weights, without what rises with y: the slope takes that in.
    What a source holds of others scatters around the line as far as these vary. Where they vary less in
    the standards, scatter there is less than it will be elsewhere.
    """
    own = float(y[used] @ y[used])
    if np.count_nonzero(used) < 2 or not own > 0:
        return float(MOST)
    rest = others - np.outer(y, y[used] @ others[used] / own)
    energy = np.sum(rest * rest, axis=1)
    known = float(energy[used].sum()) / (np.count_nonzero(used) - 1)
    rest_of = energy[~used] if not used.all() else energy
    return float(np.clip(rest_of.mean() / max(known, 1e-300), 1, MOST)) if others.size else 1.0


def interval(line: Line, y: NDArray, v: NDArray, level: float) -> tuple[NDArray, NDArray]:
    """Concentrations that a weight y with noise v may stand for, by Fieller's theorem.

    They are those x with |y - slope x| <= t sqrt(scale (extra + v + x^2 / information)). Where the slope
    itself may be 0 there is no upper end.
    """
    t2 = float(stdtrit(line.dof, (1 + level) / 2)) ** 2 * line.scale
    h, g = t2 / line.information, line.slope
    q = g * g - h
    if q <= 0:
        return np.zeros_like(y), np.full_like(y, np.inf)
    half = np.sqrt(h * y * y + t2 * (line.extra + v) * q)
    return np.maximum((y * g - half) / q, 0), (y * g + half) / q


def detection(line: Line, v: NDArray) -> NDArray:
    """The least concentration that is told from none, for weights with noise v."""
    return np.asarray(CURRIE * np.sqrt(line.scale * (line.extra + v)) / line.slope)


def likeness(x: NDArray, Y: NDArray, v: NDArray) -> NDArray:
    """(r,) log-likelihood that concentrations x belong to each column of weights Y, on one line.

    The scatter is not known beforehand, and no less than the noise, of variance v (r,).
    """
    k, own = len(x), np.sum(Y * Y, axis=0)
    along = np.divide((x @ Y) ** 2, own * (x @ x), out=np.zeros(len(own)), where=own > 0)
    least = np.divide(k * v, own, out=np.ones(len(own)), where=own > 0)
    return -(k - 1) / 2 * np.log(np.clip(1 - along, np.minimum(least, 1) + 1e-12, 1))


def assigned(scores: NDArray, fixed: Sequence[int | None]) -> tuple[list[int], list[float], list[int]]:
    """For each row the column of the best assignment, how sure that is, and which is next best.

    Sureness is that of the pair beside the best assignment without it. Fixed ones are certain.
    """
    from scipy.optimize import linear_sum_assignment

    scores = np.array(scores)
    never = -1e6 - np.abs(scores).sum()
    for j, i in enumerate(fixed):
        if i is not None:
            kept = scores[j, i]
            scores[j], scores[:, i] = never, never
            scores[j, i] = kept

    def best(table: NDArray) -> tuple[list[int], float]:
        rows, columns = linear_sum_assignment(table, maximize=True)
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
