"""States on the way, and their history."""

from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ngmca.result.rates import Rates

Cost = TypeVar("Cost", float, NDArray)
Line = tuple[float, NDArray, float, float, float]


@dataclass(frozen=True)
class Domain:
    """Where the sources are sparse, and why.

    Attributes
    ----------
    name : {"direct", "wavelet"}
        Single channels are 0, or lines and bands are a few wavelet coefficients.
    why : str
        The reason, in words.
    correlation : float
        Correlation of neighbouring channels of the sources that `Soft` finds.
    levels : int
        Number of wavelet levels.
    empty : float
        Share of channels at which a source is 0.
    begun : int
        Number of iterations channel by channel before those in wavelets.
    """

    name: str
    why: str = ""
    correlation: float = field(default=np.nan, compare=False)
    levels: int = 0
    empty: float = field(default=np.nan, compare=False)
    begun: int = 0


DIRECT = Domain("direct")


@dataclass(frozen=True, eq=False, repr=False)
class Background:
    """A smooth part of each measurement that belongs to no source: weights @ basis.

    Attributes
    ----------
    weights : (m, q) array
        Non-negative weights.
    basis : (q, n) array
        Smooth curves.
    found : str
        The kind of the curves, as "splines", if the data decided that there is a background; "" if it
        was asked for.
    """

    weights: NDArray = field(repr=False)
    basis: NDArray = field(repr=False)
    found: str = ""

    @property
    def values(self) -> NDArray:
        """The background of every measurement (m, n)."""
        return np.asarray(self.weights @ self.basis)

    def scaled(self, unit: float) -> "Background":
        """Return the same for data that are `unit` times as large."""
        return replace(self, weights=self.weights * unit)

    def __repr__(self) -> str:
        return f"Background of {len(self.basis)} smooth parts{', found' * bool(self.found)}"


@dataclass(frozen=True, eq=False)
class State:
    """One iterate: A with columns of norm 1, and S as the step for (A, lam) gives it.

    Attributes
    ----------
    k : int
        Number of the iteration, from 1.
    A : (m, r) array
        The mixing.
    S : (r, n) array
        The sources.
    lam : (r,) array
        Threshold of each source.
    noise : (m,) array
        Standard deviation of the noise in each measurement.
    cost : float
        1/2 |Y - A S|^2.
    active : float
        Share of entries of S that are not 0.
    violation : float
        Relative KKT violation of the step on S.
    mixing_violation : float
        The same for the step on A before it. Where columns of A have bounds or shapes, it is how far A
        may be from the minimum of its step, over the largest entry of A.
    settled : bool
        Whether nothing moves any more, so that the iterations end here.
    domain : Domain
        Where the sources are sparse.
    background : Background or None
        The background, with a `Baseline`.
    outliers : (k, 2) array or None
        Measurement and channel of every spike, with ``robust=True``.
    rates : Rates or None
        Rate constants, with `Kinetics`: those of the last state.
    """

    k: int
    A: NDArray = field(repr=False)
    S: NDArray | Any = field(repr=False)  # or sources that are not in memory
    lam: NDArray = field(repr=False)
    noise: NDArray = field(repr=False)
    cost: float
    active: float
    violation: float
    mixing_violation: float = np.nan
    settled: bool = False
    domain: Domain = field(default=DIRECT, repr=False)
    background: Background | None = field(default=None, repr=False)
    outliers: NDArray | None = field(default=None, repr=False)
    rates: Rates | None = field(default=None, repr=False)

    def scaled(self, unit: float) -> Self:
        """Return the same for data that are `unit` times as large."""
        if unit == 1.0:
            return self
        return replace(
            self,
            S=self.S * self.S.dtype.type(unit),
            lam=self.lam * unit,
            noise=self.noise * unit,
            cost=squared(self.cost, unit),
            background=None if self.background is None else self.background.scaled(unit),
        )


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """One entry for each iteration.

    Costs are in squared units of the data: they are infinite or 0 beyond the range of floats.

    Attributes
    ----------
    cost : (k,) array
        1/2 |Y - A S|^2.
    threshold : (k, r) array
        Threshold of each source.
    active : (k,) array
        Share of entries of S that are not 0.
    violation : (k,) array
        Relative KKT violation of the step on S.
    mixing_violation : (k,) array
        The same for the step on A before it; NaN for the first. Where columns of A have bounds or
        shapes, it is how far A may be from the minimum of its step, over the largest entry of A.
    """

    cost: NDArray
    threshold: NDArray
    active: NDArray
    violation: NDArray
    mixing_violation: NDArray

    @classmethod
    def of(cls, lines: list[Line]) -> "History":
        """Return the history of states from one `line` of each."""
        return cls(*(np.array(column) for column in zip(*lines, strict=True)))

    def scaled(self, unit: float) -> "History":
        """Return the same for data that are `unit` times as large."""
        return replace(self, cost=squared(self.cost, unit), threshold=self.threshold * unit)

    def __repr__(self) -> str:
        return f"History of {len(self.cost)} iterations"


class HasFactors(Protocol):
    """Any object with factors, such as a `Separation` or the `Factors` of a rival."""

    @property
    def A(self) -> NDArray:
        """Mixing, (m, r)."""

    @property
    def S(self) -> NDArray:
        """Sources, (r, n)."""


def line(state: State) -> Line:
    """Return what the history keeps of a state."""
    return state.cost, state.lam, state.active, state.violation, state.mixing_violation


def squared(cost: Cost, unit: float) -> Cost:
    """Return a cost in squared units, infinite beyond the largest float."""
    with np.errstate(over="ignore"):
        return cost * np.float64(unit) * unit
