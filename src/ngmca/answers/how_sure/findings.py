"""Warnings that a specialist would give about a separation."""

from collections.abc import Sequence

import numpy as np

from ngmca._support.messages import Message, joined, message, option
from ngmca._support.threads import one_blas_thread
from ngmca.answers.how_many.negative_data import is_negative
from ngmca.answers.how_sure.ambiguity_words import ambiguity_findings
from ngmca.answers.how_sure.defect_words import about_defects, place_of, spoiled
from ngmca.answers.how_sure.defects import Defect
from ngmca.answers.how_sure.diagnostics import Diagnostics
from ngmca.answers.how_sure.doubtful_sources import about_starts, about_surplus
from ngmca.answers.how_sure.misfits import about_residual
from ngmca.answers.how_sure.residual_pass import FAR_BELOW_ZERO
from ngmca.answers.wording import GRADES, Finding, capitalised, percent
from ngmca.engines import in_own_units
from ngmca.io import Dataset
from ngmca.result import Separation

NEGLIGIBLE_ENERGY = 0.01  # share of the energy that a source may have without a warning
MUCH_NEGATIVE = 0.1  # share of the energy below 0 that non-negative sources cannot ignore
LIKE_DERIVATIVES = (
    "If these are derivatives, differences or centred spectra, use the spectra before that step. "
)
SMALL_END = 0.25  # largest part of the axis that may be left out at its ends
MANY_STARTS = 8  # for as many sources as measurements
ACTIVE_NEARLY_EVERYWHERE = 0.8  # share of entries of S above 0 after thresholds
SMOOTH_CORRELATION = 0.5  # of neighbouring channels; above it, the sources are bands
NO_NOISE, EXACT_FIT = 1e-10, 1e-6  # of the largest entry: noise and residual of data without noise
UNEVEN = 5.0  # times the noise of most entries, in the residual: some channels have far more


@one_blas_thread
def findings(
    separation: Separation,
    diagnostics: Diagnostics,
    data: Dataset | None = None,
    defects: Sequence[Defect] = (),
    *,
    chosen_number: bool = False,
) -> list[Finding]:
    """Return warnings, the most costly first; none if nothing looks wrong.

    `data` has the names of measurements and channels, and `defects` are its defects. If defects hold so
    much of the energy that they decide the result, there is no warning about the number of sources. If
    that number was chosen from the data, no warning suggests another one.
    """
    found = [*about_defects(separation, data, defects), *_alone(separation, diagnostics, data, defects)]
    if not spoiled(defects):
        found += _no_noise(separation, diagnostics) or _left_over(
            separation, diagnostics, data, chosen=chosen_number
        )
        found += [] if chosen_number else _overfit(separation, diagnostics)
        found += about_surplus(separation, diagnostics, chosen=chosen_number)
        found += about_starts(separation, diagnostics.share)
        found += _dense(separation)
    found += [*_negative(diagnostics, data), *_few_measurements(separation), *_error_bars(separation)]
    found += ambiguity_findings(separation)
    return sorted(found, key=lambda one: (GRADES.index(one.grade), -one.cost))


