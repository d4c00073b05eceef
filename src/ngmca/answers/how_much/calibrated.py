"""Calibrations of one substance: a line through 0 for its source, or regressions on all sources."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, option
from ngmca.answers.how_much import calibration, regression
from ngmca.answers.how_much.amounts import MEAN
from ngmca.answers.how_much.regression import Products, Regression
from ngmca.answers.how_much.source_weights import Sources, entire

MAX_RATIO_FOR_INTERVALS = 50  # variance of other substances in the measurements over the standards


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Amounts of one substance in all measurements.

    Attributes
    ----------
    by : str
        What they come from.
    source : int or None
        The source of the substance; None if several were used.
    values, low, high : ndarray of shape (m,)
        Amounts and the ends of their intervals, NaN if there are none.
    limit : ndarray of shape (m,)
        Limit of detection in each measurement.
    seen : ndarray of bool, shape (m,)
        Whether the data say anything about the amount.
    predicted : ndarray of shape (m,)
        Concentrations of standards that the other standards predict, NaN elsewhere.
    error : float
        Root mean square error of these predictions.
    used : float
        Degrees of freedom of the fit.
    factor : float
        Amount of a weight of 1; NaN if several sources were used.
    varied : float
        Variance of other substances in the measurements over that in the standards.
    chance : float
        Probability that the fit is as good by chance; NaN if that is not known.
    offset : float
        Probability that a line through 0 fits as badly by chance.
    """

    by: str
    source: int | None
    values: NDArray = field(repr=False)
    low: NDArray = field(repr=False)
    high: NDArray = field(repr=False)
    limit: NDArray = field(repr=False)
    seen: NDArray = field(repr=False)
    predicted: NDArray = field(repr=False)
    error: float
    used: float
    factor: float = np.nan
    varied: float = 1.0
    chance: float = 0.0
    offset: float = 1.0


def by_line(sources: Sources, name: str, known: NDArray, i: int, level: float) -> Calibrated:
    """Return amounts from a line through 0 for the weights of source i."""
    y, v = sources.A[:, i], sources.noise[:, i]
    # a weight of 0 for a concentration of 0 shows no scatter, as it cannot be below 0
    used = np.isfinite(known) & ((known > 0) | (y > 0))
    top, size = float(np.nanmax(known)), float(y[used].max())
    if not size > 0:
        raise ArgumentError(
            "source {} has no weight in any of the {} of {}.", *(i + 1, option("standards"), name)
        )
    y, v = y / size, v / size**2
    line = calibration.fitted(known[used] / top, y[used], v[used])
    if not line.slope > 0:
        raise ArgumentError(
            "the weights of source {} fall as the concentration of {} in the {} rises.",
            *(i + 1, name, option("standards")),
        )
    whole = entire(sources.usable)  # elsewhere the variation of the others is unknown
    varied = calibration.variety(y[whole], np.delete(sources.A, i, axis=1)[whole], used[whole])
    line = replace(line, extra=line.extra * varied)
    low = high = np.full(len(y), np.nan)
    if varied <= MAX_RATIO_FOR_INTERVALS:
        low, high = (top * end for end in calibration.interval(line, y, v, level))
    predicted = np.full(len(y), np.nan)
    predicted[used] = known[used] + top * np.array(line.errors)
    return Calibrated(
        by=f"source {i + 1}",
        source=i,
        values=top * (y / line.slope),
        low=low,
        high=high,
        limit=top * calibration.detection(line, v),
        seen=sources.seen[:, i],
        predicted=predicted,
        error=top * float(np.sqrt(np.mean(np.square(line.errors)))),
        used=1.0,
        factor=top / line.slope / (size * sources.sizes[i]),
        varied=varied,
        offset=line.offset,
    )


def by_regressions(sources: Sources, known: NDArray, level: float) -> list[Calibrated]:
    """Return amounts by the mean of the standards and by ridge regressions, the simplest first."""
    whole = entire(sources.seen)
    rows = np.flatnonzero(np.isfinite(known) & entire(sources.usable))
    nothing = Products(np.zeros((sources.m, len(rows))), np.zeros(sources.m))
    found, given = (
        [_of(regression.fitted(nothing, rows, known[rows]), MEAN, rows, whole, level)],
        nothing,
    )
    parts: list[str] = []
    for part, F in _groups(sources):
        parts.append(part)
        given = given + regression.products(F, rows)
        by = f"{', '.join(parts[:-1])} and {part}" if parts[1:] else part
        found.append(_of(regression.fitted(given, rows, known[rows]), by, rows, whole, level))
    return found


def _groups(sources: Sources) -> Iterator[tuple[str, NDArray]]:
    """Yield groups of variables of a regression with their names."""
    spread = sources.A.std(axis=0)
    varied = spread > 1e-9
    yield "all sources" if sources.r > 1 else "source 1", sources.A[:, varied] / spread[varied]
    if sources.smooth is not None and sources.background is not None:
        values, vectors = np.linalg.eigh(sources.background @ sources.background.T)
        yield "the background", sources.smooth @ (vectors * np.sqrt(np.maximum(values, 0)))
    rest = sources.residual
    if rest is not None:
        yield "the residual", rest


def _of(fit: Regression, by: str, rows: NDArray, seen: NDArray, level: float) -> Calibrated:
    """Return the amounts that a regression predicts; none is below 0."""
    half = fit.half_width(level)
    predicted = np.full(len(fit.values), np.nan)
    predicted[rows] = fit.known + fit.errors
    limit = calibration.CURRIE * np.sqrt(fit.variance)
    return Calibrated(
        by=by,
        source=None,
        values=np.maximum(fit.values, 0),
        low=np.maximum(fit.values - half, 0),
        high=np.maximum(fit.values + half, 0),
        limit=np.full(len(limit), np.nan) if by == MEAN else limit,
        seen=seen,
        predicted=predicted,
        error=fit.error,
        used=fit.used,
        chance=fit.chance,
    )
