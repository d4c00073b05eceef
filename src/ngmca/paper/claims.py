"""Claims, and checks on tables of results that can fail: paired over simulations, with intervals.

A comparison of two methods at one value is the mean of their differences on the same data, with a
confidence interval by Student's t. The intervals of one claim hold together with 95 % confidence
(Bonferroni). A claim about every value holds if all intervals are on its side of zero, and does not
hold if one is on the other side; otherwise this number of simulations does not decide it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"


@dataclass(frozen=True)
class Evidence:
    """A mean over n simulations with its interval, and where it would have to lie."""

    what: str
    mean: float
    low: float
    high: float
    n: int
    above: float = -np.inf
    below: float = np.inf

    @property
    def verdict(self) -> str:
        """Whether the whole interval is inside, the whole interval outside, or neither."""
        if self.above < self.low and self.high < self.below:
            return HOLDS
        if self.high < self.above or self.low > self.below:
            return FAILS
        return UNDECIDED


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim, and the numbers behind it."""

    verdict: str
    evidence: tuple[Evidence, ...]


Check = Callable[["pd.DataFrame", str], Finding]  # (table of a study, what varies)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in our words, where it stands, and how it is checked."""

    text: str
    place: str
    check: Check
    why: str = ""  # what is known about why it does not hold, or holds only in part


def verdict_on_all(evidence: Sequence[Evidence]) -> Finding:
    """The claim is about every single comparison."""
    verdicts = {item.verdict for item in evidence}
    told = FAILS if FAILS in verdicts else HOLDS if verdicts == {HOLDS} else UNDECIDED
    return Finding(told, tuple(evidence))


def verdict_on_most(evidence: Sequence[Evidence]) -> Finding:
    """The claim is about more than half of the comparisons."""
    verdicts = [item.verdict for item in evidence]
    half = len(verdicts) / 2
    told = HOLDS if verdicts.count(HOLDS) > half else UNDECIDED
    return Finding(FAILS if verdicts.count(FAILS) >= half else told, tuple(evidence))


def interval(what: str, values: ArrayLike, *, family: int = 1, **limits: float) -> Evidence:
    """The mean of the values, with an interval that holds together with those of a family."""
    x = np.asarray(values, dtype=float)
    mean = float(x.mean()) if len(x) else np.nan
    if len(x) < 2:
        return Evidence(what, mean, -np.inf, np.inf, len(x), **limits)
    quantile = stats.t.ppf(1 - (1 - CONFIDENCE) / (2 * family), len(x) - 1)
    half = float(quantile * x.std(ddof=1) / np.sqrt(len(x)))
    return Evidence(what, mean, mean - half, mean + half, len(x), **limits)


def differences(
    table: "pd.DataFrame", varies: str, value: float, first: str, second: str, measure: str
) -> "pd.Series[Any]":
    """first - second on the simulations that both have."""
    here = table[table[varies] == value]
    wide = here.pivot(index="sim", columns="method", values=measure)
    if first not in wide or second not in wide:
        return wide.iloc[:0, 0]
    return (wide[first] - wide[second]).dropna()


def _values(table: "pd.DataFrame", varies: str, at: Sequence[float] | None) -> list[float]:
    """The values in the table, or those of them that a claim is about."""
    present = sorted(table[varies].unique())
    return [x for x in present if at is None or x in at]


def ahead(
    method: str,
    others: Sequence[str],
    *,
    at: Sequence[float] | None = None,
    by: float = 0.0,
    most: bool = False,
    measure: str = "sdr",
) -> Check:
    """`method` is more than `by` above each of the others, at every value or at most of them."""

    def check(table: "pd.DataFrame", varies: str) -> Finding:
        pairs = [(x, other) for x in _values(table, varies, at) for other in others]
        evidence = [
            interval(
                f"{varies} = {x:g}: {method} - {other}",
                differences(table, varies, x, method, other, measure),
                family=len(pairs),
                above=by,
            )
            for x, other in pairs
        ]
        return verdict_on_most(evidence) if most else verdict_on_all(evidence)

    return check


def close(
    first: str, second: str, *, within: float, at: Sequence[float] | None = None, measure: str = "sdr"
) -> Check:
    """The two methods differ by less than `within`, at every value."""

    def check(table: "pd.DataFrame", varies: str) -> Finding:
        values = _values(table, varies, at)
        return verdict_on_all(
            [
                interval(
                    f"{varies} = {x:g}: {first} - {second}",
                    differences(table, varies, x, first, second, measure),
                    family=len(values),
                    above=-within,
                    below=within,
                )
                for x in values
            ]
        )

    return check


def lead_between(method: str, others: Sequence[str], low: float, high: float) -> Check:
    """`method` is between `low` and `high` above the best other one (in the mean), at every value."""

    def check(table: "pd.DataFrame", varies: str) -> Finding:
        evidence = []
        values = _values(table, varies, None)
        for x in values:
            here = table[(table[varies] == x) & table["method"].isin(others)]
            best = here.groupby("method")["sdr"].mean().idxmax()
            lead = differences(table, varies, x, method, best, "sdr")
            what = f"{varies} = {x:g}: {method} - {best}, the best other"
            evidence.append(interval(what, lead, family=len(values), above=low, below=high))
        return verdict_on_all(evidence)

    return check


def falls(methods: Sequence[str], *, measure: str = "sdr", rises: bool = False) -> Check:
    """The measure falls (or rises) from the smallest value of what varies to the largest."""

    def check(table: "pd.DataFrame", varies: str) -> Finding:
        values = _values(table, varies, None)
        evidence = []
        for method in methods:
            own = table[table["method"] == method]
            wide = own.pivot(index="sim", columns=varies, values=measure)
            slope = wide[values[-1]] - wide[values[0]] if rises else wide[values[0]] - wide[values[-1]]
            ends = f"{values[-1]:g} - {values[0]:g}" if rises else f"{values[0]:g} - {values[-1]:g}"
            what = f"{method}: {varies} = {ends}"
            evidence.append(interval(what, slope.dropna(), family=len(methods), above=0.0))
        return verdict_on_all(evidence)

    return check


def measured(method: str, measure: str, *, above: float = -np.inf, below: float = np.inf) -> Check:
    """A measure of one method lies above or below a limit, at every value."""

    def check(table: "pd.DataFrame", varies: str) -> Finding:
        values = _values(table, varies, None)
        own = table[table["method"] == method]
        return verdict_on_all(
            [
                interval(
                    f"{varies} = {x:g}: {measure} of {method}",
                    own.loc[own[varies] == x, measure].dropna(),
                    family=len(values),
                    above=above,
                    below=below,
                )
                for x in values
            ]
        )

    return check


def printed(numbers: dict[float, float], *, measure: str, within: float) -> Check:
    """The mean of a measure is within a share of a number that the paper prints, at every value."""

    def check(table: "pd.DataFrame", varies: str) -> Finding:
        evidence = []
        for x in _values(table, varies, tuple(numbers)):
            ratio = table.loc[table[varies] == x, measure] / numbers[x]
            what = f"{varies} = {x:g}: measured / printed ({numbers[x]:g})"
            evidence.append(
                interval(what, ratio, family=len(numbers), above=1 - within, below=1 + within)
            )
        return verdict_on_all(evidence)

    return check
