"""What sampling tells: means, standard deviations, intervals, and whether the chains agree."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr, ndtri

from ngmca import inputs

_T = np.linspace(-30.0, 30.0, 6001)  # mean over spread of a normal, before it is cut off at 0


@dataclass(frozen=True, eq=False)
class Marginals:
    """The posterior of every entry of an array that is not negative, from its first two moments.

    Given that it is not 0, an entry is taken to be a normal variable cut off at 0, with the mean and the
    spread that the samples have. Each sample's contribution has exactly that form (see
    `docs/posterior.md` for how far quantiles are from those of many stored samples), and three numbers
    an entry are all that is stored, however many samples there are.
    """

    mean: NDArray = field(repr=False)
    sd: NDArray = field(repr=False)
    # probability not to be 0; None where that is 1
    active: NDArray | None = field(default=None, repr=False)

    def interval(self, level: float = 0.9, *, given_active: bool = False) -> tuple[NDArray, NDArray]:
        """Lower and upper ends that hold the entry with probability `level`, missed equally often.

        An entry that is probably 0 has an interval from 0 to 0. With `given_active` the question is
        another one: where does the entry lie, supposed that it is not 0?
        """
        if inputs.check_number(level, "level", high=1.0) == 1:
            raise ValueError("level must be below 1: only (0, inf) holds the entry for certain.")
        low, high = (1 - level) / 2, (1 + level) / 2
        return self.quantile(low, given_active=given_active), self.quantile(
            high, given_active=given_active
        )

    def quantile(self, q: float, *, given_active: bool = False) -> NDArray:
        """The value that the entry exceeds with probability 1 - q."""
        q = inputs.check_number(q, "q", high=1.0)
        active = np.ones_like(self.mean) if self.active is None else self.active
        share = np.divide(1, active, out=np.zeros_like(active), where=active > 0)
        ratio = np.divide(self.sd, self.mean, out=np.zeros_like(self.mean), where=self.mean > 0)
        ratio = np.sqrt(np.maximum((ratio**2 + 1) * active - 1, 0))  # spread over mean, if active
        above = np.full_like(ratio, 1 - q) if given_active else np.minimum((1 - q) * share, 1.0)
        found = self.mean * share * _cut_normal(ratio, above)
        return np.where((1 - q < active) | given_active, found, 0.0)

    def __repr__(self) -> str:
        return f"Marginals of shape {self.mean.shape}"

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray:
        """The mean, where an array is asked for."""
        return np.array(self.mean, dtype=dtype, copy=copy)  # type: ignore[call-overload]


@dataclass(frozen=True, eq=False)
class Posterior:
    """Sources and mixing as distributions: `S.mean`, `S.sd`, `S.active`, `S.interval(0.9)`; A likewise.

    `traces` holds the scalar parameters at (a bounded, evenly spaced choice of) the samples, arrays of
    shape (chain, draw, ...), as `arviz.from_dict` takes them. `rhat` compares the chains and their
    halves (1 is agreement), `ess` is the number of independent draws that would tell the mean equally
    well, both for every parameter, and for S and A for every source, over its entries. `error` is the
    Monte Carlo error of the mean of S over its posterior spread, root mean square.
    """

    S: Marginals  # (r, n)
    A: Marginals  # (m, r); spread 0 where A was given
    noise: Marginals  # (m,) standard deviation in each measurement
    pi: Marginals  # (r,) share of active entries of each source
    stay: Marginals  # (r,) probability that the entry after an active one is active too
    beta: Marginals  # (r,) 1 / mean of the active entries
    traces: dict[str, NDArray] = field(repr=False)
    rhat: dict[str, NDArray] = field(repr=False)
    ess: dict[str, NDArray] = field(repr=False)
    n_samples: int  # of each chain
    burn: int  # sweeps of each chain before them
    error: float
    settled: bool  # the mean is known well enough
    warnings: tuple[str, ...] = ()  # in words

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.traces["pi"])


def _cut_normal(spread: NDArray, above: NDArray) -> NDArray:
    """What a normal, cut off at 0, of mean 1 and this spread, exceeds with probability `above`.

    A spread near 1 and above no such variable has; an exponential has to do.
    """
    inverse = 1 / (np.sqrt(np.pi / 2) * erfcx(-_T / np.sqrt(2)))
    first, second = _T + inverse, 1 + _T * (_T + inverse)
    spreads = np.sqrt(second / first**2 - 1)  # falls with t
    t = np.interp(spread, spreads[::-1], _T[::-1])
    chance = np.clip(above, 1e-300, 1.0)
    inside = (t - ndtri(chance * ndtr(t))) / np.interp(t, _T, first)
    found = np.where(spread >= spreads[0], -np.log(chance), inside)
    return np.maximum(np.where(spread <= spreads[-1], 1 - spread * ndtri(chance), found), 0.0)
