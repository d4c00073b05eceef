"""Claims, and checks on tables of results that can fail: paired over simulations, with intervals.

A comparison of two methods at one value is the mean of their differences on the same data, with a
confidence interval by Student's t. A claim about every value holds if each 95 % interval is on its side
of the limit: the chance to say so wrongly is no larger for many comparisons than for one
(intersection-union test). It does not hold if one interval is on the other side, and there the chance
does grow with the number of comparisons: such an interval is as wide as all of them need to hold
together with 95 % confidence (Bonferroni). Otherwise this number of simulations does not decide it. A
claim about most settings holds if it does so in more than half of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95
HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "does not hold", "undecided", "not run"


@dataclass(frozen=True, eq=False)
class Comparison:
    """A number of each simulation, and where its mean would have to lie for the claim to hold.

    Values of shape () are one number without chance, which is its own interval.
    """

    what: str
    values: NDArray = field(repr=False)
    above: float = -np.inf
    below: float = np.inf
    setting: float = 0.0  # what varied


@dataclass(frozen=True)
class Evidence:
    """A mean over n simulations with its interval, and where it would have to lie.

    `wide` is how many times the half width of the interval it takes to hold together with the others.
    """

    what: str
    mean: float
    half: float
    n: int
    wide: float = 1.0
    above: float = -np.inf
    below: float = np.inf

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.mean + self.half

    @property
    def verdict(self) -> str:
        """Whether the interval is inside, the wide interval outside, or neither."""
        if self.above < self.low and self.high < self.below:
            return HOLDS
        reach = self.wide * self.half
        if self.mean + reach <= self.above or self.mean - reach >= self.below:
            return FAILS
        return UNDECIDED


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim, and the numbers behind it."""

    verdict: str
    evidence: tuple[Evidence, ...] = ()


Check = Callable[[pd.DataFrame, str], list[Comparison]]  # (table, column of what varies)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in our words, where it stands, and how it is checked."""

    text: str
    place: str
    check: Check
    most: bool = False  # it is about most settings, not all
    why: str = ""  # what is known about why it does not hold, or holds only in part

    def judge(self, table: pd.DataFrame, varies: str) -> Finding:
        """The verdict on a table of results."""
        comparisons = self.check(table, varies)
        evidence = [interval(one, family=len(comparisons)) for one in comparisons]
        verdicts = [item.verdict for item in evidence]
        if self.most:
            settings = [one.setting for one in comparisons]
            told = _on_most(
                [
                    _on_all([v for v, x in zip(verdicts, settings, strict=True) if x == here])
                    for here in dict.fromkeys(settings)
                ]
            )
        else:
            told = _on_all(verdicts)
        return Finding(told, tuple(evidence))


def said_in(place: str) -> Callable[..., Claim]:
    """Return a function that makes claims which all stand at one place."""
    return lambda text, check, **more: Claim(text, place, check, **more)


def _on_all(verdicts: Sequence[str]) -> str:
    if FAILS in verdicts:
        return FAILS
    return HOLDS if set(verdicts) == {HOLDS} else UNDECIDED


def _on_most(verdicts: Sequence[str]) -> str:
    half = len(verdicts) / 2
    if verdicts.count(HOLDS) > half:
        return HOLDS
    return FAILS if verdicts and verdicts.count(FAILS) >= half else UNDECIDED


def interval(one: Comparison, *, family: int = 1) -> Evidence:
    """The mean with its interval, and how much wider it is for all of a family to hold together."""
    x, n = one.values, one.values.size
    half, wide = np.inf if x.ndim else 0.0, 1.0
    if n > 1:
        from scipy import stats  # takes long to load: processes that simulate need none of it

        alone, together = (
            stats.t.ppf(1 - (1 - CONFIDENCE) / (2 * count), n - 1) for count in (1, family)
        )
        half = float(alone * x.std(ddof=1) / np.sqrt(n))
        wide = float(together / alone)
    mean = float(x.mean()) if n else np.nan
    return Evidence(one.what, mean, half, n, wide, one.above, one.below)


def exactly(what: str, value: float, **limits: float) -> Comparison:
    """A number that no chance is in."""
    return Comparison(what, np.array(value), **limits)


def together(*checks: Check) -> Check:
    """All of several checks, as one claim."""
    return lambda table, varies: [one for check in checks for one in check(table, varies)]


