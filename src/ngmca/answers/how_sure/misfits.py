"""What is left in the residual besides noise: sources, a background, shifts, odd measurements."""

import numpy as np

from ngmca._support.messages import message, option
from ngmca.answers.how_sure.defect_words import places_of
from ngmca.answers.how_sure.diagnostics import Diagnostics
from ngmca.answers.wording import Finding, capitalised, percent
from ngmca.io import Dataset
from ngmca.result import Separation

STRUCTURED = 1.2  # times the largest singular value that chance leaves
SMALL_BESIDE_SOURCES = 0.1  # energy of what is left over, of that of the weakest source
STRONG_BACKGROUND = 2.5  # times that smooth curves lower the residual
SHIFTED = 0.3  # share of the residual that derivatives of the sources explain
CORRELATED = 0.3  # correlation of neighbouring channels in the residual
ODD = 4.0  # times the usual residual of a measurement


def about_residual(
    separation: Separation, diagnostics: Diagnostics, data: Dataset | None, *, chosen: bool
) -> list[Finding]:
    """Return warnings about a background, shifts, structure, correlated noise and odd measurements."""
    found = _background(diagnostics) or _shifts(diagnostics) or _structure(diagnostics, chosen=chosen)
    odd = _odd_measurements(diagnostics, data)
    return found + odd if found or odd else _correlated(diagnostics)


def is_structured(diagnostics: Diagnostics) -> bool:
    """Return whether measurements have something in common in the residual."""
    return bool(diagnostics.structure > STRUCTURED)


def _background(diagnostics: Diagnostics) -> list[Finding]:
    if not diagnostics.baseline > 1:
        return []
    text = message(
        "Smooth curves, another one for each measurement, would lower the residual to {} of what it is. "
        "The sources contain a part of this background, so spectra and amounts are wrong. Fit it "
        "together with the sources ({}).",
        percent(1 / diagnostics.baseline), option("Baseline"),
    )  # fmt: skip
    grade = "red" if diagnostics.baseline > STRONG_BACKGROUND else "amber"
    return [Finding("baseline", "The data have a smooth background", text, 1.0, grade)]


def _shifts(diagnostics: Diagnostics) -> list[Finding]:
    if not (is_structured(diagnostics) and diagnostics.shift > SHIFTED):
        return []
    text = message(
        "{} of the strongest part of the residual has the shape of derivatives of the sources. This "
        "happens if lines move from measurement to measurement. Align the measurements ({}), or leave "
        "the moving lines out. More sources would only follow them.",
        percent(diagnostics.shift), option("ngmca.align", True),
    )  # fmt: skip
    return [Finding("shift", "Lines move between measurements", text, diagnostics.left_over)]


def _structure(diagnostics: Diagnostics, *, chosen: bool) -> list[Finding]:
    if not is_structured(diagnostics):
        return []
    r, size = len(diagnostics.share), diagnostics.left_over
    text = (
        "Measurements have something in common that the sources do not explain: it is "
        f"{diagnostics.structure:.2g} times as strong as chance allows, and has "
        f"{percent(size)} of the energy of the weakest source"
    )
    if size < SMALL_BESIDE_SOURCES:
        text += ", which is small beside every source. "
        title, grade = "The residual has weak structure", "amber"
    else:
        text += ". "
        title = "The residual has structure: maybe more sources"
        grade = "red" if size > 1 else "amber"
    supported = f"The criteria for the number of sources chose {r}. " if chosen else ""
    text += (
        f"{supported}Look at the result with {r + 1} sources. If the new source has the shape of a "
        "spectrum, keep it. If it follows another one, lines move or the noise grows with the signal."
    )
    title = title if not chosen else title.split(":")[0]
    return [Finding("structure", title, text, min(size, 1.0), grade)]


def _correlated(diagnostics: Diagnostics) -> list[Finding]:
    if diagnostics.autocorrelation < CORRELATED:
        return []
    text = (
        "Neighbouring channels of the residual have a correlation of "
        f"{diagnostics.autocorrelation:.2g}, as in smoothed or interpolated spectra. Sources and "
        "amounts are not affected, but error bars are too narrow, and weak sources are found less "
        "surely. Use the data before smoothing, if there are any."
    )
    return [Finding("correlated", "The noise is correlated along the axis", text)]


def _odd_measurements(diagnostics: Diagnostics, data: Dataset | None) -> list[Finding]:
    """Warn about measurements that are no mixture of the sources, if these are few."""
    rest = diagnostics.row_rms
    odd = np.flatnonzero((rest > ODD * np.median(rest)) & (rest > 2 * diagnostics.sigma))
    if not 0 < odd.size <= max(1, len(rest) // 10) or len(rest) < 5:
        return []
    odd = odd[np.argsort(-rest[odd])]
    named = places_of(data, odd.tolist())
    times = rest[odd[0]] / np.median(rest)
    text = (
        f"The residual of {named} is up to {times:.2g} times as large as usual: no mixture of these "
        "sources explains that. Look at the fit, and leave out what went wrong."
    )
    verb = "is" if odd.size == 1 else "are"
    return [Finding("odd", f"{capitalised(named)} {verb} not explained", text, 1e-3)]
