"""The mean of ridge regressions of known concentrations, weighted by their probabilities.

The variables come in groups: weights of the sources, the background, the residual, the spectra. Each
group is centred and has a mean square of 1, so that groups count equally whatever their units and sizes
are. Only scalar products of measurements with standards are needed, never the coefficients of thousands
of channels. One variable has no penalty: it is 1 everywhere, for a regression with an offset, or the
weights of one source, for a line through 0.

A ridge regression is also the prediction of a Gaussian process of unknown size. So each has a
probability given the standards, its variance grows with the distance from them, and what standards say
of each other has a closed form.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax, stdtrit

PENALTIES = 10.0 ** np.arange(-8, 2.6, 0.5)  # times the mean square of a group
PERMUTATIONS = 399
SEED = 27
TINY = 1e-200  # least sum of squares, where all concentrations are equal
ROUNDING = 1e-10  # of a number that cannot be told from 0
LEAST = 1e-6  # of all probability: less does not count


@dataclass(frozen=True, eq=False)
class Products:
    """Scalar products of measurements, over one or several groups of variables.

    Attributes
    ----------
    inner : ndarray of shape (m, k)
        Products of all measurements with k of them.
    own : ndarray of shape (m,)
        Products of the measurements with themselves.
    groups : int
        Number of groups.
    """

    inner: NDArray
    own: NDArray
    groups: int = 1

    def __add__(self, other: "Products") -> "Products":
        return Products(self.inner + other.inner, self.own + other.own, self.groups + other.groups)


def products(F: NDArray, rows: NDArray, *, centred: bool = True) -> Products:
    """Return the products of all rows of a group of variables F (m, p) with some of them."""
    F = F - F.mean(axis=0) if centred else F
    top = float(np.abs(F).max(initial=0))
    F = F / top if top > 0 else F  # squares must not overflow
    own = np.einsum("mp,mp->m", F, F)
    size = float(own.mean()) or 1.0
    return Products(F @ F[rows].T / size, own / size)


@dataclass(frozen=True, eq=False)
class Regression:
    """A mean of ridge regressions.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Predicted concentration of each measurement.
    sd : ndarray of shape (m,)
        Standard deviation of a new reading of this concentration.
    blank : ndarray of shape (m,)
        The same without the error of the offset or of the slope.
    known : ndarray of shape (k,)
        Concentrations of the standards.
    errors : ndarray of shape (k,)
        Error of each standard when the others choose the probabilities and predict it.
    used : float
        Degrees of freedom of the fit, from 1 (the mean) to k.
    shares : ndarray
        Probability of each set of groups.
    chance : float
        Probability that concentrations in random order are followed as well; 0 without an offset.
    """

    values: NDArray
    sd: NDArray
    blank: NDArray
    known: NDArray
    errors: NDArray
    used: float
    shares: NDArray
    chance: float

    @property
    def error(self) -> float:
        """Root mean square of the errors of standards that the others predict."""
        return _root_mean_square(self.errors)

    @property
    def expected(self) -> float:
        """Root mean square of the standard deviations of all measurements."""
        return _root_mean_square(self.sd)

    @property
    def error_of_mean(self) -> float:
        """The same if the mean of the others predicts each standard."""
        k = len(self.known)
        return float(np.std(self.known)) * k / (k - 1)

    def half_width(self, level: float) -> NDArray:
        """Return half the width of prediction intervals, by Student's t."""
        left = len(self.errors) - 1
        return np.asarray(float(stdtrit(left, (1 + level) / 2)) * self.sd)


def _root_mean_square(values: NDArray) -> float:
    """Return the root mean square; squares do not overflow."""
    top = float(np.abs(values).max())
    return top * float(np.sqrt(np.mean((values / top) ** 2))) if 0 < top < np.inf else top


