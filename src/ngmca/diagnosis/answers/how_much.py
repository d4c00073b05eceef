"""How much of each substance is in a measurement: weights of sources in physical units."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.diagnosis.answers import calibration
from ngmca.diagnosis.answers.amounts import (
    Amounts,
    about_errors,
    about_limits,
    about_range,
)
from ngmca.diagnosis.answers.calibration import Line
from ngmca.diagnosis.answers.from_references import by_closure, by_responses
from ngmca.diagnosis.answers.sources import Sources
from ngmca.diagnosis.answers.standards import Standards, read_standards
from ngmca.diagnosis.finding import listed, percent
from ngmca.result import Separation

FEWEST = 2  # standards with some of a substance
SURE = 0.95  # below which it is not said which source a substance is
POOR = 0.25  # leave-one-out error over the mean that is spoken of
VARIED = 10  # times as much variance of other substances elsewhere, from which on that is spoken of,
UNSEEN = 50  # and from which on intervals would be a guess
BETTER = 0.01  # chance at which an offset is spoken of, for all substances together

__all__ = ["Amounts", "quantify"]


@one_blas_thread
def quantify(
    separation: Separation,
    standards: Any = None,
    *,
    data: Any = None,
    names: Sequence[str | None] | None = None,
    responses: Any = None,
    closure: Any = None,
    unit: str = "",
    level: float = 0.9,
) -> Amounts:
    """Amounts of substances in all measurements, with intervals and limits of detection.

    One of `standards`, `responses` and `closure` says how large a weight of 1 is. Without any of them
    the amounts are relative: shares of the signal.

    Parameters
    ----------
    standards
        Measurements of known composition, among those that were separated: a table (the path of a CSV
        or Excel file, a DataFrame, a dict of columns) whose first column names measurements, or counts
        them from 1 where they have no names, and whose other columns are substances; or a pair of
        indices (from 0) or names and an array (k, q) of concentrations. Empty cells and NaN are not
        known. A heading such as "caffeine (mg/L)" gives the unit.
    data : Dataset, DataFrame or names of measurements
        What was separated. Its names are those of standards, its gaps widen intervals, and responses are
        fitted to it; without it they are fitted to A S.
    names : r names
        What the sources are, as far as it is known. A column of the standards with the same name belongs
        to that source; others go to the source whose weights follow them, and if it cannot be told which
        one that is, an error says so.
    responses
        Spectra of pure substances for one unit of concentration, on the same channels: a file, a
        Dataset, a dict of names and spectra, or an array (q, n).
    closure : True, float or (m,)
        What the amounts in each measurement add up to.
    unit : str
        Of the amounts, where no heading has one.
    level : float
        Probability that an interval holds the amount.
    """
    level = arguments.check_number(level, "level", high=1.0)
    if not 0 < level < 1:
        raise ValueError("level must be above 0 and below 1, as 0.9.")
    if not isinstance(unit, str):
        raise TypeError(f"unit must be text, got {unit!r}.")
    given = {"standards": standards, "responses": responses, "closure": closure}
    several = [name for name, one in given.items() if one is not None]
    if len(several) > 1:
        raise ValueError(f"{listed(several)} each give a scale: leave out all but one.")
    sources = Sources.of(separation, data, names)
    if standards is not None:
        return _calibrated(sources, read_standards(standards, sources.measurements, unit), level)
    if responses is not None:
        return by_responses(sources, responses, unit, level)
    if closure is not None:
        return by_closure(sources, closure, unit, level)
    return _relative(sources, separation.shares, level)


def _relative(sources: Sources, shares: NDArray, level: float) -> Amounts:
    """Shares of the signal, and words that say that they are no more."""
    told = (
        "These amounts are relative: parts of the signal of each measurement. They are no "
        "concentrations, and cannot be compared between substances, as one may give more signal than "
        "another. A few measurements of known composition (standards=) would make them concentrations."
    )
    how = "parts of the signal, without standards"
    found = sources.blank(100 * shares, ("% of signal",) * sources.r, level, how)
    return replace(found, relative=True, words=(told,), warnings=(told,))


def _calibrated(sources: Sources, standards: Standards, level: float) -> Amounts:
    """Amounts from lines through the origin, one a substance."""
    _check_enough(standards, sources.r)
    chosen, told = _matched(sources, standards)
    values = np.empty((sources.m, len(chosen)))
    found = sources.blank(values, standards.units, level, "", chosen)
    found = replace(found, substances=standards.substances, known=standards.known)
    lines = [
        _enter_line(found, sources, j, i, known)
        for j, (i, known) in enumerate(zip(chosen, standards.known.T, strict=True))
    ]
    above = found.values > np.nanmax(found.known, axis=0) * (1 + 1e-9)
    count = int(np.isfinite(found.known).any(axis=1).sum())
    how = f"{count} standards: a line through 0 for each substance, its weight against its concentration"
    found = replace(found, outside=above & ~np.isfinite(found.known), how=how)
    doubts = _contradicted(found, sources) + _doubts(found, lines)
    words = [f"Amounts come from {how}.", *told, *about_errors(found), *about_limits(found), *doubts]
    return replace(found, words=tuple(words), warnings=tuple(doubts))


def _check_enough(standards: Standards, r: int) -> None:
    """Refuse standards from which no line can be drawn."""
    q = len(standards.substances)
    if q > r:
        raise ValueError(
            f"standards have {q} substances ({listed(standards.substances)}), and there are {r} "
            "sources: separate with more, or leave out columns."
        )
    for name, column in zip(standards.substances, standards.known.T, strict=True):
        some = int(np.nansum(column > 0))
        if some == 0 and np.isfinite(column).any():
            raise ValueError(f"{name} is 0 in all standards: add some with a known amount of it.")
        if some < FEWEST:
            raise ValueError(
                f"{name} has {some} standard{'s' * (some != 1)} with a known amount above 0: at least "
                f"{FEWEST} are needed, better 5. Add some, or leave out its column."
            )


def _matched(sources: Sources, standards: Standards) -> tuple[list[int], list[str]]:
    """Which source each substance is, and sentences that say why."""
    scores = np.empty((len(standards.substances), sources.r))
    for j, column in enumerate(standards.known.T):
        rows = np.isfinite(column)
        scores[j] = calibration.likeness(
            column[rows] / column[rows].max(), sources.A[rows], sources.noise[rows].mean(axis=0)
        )
    fixed = [sources.called(name) for name in standards.substances]
    chosen, sure, second = calibration.assigned(scores, fixed)
    told = []
    for j, (name, i) in enumerate(zip(standards.substances, chosen, strict=True)):
        follows = _correlation(standards.known[:, j], sources.A[:, i])
        if sure[j] < SURE:
            other = _correlation(standards.known[:, j], sources.A[:, second[j]])
            raise ValueError(
                f"which source is {name} cannot be told: its standards follow source {i + 1} "
                f"({follows:.3f}) and source {second[j] + 1} ({other:.3f}). Add standards in which "
                f"{name} varies by itself, or say what the sources are by names=."
            )
        why = "by its name" if fixed[j] is not None else f"told from the others with {percent(sure[j])}"
        told.append(
            f"{name} is source {i + 1}, {why}: its weights follow the standards ({follows:.3f})."
        )
    return chosen, told


def _contradicted(found: Amounts, sources: Sources) -> list[str]:
    """Warnings about substances that follow a source of another name."""
    return [
        f"{name} follows source {i + 1}, which is called {sources.names[i]}: one of the two is "
        "wrong, or they rise and fall together."
        for name, i in zip(found.substances, found.sources, strict=True)
        if sources.names[i] and sources.called(name) is None
    ]


def _correlation(known: NDArray, weights: NDArray) -> float:
    """Cosine of known concentrations and weights."""
    rows = np.isfinite(known)
    x, y = known[rows] / known[rows].max(), weights[rows]
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size > 0 else 0.0


def _enter_line(found: Amounts, sources: Sources, j: int, i: int, known: NDArray) -> tuple[Line, float]:
    """Fit the line of a substance and enter what follows from it; the line, and `variety`."""
    y, v = sources.A[:, i], sources.noise[:, i]
    # A weight of 0 where there is nothing says nothing about scatter: below 0 it could not go.
    used = np.isfinite(known) & ((known > 0) | (y > 0))
    top, size = float(np.nanmax(known)), float(y[used].max())
    if not size > 0:
        raise ValueError(f"source {i + 1} has no weight in any standard of {found.substances[j]}.")
    y, v = y / size, v / size**2
    line = calibration.fitted(known[used] / top, y[used], v[used])
    if not line.slope > 0:
        raise ValueError(f"weights of source {i + 1} fall where {found.substances[j]} rises.")
    varied = calibration.variety(y, np.delete(sources.A, i, axis=1), used)
    line = replace(line, extra=line.extra * varied)
    found.values[:, j] = top * (y / line.slope)
    if varied <= UNSEEN:
        low, high = calibration.interval(line, y, v, found.level)
        found.low[:, j], found.high[:, j] = top * low, top * high
    limit = top * calibration.detection(line, v)
    found.detection[j], found.below[:, j] = np.median(limit), found.values[:, j] < limit
    found.leave_one_out[j] = top * np.sqrt(np.mean(np.square(line.errors)))
    found.factors[j] = top / line.slope / (size * sources.sizes[i])
    return line, varied


def _doubts(found: Amounts, lines: Sequence[tuple[Line, float]]) -> list[str]:
    """Warnings in words."""
    doubts = about_range(found)
    for j, (name, (line, _)) in enumerate(zip(found.substances, lines, strict=True)):
        if np.isinf(found.high[:, j]).any():
            doubts.append(f"{name}: its standards scatter so much that intervals have no upper end.")
        elif found.leave_one_out_relative[j] > POOR:
            doubts.append(
                f"{name}: its standards predict each other badly. Is source {found.sources[j] + 1} "
                "another substance?"
            )
        if line.offset < BETTER / len(lines):
            doubts.append(
                f"{name}: its standards lie on a line that does not pass through 0. Something else "
                f"gives weight to source {found.sources[j] + 1} (a blank, a background, another "
                "substance): small amounts are the most wrong."
            )
    return doubts + _about_variety(found.substances, np.array([varied for _, varied in lines]))


def _about_variety(substances: Sequence[str], varied: NDArray) -> list[str]:
    """Warnings about standards that are too much alike."""
    doubts = []
    for alike, follows in (
        ((varied > VARIED) & (varied <= UNSEEN), "intervals may be too narrow"),
        (varied > UNSEEN, "there are no intervals"),
    ):
        if alike.any():
            which = listed([name for name, so in zip(substances, alike, strict=True) if so])
            doubts.append(
                f"In the standards of {which} other substances vary far less than elsewhere: how much "
                f"a source holds of them is hardly seen, and {follows}. Add standards that differ in "
                "every substance, as the measurements do."
            )
    return doubts