def _no_noise(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Warn if the noise was not found: robust estimates fail if most entries are 0, as in counts."""
    found = float(np.median(separation.noise))
    residual = float(np.median(diagnostics.row_rms))
    negligible = residual <= 1e-6 * float(np.nanmax(np.abs(diagnostics.picked), initial=0))
    if diagnostics.zeros < 0.5 or negligible or found > 0.3 * residual:
        return []
    text = message(
        "{} of the entries are exactly 0, as in counts. The estimated noise level ({:.2g}) is far below "
        "the residual ({:.2g}), so the threshold does not protect against noise. Give the noise level, "
        "for instance {}, or sum neighbouring channels or pixels first.",
        percent(diagnostics.zeros), found, residual, option("noise", float(f"{residual:.2g}")),
    )  # fmt: skip
    return [Finding("no-noise", "The noise level could not be estimated", text, 1.0)]


def _left_over(
    separation: Separation, diagnostics: Diagnostics, data: Dataset | None, *, chosen: bool
) -> list[Finding]:
    """Warn about what the residual holds besides noise."""
    if not (separation.noise > 0).any() or _is_exact(separation, diagnostics):
        return []  # without noise nothing can be called larger than noise
    if separation.noise_model == "measurements" and _growth(separation, diagnostics) > 0.9:
        text = message(
            "The residual is large where the signal is strong, in proportion to it, as in counts. This "
            "is no sign of more sources. If the data are counts, use {}. If they are not, lines may "
            "move between measurements: try {}.",
            *(option("noise", "poisson"), option("ngmca.align", True)),
        )
        return [Finding("growing", "The noise grows with the signal", text)]
    return about_residual(separation, diagnostics, data, chosen=chosen) or _uneven(
        separation, diagnostics
    )


def _is_exact(separation: Separation, diagnostics: Diagnostics) -> bool:
    """Return whether the data have no noise, and the fit reproduces them up to its last threshold."""
    largest = float(np.nanmax(np.abs(diagnostics.picked), initial=0))
    noise, residual = (float(np.median(x)) for x in (separation.noise, diagnostics.row_rms))
    return noise <= NO_NOISE * largest and residual <= EXACT_FIT * largest


def _uneven(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Warn if some channels have far more noise than most entries, whose noise sets the threshold."""
    noise, residual = (float(np.median(x)) for x in (separation.noise, diagnostics.row_rms))
    if residual <= UNEVEN * noise:
        return []
    text = message(
        "The residual ({:.2g}) is {:.2g} times the noise level of most entries ({:.2g}): a few channels "
        "have far more noise, and sources are not protected from it there. Leave these channels out "
        "({}), or give the noise level of each channel ({}).",
        residual, residual / noise, noise, option("Dataset.crop"), option("noise"),
    )  # fmt: skip
    return [Finding("uneven", "The noise differs much between channels", text, 1.0)]


def _growth(separation: Separation, diagnostics: Diagnostics) -> float:
    """Return the correlation over the channels of the residual's variance with the mean of the fit."""
    fit = separation.A.mean(axis=0, dtype=np.float64) @ separation.S.astype(np.float64)
    # if the given noise is far too low, squares of variances in its units would overflow
    (mean, _), (variance, _) = in_own_units(fit), in_own_units(diagnostics.column_rms**2)
    if not (np.ptp(mean) > 0 and np.ptp(variance) > 0):
        return 0.0
    return float(np.corrcoef(mean, variance)[0, 1])


def _overfit(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    m, r = separation.A.shape
    residual = float(np.median(diagnostics.row_rms))
    known = max(diagnostics.rough_noise, float(np.median(separation.noise)))
    if r >= m or not residual < 0.6 * known:
        return []
    if not separation.S.any():
        return []  # nothing was fitted: the noise that was given is too large
    who, fewer = ("some sources fit", f"fewer than {r} sources, or ") if r > 1 else ("it fits", "")
    text = message(
        "The residual ({:.3g}) is far below the noise of the data ({:.3g}): {} noise. "
        "Try {}a larger {}.",
        *(residual, known, who, fewer, option("tau")),
    )
    title = "The fit is closer than the noise" + (": maybe fewer sources" if r > 1 else "")
    return [Finding("overfit", title, text, 1 - diagnostics.explained)]


def _alone(
    separation: Separation, diagnostics: Diagnostics, data: Dataset | None, defects: Sequence[Defect]
) -> list[Finding]:
    """Warn about sources that are in one measurement only, unless that measurement has a defect."""
    A, share = separation.A, diagnostics.share
    energy = np.square(A / (np.linalg.norm(A, axis=0) + (share == 0)))
    known = {defect.measurement for defect in defects}
    found = [
        (i, int(row))
        for i, row in enumerate(energy.argmax(axis=0))
        if energy[row, i] > 0.99 and share[i] > NEGLIGIBLE_ENERGY and row not in known and len(A) >= 5
    ]
    return [
        Finding(
            "alone",
            f"Source {i + 1} is in one measurement only",
            f"{percent(float(energy[row, i]))} of source {i + 1} is in {place_of(data, row)}. Either no "
            "other measurement contains this substance, or something went wrong there. Look at this "
            "measurement, and leave it out if it is an outlier.",
            float(share[i]),
        )
        for i, row in found
    ]


def _negative(diagnostics: Diagnostics, data: Dataset | None) -> list[Finding]:
    """Warn about entries far below 0, with the range to keep if these are only at the ends."""
    cost = diagnostics.negative_energy
    if cost < 0.01:
        return []
    ends = positive_range(diagnostics)
    if is_negative([diagnostics.picked]):
        advice = message("Nothing is left to unmix: if lines point down, change the sign of the data.")
    elif ends is None:
        advice = message(
            "Check phase and baseline, or leave the region out ({}).", option("Dataset.crop")
        )
    else:
        axis = np.arange(diagnostics.picked.shape[1]) if data is None else data.positions
        kept = float(axis[ends[0]]), float(axis[ends[1] - 1])
        advice = message(
            "They are only at the ends of the axis: leave these out ({}).", option("Dataset.crop", kept)
        )
    like = LIKE_DERIVATIVES if cost > MUCH_NEGATIVE and ends is None else ""
    text = message(
        "{} of the energy of the data is in entries far below 0 (more than {} standard deviations of "
        "the noise). Non-negative sources cannot explain them. {}{}",
        percent(cost), FAR_BELOW_ZERO, like, advice,
    )  # fmt: skip
    grade = "red" if cost > MUCH_NEGATIVE else "amber"
    return [Finding("negative", "The data have strong negative parts", text, cost, grade)]


def positive_range(diagnostics: Diagnostics) -> tuple[int, int] | None:
    """Return the first channel, and that after the last one, between which nothing is far below 0.

    None if the channels with negative entries are not at the ends only. The measurements that are shown
    stand for all.
    """
    Y, n = diagnostics.picked, diagnostics.picked.shape[1]
    low = -FAR_BELOW_ZERO * diagnostics.sigma[diagnostics.picks][:, None]
    below = np.flatnonzero((np.nan_to_num(Y) < low).any(axis=0))
    first, last = below[below < n / 2], below[below >= n / 2]
    start = int(first[-1]) + 1 if first.size else 0
    stop = int(last[0]) if last.size else n
    return (start, stop) if below.size and start + n - stop <= SMALL_END * n else None


def _few_measurements(separation: Separation) -> list[Finding]:
    m, r = separation.A.shape
    if r < m:
        return []
    text = message(
        "{} sources were fitted to {} measurements: only sparsity separates them, and the noise level "
        "is uncertain. Add measurements if you can.",
        r, m,
    )  # fmt: skip
    if separation.domain.name != "wavelet":
        text = joined([text, *_other_tries(separation)])
    if r > m:  # any source fits, exactly
        return [Finding("few", "There are more sources than measurements", text, 1.0, grade="red")]
    return [Finding("few", "There are not more measurements than sources", text)]


def _other_tries(separation: Separation) -> list[Message]:
    """Advise more starts, and error bars, where there are few of them or none."""
    tries = []
    if len(separation.restarts) < MANY_STARTS:
        tries.append(message("more starts ({})", option("n_init", MANY_STARTS)))
    if separation.posterior is None:
        bars = "error bars ({}), whose means are often nearer to the true sources"
        tries.append(message(bars, option("posterior", True)))
    if not tries:
        return []
    return [message("Try {} and {}." if len(tries) == 2 else "Try {}.", *tries)]


def _dense(separation: Separation) -> list[Finding]:
    """Advise no thresholds where sources that are no bands are above 0 nearly everywhere."""
    m, r = separation.A.shape
    domain = separation.domain
    banded = domain.name == "wavelet" or domain.correlation > SMOOTH_CORRELATION
    thresholded = np.isfinite(separation.violation) and (separation.lam > 0).all()
    if banded or not thresholded or not 1 < r < m:
        return []
    active = float(separation.history.active[-1])
    if active < ACTIVE_NEARLY_EVERYWHERE:
        return []
    text = message(
        "The sources are above 0 at {} of the channels, so that thresholds only make them smaller: try "
        "{}, which has none.",
        percent(active), option("method", "anls"),
    )  # fmt: skip
    return [Finding("dense", "The sources are hardly ever 0", text)]


def _error_bars(separation: Separation) -> list[Finding]:
    """Pass on the warnings about error bars."""
    posterior = separation.posterior
    if posterior is None:
        return []
    title, texts = "The error bars need care", posterior.warnings
    if posterior.refuted:  # the other warnings do not matter then
        title, texts = "The error bars are not valid", posterior.warnings[:1]
    return [Finding("chains", title, capitalised(text)) for text in texts]
