"""Amounts from standards: by one source of a substance, or by all sources together."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, option
from ngmca.answers.how_much import amounts
from ngmca.answers.how_much.calibrated import (
    MAX_CHANCE,
    MAX_RATIO_FOR_INTERVALS,
    RATIO_WITH_WARNING,
    Calibrated,
    by_line,
    by_regression,
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

LEAST_SHARE = 0.05  # of a regression that is mentioned
PARTS_WITHOUT_SPECTRUM = {
    "the background": "which is no spectrum of it. They are right only as long as the background "
    "changes with it, as it does in the standards.",
    "the residual": "which no source explains. There is no spectrum of it. One source more may show it.",
    "the spectra": "not from sources alone. There is no spectrum of it. One source more may show it.",
}


def by_standards(sources: Sources, standards: Standards, level: float) -> amounts.Amounts:
    """Return amounts from standards, each substance by the calibration with the smallest errors."""
    check_standards(standards, sources.r)
    matches = matched(sources, standards)
    sources = sources.signed()
    kept, missed = _usable(sources, standards, matches)
    tried = [
        _candidates(sources, name, kept[:, j], matches[j], level)
        for j, name in enumerate(standards.substances)
    ]
    chosen = [min(each, key=lambda one: one.expected) for each in tried]
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
    return [*found, by_regression(sources, known, level)] if enough else found


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
        hidden=np.array([one.hidden for one in chosen]),
        outside=found.outside & np.isnan(known),
        how=f"{count} standards",
    )
    return amounts.without(found, ~np.stack([one.seen for one in chosen], axis=1))


def _reason(name: str, unit: str, one: Calibrated, match: Match, tried: list[Calibrated]) -> str:
    """Return a sentence that says what the amounts of a substance come from, and why."""
    if one.source is not None and np.isnan(one.alone):
        return match.why
    if one.source is not None:
        return (
            f"{match.why} It contains other substances too, so its weights were corrected by those of "
            "the other sources. Without that, the error of standards is "
            f"{amounts.with_unit(one.alone, unit)}."
        )
    instead = [other for other in tried if other.source is not None]
    why = "It is not clear which source it is."
    if instead:
        error = amounts.with_unit(instead[0].expected, unit)
        why = f"By {instead[0].by}, the amounts would have an error of {error}."
    parts = [f"on {by} ({100 * share:.0f} %)" for by, share in one.shares if share >= LEAST_SHARE]
    return (
        f"{name} was calculated by ridge regressions, with {one.used:.1f} degrees of freedom: "
        f"{', '.join(parts)}. {why}"
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
    if one.hidden:
        yield (
            f"{name}: the spectra do not show it. Its standards are predicted no better by the others "
            "than by their mean. The amounts hold only for measurements like the standards."
        )
    elif one.chance > MAX_CHANCE:
        yield (
            f"{name}: the regression may follow its standards by chance, with a probability of "
            f"{percent(one.chance)}. Add standards to be certain."
        )
    for part, why in PARTS_WITHOUT_SPECTRUM.items():
        if sum(share for by, share in one.shares if part in by) > 0.5:
            yield f"{name}: part of its amounts comes from {part}, {why}"


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
