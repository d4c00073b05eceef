"""Which source belongs to each substance of the standards: by name, or by its weights."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, message, option
from ngmca.answers.how_much import calibration
from ngmca.answers.how_much.source_weights import Sources, entire
from ngmca.answers.how_much.standards import MIN_STANDARDS, Standards
from ngmca.answers.wording import percent

ADVICE = message(
    "name the sources ({}, or a {} that identifies them)", option("names"), option("library")
)


class Matches(NamedTuple):
    """The source of each substance, sentences that say why, and warnings."""

    sources: list[int]
    words: list[str]
    warnings: list[str]


def matched(sources: Sources, standards: Standards) -> Matches:
    """Return the source of each substance of the standards; raise an error if that is ambiguous."""
    fixed = [sources.index_of(name) for name in standards.substances]
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
            why = f"with a probability of {percent(sure[j])}"
            other = _cosine(sources, standards.known[:, j], second[j])
            beside = f"source {second[j] + 1} ({other:.3f})"
            _check_unambiguous(name, f"source {i + 1} ({follows:.3f})", beside, sure[j])
            chance = float(np.exp(min(none[j] - scores[j, i], 0)))
            _check_better_than_none(name, f"source {i + 1} ({follows:.3f})", chance)
            found.warnings.extend(_about_chance(name, i, chance * sources.r))
        found.words.append(
            f"{name} is source {i + 1}, {why}: the cosine of its weights and the standards is "
            f"{follows:.3f}."
        )
    return found


def _scores(sources: Sources, known: NDArray, name: str) -> tuple[NDArray, float]:
    """Return (r,) log-likelihoods that a substance is each of the sources, and that it is none of them.

    Concentrations of a substance that is in no source scatter around their mean, whatever the weights.
    """
    rows = np.isfinite(known) & entire(sources.usable)
    if np.count_nonzero(known[rows] > 0) < MIN_STANDARDS:
        raise ArgumentError(
            "{}: it is not clear which source is {}. Fewer than {} of its standards were observed where "
            "all sources have signal. Add some, or {}.",
            *(option("standards"), name, MIN_STANDARDS, ADVICE),
        )
    x = known[rows] / known[rows].max()
    scores = calibration.log_likelihood(x, sources.A[rows], sources.noise[rows].mean(axis=0))
    return scores, float(calibration.log_likelihood(x, np.ones((len(x), 1)), np.zeros(1))[0])


def _check_unambiguous(name: str, first: str, second: str, sure: float) -> None:
    """Raise an error if a source is hardly more likely than the next one."""
    if sure < 0.95:
        raise ArgumentError(
            "{}: it is not clear which source is {}. Both {} and {} follow them. Add standards in which "
            "{} varies independently, or {}.",
            *(option("standards"), name, first, second, name, ADVICE),
        )


def _check_better_than_none(name: str, first: str, chance: float) -> None:
    """Raise an error if the best source is not more likely than none."""
    if chance >= 1:
        raise ArgumentError(
            "{}: it is not clear which source is {}. No source follows them better than their mean "
            "does, not even {}. Leave this substance out if it has no signal, add standards in which it "
            "varies more, or {}.",
            *(option("standards"), name, first, ADVICE),
        )


def _about_chance(name: str, i: int, chance: float) -> list[str]:
    """Return a warning if unrelated concentrations could look the same."""
    if chance < 0.01:
        return []
    return [
        f"{name}: source {i + 1} may follow its standards by chance, with a probability of up to "
        f"{percent(min(chance, 1))}. Add standards to be certain."
    ]


def contradicted(sources: Sources, standards: Standards, chosen: list[int]) -> list[str]:
    """Return warnings about substances that belong to a source of another name."""
    return [
        f"{name} belongs to source {i + 1} by its standards, but this source has the name "
        f"{sources.names[i]}. One of the two is wrong, or both rise and fall together."
        for name, i in zip(standards.substances, chosen, strict=True)
        if sources.names[i] and sources.index_of(name) is None
    ]


def _cosine(sources: Sources, known: NDArray, i: int) -> float:
    """Return the cosine of known concentrations and weights."""
    rows = np.isfinite(known) & sources.usable[:, i]
    x, y = known[rows], sources.A[rows, i]
    x = x / max(float(x.max(initial=0)), 1e-300)
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0 else 0.0
