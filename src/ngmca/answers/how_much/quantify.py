"""How much of each substance is in a measurement: weights of sources in physical units."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.answers.how_much import calibration
from ngmca.answers.how_much.amounts import (
    Amounts,
    about_errors,
    about_limits,
    about_range,
    about_unseen,
    without,
)
from ngmca.answers.how_much.calibration import Line
from ngmca.answers.how_much.pure_spectra import by_closure, by_responses
from ngmca.answers.how_much.source_weights import Sources, entire
from ngmca.answers.how_much.standards import FEWEST, Standards, check_standards, read_standards
from ngmca.answers.how_much.standards_to_sources import contradicted, matched
from ngmca.answers.wording import listed
from ngmca.result import Separation

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
    data : Dataset, DataFrame, xarray, (m, n), or names of measurements
        What was separated. Its names are those of standards, its gaps widen intervals, and responses are
        fitted to it; without it they are fitted to A S. Amounts of which it says nothing are NaN.
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
    if not isinstance(separation, Separation):
        raise TypeError(
            "quantify needs a Separation, as ngmca.separate and ngmca.load return it; of an estimator "
            f"that was fitted pass its separation_. Got {type(separation).__name__}."
        )
    separation = separation.in_memory()
    sources = Sources.of(separation, data, names)
    if standards is not None:
        numbered = sources.numbered
        known = read_standards(standards, sources.measurements, unit, numbered=numbered)
        return _calibrated(sources, known, level)
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
    # Shares are parts of all that is there: they need every source of a measurement.
    found = without(found, np.broadcast_to(~entire(sources.seen)[:, None], shares.shape))
    words = (told, *about_unseen(found))
    return replace(found, relative=True, words=words, warnings=words)


def _calibrated(sources: Sources, standards: Standards, level: float) -> Amounts:
    """Amounts from lines through the origin, one a substance."""
    check_standards(standards, sources.r)
    chosen, why, doubts = matched(sources, standards)
    told = sources.told[:, chosen]
    missed = _left_out(standards, told, sources.measurements)
    known = np.where(told, standards.known, np.nan)
    found = sources.blank(np.empty(known.shape), standards.units, level, "", chosen)
    found = replace(found, substances=standards.substances, known=known)
    lines = [_enter_line(found, sources, j, i) for j, i in enumerate(chosen)]
    above = found.values > np.nanmax(known, axis=0) * (1 + 1e-9)
    count = int(np.isfinite(known).any(axis=1).sum())
    how = f"{count} standards: a line through 0 for each substance, its weight against its concentration"
    found = replace(found, outside=above & np.isnan(known), how=how)
    found = without(found, ~sources.seen[:, chosen])
    doubts = [*doubts, *missed, *about_unseen(found), *contradicted(sources, standards, chosen)]
    doubts += _doubts(found, lines)
    words = [f"Amounts come from {how}.", *why, *about_errors(found), *about_limits(found), *doubts]
    return replace(found, words=tuple(words), warnings=tuple(doubts))


def _left_out(standards: Standards, told: NDArray, measurements: Sequence[str]) -> list[str]:
    """Warnings about standards that the data do not show; refused where too few are left."""
    words = []
    lost = ~told & np.isfinite(standards.known)
    for j, name in enumerate(standards.substances):
        if lost[:, j].any():
            which = listed([measurements[i] for i in np.flatnonzero(lost[:, j]).tolist()])
            some = int(np.sum(standards.known[~lost[:, j], j] > 0))
            if some < FEWEST:
                raise ValueError(
                    f"too few standards of {name} are left: the data do not show it in {which}. Add "
                    "some that were measured where it has signal."
                )
            words.append(f"{name}: the data do not show it in {which}, left out of the standards.")
    return words


def _enter_line(found: Amounts, sources: Sources, j: int, i: int) -> tuple[Line, float]:
    """Fit the line of a substance and enter what follows from it; the line, and `variety`."""
    known, y, v, seen = found.known[:, j], sources.A[:, i], sources.noise[:, i], sources.seen[:, i]
    # A weight of 0 where there is nothing says nothing about scatter: below 0 it could not go.
    used = np.isfinite(known) & ((known > 0) | (y > 0))
    top, size = float(np.nanmax(known)), float(y[used].max())
    if not size > 0:
        raise ValueError(f"source {i + 1} has no weight in any standard of {found.substances[j]}.")
    y, v = y / size, v / size**2
    line = calibration.fitted(known[used] / top, y[used], v[used])
    if not line.slope > 0:
        raise ValueError(f"weights of source {i + 1} fall where {found.substances[j]} rises.")
    whole = entire(sources.told)  # elsewhere it is not known how much the others vary
    varied = calibration.variety(y[whole], np.delete(sources.A, i, axis=1)[whole], used[whole])
    line = replace(line, extra=line.extra * varied)
    found.values[:, j] = top * (y / line.slope)
    if varied <= UNSEEN:
        low, high = calibration.interval(line, y, v, found.level)
        found.low[:, j], found.high[:, j] = top * low, top * high
    limit = top * calibration.detection(line, v)
    found.detection[j], found.below[:, j] = np.median(limit[seen]), found.values[:, j] < limit
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
