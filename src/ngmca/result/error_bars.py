"""Error bars: the posterior of sources and mixing."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr, ndtri

from ngmca._support.arguments import check_number
from ngmca._support.html_cards import card, curves
from ngmca._support.messages import ArgumentError, option

_MEANS = np.linspace(-30.0, 30.0, 6001)  # mean over spread of a normal, before it is cut off at 0


@dataclass(frozen=True, eq=False, repr=False)
class Marginals:
    """The posterior of every entry of a non-negative array, from its first two moments.

    An entry that is not 0 is described by a normal distribution that is cut off at 0, with the mean and
    the spread of the samples. `docs/explanations/posterior.md` says how far its quantiles are from
    those of many stored samples. Only three numbers are stored for each entry, however many samples
    there are.

    Attributes
    ----------
    mean, sd : arrays
        Mean and standard deviation of every entry.
    active : array or None
        Probability that an entry is not 0; None where it is 1 for all.

    Examples
    --------
    >>> import numpy as np
    >>> from ngmca.result import Marginals
    >>> low, high = Marginals(np.array([[10.0]]), np.array([[1.0]])).interval(0.9)
    >>> low.round(1), high.round(1)
    (array([[8.4]]), array([[11.6]]))
    """

    mean: NDArray = field(repr=False)
    sd: NDArray = field(repr=False)
    active: NDArray | None = field(default=None, repr=False)

    def interval(self, level: float = 0.9, *, given_active: bool = False) -> tuple[NDArray, NDArray]:
        """Return the ends of an interval that contains the entry with a given probability.

        Both ends are missed equally often. An entry that is probably 0 has the interval from 0 to 0.
        Where `active` is None, an entry that may be 0 has an interval that begins at 0.

        Parameters
        ----------
        level : float
            The probability, below 1.
        given_active : bool
            Return the interval for the case that the entry is not 0.

        Returns
        -------
        low, high : arrays
            The ends for every entry.
        """
        if check_number(level, "level", high=1.0) == 1:
            raise ArgumentError("{} must be below 1.", option("level"))
        low, high = (1 - level) / 2, (1 + level) / 2
        ends = [self.quantile(q, given_active=given_active) for q in (low, high)]
        if self.active is None:
            near = self.sd > self.mean * _spread_at(
                -ndtri(low)
            )  # without the cut-off it would be below 0
            ends = [np.where(near, 0, ends[0]), np.where(near, self.quantile(level), ends[1])]
        return np.where(np.isinf(self.sd), 0, ends[0]), ends[1]

    def quantile(self, q: float, *, given_active: bool = False) -> NDArray:
        """Return the value below which the entry lies with probability q."""
        q = check_number(q, "q", high=1.0)
        active = np.ones_like(self.mean) if self.active is None else self.active
        share = np.divide(1, active, out=np.zeros_like(active), where=active > 0)
        ratio = np.divide(self.sd, self.mean, out=np.zeros_like(self.mean), where=self.mean > 0)
        ratio = np.sqrt(np.maximum((ratio**2 + 1) * active - 1, 0))  # spread over mean, if active
        above = np.full_like(ratio, 1 - q) if given_active else np.minimum((1 - q) * share, 1.0)
        found = self.mean * share * _cut_normal(ratio, above)
        found = np.where((1 - q < active) | given_active, found, 0.0)
        return np.where(np.isinf(self.sd), np.inf, found)  # no observed entries

    def at(self, columns: NDArray) -> "Marginals":
        """Return the same for some columns."""
        return self.each(lambda values: values[:, columns])

    def each(self, change: Callable[[NDArray], NDArray]) -> "Marginals":
        """Return the same with a change of the shape of its arrays."""
        active = None if self.active is None else change(self.active)
        return Marginals(change(self.mean), change(self.sd), active)

    def scaled(self, unit: float) -> "Marginals":
        """Return the same for data that are `unit` times as large."""
        return replace(self, mean=self.mean * unit, sd=self.sd * unit)

    def __repr__(self) -> str:
        return f"Marginals of shape {self.mean.shape}"

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray:
        """Return the mean, where an array is needed."""
        return np.array(self.mean, dtype=dtype, copy=copy)  # type: ignore[call-overload]


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Error bars: sources and mixing as distributions.

    Attributes
    ----------
    S : Marginals
        The sources (r, n): `S.mean`, `S.sd`, `S.active`, `S.interval(0.9)`.
    A : Marginals
        The mixing (m, r); its spread is 0 where A was given.
    noise : Marginals
        Standard deviation of the noise in each measurement (m,).
    pi, stay, beta : Marginals or None
        Of each source (r,): share of active entries, probability that the entry after an active one is
        active too, and 1 / mean of the active entries. None if the answer is the separation.
    traces : dict
        Scalar parameters at an even choice of the samples, arrays (chain, draw, ...) as
        `arviz.from_dict` takes them.
    rhat, ess : dict
        For every parameter, and for every source of S and A over its entries: agreement of the chains
        and their halves (1 is agreement), and the number of independent draws that would give the mean
        as precisely.
    n_samples, burn : int
        Samples of each chain, and sweeps before them.
    error : float
        Monte Carlo error of the mean of S, divided by its posterior spread, root mean square.
    settled : bool
        Whether the mean is precise enough.
    warnings : tuple of str
        What is wrong with the chains, in words.
    model : {"sparse", "bands", "profiles"}
        Entries that are 0 or active, lines and bands in wavelets, or shapes and sums of profiles. For
        the last two, the answer is the separation, and there are only intervals around it.
    refuted : bool
        Whether the samples contradict the model so strongly that the intervals mean nothing.
    columns : array or None
        The channels of S that were sampled; None for all.
    """

    S: Marginals
    A: Marginals
    noise: Marginals
    pi: Marginals | None
    stay: Marginals | None
    beta: Marginals | None
    traces: dict[str, NDArray] = field(repr=False)
    rhat: dict[str, NDArray] = field(repr=False)
    ess: dict[str, NDArray] = field(repr=False)
    n_samples: int
    burn: int
    error: float
    settled: bool
    warnings: tuple[str, ...] = ()
    model: str = "sparse"
    refuted: bool = False
    columns: NDArray | None = field(default=None, repr=False)

    @property
    def around_answer(self) -> bool:
        """Whether the answer is the separation, with intervals around it."""
        return self.model != "sparse"

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.traces["noise"])

    def scaled(self, unit: float) -> "Posterior":
        """Return the same for data that are `unit` times as large."""
        if unit == 1.0:
            return self
        powers = {"noise": unit, "beta": 1 / unit}
        return replace(
            self,
            S=self.S.scaled(unit),
            noise=self.noise.scaled(unit),
            beta=None if self.beta is None else self.beta.scaled(1 / unit),
            traces={name: values * powers.get(name, 1.0) for name, values in self.traces.items()},
        )

    def __repr__(self) -> str:
        (r, n), m = self.S.mean.shape, len(self.A.mean)
        doubt = (", not settled" if not self.settled else "") + (", refuted" if self.refuted else "")
        kind = f"{r} sources" + (" of lines and bands" if self.model == "bands" else "")
        return f"Posterior: {kind} in {m} x {n} data, {self.n_chains} x {self.n_samples}{doubt}"

    def _repr_html_(self) -> str:
        """The sources with their 90 % intervals, for notebooks."""
        low, high = self.S.interval(0.9)
        spread = np.linalg.norm(self.S.sd, axis=1), np.linalg.norm(self.S.mean, axis=1)
        rows = []
        for i, mean in enumerate(self.S.mean):
            band = None if self.refuted or np.isinf(high[i]).any() else (low[i], high[i])
            error = f"{100 * spread[0][i] / spread[1][i]:.2g} %" if spread[1][i] else ""
            chains = f"{float(np.max(self.rhat['S'][i])):.3f}" if "S" in self.rhat else ""
            rows.append([str(i + 1), curves(mean, first=i, band=band), error, chains])
        head = ["source", "mean and 90 % interval", "relative standard deviation", "R-hat"]
        told = ["The data contradict the model: there are no intervals."] if self.refuted else []
        return card(repr(self), rows, head, [*told, *self.warnings])


