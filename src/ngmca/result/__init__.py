"""What comes out: states on the way, the separation, and its posterior."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr, ndtri

from ngmca._support import arguments
from ngmca.plotting import sources_plot as views
from ngmca.result.large_sources import in_memory

_T = np.linspace(-30.0, 30.0, 6001)  # mean over spread of a normal, before it is cut off at 0


@dataclass(frozen=True, eq=False, repr=False)
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
        another one: where does the entry lie, supposed that it is not 0? Where nothing is said about
        being 0 (`active` is None), an entry that may well be 0 has an interval that begins there.
        """
        if arguments.check_number(level, "level", high=1.0) == 1:
            raise ValueError("level must be below 1: only (0, inf) holds the entry for certain.")
        low, high = (1 - level) / 2, (1 + level) / 2
        ends = [self.quantile(q, given_active=given_active) for q in (low, high)]
        if self.active is None:
            near = self.sd > self.mean * _spread_at(-ndtri(low))  # without the cut it would go below 0
            ends = [np.where(near, 0, ends[0]), np.where(near, self.quantile(level), ends[1])]
        return np.where(np.isinf(self.sd), 0, ends[0]), ends[1]

    def quantile(self, q: float, *, given_active: bool = False) -> NDArray:
        """The value that the entry exceeds with probability 1 - q."""
        q = arguments.check_number(q, "q", high=1.0)
        active = np.ones_like(self.mean) if self.active is None else self.active
        share = np.divide(1, active, out=np.zeros_like(active), where=active > 0)
        ratio = np.divide(self.sd, self.mean, out=np.zeros_like(self.mean), where=self.mean > 0)
        ratio = np.sqrt(np.maximum((ratio**2 + 1) * active - 1, 0))  # spread over mean, if active
        above = np.full_like(ratio, 1 - q) if given_active else np.minimum((1 - q) * share, 1.0)
        found = self.mean * share * _cut_normal(ratio, above)
        found = np.where((1 - q < active) | given_active, found, 0.0)
        return np.where(np.isinf(self.sd), np.inf, found)  # nothing was observed of it

    def at(self, columns: NDArray) -> "Marginals":
        """The same of some columns."""
        active = None if self.active is None else self.active[:, columns]
        return Marginals(self.mean[:, columns], self.sd[:, columns], active)

    def scaled(self, unit: float) -> "Marginals":
        """The same in units that are smaller by `unit`."""
        return replace(self, mean=self.mean * unit, sd=self.sd * unit)

    def __repr__(self) -> str:
        return f"Marginals of shape {self.mean.shape}"

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray:
        """The mean, where an array is asked for."""
        return np.array(self.mean, dtype=dtype, copy=copy)  # type: ignore[call-overload]


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Sources and mixing as distributions: `S.mean`, `S.sd`, `S.active`, `S.interval(0.9)`; A likewise.

    `model` says what they were taken for: "sparse", entries that are 0 or active, or "bands", lines and
    bands in wavelets. Of bands there are intervals alone: the separation's S is the answer, not the
    mean of the draws, and there is no `S.active`, `pi`, `stay` or `beta`.

    `traces` holds the scalar parameters at (a bounded, evenly spaced choice of) the samples, arrays of
    shape (chain, draw, ...), as `arviz.from_dict` takes them. `rhat` compares the chains and their
    halves (1 is agreement), `ess` is the number of independent draws that would tell the mean equally
    well, both for every parameter, and for S and A for every source, over its entries. `error` is the
    Monte Carlo error of the mean of S over its posterior spread, root mean square.
    """

    S: Marginals  # (r, n)
    A: Marginals  # (m, r); spread 0 where A was given
    noise: Marginals  # (m,) standard deviation in each measurement
    pi: Marginals | None  # (r,) share of active entries of each source
    stay: Marginals | None  # (r,) probability that the entry after an active one is active too
    beta: Marginals | None  # (r,) 1 / mean of the active entries
    traces: dict[str, NDArray] = field(repr=False)
    rhat: dict[str, NDArray] = field(repr=False)
    ess: dict[str, NDArray] = field(repr=False)
    n_samples: int  # of each chain
    burn: int  # sweeps of each chain before them
    error: float
    settled: bool  # the mean is known well enough
    warnings: tuple[str, ...] = ()  # in words
    model: str = "sparse"  # or "bands"
    refuted: bool = False  # what was found contradicts the model gravely: the intervals mean nothing
    columns: NDArray | None = field(default=None, repr=False)  # those of S that were sampled; None: all

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.traces["noise"])

    def scaled(self, unit: float) -> "Posterior":
        """The same for data that are `unit` times as large."""
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


@dataclass(frozen=True)
class Domain:
    """Where the sources were taken to be sparse, and why."""

    name: str  # "direct": single channels are 0; "wavelet": lines and bands are a few coefficients
    why: str = ""  # in words
    correlation: float = field(
        default=np.nan, compare=False
    )  # of neighbouring channels of the sources that `soft` finds
    levels: int = 0  # of the wavelets
    empty: float = field(
        default=np.nan, compare=False
    )  # share of channels at which a source is 0; lines leave most of them so
    begun: int = 0  # iterations channel by channel before those in wavelets


DIRECT = Domain("direct")


@dataclass(frozen=True, eq=False, repr=False)
class Background:
    """What belongs to no substance: a smooth part of each measurement, weights @ basis."""

    weights: NDArray = field(repr=False)  # (m, q), not negative
    basis: NDArray = field(repr=False)  # (q, n)

    @property
    def values(self) -> NDArray:
        """(m, n) the background of every measurement."""
        return np.asarray(self.weights @ self.basis)

    def scaled(self, unit: float) -> "Background":
        """The same for data that are `unit` times as large."""
        return replace(self, weights=self.weights * unit)

    def __repr__(self) -> str:
        return f"Background of {len(self.basis)} smooth parts"


@dataclass(frozen=True, eq=False)
class State:
    """One iterate: unit columns in A, and S the answer of the S-step for (A, lam)."""

    k: int  # iteration, from 1
    A: NDArray = field(repr=False)  # (m, r)
    S: NDArray = field(repr=False)  # (r, n)
    lam: NDArray = field(repr=False)  # (r,) threshold of each source
    noise: NDArray = field(repr=False)  # (m,) standard deviation in each measurement
    cost: float  # 1/2 |Y - A S|^2
    active: float  # share of entries of S that are not 0
    violation: float  # relative KKT violation of the S-step
    mixing_violation: float = np.nan  # of the A-step before it, whose answer A may have been moved on
    settled: bool = False  # nothing moves any more: the iterations end here
    domain: Domain = field(default=DIRECT, repr=False)
    background: Background | None = field(default=None, repr=False)
    outliers: NDArray | None = field(default=None, repr=False)  # (k, 2) measurement and sample

    def scaled(self, unit: float) -> "State":
        """The same for data that are `unit` times as large."""
        if unit == 1.0:
            return self
        return replace(
            self,
            S=self.S * self.S.dtype.type(unit),
            lam=self.lam * unit,
            noise=self.noise * unit,
            cost=_squared(self.cost, unit),
            background=None if self.background is None else self.background.scaled(unit),
        )


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """One entry an iteration.

    Costs have the squared units of the data: one beyond the largest float is infinite, one below the
    smallest is 0. All else is found in other units, and stays right.
    """

    cost: NDArray  # (k,) 1/2 |Y - A S|^2
    threshold: NDArray  # (k, r)
    active: NDArray  # (k,) share of entries of S that are not 0
    violation: NDArray  # (k,) relative KKT violation of the S-step
    mixing_violation: NDArray  # (k,) and of the A-step before it; NaN for the first

    def scaled(self, unit: float) -> "History":
        """The same for data that are `unit` times as large."""
        return replace(self, cost=_squared(self.cost, unit), threshold=self.threshold * unit)

    def __repr__(self) -> str:
        return f"History of {len(self.cost)} iterations"


@dataclass(frozen=True)
class Restart:
    """One of several first guesses, as `separate` with `n_init` compares them."""

    cost: float  # penalised cost of its mixing directions at the threshold common to all
    agreement: float  # mean SDR in dB of its sources, taken as estimates of the chosen ones
    sources: tuple[float, ...] = ()  # (r,) that of each; empty where it is not known
    equal: bool = False  # whether it fits as well as the chosen one, which does


@dataclass(frozen=True, eq=False, repr=False)
class Others:
    """Where other answers lie that fit as well as the chosen one, which is among them here.

    Sources are matched to the chosen ones and have their norm, unless their scale is known; those that
    differ by less than 1 % are taken for the same.
    """

    count: int  # of starts whose answer fits as well and differs
    S_low: NDArray = field(repr=False)  # (r, n)
    S_high: NDArray = field(repr=False)
    A_low: NDArray = field(repr=False)  # (m, r)
    A_high: NDArray = field(repr=False)

    @property
    def differs(self) -> NDArray:
        """(r,) whether a source is another one somewhere."""
        return np.asarray((self.S_low < self.S_high).any(axis=1))

    def scaled(self, unit: float) -> "Others":
        """The same for data that are `unit` times as large."""
        own = self.S_low.dtype.type(unit)
        return replace(self, S_low=self.S_low * own, S_high=self.S_high * own)

    def __repr__(self) -> str:
        return f"Others: {self.count} that fit as well, {np.sum(self.differs)} sources differ"


@dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """Y ~ A S with A (m, r), S (r, n), both non-negative, and columns of A of norm 1.

    For `soft`, S is the exact minimiser of 1/2 |Y - A S|^2 + sum_i lam_i |S_i|_1 over S >= 0, and
    `violation` certifies it: see `ngmca.nnqp.violation`. Where `domain` is "wavelet", S minimises
    1/2 |Y - A S|^2 + sum |Lam * (S W')| for weights Lam that depend on S, lam_i is the threshold of a
    coefficient of norm 1, and `violation` is the duality gap over the objective. `naive` and the rivals
    of `ngmca.rivals` solve no such problem: it is NaN, as are thresholds of a rival. Factors of `gmca`
    may be negative.
    """

    A: NDArray = field(repr=False)
    S: NDArray = field(repr=False)
    lam: NDArray = field(repr=False)  # (r,) the final threshold of each source
    noise: NDArray = field(repr=False)  # (m,) standard deviation of the noise in each measurement
    n_iter: int
    stopped: str  # "settled": nothing moved any more; "iterations": n_iter was reached
    violation: float
    history: History = field(repr=False)
    restarts: tuple[Restart, ...] = ()  # with n_init > 1, one a first guess
    posterior: Posterior | None = field(default=None, repr=False)  # if it was asked for
    domain: Domain = DIRECT  # where the sources were taken to be sparse
    background: Background | None = field(default=None, repr=False)  # if a baseline was asked for
    outliers: NDArray | None = field(default=None, repr=False)  # (k, 2), with robust=True
    parts: tuple[slice, ...] = (slice(None),)  # measurements of each of several data sets
    others: Others | None = field(default=None, repr=False)  # answers that fit as well and differ

    @property
    def answer(self) -> tuple[NDArray, NDArray]:
        """A and S as they are shown: the posterior's mean, where a sparse one was sampled and holds.

        The mean is not shrunk by a threshold, and lies inside its error bars. For lines and bands, and
        without a posterior, the separation's own A and S.
        """
        found = self.posterior
        if found is None or found.refuted or found.model == "bands":
            return self.A, self.S
        return found.A.mean, found.S.mean

    @property
    def shares(self) -> NDArray:
        """(m, r) part of each source in the signal of a measurement, the sum over its channels.

        Unlike the columns of A, which have norm 1, they can be compared between sources. Rows add up
        to 1, to 0 where there is no signal.
        """
        A, S = (np.abs(part) for part in self.in_memory().answer)
        signal = A * (S / (S.max(initial=0) or 1)).sum(axis=1)
        total = signal.sum(axis=1, keepdims=True)
        return np.divide(signal, total, out=np.zeros(signal.shape), where=total > 0)

    def plot(self, data: Any = None) -> Any:
        """A matplotlib figure: each source against the axis, and its share in every measurement.

        `data`, what `ngmca.io.read` returned or a DataFrame, has the axis and the names.
        """
        found = self.in_memory()
        return views.picture(found.answer[1], found.shares, data)

    def to_dataframe(self, data: Any = None) -> tuple[Any, Any]:
        """Two pandas DataFrames: sources, one row a channel, and mixing, one row a measurement.

        The mixing has the columns of A ("source 1") and the shares in percent ("source 1 %"). `data`,
        what `ngmca.io.read` returned or a DataFrame, has the axis and the names.
        """
        found = self.in_memory()
        return views.tables(*found.answer, found.shares, data)

    def in_memory(self) -> "Separation":
        """The same with S as an array, where it lies on disk or on a cluster.

        What draws, saves and counts begins with this. It is refused where S is too large for it.
        """
        S = in_memory(self.S)
        return self if S is self.S else replace(self, S=S)

    def with_sources(self, S: Any) -> "Separation":
        """Return the same with its sources in another place."""
        return replace(self, S=S)

    def scaled(self, unit: float) -> "Separation":
        """The same for data that are `unit` times as large."""
        if unit == 1.0:
            return self
        return replace(
            self,
            S=self.S * self.S.dtype.type(unit),
            lam=self.lam * unit,
            noise=self.noise * unit,
            history=self.history.scaled(unit),
            restarts=tuple(replace(one, cost=_squared(one.cost, unit)) for one in self.restarts),
            others=None if self.others is None else self.others.scaled(unit),
            background=None if self.background is None else self.background.scaled(unit),
        )

    def __repr__(self) -> str:
        (m, r), n = self.A.shape, self.S.shape[1]
        bars = ", with posterior" if self.posterior is not None else ""
        end = "settled after" if self.stopped == "settled" else "after"
        return f"Separation: {r} sources in {m} x {n} data, {end} {self.n_iter} iterations{bars}"


def recorded(
    last: State, lines: list[tuple[float, NDArray, float, float, float]], **changes: Any
) -> Separation:
    """The separation that ends with a state, from one line of `line` for each state so far."""
    history = History(*(np.array(column) for column in zip(*lines, strict=True)))
    found = Separation(
        A=last.A,
        S=last.S,
        lam=last.lam,
        noise=last.noise,
        n_iter=last.k,
        stopped="settled" if last.settled else "iterations",
        violation=last.violation,
        history=history,
        domain=last.domain,
        background=last.background,
        outliers=last.outliers,
    )
    return replace(found, **changes) if changes else found


def line(state: State) -> tuple[float, NDArray, float, float, float]:
    """What is kept of every state."""
    return state.cost, state.lam, state.active, state.violation, state.mixing_violation


def _squared(cost: Any, unit: float) -> Any:
    """A cost in squared units; infinite where that is beyond the largest float."""
    with np.errstate(over="ignore"):
        return cost * np.float64(unit) * unit


def _spread_at(t: float) -> float:
    """Spread over mean of a normal of spread 1 and mean t, cut off at 0."""
    inverse = 1 / (np.sqrt(np.pi / 2) * erfcx(-t / np.sqrt(2)))
    return float(np.sqrt((1 + t * (t + inverse)) / (t + inverse) ** 2 - 1))


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