def _at_each_value(
    at: ArrayLike | None, compare: Callable[[pd.DataFrame, str, float], list[Comparison]]
) -> Check:
    """Return a check of what `compare` returns for the values that a claim is about."""
    return lambda table, varies: [
        one for x in values_of(table, varies, at) for one in compare(table, varies, x)
    ]


def ahead(
    method: str,
    others: Sequence[str],
    *,
    at: Sequence[float] | None = None,
    by: float = 0.0,
    measure: str = "sdr",
) -> Check:
    """`method` is more than `by` above each of the others."""
    return _at_each_value(
        at,
        lambda table, varies, x: [
            _difference(table, varies, x, (method, other), measure, above=by) for other in others
        ],
    )


def close(
    first: str, second: str, *, within: float, at: Sequence[float] | None = None, measure: str = "sdr"
) -> Check:
    """The two methods differ by less than `within`."""
    pair, limits = (first, second), {"above": -within, "below": within}
    return _at_each_value(
        at, lambda table, varies, x: [_difference(table, varies, x, pair, measure, **limits)]
    )


def lead_between(method: str, others: Sequence[str], low: float, high: float) -> Check:
    """`method` is more than `low` above every other one, and less than `high` above the best of them."""

    def check(table: pd.DataFrame, varies: str) -> list[Comparison]:
        found = ahead(method, others, by=low)(table, varies)
        for x in values_of(table, varies):
            here = table[(table[varies] == x) & table["method"].isin(others)]
            if len(here):
                best = str(here.groupby("method")["sdr"].mean().idxmax())
                found.append(_difference(table, varies, x, (method, best), "sdr", below=high))
        return found

    return check


def falls(methods: Sequence[str], *, measure: str = "sdr", rises: bool = False) -> Check:
    """The measure falls (or rises) from the first value of what varies to the last."""

    def check(table: pd.DataFrame, varies: str) -> list[Comparison]:
        values = values_of(table, varies)
        high, low = (values[-1], values[0]) if rises else (values[0], values[-1])
        found = []
        for method in methods:
            wide = _wide(table[table["method"] == method], varies, measure)
            gap = (wide[high] - wide[low]).dropna() if {high, low} <= set(wide) else wide.iloc[:0, 0]
            what = f"{method}: {measure} at {varies} = {high:g} less that at {low:g}"
            found.append(Comparison(what, gap.to_numpy(), above=0.0))
        return found

    return check


def measured(method: str, measure: str, *, at: Sequence[float] | None = None, **limits: float) -> Check:
    """A measure of one method lies above or below a limit."""

    def compare(table: pd.DataFrame, varies: str, x: float) -> list[Comparison]:
        own = table.loc[(table["method"] == method) & (table[varies] == x), measure]
        what = f"{varies} = {x:g}: {measure} of {method}"
        return [Comparison(what, own.dropna().to_numpy(), setting=x, **limits)]

    return _at_each_value(at, compare)


def printed(numbers: dict[float, float], *, measure: str, within: float) -> Check:
    """The mean of a measure is within a share of a number that the paper prints."""

    def compare(table: pd.DataFrame, varies: str, x: float) -> list[Comparison]:
        ratio = table.loc[table[varies] == x, measure].to_numpy() / numbers[x]
        what = f"{varies} = {x:g}: measured / printed ({numbers[x]:g})"
        return [Comparison(what, ratio, above=1 - within, below=1 + within, setting=x)]

    return _at_each_value(tuple(numbers), compare)


def values_of(table: pd.DataFrame, varies: str, at: ArrayLike | None = None) -> list[float]:
    """What a claim is about: the values that the table should have (`results.load` says), or some.

    A value that is missing gives a comparison without numbers, which leaves the claim undecided.
    """
    wanted = table.attrs.get("values") or sorted(table[varies].unique())
    return [x for x in wanted if at is None or x in np.asarray(at)]


def _difference(
    table: pd.DataFrame,
    varies: str,
    value: float,
    pair: tuple[str, str],
    measure: str,
    **limits: float,
) -> Comparison:
    """First less second, on the simulations that both have."""
    first, second = pair
    wide = _wide(table[table[varies] == value], "method", measure)
    gap = (wide[first] - wide[second]).dropna() if {first, second} <= set(wide) else wide.iloc[:0]
    what = f"{varies} = {value:g}: {first} - {second}"
    return Comparison(what, gap.to_numpy().ravel(), setting=value, **limits)


def _wide(table: pd.DataFrame, columns: str, measure: str) -> pd.DataFrame:
    return table.pivot(index="sim", columns=columns, values=measure)
