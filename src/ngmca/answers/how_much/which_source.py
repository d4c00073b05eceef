"""Which source belongs to each substance of the standards."""

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


class Match(NamedTuple):
    """The source of a substance, why it is this one, and doubts; or why there is none."""

    source: int | None
    why: str = ""
    doubts: tuple[str, ...] = ()
    problem: ArgumentError | None = None


def matched(sources: Sources, standards: Standards) -> list[Match]:
    """Return the source of each substance of the standards, or why it is not clear which one it is."""
    fixed = [sources.index_of(name) for name in standards.substances]
    q, r = len(fixed), sources.r
    scores, none = np.zeros((q, r)), np.zeros(q)
    for j, name in enumerate(standards.substances):
        if fixed[j] is None:
            scores[j], none[j] = _scores(sources, standards.known[:, j], name)
    # more substances than sources: the others have none
    table = np.hstack([scores, np.tile(none[:, None], max(q - r, 0))])
    chosen, sure, second = calibration.assigned(table, fixed)
    found = []
    for j, (name, known) in enumerate(zip(standards.substances, standards.known.T, strict=True)):
        named = fixed[j]
        if named is not None:
            found.append(Match(named, _why(sources, name, known, named, "by its name")))
            continue
        i, other = chosen[j], second[j]
        chance = np.inf if i >= r else float(np.exp(min(none[j] - scores[j, i], 0)))
        i = i if i < r else int(np.argmax(scores[j]))
        problem = _none_better(name, _told(sources, known, i)) if chance >= 1 else None
        if problem is None and sure[j] < 0.95:
            beside = "no source" if other >= r else _told(sources, known, other)
            problem = _ambiguous(name, _told(sources, known, i), beside)
        if problem is not None:
            found.append(Match(None, problem=problem))
            continue
        why = _why(sources, name, known, i, f"with a probability of {percent(sure[j])}")
        found.append(Match(i, why, _about_chance(name, i, chance * r)))
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


def _ambiguous(name: str, first: str, second: str) -> ArgumentError:
    """Return the error for a source that is hardly more likely than the next one."""
    return ArgumentError(
        "{}: it is not clear which source is {}. Both {} and {} follow them. Add standards in which "
        "{} varies independently, or {}.",
        *(option("standards"), name, first, second, name, ADVICE),
    )


def _none_better(name: str, first: str) -> ArgumentError:
    """Return the error for a best source that is not more likely than none."""
    return ArgumentError(
        "{}: it is not clear which source is {}. No source follows them better than their mean "
        "does, not even {}. Leave this substance out if it has no signal, add standards in which it "
        "varies more, or {}.",
        *(option("standards"), name, first, ADVICE),
    )


def _about_chance(name: str, i: int, chance: float) -> tuple[str, ...]:
    """Return a warning if unrelated concentrations could look the same."""
    if chance < 0.01:
        return ()
    return (
        f"{name}: source {i + 1} may follow its standards by chance, with a probability of up to "
        f"{percent(min(chance, 1))}. Add standards to be certain.",
    )


def contradicted(sources: Sources, substances: tuple[str, ...], chosen: list[int | None]) -> list[str]:
    """Return warnings about substances that belong to a source of another name."""
    return [
        f"{name} belongs to source {i + 1} by its standards, but this source has the name "
        f"{sources.names[i]}. One of the two is wrong, or both rise and fall together."
        for name, i in zip(substances, chosen, strict=True)
        if i is not None and sources.names[i] and sources.index_of(name) is None
    ]


def _why(sources: Sources, name: str, known: NDArray, i: int, reason: str) -> str:
    return (
        f"{name} is source {i + 1}, {reason}: the cosine of its weights and the standards is "
        f"{_cosine(sources, known, i):.3f}."
    )


def _told(sources: Sources, known: NDArray, i: int) -> str:
    return f"source {i + 1} ({_cosine(sources, known, i):.3f})"


def _cosine(sources: Sources, known: NDArray, i: int) -> float:
    """Return the cosine of known concentrations and weights."""
    rows = np.isfinite(known) & sources.usable[:, i]
    x, y = known[rows], sources.A[rows, i]
    x = x / max(float(x.max(initial=0)), 1e-300)
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0 else 0.0
