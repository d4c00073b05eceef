"""The model of sparse sources, and the draws of its few parameters.

Y = A S + noise            noise_jt ~ N(0, sigma_j^2), one sigma for all measurements or one for each
S_it ~ Exp(beta_i)         if it is active: with probability start_i after an entry S_i,t-1 = 0,
                           stay_i after an active one (the entry before the first counts as 0)
S_it = 0                   otherwise
A_ji ~ |N(0, scale_i^2)|
start_i, stay_i ~ Beta, beta_i ~ Gamma, 1 / scale_i^2 ~ Gamma, 1 / sigma^2 ~ Gamma

Lines have a width: an entry next to an active one is often active too. How often is learnt for each
source; if neighbours are independent, the result is stay_i = start_i.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv

from ngmca.nnqp.gram import Gram
from ngmca.sampling.sparse_kernels import NONE_HELD

# The noise variance never falls below this share of the mean square of Y. The residual is a difference
# of sums of squares, which in single precision are accurate to about 1e-7.
NOISE_FLOOR = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-7}


@dataclass(frozen=True)
class Priors:
    """Shapes (and rates) of the conjugate priors.

    The product A S does not change if a column of A is multiplied by a number and its source divided by
    it. The model does not change either if beta_i and scale_i are multiplied too, provided that their
    priors are invariant together: beta^(b - 1) d beta times scale^(-b) d scale / scale. This is the
    meaning of `scale_shape = beta_shape / 2` with rates of 0. Columns of A can then be scaled to norm 1
    after every sweep, and the samples are those of the model in which the direction of a column is
    uniform on the positive part of the sphere.

    Attributes
    ----------
    active : tuple of float
        The two shapes of the Beta priors of start and stay.
    beta_shape, beta_rate : float
        Of the Gamma prior of beta.
    beta_most : float
        Upper limit of beta, in units of 1 / noise, for columns of norm 1: the only prior with a scale.
        Active entries whose mean is below the noise cannot be distinguished from entries that are 0. The
        larger beta may become, the more the prior says that a source does not exist (Lindley's paradox),
        until real sources vanish in small data. The limit is applied only when beta is drawn, not when A
        and the noise are, which change it by a few percent in a sweep. A source that is well above the
        noise never comes near it.
    scale_shape, scale_rate : float
        Of the Gamma prior of 1 / scale^2.
    noise_shape, noise_rate : float
        Of the Gamma prior of 1 / sigma^2.
    """

    active: tuple[float, float] = (1.0, 1.0)
    beta_shape: float = 1.0
    beta_rate: float = 0.0
    beta_most: float = np.inf
    scale_shape: float = 0.5
    scale_rate: float = 0.0
    noise_shape: float = 0.0
    noise_rate: float = 0.0


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters that are learnt besides A and S.

    Attributes
    ----------
    start : ndarray of shape (r,)
        Probability that an entry is active after one that is 0.
    stay : ndarray of shape (r,)
        Probability that an entry is active after an active one.
    beta : ndarray of shape (r,)
        Rate of the active entries, 1 / their mean.
    scale : ndarray of shape (r,)
        Scale of the half-normal columns of A.
    variance : ndarray of shape (m,)
        Noise variances.
    """

    start: NDArray
    stay: NDArray
    beta: NDArray
    scale: NDArray
    variance: NDArray = field(repr=False)

    @property
    def pi(self) -> NDArray:
        """Share of active entries of each source in the stationary distribution."""
        return self.start / (1 - self.stay + self.start)


@dataclass(frozen=True)
class Noise:
    """The noise model.

    Attributes
    ----------
    kind : {"white", "rows", "given"}
        One variance is learnt, one for each measurement, or the variances are known.
    floor : float
        Smallest possible variance.
    """

    kind: str
    floor: float


def noise_level(variance: NDArray, noise: Noise) -> float:
    """Return the noise of an entry of S whose column of A is constant, without rows at the floor."""
    some = variance[variance > noise.floor]
    return float(np.sqrt(1 / np.mean(1 / some))) if some.size else float(np.sqrt(variance.mean()))


def draw_sources_law(
    rng: np.random.Generator, totals: NDArray, n: int, old: Parameters, priors: Priors
) -> Parameters:
    """Draw start, stay and beta given the counts `totals` (4, r) of `sparse_kernels.transitions`."""
    count, total, stayed, last = totals
    a, b = priors.active
    started, left = count - stayed, count - last - stayed
    start = rng.beta(a + started, b + n - count + last - started)
    stay = rng.beta(a + stayed, b + left)
    start, stay = (
        np.clip(p, 1e-12, 1 - 1e-12) for p in (start, stay)
    )  # so that their log odds are finite
    beta = _gamma_below(
        rng, priors.beta_shape + count, np.maximum(priors.beta_rate + total, 1e-300), priors.beta_most
    )
    return replace(old, start=start, stay=stay, beta=beta)


def _gamma_below(rng: np.random.Generator, shape: NDArray, rate: NDArray, most: float) -> NDArray:
    """Draw from Gamma(shape, rate) given that the values are at most `most`."""
    drawn = rng.gamma(shape) / rate
    high = drawn > most
    if high.any():
        shape, rate, u = shape[high], rate[high], rng.random(np.count_nonzero(high))
        below = gammainc(shape, rate * most)
        near = most * u ** (
            1 / np.maximum(shape - rate * most, 1.0)
        )  # if nearly all of the distribution is above
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
    """Draw the scales of the columns of A, from the entries that are not `held`.

    If the scale of a column is not arbitrary (`sized`), because its source is known, its prior is flat:
    the usual prior would decide too easily that the source is absent.
    """
    shape = np.full(A.shape[1], priors.scale_shape)
    if sized is not None:
        shape[sized] = -0.5
    free = np.ones(A.shape, bool) if not held.size else ~held
    count = free.sum(axis=0)
    rate = priors.scale_rate + np.einsum("ij,ij->j", A, np.where(free, A, 0)) / 2
    drawn = np.sqrt(rate / rng.gamma(np.maximum(shape + count / 2, 0.5)))
    return replace(old, scale=np.where(count > 0, np.maximum(drawn, 1e-100), old.scale))


def draw_variance(
    rng: np.random.Generator, squares: NDArray, n: int | NDArray, priors: Priors, noise: Noise
) -> NDArray:
    """Draw one variance for each row, or one for all, given sums of squares (m,) of n residuals each."""
    m = len(squares)
    entries = np.broadcast_to(n, (m,))
    if noise.kind != "rows":
        squares, entries = squares.sum(keepdims=True), entries.sum(keepdims=True)
    drawn = (priors.noise_rate + squares / 2) / rng.gamma(
        priors.noise_shape + entries / 2, size=squares.shape
    )
    return np.maximum(np.broadcast_to(drawn, (m,)), noise.floor)


def residual_squares(energy: NDArray, A: NDArray, SS: Gram, YS: NDArray) -> NDArray:
    """Return the sum of squares of each row of Y - A S, from that of Y and from S S' and Y S'."""
    explained = SS.times(A)
    return np.maximum(energy - 2 * np.einsum("ij,ij->i", A, YS) + np.einsum("ij,ij->i", explained, A), 0)
