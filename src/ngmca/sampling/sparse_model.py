"""The model behind the samples, and the draws of its few parameters.

Y = A S + noise            noise_jt ~ N(0, sigma_j^2), one sigma for all measurements or one for each
S_it ~ Exp(beta_i)         if it is active: with probability start_i after an entry S_i,t-1 = 0,
                           stay_i after an active one (before the first there is nothing)
S_it = 0                   else
A_ji ~ |N(0, scale_i^2)|
start_i, stay_i ~ Beta, beta_i ~ Gamma, 1 / scale_i^2 ~ Gamma, 1 / sigma^2 ~ Gamma

Lines have a width: an entry beside an active one is often active too. How often is learnt for each
source; where neighbours have nothing to do with each other, stay_i = start_i comes out.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv

from ngmca.engines import Grams
from ngmca.sampling.sparse_kernels import NONE_HELD

# Of the mean square of Y: the noise variance never falls below it. What is left of Y is a difference of
# sums of squares, which in single precision are known to about 1e-7.
TINY = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-7}


@dataclass(frozen=True)
class Priors:
    """Shapes (and rates) of the conjugate priors.

    The product A S stays the same when a column of A is multiplied by a number and its source divided by
    it, and so does the model if beta_i and scale_i are multiplied along, provided that the priors of
    these two are invariant together: beta^(b - 1) d beta times scale^(-b) d scale / scale. That is what
    `scale_shape = beta_shape / 2` with vanishing rates says. Columns of A may then be brought to norm 1
    after every sweep, and the draws are those of the model in which the direction of a column is uniform
    on the positive part of the sphere.

    `beta_most` is the one thing that has a scale: it is in units of 1 / noise, for columns of norm 1.
    Active entries whose mean is below the noise cannot be told from entries that are 0. The further beta
    may go, the more of the prior says that a source does not exist (Lindley's paradox), until real ones
    die in small data. It is asked for only where beta is drawn, not where A and the noise are, which
    move it by a few percent in a sweep; a source that is well above the noise never comes near it.
    """

    active: tuple[float, float] = (1.0, 1.0)  # of start and of stay
    beta_shape: float = 1.0
    beta_rate: float = 0.0
    beta_most: float = np.inf
    scale_shape: float = 0.5
    scale_rate: float = 0.0
    noise_shape: float = 0.0
    noise_rate: float = 0.0


@dataclass(frozen=True, eq=False)
class Parameters:
    """What is learnt besides A and S."""

    start: NDArray  # (r,) probability of an entry to be active after one that is not
    stay: NDArray  # (r,) probability of an entry to be active after one that is
    beta: NDArray  # (r,) rate of the active ones, 1 / their mean
    scale: NDArray  # (r,) of the half-normal columns of A
    variance: NDArray = field(repr=False)  # (m,) of the noise

    @property
    def pi(self) -> NDArray:
        """Share of active entries of each source, in the long run."""
        return self.start / (1 - self.stay + self.start)


@dataclass(frozen=True)
class Noise:
    """What is known of the noise: nothing (one level, or one for each row), or its variances."""

    kind: str  # "white", "rows" or "given"
    floor: float  # no variance is below


def noise_level(variance: NDArray, noise: Noise) -> float:
    """The noise of an entry whose column of A is even; rows without any noise do not count."""
    some = variance[variance > noise.floor]
    return float(np.sqrt(1 / np.mean(1 / some))) if some.size else float(np.sqrt(variance.mean()))


def draw_sources_law(
    rng: np.random.Generator, totals: NDArray, n: int, old: Parameters, priors: Priors
) -> Parameters:
    """start, stay and beta given S, of which `totals` (4, r) are what `kernels.transitions` counts."""
    count, total, stayed, last = totals
    a, b = priors.active
    started, left = count - stayed, count - last - stayed
    start = rng.beta(a + started, b + n - count + last - started)
    stay = rng.beta(a + stayed, b + left)
    start, stay = (np.clip(p, 1e-12, 1 - 1e-12) for p in (start, stay))  # their log odds stay finite
    beta = _gamma_below(
        rng, priors.beta_shape + count, np.maximum(priors.beta_rate + total, 1e-300), priors.beta_most
    )
    return replace(old, start=start, stay=stay, beta=beta)


def _gamma_below(rng: np.random.Generator, shape: NDArray, rate: NDArray, most: float) -> NDArray:
    """Draws of Gamma(shape, rate) given that they are at most `most`."""
    drawn = rng.gamma(shape) / rate
    high = drawn > most
    if high.any():
        shape, rate, u = shape[high], rate[high], rng.random(np.count_nonzero(high))
        below = gammainc(shape, rate * most)
        near = most * u ** (1 / np.maximum(shape - rate * most, 1.0))  # where nearly all is above
        drawn[high] = np.where(below > 1e-200, gammaincinv(shape, u * below) / rate, near)
    return np.minimum(drawn, most)


def draw_scale(
    rng: np.random.Generator,
    A: NDArray,
    old: Parameters,
    priors: Priors,
    held: NDArray = NONE_HELD,
    sized: NDArray | None = None,
) -> Parameters:
    """The scales of the columns of A, from the entries that are not `held`.

    Where the scale of a column is no matter of convention (`sized`), as its source is known, it has a
    flat density: the other one would take a source that may be absent for absent.
    """
    shape = np.full(A.shape[1], priors.scale_shape)
    if sized is not None:
        shape[sized] = -0.5
    free = np.ones(A.shape, bool) if not held.size else ~held
    count = free.sum(axis=0)
    rate = priors.scale_rate + np.einsum("ij,ij->j", A, np.where(free, A, 0)) / 2
    drawn = np.sqrt(rate / rng.gamma(np.maximum(shape + count / 2, 0.5)))
    return replace(old, scale=np.where(count > 0, np.maximum(drawn, 1e-100), old.scale))


def draw_noise(
    rng: np.random.Generator,
    squares: NDArray,
    n: int | NDArray,
    old: Parameters,
    priors: Priors,
    noise: Noise,
) -> Parameters:
    """The variances given the sums of squares (m,) of the rows of the residual."""
    if noise.kind == "given":
        return old
    return replace(old, variance=draw_variance(rng, squares, n, priors, noise))


def draw_variance(
    rng: np.random.Generator, squares: NDArray, n: int | NDArray, priors: Priors, noise: Noise
) -> NDArray:
    """The variance of every row, or one for all, given the sums of squares (m,) of n residuals each."""
    m = len(squares)
    entries = np.broadcast_to(n, (m,))
    if noise.kind != "rows":
        squares, entries = squares.sum(keepdims=True), entries.sum(keepdims=True)
    drawn = (priors.noise_rate + squares / 2) / rng.gamma(
        priors.noise_shape + entries / 2, size=squares.shape
    )
    return np.maximum(np.broadcast_to(drawn, (m,)), noise.floor)


def residual_squares(energy: NDArray, A: NDArray, SS: Any, YS: NDArray) -> NDArray:
    """Sum of squares of every row of Y - A S, from that of Y and from S S' and Y S'."""
    explained = SS.times(A) if isinstance(SS, Grams) else A @ SS
    return np.maximum(energy - 2 * np.einsum("ij,ij->i", A, YS) + np.einsum("ij,ij->i", explained, A), 0)
