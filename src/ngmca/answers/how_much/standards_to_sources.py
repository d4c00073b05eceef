"""Which source each substance of the standards is: by its name, or by what its weights follow."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_much import calibration
from ngmca.answers.how_much.source_weights import Sources, entire
from ngmca.answers.how_much.standards import FEWEST, Standards
from ngmca.answers.wording import percent

SURE = 0.95  # below which it is not said which source a substance is
LUCK = 0.01  # chance from which on it is said that a substance may follow a source by accident
ADVICE = "say what the sources are (names=, or a library on the command line)"


class Matches(NamedTuple):
    """Which source each substance is, sentences that say why, and warnings."""

    sources: list[int]
    words: list[str]
    doubts: list[str]


def matched(sources: Sources, standards: Standards) -> Matches:
    """The source of each substance of the standards; refused where it cannot be told."""
    fixed = [sources.called(name) for name in standards.substances]
    scores = np.zeros((len(fixed), sources.r))
    none = np.zeros(len(fixed))
    for j, name in enumerate(standards.substances):
        if fixed[j] is None:
            scores[j], none[j] = _scores(sources, standards.known[:, j], name)
    chosen, sure, second = calibration.assigned(scores, fixed)
    found = Matches(chosen, [], [])
    for j, (name, i) in enumerate(zip(standards.substances, chosen, strict=True)):
        follows = _cosine(sources, standards.known[:, j], i)
        why = "by its name"
        if fixed[j] is None:
            why = f"told from the others with {percent(sure[j])}"
            other = _cosine(sources, standards.known[:, j], second[j])
            beside = f"source {second[j] + 1} ({other:.3f})"
            _check_told(name, f"source {i + 1} ({follows:.3f})", beside, sure[j])
            chance = float(np.exp(min(none[j] - scores[j, i], 0)))
            _check_some(name, f"source {i + 1} ({follows:.3f})", chance)
            found.doubts.extend(_about_luck(name, i, chance * sources.r))
        found.words.append(
            f"{name} is source {i + 1}, {why}: its weights follow the standards ({follows:.3f})."
        )
    return found


def _scores(sources: Sources, known: NDArray, name: str) -> tuple[NDArray, float]:
    """(r,) log-likelihoods that a substance is each of the sources, and that it is none of them.

    One that is in no source has concentrations that scatter around their mean, whatever the weights.
    """
    rows = np.isfinite(known) & entire(sources.told)
    if np.count_nonzero(known[rows] > 0) < FEWEST:
        raise ValueError(
            f"which source is {name} cannot be told: fewer than {FEWEST} of its standards were observed "
            f"where all sources have signal. Add some, or {ADVICE}."
        )
    x = known[rows] / known[rows].max()
    scores = calibration.likeness(x, sources.A[rows], sources.noise[rows].mean(axis=0))
    return scores, float(calibration.likeness(x, np.ones((len(x), 1)), np.zeros(1))[0])


def _check_told(name: str, first: str, second: str, sure: float) -> None:
    """Refuse a source that is hardly more likely than the next."""
    if sure < SURE:
        raise ValueError(
            f"which source is {name} cannot be told: its standards follow {first} and {second}. Add "
            f"standards in which {name} varies by itself, or {ADVICE}."
        )


def _check_some(name: str, first: str, chance: float) -> None:
    """Refuse a source that is no more likely than none."""
    if chance >= 1:
        raise ValueError(
            f"which source is {name} cannot be told: its standards follow none better than they scatter "
            f"around their mean, not even {first}. Leave it out if it has no signal, add standards in "
            f"which it varies more, or {ADVICE}."
        )


def _about_luck(name: str, i: int, chance: float) -> list[str]:
    """A warning where concentrations that have nothing to do with any source would look the same."""
    if chance < LUCK:
        return []
    return [
        f"{name}: that its standards follow source {i + 1} may be an accident, with a chance of up to "
        f"{percent(min(chance, 1))}. More standards would tell."
    ]


def contradicted(sources: Sources, standards: Standards, chosen: list[int]) -> list[str]:
    """Warnings about substances that follow a source of another name."""
    return [
        f"{name} follows source {i + 1}, which is called {sources.names[i]}: one of the two is "
        "wrong, or they rise and fall together."
        for name, i in zip(standards.substances, chosen, strict=True)
        if sources.names[i] and sources.called(name) is None
    ]


def _cosine(sources: Sources, known: NDArray, i: int) -> float:
    """Cosine of known concentrations and weights."""
    rows = np.isfinite(known) & sources.told[:, i]
    x, y = known[rows], sources.A[rows, i]
    x = x / max(float(x.max(initial=0)), 1e-300)
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0 else 0.0
