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

import numpy as np
from numpy.typing import NDArray

TINY = 1e-12  # of the mean square of Y: the noise variance never falls below it


@dataclass(frozen=True)
class Priors:
    """Shapes (and rates) of the conjugate priors.

    The product A S stays the same when a column of A is multiplied by a number and its source divided by
    it, and so does the model if beta_i and scale_i are multiplied along, provided that the priors of
    these two are invariant together: beta^(b - 1) d beta times scale^(-b) d scale / scale. That is what
    `scale_shape = beta_shape / 2` with vanishing rates says. Columns of A may then be brought to norm 1
    after every sweep, and the draws are exact for the model in which the direction of a column is
    uniform on the positive part of the sphere. The rates are not 0 only to keep a source without a
    single active entry finite, and are a thousandth of what one active entry at the noise would add.
    """

    active: tuple[float, float] = (1.0, 1.0)  # of start and of stay
    beta_shape: float = 1.0
    beta_rate: float = 0.0
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
    beta = rng.gamma(priors.beta_shape + count) / (priors.beta_rate + total)
    return replace(old, start=start, stay=stay, beta=beta)


def draw_scale(rng: np.random.Generator, A: NDArray, old: Parameters, priors: Priors) -> Parameters:
    """The scales of the columns of A."""
    shape = priors.scale_shape + len(A) / 2
    rate = priors.scale_rate + np.einsum("ij,ij->j", A, A) / 2
    return replace(old, scale=np.sqrt(rate / rng.gamma(shape, size=A.shape[1])))


def draw_noise(
    rng: np.random.Generator, squares: NDArray, n: int, old: Parameters, priors: Priors, noise: Noise
) -> Parameters:
    """The variances given the sums of squares (m,) of the rows of the residual."""
    if noise.kind == "given":
        return old
    squares = squares if noise.kind == "rows" else squares.sum(keepdims=True)
    entries = n * len(old.variance) // len(squares)
    drawn = (priors.noise_rate + squares / 2) / rng.gamma(
        priors.noise_shape + entries / 2, size=squares.shape
    )
    variance = np.maximum(np.broadcast_to(drawn, old.variance.shape), noise.floor)
    return replace(old, variance=variance)


def residual_squares(energy: NDArray, A: NDArray, SS: NDArray, YS: NDArray) -> NDArray:
    """Sum of squares of every row of Y - A S, from that of Y and from S S' and Y S'."""
    return np.maximum(energy - 2 * np.einsum("ij,ij->i", A, YS) + np.einsum("ij,ij->i", A @ SS, A), 0)
