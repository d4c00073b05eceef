"""Amounts from standards: the source of each substance, and its calibration line through 0."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, message, option
from ngmca.answers.how_much import amounts, calibration
from ngmca.answers.how_much.calibration import Line
from ngmca.answers.how_much.source_weights import Sources, entire
from ngmca.answers.how_much.standards import MIN_STANDARDS, Standards, check_standards
from ngmca.answers.wording import listed, percent

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


# Variance of other substances in the measurements over that in the standards:
RATIO_WITH_WARNING = 10
MAX_RATIO_FOR_INTERVALS = 50


def by_standards(sources: Sources, standards: Standards, level: float) -> amounts.Amounts:
    """Return amounts from one calibration line through 0 for each substance."""
    check_standards(standards, sources.r)
    chosen, why, doubts = matched(sources, standards)
    usable = sources.usable[:, chosen]
    missed = list(_left_out(standards, usable, sources.measurements))
    known = np.where(usable, standards.known, np.nan)
    found = sources.blank(np.empty(known.shape), standards.units, level, "", chosen)
    found = replace(found, substances=standards.substances, known=known)
    lines = [_enter_line(found, sources, j, i) for j, i in enumerate(chosen)]
    above = found.values > np.nanmax(known, axis=0) * (1 + 1e-9)
    count = int(np.isfinite(known).any(axis=1).sum())
    how = f"{count} standards, with a calibration line through 0 for each substance"
    found = replace(found, outside=above & np.isnan(known), how=how)
    found = amounts.without(found, ~sources.seen[:, chosen])
    doubts = [*doubts, *missed, *amounts.about_unseen(found), *contradicted(sources, standards, chosen)]
    doubts += _about_lines(found, lines)
    words = [
        f"Amounts were calculated from {how}.",
        *why,
        *amounts.about_errors(found),
        *amounts.about_limits(found),
        *doubts,
    ]
    return replace(found, words=tuple(words), warnings=tuple(doubts))


def _left_out(standards: Standards, usable: NDArray, measurements: Sequence[str]) -> Iterator[str]:
    """Yield warnings about standards that the data do not show; raise an error if too few are left."""
    lost = ~usable & np.isfinite(standards.known)
    for j, name in enumerate(standards.substances):
        if lost[:, j].any():
            which = listed([measurements[i] for i in np.flatnonzero(lost[:, j]).tolist()])
            some = int(np.sum(standards.known[~lost[:, j], j] > 0))
            if some < MIN_STANDARDS:
                raise ArgumentError(
                    "too few {} of {} are usable: the observed channels do not show it in {}. Add "
                    "standards that were measured where it has signal.",
                    *(option("standards"), name, which),
                )
            yield (
                f"{name}: these standards were left out, because the observed channels do not show it: "
                f"{which}."
            )


def _enter_line(found: amounts.Amounts, sources: Sources, j: int, i: int) -> tuple[Line, float]:
    """Fit the line of a substance and enter the results; return the line and its `variety`."""
    known, y, v, seen = found.known[:, j], sources.A[:, i], sources.noise[:, i], sources.seen[:, i]
    # a weight of 0 for a concentration of 0 shows no scatter, as it cannot be below 0
    used = np.isfinite(known) & ((known > 0) | (y > 0))
    top, size = float(np.nanmax(known)), float(y[used].max())
    if not size > 0:
        raise ArgumentError(
            "source {} has no weight in any of the {} of {}.",
            *(i + 1, option("standards"), found.substances[j]),
        )
    y, v = y / size, v / size**2
    line = calibration.fitted(known[used] / top, y[used], v[used])
    if not line.slope > 0:
        raise ArgumentError(
            "the weights of source {} fall as the concentration of {} in the {} rises.",
            *(i + 1, found.substances[j], option("standards")),
        )
    whole = entire(sources.usable)  # elsewhere the variation of the others is unknown
    varied = calibration.variety(y[whole], np.delete(sources.A, i, axis=1)[whole], used[whole])
    line = replace(line, extra=line.extra * varied)
    found.values[:, j] = top * (y / line.slope)
    if varied <= MAX_RATIO_FOR_INTERVALS:
        low, high = calibration.interval(line, y, v, found.level)
        found.low[:, j], found.high[:, j] = top * low, top * high
    limit = top * calibration.detection(line, v)
    found.detection[j], found.below[:, j] = np.median(limit[seen]), found.values[:, j] < limit
    found.leave_one_out[j] = top * np.sqrt(np.mean(np.square(line.errors)))
    found.factors[j] = top / line.slope / (size * sources.sizes[i])
    return line, varied


def _about_lines(found: amounts.Amounts, lines: Sequence[tuple[Line, float]]) -> list[str]:
    """Return warnings about the calibration lines."""
    doubts = list(amounts.about_range(found))
    for j, (name, (line, _)) in enumerate(zip(found.substances, lines, strict=True)):
        if np.isinf(found.high[:, j]).any():
            doubts.append(f"{name}: its standards scatter so much that the intervals have no upper end.")
        elif found.leave_one_out_relative[j] > 0.25:
            doubts.append(
                f"{name}: its standards predict each other badly. Source {found.sources[j] + 1} may be "
                "another substance."
            )
        if line.offset < 0.01 / len(lines):
            doubts.append(
                f"{name}: its standards lie on a line that does not pass through 0. Something else adds "
                f"to source {found.sources[j] + 1} (a blank, a background, another substance). Small "
                "amounts are the most wrong."
            )
    return [*doubts, *_about_variety(found.substances, np.array([varied for _, varied in lines]))]


def _about_variety(substances: Sequence[str], varied: NDArray) -> Iterator[str]:
    """Yield warnings about standards that are too similar to each other."""
    for alike, follows in (
        (
            (varied > RATIO_WITH_WARNING) & (varied <= MAX_RATIO_FOR_INTERVALS),
            "the intervals may be too narrow",
        ),
        (varied > MAX_RATIO_FOR_INTERVALS, "there are no intervals"),
    ):
        if alike.any():
            which = listed([name for name, so in zip(substances, alike, strict=True) if so])
            yield (
                f"In the standards of {which}, other substances vary far less than in the measurements. "
                f"They hardly show how much of other substances a source contains, so {follows}. Add "
                "standards that differ in every substance, as the measurements do."
            )
