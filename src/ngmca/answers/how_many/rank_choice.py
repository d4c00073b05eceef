"""The number of sources that was chosen, the criteria behind it, and the advice in words."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ngmca._support.html_cards import card, curves
from ngmca.answers.how_many.directions import CLEARLY
from ngmca.answers.how_many.halves import AGAIN, come_again
from ngmca.answers.wording import capitalised, counted, percent
from ngmca.plotting.rank_plot import rank_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
CRITERIA = {
    "directions": "singular values suggest",
    "held_out": "the prediction of held-out blocks suggests",
    "halves": "sources that come again from halves of the data suggest",
}


@dataclass(frozen=True, eq=False)
class RankChoice:
    """The number of sources that `ngmca.choose_rank` chose, and the criteria behind it.

    Attributes
    ----------
    rank : int
        The number of sources.
    range : tuple of int
        The smallest and the largest number that cannot be excluded. The number that any criterion
        suggests is between them.
    advice : str
        The number, the range and the reasons in words.
    criteria : dict of str to int
        The number that each criterion suggests: ``"directions"``, ``"held_out"``, ``"halves"``.
    left_out : dict of str to str
        Criteria whose assumptions do not hold for these data, and why.
    ranks : ndarray of shape (k,)
        Numbers of sources: 0, 1, 2, ...
    directions : ndarray of shape (k,)
        Singular values over the largest one of rotated residuals. NaN where it was not needed.
    held_out : ndarray of shape (k,)
        Median squared error of held-out blocks; 1 without sources.
    explained : ndarray of shape (k,)
        Share of the energy that is explained by one more direction.
    halves : ndarray of shape (k, 4)
        How well the least stable source comes again from both halves of the data, for four ways to halve
        them: 1 is perfect. NaN where it was not needed.
    sources : tuple of ndarray
        The sources of separations into rank - 1, rank and rank + 1 sources, without empty separations.
    channels : ndarray
        The positions of the columns of `sources` among the channels of the data.
    background : str
        The kind of smooth background that was found in the data, as ``"splines"``. It is not counted.
        "" if none was found or looked for.

    Examples
    --------
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=20, n=200, r=2, snr=30, seed=0)
    >>> choice = ngmca.choose_rank(mixture.Y, 4, seed=0)
    >>> choice.rank, choice.range, choice.criteria
    (2, (2, 2), {'directions': 2, 'held_out': 2, 'halves': 2})
    >>> [len(S) for S in choice.sources]
    [1, 2, 3]
    """

    rank: int
    range: tuple[int, int]
    advice: str
    criteria: dict[str, int]
    left_out: dict[str, str]
    ranks: NDArray = field(repr=False)
    directions: NDArray = field(repr=False)
    held_out: NDArray = field(repr=False)
    explained: NDArray = field(repr=False)
    halves: NDArray = field(repr=False)
    sources: tuple[NDArray, ...] = field(repr=False)
    channels: NDArray = field(repr=False)
    background: str = ""

    @property
    def stability(self) -> NDArray:
        """Median closeness of halves for each number of sources, (k,); NaN where it was not needed."""
        return _medians(self.halves)

    @property
    def panels(self) -> list[tuple[str, NDArray, float]]:
        """Title, values and limit of each criterion, for pictures."""
        shown = {"directions": (self.directions, CLEARLY), "halves": (self.stability, AGAIN)}
        shown["held_out"] = (self.held_out, np.nan)
        titles = {"directions": "singular values", "held_out": "held-out error", "halves": "halves"}
        numbers = {name: str(self.criteria.get(name, "left out")) for name in CRITERIA}
        return [(f"{titles[name]}: {numbers[name]}", *shown[name]) for name in CRITERIA]

    def _repr_html_(self) -> str:
        """The number with its reasons and the criteria, for notebooks."""
        rows = []
        for i, (name, (_, values, _)) in enumerate(zip(CRITERIA, self.panels, strict=True)):
            drawn = curves(values, first=i)
            rows.append([name.replace("_", " "), str(self.criteria.get(name, "left out")), drawn])
        head = ["criterion", "sources", f"its value for {self.ranks[0]} to {self.ranks[-1]} sources"]
        low, high = self.range
        between = f" ({low} to {high} are possible)" if low < high else ""
        return card(f"{counted(self.rank, 'source')}{between}", rows, head, [self.advice])

    def plot(self) -> "Figure":
        """Return a matplotlib figure of the criteria, and of the sources for the numbers around it."""
        return rank_picture(self)

    def table(self) -> list[tuple[str, NDArray]]:
        """Return names and columns of a table with one row for each number of sources."""
        return [
            ("sources", self.ranks),
            ("singular_value_over_rotated", self.directions),
            ("held_out_error", self.held_out),
            ("explained_by_one_more", self.explained),
            ("closeness_of_halves", self.stability),
        ]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known about the number of sources.

    Attributes
    ----------
    rank : int
        The number that was chosen.
    criteria, left_out, halves, explained
        As in `RankChoice`.
    tried : int
        The largest number that was tried.
    spikes : int
        Number of spikes that were left out.
    """

    rank: int
    criteria: dict[str, int]
    left_out: dict[str, str]
    halves: NDArray
    explained: NDArray
    tried: int
    spikes: int = 0

    def again(self, number: int) -> bool | None:
        """Return whether so many sources come again from halves; None if it was not tried."""
        if number >= len(self.halves) or np.isnan(self.halves[number]).all():
            return None
        return come_again(self.halves[number])

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest number that cannot be excluded."""
        numbers = {self.rank, *self.criteria.values()}
        if self.again(self.rank) is False and "halves" not in self.left_out:
            numbers.add(max(self.rank - 1, 1))
        return min(numbers), max(numbers)


def advice(evidence: Evidence) -> str:
    """Return the number, the range and the reasons."""
    rank, (low, high) = evidence.rank, evidence.range
    if not rank:
        return f"0: no source stands out from the noise.{spikes_left_out(evidence.spikes)}"
    more = " or more" if high >= evidence.tried and high in _suggested(evidence) else ""
    shown = f" ({low} to {high}{more})" if low < high else more
    reasons = [*_dissent(evidence), *_sources_again(evidence), *evidence.left_out.values()]
    agree = sum(number == rank for number in evidence.criteria.values())
    if agree > 1 and not _dissent(evidence):
        reasons.insert(0, f"{'all' if agree > 2 else 'both'} criteria agree")
    elif len(evidence.criteria) == 1 and rank in evidence.criteria.values():
        reasons[:0] = [f"{CRITERIA[name]} {number}" for name, number in evidence.criteria.items()]
    why = f": {'. '.join([reasons[0], *map(capitalised, reasons[1:])])}" if reasons else ""
    return f"{rank}{shown}{why}.{spikes_left_out(evidence.spikes)}"


def spikes_left_out(spikes: int) -> str:
    """Return the sentence about spikes that were left out, "" if there are none."""
    return f" {counted(spikes, 'spike')} {'was' if spikes == 1 else 'were'} left out." if spikes else ""


def ordinal(number: int) -> str:
    """Return first, second, ..., 13th."""
    if number <= len(ORDINALS):
        return ORDINALS[number - 1]
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _suggested(evidence: Evidence) -> list[int]:
    """Return the numbers that are suggested without separations."""
    return [number for name, number in evidence.criteria.items() if name != "halves"]


def _dissent(evidence: Evidence) -> list[str]:
    """Return what is suggested by criteria that suggest another number.

    `_sources_again` tells about halves if these suggest the next number.
    """
    return [
        f"{CRITERIA[name]} {number}{' or more' * (name != 'halves' and number >= evidence.tried)}"
        for name, number in evidence.criteria.items()
        if number != evidence.rank and (name, number) != ("halves", evidence.rank + 1)
    ]


def _sources_again(evidence: Evidence) -> list[str]:
    """Return what halves of the data say about the chosen number and the next one, if that is of use."""
    rank, words = evidence.rank, []
    if evidence.again(rank) is False and "halves" not in evidence.left_out:
        which = f"not all of the {rank} sources come" if rank > 1 else "this source does not come"
        words.append(f"{which} again from halves of the data")
    following = evidence.again(rank + 1)
    high = evidence.range[1] > rank
    if following is not None and (following or high):
        verb = "comes" if following else "does not come"
        share = percent(float(evidence.explained[rank + 1]))
        words.append(
            f"a {ordinal(rank + 1)} source {verb} again from halves of the data and explains {share}"
        )
    return words


def _medians(halves: NDArray) -> NDArray:
    found = np.full(len(halves), np.nan)
    tried = ~np.isnan(halves).all(axis=1)
    found[tried] = np.nanmedian(halves[tried], axis=1)
    return found
