"""The number of sources that was chosen, the three criteria behind it, and the advice in words."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many.cross_validation import PATIENCE
from ngmca.answers.how_many.stability import STABLE
from ngmca.answers.wording import counted, listed
from ngmca.plotting.answer_plots import rank_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class RankChoice:
    """The number of sources that `ngmca.choose_rank` chose, and the criteria behind it.

    Attributes
    ----------
    rank : int
        The number of sources.
    perhaps : tuple of int
        Other numbers that cannot be excluded.
    advice : str
        The number and the reasons for it in words.
    criteria : dict of str to int
        The number that each criterion suggests: ``"held_out"``, ``"singular_values"``, ``"stability"``.
    ranks : ndarray of shape (k,)
        The numbers of sources that were tried: 0, 1, 2, ...
    held_out : ndarray of shape (folds, k)
        Mean squared error of the predicted entries in each fold; 1 is the error without sources.
    better_folds : ndarray of shape (k,)
        Number of folds that are predicted better with the last source than without it.
    stability : ndarray of shape (k,)
        How well the least stable source is found again in other measurements: 1 is perfect. NaN for
        0 sources.
    singular_values : ndarray
        Singular values of all data, the largest first.
    edge : float
        The largest singular value of white noise alone.
    fitted_shape : tuple of int
        Measurements and channels of the part of the data that was fitted.

    Examples
    --------
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=20, n=200, r=2, snr=30, seed=0)
    >>> choice = ngmca.choose_rank(mixture.Y, 4, seed=0)
    >>> choice.rank, choice.criteria
    (2, {'held_out': 2, 'singular_values': 2, 'stability': 2})
    >>> [name for name, column in choice.table()][:4]
    ['sources', 'held_out', 'better_folds', 'stability']
    """

    rank: int
    perhaps: tuple[int, ...]
    advice: str
    criteria: dict[str, int]
    ranks: NDArray = field(repr=False)
    held_out: NDArray = field(repr=False)
    better_folds: NDArray = field(repr=False)
    stability: NDArray = field(repr=False)
    singular_values: NDArray = field(repr=False)
    edge: float
    fitted_shape: tuple[int, int]

    def plot(self) -> "Figure":
        """Return a matplotlib figure with one panel for each criterion."""
        return rank_picture(self, STABLE)

    def table(self) -> list[tuple[str, NDArray]]:
        """Return names and columns of a table with one row for each number of sources."""
        values = np.full(len(self.ranks), np.nan)
        known = self.singular_values[: len(values) - 1]
        values[1 : len(known) + 1] = known
        folds = [(f"held_out_{i + 1}", errors) for i, errors in enumerate(self.held_out)]
        return [
            ("sources", self.ranks),
            ("held_out", self.held_out.mean(axis=0)),
            ("better_folds", self.better_folds),
            ("stability", self.stability),
            ("singular_value", values),
            ("noise_edge", np.full(len(self.ranks), self.edge)),
            *folds,
        ]


ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
CRITERIA = {
    "held_out": "held-out entries",
    "singular_values": "singular values",
    "stability": "sources that are found again in other measurements",
}


@dataclass(frozen=True, eq=False)
class Evidence:
    """The reasons for a number of sources.

    Attributes
    ----------
    rank : int
        The number of sources.
    criteria : dict of str to int
        The number that each criterion suggests.
    better_folds : ndarray of shape (k,)
        Number of folds that are predicted better with the last of 0, 1, 2, ... sources.
    folds : int
        Number of folds.
    missing : bool
        Whether entries are missing.
    spikes : int
        Number of spikes that were left out.
    """

    rank: int
    criteria: dict[str, int]
    better_folds: NDArray
    folds: int
    missing: bool = False
    spikes: int = 0

    @property
    def tried(self) -> int:
        """The largest number of sources that was tried."""
        return len(self.better_folds) - 1


def alternatives(rank: int, criteria: dict[str, int], errors: NDArray) -> tuple[int, ...]:
    """Return other numbers that cannot be excluded, from errors (folds, ranks) of 0, 1, 2, ... sources.

    These are the next larger numbers, as long as more than a third of the folds predict better with
    them, and the numbers of other criteria: a larger one if any fold predicts better with it, a smaller
    one unless all folds predict worse.
    """
    folds, tried = len(errors), errors.shape[1] - 1
    better = np.count_nonzero(errors < errors[:, [rank]], axis=0)
    worse = np.count_nonzero(errors > errors[:, [rank]], axis=0)
    following = rank + 1
    while following <= tried and 3 * better[following] > folds:
        following += 1
    found = set(range(rank + 1, following))
    for number in criteria.values():
        above = rank < number <= tried and better[number] > 0
        below = 0 < number < rank and worse[number] < folds
        found |= {number} if above or below else set()
    return tuple(sorted(found))


def advice(evidence: Evidence, perhaps: tuple[int, ...]) -> str:
    """Return the number, the alternatives and the reasons."""
    rank = evidence.rank
    others = f", perhaps {' or '.join(map(str, perhaps))}" if perhaps else ""
    reasons = _doubtful_source(evidence, perhaps) + _other_criteria(evidence)
    if not reasons:
        reasons = ["all criteria agree" if rank else "no source stands out from the noise"]
    return f"{rank}{others}: {listed(reasons)}.{left_out(evidence.spikes)}"


def advice_at_limit(evidence: Evidence) -> str:
    """Return the advice if the largest number that was tried still predicts best."""
    reasons = ["the search stopped there", _improvement(evidence, evidence.rank)]
    return f"{evidence.rank} or more: {listed(reasons + _other_criteria(evidence))}." + left_out(
        evidence.spikes
    )


def left_out(spikes: int) -> str:
    """Return the sentence about spikes that were left out, "" if there are none."""
    return f" {counted(spikes, 'spike')} {'was' if spikes == 1 else 'were'} left out." if spikes else ""


def ordinal(number: int) -> str:
    """Return first, second, ..., 13th."""
    if number <= len(ORDINALS):
        return ORDINALS[number - 1]
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _improvement(evidence: Evidence, number: int) -> str:
    better = evidence.better_folds[number]
    return f"the {ordinal(number)} source improves the prediction in {better} of {evidence.folds} folds"


def _doubtful_source(evidence: Evidence, perhaps: tuple[int, ...]) -> list[str]:
    """Return in how many folds the source in doubt helps: the next source, or else the last one."""
    above = [number for number in perhaps if number > evidence.rank]
    doubtful = above[0] if above else evidence.rank
    if not perhaps or not 0 < doubtful <= evidence.tried:
        return []
    return [_improvement(evidence, doubtful)]


def _other_criteria(evidence: Evidence) -> list[str]:
    """Return the numbers of criteria that suggest another number."""
    return [
        f"{CRITERIA[name]} suggest {number}{_cause(evidence) if name == 'singular_values' else ''}"
        for name, number in evidence.criteria.items()
        if number != evidence.rank
    ]


def _cause(evidence: Evidence) -> str:
    """Return in brackets why singular values may suggest too many sources, if a reason is known."""
    number, tried = evidence.criteria["singular_values"], evidence.tried
    if evidence.missing and number > evidence.rank:
        return " (missing entries may make this number too large)"
    if number <= tried:
        return ""
    no_better = tried >= evidence.criteria["held_out"] + PATIENCE
    return f" (more than the {tried} that were tried{': the noise may not be white' * no_better})"
