"""The advice about the number of sources in words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many.cross_validation import PATIENCE
from ngmca.answers.wording import counted, listed

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
