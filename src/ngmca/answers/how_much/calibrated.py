"""Calibrations of one substance: a line through 0 for its source, or a regression on all sources."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, option
from ngmca.answers.how_much import calibration, regression
from ngmca.answers.how_much.regression import Products, Regression
from ngmca.answers.how_much.source_weights import Sources, entire
from ngmca.answers.wording import listed

MAX_CHANCE = 0.05
DIFFERENT = 1e-6  # of variances
# Variance of other substances in the measurements over that in the standards:
RATIO_WITH_WARNING = 10
MAX_RATIO_FOR_INTERVALS = 50


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
    expected : float
        Root mean square of the standard deviations of all amounts.
    used : float
        Degrees of freedom of the fit.
    factor : float
        Amount of a weight of 1; NaN if several sources were used.
    alone : float
        Root mean square error by the weights of the source alone, if others corrected it; otherwise NaN.
    varied : float
        Variance of other substances in the measurements over that in the standards.
    shares : tuple of (str, float)
        What a regression is calculated from, and with which probability.
    chance : float
        Probability that the fit is as good by chance; NaN if that is not known.
    hidden : bool
        Whether the spectra do not show the substance.
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
    expected: float
    used: float
    factor: float = np.nan
    alone: float = np.nan
    varied: float = 1.0
    shares: tuple[tuple[str, float], ...] = ()
    chance: float = 0.0
    hidden: bool = False
    offset: float = 1.0


def by_line(sources: Sources, name: str, known: NDArray, i: int, level: float) -> Calibrated:
    """Return amounts from a line through 0 for the weights of source i."""
    y, v = sources.A[:, i], sources.noise[:, i]
    # a weight of 0 for a concentration of 0 shows no scatter, if it cannot be below 0
    used = np.isfinite(known) & ((known > 0) | (y != 0))
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
    others = np.delete(sources.A, i, axis=1)
    varied = calibration.variety(y[whole], others[whole], used[whole])
    line = replace(line, extra=line.extra * varied)
    low = high = np.full(len(y), np.nan)
    if varied <= MAX_RATIO_FOR_INTERVALS:
        low, high = (np.maximum(top * end, 0) for end in calibration.interval(line, y, v, level))
    predicted = np.full(len(y), np.nan)
    predicted[used] = known[used] + top * np.array(line.errors)
    seen = sources.seen[:, i]
    found = Calibrated(
        by=f"source {i + 1}",
        source=i,
        values=np.maximum(top * (y / line.slope), 0),
        low=low,
        high=high,
        limit=top * calibration.detection(line, v),
        seen=seen,
        predicted=predicted,
        error=top * float(np.sqrt(np.mean(np.square(line.errors)))),
        expected=top * float(np.sqrt(np.mean(calibration.variance(line, y, v)[seen]))),
        used=1.0,
        factor=top / line.slope / (size * sources.sizes[i]),
        varied=varied,
        offset=line.offset,
    )
    if whole.all() and others.any() and varied <= RATIO_WITH_WARNING:
        return _without_others(found, known, y, line.extra + v, others, level)
    return found


def _without_others(
    line: Calibrated, known: NDArray, y: NDArray, noise: NDArray, others: NDArray, level: float
) -> Calibrated:
    """Return amounts by the line less what the source contains of others, as the standards show it."""
    rows, sizes = np.flatnonzero(np.isfinite(known)), np.sqrt(np.mean(others**2, axis=0))
    given = regression.products(others[:, sizes > 0] / sizes[sizes > 0], rows, centred=False)
    nothing = Products(np.zeros_like(given.inner), np.zeros_like(given.own), groups=0)
    fit = regression.fitted([nothing, given], rows, known[rows], free=y, noises=_relative(noise))
    found = replace(line, **_amounts(fit, rows, level), limit=calibration.CURRIE * fit.blank)
    if fit.shares[1] < 0.5:
        return found
    return replace(found, by=f"{line.by}, corrected by the others", factor=np.nan, alone=line.error)


def _amounts(fit: Regression, rows: NDArray, level: float) -> dict[str, Any]:
    """Return the fields of amounts that a regression predicts; none is below 0."""
    half = fit.half_width(level)
    predicted = np.full(len(fit.values), np.nan)
    predicted[rows] = fit.known + fit.errors
    low, values, high = (np.maximum(fit.values + end, 0) for end in (-half, 0, half))
    same = {"predicted": predicted, "error": fit.error, "expected": fit.expected, "used": fit.used}
    return same | {"values": values, "low": low, "high": high}


def by_regression(sources: Sources, known: NDArray, level: float) -> Calibrated:
    """Return amounts from ridge regressions on all sources, and on more besides."""
    rows = np.flatnonzero(np.isfinite(known) & entire(sources.usable))
    sets = _sets(sources, rows)
    seen = entire(sources.seen)
    own = np.where(seen[:, None], sources.noise, 0).mean(axis=1)
    noises = (np.ones(sources.m), *_relative(np.where(seen, own, own.max())))
    fit = regression.fitted(list(sets.values()), rows, known[rows], noises=noises)
    hidden = fit.chance > MAX_CHANCE and fit.error >= fit.error_of_mean
    limit = calibration.CURRIE * fit.sd
    return Calibrated(
        by=list(sets)[int(fit.shares.argmax())],
        source=None,
        limit=np.full(len(limit), np.nan) if hidden else limit,
        seen=seen,
        shares=tuple(zip(sets, fit.shares.tolist(), strict=True)),
        chance=fit.chance,
        hidden=hidden,
        **_amounts(fit, rows, level),
    )


def _relative(noise: NDArray) -> list[NDArray]:
    """Return variances over their mean, if some differ."""
    return [noise / noise.mean()] if np.ptp(noise) > DIFFERENT * noise.mean() else []


def _sets(sources: Sources, rows: NDArray) -> dict[str, Products]:
    """Return what regressions are calculated from: products of variables with some measurements."""
    spread = sources.A.std(axis=0)
    varied = spread > 1e-9
    parts = ["all sources" if sources.r > 1 else "source 1"]
    given = weights = regression.products(sources.A[:, varied] / spread[varied], rows)
    found, spectra = {parts[0]: weights}, sources.spectra
    if sources.smooth is not None and sources.background is not None:
        values, vectors = np.linalg.eigh(sources.background @ sources.background.T)
        smooth = sources.smooth @ (vectors * np.sqrt(np.maximum(values, 0)))
        parts, given = [*parts, "the background"], given + regression.products(smooth, rows)
        found[listed(parts)] = given
    if spectra is not None:
        rest = spectra - sources.fit
        found[listed([*parts, "the residual"])] = given + regression.products(rest, rows)
        found[listed([parts[0], "the spectra"])] = weights + regression.products(spectra, rows)
    return found
