"""What the witnesses say about the number of sources, in one sentence."""

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many.cross_validation import PATIENCE
from ngmca.answers.how_sure.finding import listed

ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
NAMES = {
    "held_out": "held-out entries say",
    "edge": "singular values say",
    "stability": "sources that come again from other measurements say",
}


def maybe(rank: int, witnesses: dict[str, int], errors: NDArray) -> tuple[int, ...]:
    """Other numbers that cannot be excluded, by errors (folds, ranks) of 0, 1, 2, ... sources.

    They are the next numbers, as long as more than a third of the folds predict better with them, and
    those of other witnesses: above if any fold does so, below unless all folds predict worse.
    """
    folds, tried = len(errors), errors.shape[1] - 1
    better = np.count_nonzero(errors < errors[:, [rank]], axis=0)
    worse = np.count_nonzero(errors > errors[:, [rank]], axis=0)
    following = rank + 1
    while following <= tried and 3 * better[following] > folds:
        following += 1
    found = set(range(rank + 1, following))
    for number in witnesses.values():
        above = rank < number <= tried and better[number] > 0
        below = 0 < number < rank and worse[number] < folds
        found |= {number} if above or below else set()
    return tuple(sorted(found))


def advice(
    rank: int,
    perhaps: tuple[int, ...],
    witnesses: dict[str, int],
    seen: NDArray,
    folds: int,
    *,
    missing: bool = False,
    spikes: int = 0,
) -> str:
    """The choice and its reasons, in one sentence."""
    others = f", perhaps {' or '.join(map(str, perhaps))}" if perhaps else ""
    dissent = _dissent(rank, witnesses, len(seen) - 1, missing=missing)
    reasons = _doubts(rank, perhaps, seen, folds) + dissent
    if not reasons:
        reasons = ["all witnesses agree" if rank else "no source is seen above the noise"]
    return f"{rank}{others}: {listed(reasons)}{_left_out(spikes)}."


def at_the_end(
    rank: int,
    witnesses: dict[str, int],
    seen: NDArray,
    folds: int,
    *,
    missing: bool = False,
    spikes: int = 0,
) -> str:
    """The sentence where the last number that was tried is still better than those before."""
    told = f"the {ordinal(rank)} source is seen in {seen[rank]} of {folds} folds"
    dissent = _dissent(rank, witnesses, rank, missing=missing)
    reasons = [f"the search ended there, where {told}", *dissent]
    return f"{rank} or more: {listed(reasons)}{_left_out(spikes)}."


def of_zeros(spikes: int) -> str:
    """The sentence where nothing but spikes is different from 0."""
    return f"0: all entries are 0{_left_out(spikes)}."


def ordinal(number: int) -> str:
    """First, second, ..., 13th."""
    if number <= len(ORDINALS):
        return ORDINALS[number - 1]
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _doubts(rank: int, perhaps: tuple[int, ...], seen: NDArray, folds: int) -> list[str]:
    """How many folds see the source that is in doubt: the next one, or else the last one."""
    above = [number for number in perhaps if number > rank]
    doubtful = above[0] if above else rank
    if not perhaps or not 0 < doubtful < len(seen):
        return []
    return [f"the {ordinal(doubtful)} is seen in {seen[doubtful]} of {folds} folds"]


def _dissent(rank: int, witnesses: dict[str, int], tried: int, *, missing: bool) -> list[str]:
    """What the witnesses say that say something else."""
    causes = {"edge": _why_so_many(rank, witnesses, tried, missing=missing)}
    return [
        f"{NAMES[name]} {number}{causes.get(name, '')}"
        for name, number in witnesses.items()
        if number != rank
    ]


def _why_so_many(rank: int, witnesses: dict[str, int], tried: int, *, missing: bool) -> str:
    """Why singular values may say more than others do, in brackets, where something is known of it."""
    number = witnesses["edge"]
    if missing and number > rank:
        return " (missing entries may add to them)"
    if number <= tried:
        return ""
    ended = f"more than the {tried} that were tried"
    no_better = tried >= witnesses["held_out"] + PATIENCE
    return f" ({ended}, as if the noise were not white)" if no_better else f" ({ended})"


def _left_out(spikes: int) -> str:
    """How the sentence ends where spikes count as missing."""
    return f", with {spikes} spike{'s' * (spikes > 1)} left out" if spikes else ""
