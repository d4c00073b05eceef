"""Amounts from standards: by one source of a substance, or by all sources together."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, option
from ngmca.answers.how_much import amounts
from ngmca.answers.how_much.amounts import MEAN
from ngmca.answers.how_much.calibrated import (
    MAX_RATIO_FOR_INTERVALS,
    Calibrated,
    by_line,
    by_regressions,
)
from ngmca.answers.how_much.source_weights import Sources, entire
from ngmca.answers.how_much.standards import (
    MIN_FOR_REGRESSION,
    MIN_STANDARDS,
    Standards,
    check_standards,
)
from ngmca.answers.how_much.which_source import Match, contradicted, matched
from ngmca.answers.wording import listed, percent

# A simpler calibration is kept if its leave-one-out error is at most this many times the smallest:
AS_GOOD = 1.1
LINE_AS_GOOD = 1.5  # a line has one parameter, a source and a spectrum, so it needs more to give it up
RATIO_WITH_WARNING = 10  # variance of other substances in the measurements over that in the standards
MAX_CHANCE = 0.05


def by_standards(sources: Sources, standards: Standards, level: float) -> amounts.Amounts:
    """Return amounts from standards, each substance by the calibration that predicts them best."""
    check_standards(standards, sources.r)
    matches = matched(sources, standards)
    kept, missed = _usable(sources, standards, matches)
    tried = [
        _candidates(sources, name, kept[:, j], matches[j], level)
        for j, name in enumerate(standards.substances)
    ]
    chosen = [best(each) for each in tried]
    found = _joined(sources, standards, kept, chosen, level)
    doubts = [word for one, match in zip(chosen, matches, strict=True) if one.source is not None
              for word in match.doubts]  # fmt: skip
    doubts += [*missed, *amounts.about_unseen(found)]
    doubts += [*contradicted(sources, found.substances, list(found.sources))]
    doubts += [*amounts.about_range(found), *_about_calibrations(found, chosen)]
    reasons = zip(standards.substances, standards.units, chosen, matches, tried, strict=True)
    words = [
        f"Amounts were calculated from {found.how}.",
        *(_reason(*each) for each in reasons),
        *amounts.about_errors(found),
        *amounts.about_limits(found),
        *doubts,
    ]
    return replace(found, words=tuple(words), warnings=tuple(doubts))


def best(tried: list[Calibrated]) -> Calibrated:
    """Return the simplest calibration that is about as good as the best; they are in this order."""
    least = min(one.error for one in tried)
    return next(one for one in tried if one.error <= _allowance(one) * least)


def _allowance(one: Calibrated) -> float:
    """Return how many times the smallest error a calibration may have; the mean must be the best."""
    if one.source is not None:
        return LINE_AS_GOOD
    return 1.0 if one.by == MEAN else AS_GOOD


def _candidates(
    sources: Sources, name: str, known: NDArray, match: Match, level: float
) -> list[Calibrated]:
    """Return the possible calibrations of a substance; raise an error if there is none."""
    enough = np.isfinite(known).sum() >= MIN_FOR_REGRESSION
    found: list[Calibrated] = []
    try:
        if match.problem is not None:
            raise match.problem
        if match.source is not None:
            found.append(by_line(sources, name, known, match.source, level))
    except ArgumentError:
        if not enough:
            raise
    return [*found, *by_regressions(sources, known, level)] if enough else found


def _usable(sources: Sources, standards: Standards, matches: list[Match]) -> tuple[NDArray, list[str]]:
    """Return the concentrations of standards that the data show, and warnings about the others."""
    whole = entire(sources.usable)
    usable = np.stack(
        [whole if one.source is None else sources.usable[:, one.source] for one in matches], axis=1
    )
    return np.where(usable, standards.known, np.nan), list(_left_out(sources, standards, usable))


def _left_out(sources: Sources, standards: Standards, usable: NDArray) -> Iterator[str]:
    """Yield warnings about standards that the data do not show; raise an error if too few are left."""
    lost = ~usable & np.isfinite(standards.known)
    for j, name in enumerate(standards.substances):
        if lost[:, j].any():
            which = listed([sources.measurements[i] for i in np.flatnonzero(lost[:, j]).tolist()])
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


def _joined(
    sources: Sources, standards: Standards, known: NDArray, chosen: list[Calibrated], level: float
) -> amounts.Amounts:
    """Return the amounts of all substances."""
    values = np.stack([one.values for one in chosen], axis=1)
    which = [one.source for one in chosen]
    found = sources.blank(values, standards.units, level, "", which)
    least = np.nanmin(known, axis=0)
    for j, one in enumerate(chosen):
        found.low[:, j], found.high[:, j] = one.low, one.high
        found.below[:, j] = values[:, j] < one.limit
        beneath = one.high < least[j] if one.source is None else False  # a line begins at 0
        found.outside[:, j] = (one.values > np.nanmax(known[:, j]) * (1 + 1e-9)) | beneath
        found.detection[j] = np.median(one.limit[one.seen]) if one.seen.any() else np.nan
    count = int(np.isfinite(known).any(axis=1).sum())
    found = replace(
        found,
        substances=standards.substances,
        known=known,
        predicted=np.stack([one.predicted for one in chosen], axis=1),
        leave_one_out=np.array([one.error for one in chosen]),
        factors=np.array([one.factor for one in chosen]),
        by=tuple(one.by for one in chosen),
        outside=found.outside & np.isnan(known),
        how=f"{count} standards",
    )
    return amounts.without(found, ~np.stack([one.seen for one in chosen], axis=1))


def _reason(name: str, unit: str, one: Calibrated, match: Match, tried: list[Calibrated]) -> str:
    """Return a sentence that says what the amounts of a substance come from, and why."""
    if one.source is not None:
        return match.why
    if one.by == MEAN:
        return f"{name}: nothing in the spectra follows its standards, so all amounts are their mean."
    alone = [other for other in tried if other.source is not None]
    why = "It is not clear which source it is."
    if alone:
        error = amounts.with_unit(alone[0].error, unit)
        why = f"With {alone[0].by} alone, standards predict each other with an error of {error}."
    return (
        f"{name} was calculated from {one.by}, by a ridge regression with {one.used:.1f} degrees of "
        f"freedom. {why}"
    )


def _about_calibrations(found: amounts.Amounts, chosen: list[Calibrated]) -> Iterator[str]:
    """Yield warnings about the calibrations."""
    for j, (name, one) in enumerate(zip(found.substances, chosen, strict=True)):
        if one.source is not None:
            yield from _about_line(name, one, float(found.leave_one_out_relative[j]), len(chosen))
        else:
            yield from _about_regression(name, one)
    yield from _about_variety(found.substances, np.array([one.varied for one in chosen]))


def _about_line(name: str, one: Calibrated, error: float, count: int) -> Iterator[str]:
    """Yield warnings about the line of one of several substances."""
    if np.isinf(one.high).any():
        yield f"{name}: its standards scatter so much that the intervals have no upper end."
    elif error > 0.25:
        yield (
            f"{name}: its standards predict each other badly. {one.by.capitalize()} may be another "
            "substance."
        )
    if one.offset < 0.01 / count:
        yield (
            f"{name}: its standards lie on a line that does not pass through 0. Something else adds "
            f"to {one.by} (a blank, a background, another substance). Small amounts are the most wrong."
        )


def _about_regression(name: str, one: Calibrated) -> Iterator[str]:
    """Yield warnings about a regression."""
    if one.by == MEAN:
        yield (
            f"{name}: the spectra do not show it. All amounts are the mean of the standards, and hold "
            "only for measurements like these."
        )
        return
    if one.chance > MAX_CHANCE:
        yield (
            f"{name}: the regression may follow its standards by chance, with a probability of "
            f"{percent(one.chance)}. Add standards to be certain."
        )
    if one.by.endswith("the background"):
        yield (
            f"{name}: part of its amounts comes from the background, which is no spectrum of it. They "
            "are right only as long as the background changes with it, as it does in the standards."
        )
    if one.by.endswith("the residual"):
        yield (
            f"{name}: part of its amounts comes from the residual, which no source explains. There is "
            "no spectrum of it. One source more may show it."
        )


def _about_variety(substances: tuple[str, ...], varied: NDArray) -> Iterator[str]:
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
