"""Ridge regression of known concentrations on many variables, with all its choices by leave-one-out.

The variables come in groups: weights of the sources, the background, the residual. Each group is centred
and has a mean square of 1, so that groups count equally whatever their units and sizes are. Only scalar
products of measurements with standards are needed, never the coefficients of thousands of channels.

A ridge regression is also the prediction of a Gaussian process with an unknown mean. Its variance grows
with the distance from the standards, so that intervals of unusual measurements are wider.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

PENALTIES = 10.0 ** np.arange(-6, 2.1, 0.5)  # times the mean square of a group
PERMUTATIONS = 399
FEWEST_LEFT = 0.5  # degrees of freedom that a fit must leave
SEED = 27


@dataclass(frozen=True, eq=False)
class Products:
    """Scalar products of measurements, over one or several groups of variables.

    Attributes
    ----------
    inner : ndarray of shape (m, k)
        Products of all measurements with k of them.
    own : ndarray of shape (m,)
        Products of the measurements with themselves.
    """

    inner: NDArray
    own: NDArray

    def __add__(self, other: "Products") -> "Products":
        return Products(self.inner + other.inner, self.own + other.own)


def products(F: NDArray, rows: NDArray) -> Products:
    """Return the products of all rows of a group of variables F (m, p) with some of them."""
    F = F - F.mean(axis=0)
    top = float(np.abs(F).max(initial=0))
    F = F / top if top > 0 else F  # squares must not overflow
    own = np.einsum("mp,mp->m", F, F)
    size = float(own.mean()) or 1.0
    return Products(F @ F[rows].T / size, own / size)


@dataclass(frozen=True, eq=False)
class Regression:
    """A ridge regression with the best penalty.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Predicted concentration of each measurement.
    variance : ndarray of shape (m,)
        Variance of a new reading of this concentration.
    known : ndarray of shape (k,)
        Concentrations of the standards.
    errors : ndarray of shape (k,)
        Error of each standard when the others choose the penalty and predict it.
    used : float
        Degrees of freedom of the fit, from 1 (the mean) to k.
    chance : float
        Probability that concentrations in random order are predicted as well.
    """

    values: NDArray
    variance: NDArray
    known: NDArray
    errors: NDArray
    used: float
    chance: float

    @property
    def error(self) -> float:
        """Root mean square of the errors of standards that the others predict."""
        return float(np.sqrt(np.mean(self.errors**2)))

    def half_width(self, level: float) -> NDArray:
        """Return half the width of prediction intervals, with Student's t for what the fit leaves."""
        left = max(len(self.errors) - self.used, 1.0)
        return np.asarray(float(stdtrit(left, (1 + level) / 2)) * np.sqrt(self.variance))


class Solved(NamedTuple):
    """A penalty with the inverse of products + penalty, the same without the mean, and what it uses."""

    penalty: float
    inverse: NDArray
    centred: NDArray
    used: float


def fitted(given: Products, rows: Sequence[int] | NDArray, y: NDArray) -> Regression:
    """Return the regression of concentrations y (k,) of the measurements `rows`.

    The columns of `given.inner` belong to the same measurements, in the same order.
    """
    size = float(np.abs(y).max()) or 1.0
    y, tried = y / size, _solved(given.inner[rows])
    scores = np.array([np.mean(_left_out(one.centred, y[:, None]) ** 2) for one in tried])
    best = tried[int(len(scores) - 1 - np.argmin(scores[::-1]))]  # of equal ones the strongest penalty
    M, ones = best.inverse, best.inverse.sum(axis=1)
    mean = float(ones @ y / ones.sum())
    errors = _nested(tried, y)
    # errors have the size that the variance says
    scale = float(np.mean(errors**2 * np.diag(best.centred)))
    spread = best.penalty + given.own - np.einsum("mk,kl,ml->m", given.inner, M, given.inner)
    spread = spread + (1 - given.inner @ ones) ** 2 / ones.sum()
    return Regression(
        values=size * (mean + given.inner @ (M @ (y - mean))),
        variance=size**2 * scale * np.maximum(spread, best.penalty),
        known=size * y,
        errors=size * errors,
        used=best.used,
        chance=_chance(tried, y, float(scores.min())),
    )


def _solved(K: NDArray) -> list[Solved]:
    """Return what is needed of products K (k, k) for each penalty that leaves a degree of freedom."""
    found, k = [], len(K)
    for penalty in PENALTIES:
        M = np.linalg.inv(K + penalty * np.eye(k))
        ones = M.sum(axis=1)
        Q = M - np.outer(ones, ones) / ones.sum()
        found.append(Solved(penalty, M, Q, float(k - penalty * np.trace(Q))))
    return [one for one in found if one.used <= k - FEWEST_LEFT]


def _left_out(Q: NDArray, Y: NDArray) -> NDArray:
    """Return known less predicted concentrations if each standard is predicted by the others."""
    return np.asarray(Q @ Y / np.diag(Q)[:, None])


def _nested(tried: Sequence[Solved], y: NDArray) -> NDArray:
    """Return predicted less known concentrations if the others also choose the penalty.

    The errors without standards i and j have a closed form, as those without one standard have. So it
    is known for each i which penalty the others choose.
    """
    k = len(y)
    scores, errors = np.empty((len(tried), k)), np.empty((len(tried), k))
    for row, one in enumerate(tried):
        Q = one.centred
        own, g = np.diag(Q), Q @ y
        pairs = np.outer(own, own) - Q**2
        np.fill_diagonal(pairs, 1.0)
        second = (own[:, None] * g - Q * g[:, None]) / np.maximum(pairs, 1e-300)  # of j, without i and j
        np.fill_diagonal(second, 0.0)
        scores[row], errors[row] = np.sum(second**2, axis=1), g / own
    return np.asarray(-errors[np.argmin(scores, axis=0), np.arange(k)])


def _chance(tried: Sequence[Solved], y: NDArray, reached: float) -> float:
    """Return how often concentrations in random order are predicted as well, penalty chosen anew."""
    rng = np.random.default_rng(SEED)
    shuffled = rng.permuted(np.tile(y, (PERMUTATIONS, 1)), axis=1).T
    best = np.min([np.mean(_left_out(one.centred, shuffled) ** 2, axis=0) for one in tried], axis=0)
    return float((1 + np.count_nonzero(best <= reached * (1 + 1e-9))) / (1 + PERMUTATIONS))