@dataclass(frozen=True, eq=False)
class Ridges:
    """Ridge regressions of one set of groups, one for each penalty.

    Attributes
    ----------
    given : Products
        The set of groups.
    free : ndarray of shape (m,)
        The variable without a penalty.
    noise : ndarray of shape (m,)
        Variance of each measurement, up to a factor.
    inverse : ndarray of shape (p, k, k)
        Inverse of products + penalty.
    rest : ndarray of shape (p, k, k)
        The same without the part of the free variable.
    constant : ndarray of shape (p,)
        What does not depend on concentrations in the logarithm of the probability.
    """

    given: Products
    free: NDArray
    noise: NDArray
    rows: NDArray
    inverse: NDArray
    rest: NDArray
    constant: NDArray

    @classmethod
    def of(cls, given: Products, rows: NDArray, free: NDArray, noise: NDArray) -> "Ridges":
        """Return the regressions on measurements `rows`."""
        V = given.inner[rows] + PENALTIES[:, None, None] * np.diag(noise[rows])
        M = np.linalg.inv(V)
        along = M @ free[rows]
        size = along @ free[rows]
        Q = M - along[:, :, None] * along[:, None, :] / size[:, None, None]
        constant = -0.5 * (np.linalg.slogdet(V)[1] + np.log(size)) - given.groups * np.log(2)
        return cls(given, free, noise, rows, M, Q, constant)

    def evidence(self, Y: NDArray) -> NDArray:
        """Return (p, q) logarithms of the probability of concentrations Y (k, q)."""
        left = np.maximum(np.einsum("kq,pkl,lq->pq", Y, self.rest, Y, optimize=True), TINY)
        return np.asarray(self.constant[:, None] - (len(Y) - 1) / 2 * np.log(left))

    def left_out(self, y: NDArray) -> tuple[NDArray, NDArray]:
        """Return (p, k) errors of standards that the others predict, and the evidence of the others."""
        own = np.einsum("pkk->pk", self.rest)
        lost = own <= ROUNDING * np.einsum("pkk->pk", self.inverse)  # nothing is known without this one
        own, g = np.where(lost, 1.0, own), self.rest @ y
        left = np.maximum((g @ y)[:, None] - g**2 / own, TINY)
        evidence = self.constant[:, None] - 0.5 * np.log(own) - (len(y) - 2) / 2 * np.log(left)
        return np.where(lost, np.inf, -g / own), evidence

    def used(self) -> NDArray:
        """Return (p,) degrees of freedom."""
        trace = np.einsum("pkk,k->p", self.rest, self.noise[self.rows])
        return np.asarray(len(self.rows) - PENALTIES * trace)

    def predicted(self, i: int, y: NDArray) -> NDArray:
        """Return (3, m) predictions by penalty i, their variances, and those of blanks."""
        inner, M, free = self.given.inner, self.inverse[i], self.free[self.rows]
        along = M @ free
        size = along @ free
        slope, beside = float(along @ y / size), self.free - inner @ along
        spread = np.maximum(self.given.own - np.einsum("mk,mk->m", inner @ M, inner), 0)
        scale = max(float(y @ self.rest[i] @ y), 0.0) / (len(y) - 1)
        blank = PENALTIES[i] * self.noise + spread
        values = slope * beside + inner @ (M @ y)
        return np.stack([values, scale * (blank + beside**2 / size), scale * blank])


def fitted(
    sets: Sequence[Products],
    rows: Sequence[int] | NDArray,
    y: NDArray,
    *,
    free: NDArray | None = None,
    noises: Sequence[NDArray] = (),
) -> Regression:
    """Return the mean of regressions of concentrations y (k,) of the measurements `rows`.

    Each set of groups is half as probable beforehand as one with a group less, and all penalties are
    equally probable. The columns of `Products.inner` belong to the same measurements, in the same order.
    `free` is the variable without a penalty, by default 1; `noises` are possible variances of the
    measurements up to a factor, by default the same for all.
    """
    rows, ones, offset = np.asarray(rows), np.ones(len(sets[0].own)), free is None
    free, noises = ones if free is None else free, noises or (ones,)
    first = float(free[rows] @ y / (free[rows] @ free[rows]))  # of what is left there is no rounding
    size = float(np.abs(y).max()) or 1.0
    known, y = y, (y - first * free[rows]) / size
    tried = [Ridges.of(one, rows, free, noise) for one in sets for noise in noises]
    evidence = np.stack([one.evidence(y[:, None])[:, 0] for one in tried])
    weights = softmax(evidence)
    weights[weights < LEAST] = 0
    weights /= weights.sum()
    parts = [(weights[s, i], tried[s].predicted(i, y)) for s, i in np.argwhere(weights)]
    mean, variance, blank = sum(w * part for w, part in parts)
    between = sum(w * (part[0] - mean) ** 2 for w, part in parts)
    errors, of_others = map(np.concatenate, zip(*(one.left_out(y) for one in tried), strict=True))
    others = np.maximum(softmax(of_others, axis=0), TINY)  # 0 times infinity is not a number
    return Regression(
        values=first * free + size * mean,
        sd=size * np.sqrt(variance + between),
        blank=size * np.sqrt(blank + between),
        known=known,
        errors=size * np.sum(others * errors, axis=0),
        used=float(np.sum(weights * [one.used() for one in tried])),
        shares=weights.reshape(len(sets), -1).sum(axis=1),
        chance=_chance(tried, y, float(logsumexp(evidence))) if offset else 0.0,
    )


def _chance(tried: Sequence[Ridges], y: NDArray, reached: float) -> float:
    """Return how often concentrations in random order are as probable."""
    rng = np.random.default_rng(SEED)
    shuffled = rng.permuted(np.tile(y, (PERMUTATIONS, 1)), axis=1).T
    found = logsumexp(np.concatenate([one.evidence(shuffled) for one in tried]), axis=0)
    return float((1 + np.count_nonzero(found >= reached - 1e-9)) / (1 + PERMUTATIONS))