def _spread_at(t: float) -> float:
    """Return spread over mean of a normal of spread 1 and mean t, cut off at 0."""
    inverse = 1 / (np.sqrt(np.pi / 2) * erfcx(-t / np.sqrt(2)))
    return float(np.sqrt((1 + t * (t + inverse)) / (t + inverse) ** 2 - 1))


def _cut_normal(spread: NDArray, above: NDArray) -> NDArray:
    """Return what a normal, cut off at 0, of mean 1 and this spread exceeds with a probability.

    No such distribution has a spread near 1 or above; an exponential is used there.
    """
    inverse = 1 / (np.sqrt(np.pi / 2) * erfcx(-_MEANS / np.sqrt(2)))
    first, second = _MEANS + inverse, 1 + _MEANS * (_MEANS + inverse)
    spreads = np.sqrt(second / first**2 - 1)  # falls with t
    t = np.interp(spread, spreads[::-1], _MEANS[::-1])
    chance = np.clip(above, 1e-300, 1.0)
    inside = (t - ndtri(chance * ndtr(t))) / np.interp(t, _MEANS, first)
    found = np.where(spread >= spreads[0], -np.log(chance), inside)
    return np.maximum(np.where(spread <= spreads[-1], 1 - spread * ndtri(chance), found), 0.0)
