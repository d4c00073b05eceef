"""A separation in plain words: what was found, and what a specialist would warn about."""

from collections.abc import Sequence

import numpy as np

from ngmca._support.threads import one_blas_thread
from ngmca.answers.how_sure.defect_words import about_defects, place_of, spoiled
from ngmca.answers.how_sure.defects import Defect
from ngmca.answers.how_sure.diagnostics import Diagnostics
from ngmca.answers.how_sure.finding import Finding, percent
from ngmca.answers.how_sure.needless_sources import about_surplus, is_empty
from ngmca.answers.how_sure.other_starts import about_starts
from ngmca.engines import in_own_units
from ngmca.io import Dataset
from ngmca.result import Domain, Separation

HARMLESS = 0.01  # share of the energy that structure in the residual may hold unmentioned
STRUCTURE = 1.15  # singular values of the residual above this multiple of the edge are no noise
GROWING = (
    0.9  # correlation of the residual's variance with the signal, from which on it is that of counts
)
OVERFIT = 0.6  # residual below this share of the noise: the sources explain noise
MISSED = 0.3  # a noise level below this share of the residual was not found, but missed
ALONE = 0.99  # share of the energy of a source in one measurement that has it alone
FEWEST = 5  # measurements from which on that says something
NEGATIVE = 0.01  # share of energy in clearly negative entries that a non-negative model cannot explain


def summary(
    separation: Separation, diagnostics: Diagnostics, shape: tuple[int, int] | None = None
) -> list[str]:
    """Plain sentences about what was found; `shape` is that of all data, where this is a part."""
    m, n = shape or (len(separation.A), separation.S.shape[1])
    r = len(separation.S)
    noise = float(np.median(diagnostics.sigma))
    rows, unit = in_own_units(diagnostics.row_rms)
    residual = float(np.sqrt(np.mean(rows**2))) * unit
    active, channels = float(np.mean(separation.S > 0)), separation.domain.name == "direct"
    many = f"{r} sources explain" if r != 1 else "1 source explains"
    return [
        f"{many} {percent(diagnostics.explained)} of the energy of {m} measurements "
        f"with {n} channels each.",
        _noise(noise, residual, diagnostics.rough_noise),
        *([f"{percent(active)} of the entries of the sources are not 0."] if channels else []),
        *_apart(separation, diagnostics),
        *_domain(separation.domain),
        _end(separation),
        *_error_bars(separation),
    ]


def _noise(noise: float, residual: float, rough: float) -> str:
    """The noise, and how it differs from all that is left over, and from what `info` says."""
    before = f" Before any separation it was estimated at {rough:.3g}, as `ngmca info` does."
    return (
        f"The noise has a standard deviation of {noise:.3g} (median over the measurements); all that is "
        f"left over, noise, structure and outliers, has {residual:.3g}.{before if rough > 0 else ''}"
    )


def _apart(separation: Separation, diagnostics: Diagnostics) -> list[str]:
    """What belongs to no source: missing entries, outliers, a background."""
    told = []
    if diagnostics.missing:
        told.append(
            f"{percent(diagnostics.missing)} of the entries are missing: nothing is filled in, and all "
            "figures are about what was observed."
        )
    if separation.outliers is not None:
        count = len(separation.outliers)
        told.append(f"{count or 'No'} outlier{'s' * (count != 1)} had no weight in the fit.")
    if separation.background is not None:
        told.append("A smooth background of each measurement, drawn apart, belongs to no source.")
    return told


def _domain(domain: Domain) -> list[str]:
    """Where the sources were taken to be sparse, and why."""
    if not domain.why:
        return []
    taken = {
        "wavelet": "The sources are taken as lines and bands (wavelets)",
        "direct": "The sources are taken channel by channel",
    }
    return [f"{taken[domain.name]}: {domain.why}."]


def _end(separation: Separation) -> str:
    """How the iterations ended."""
    begun = separation.domain.begun
    many = f"{separation.n_iter} iterations"
    if begun:
        many = f"{begun} iterations channel by channel and {separation.n_iter - begun} in wavelets"
    told = {
        "settled": f"It settled after {many}: nothing moved any more.",
        "iterations": f"It ended after {many}, as many as there are to be.",
    }
    return told.get(separation.stopped, f"It stopped after {many} ({separation.stopped}).")


def _error_bars(separation: Separation) -> list[str]:
    """What there is of them."""
    posterior = separation.posterior
    if posterior is None:
        return []
    told = f"Error bars come from {posterior.n_chains} chains of {posterior.n_samples} draws each"
    if posterior.refuted:
        return [f"{told}, but what they found contradicts their model: they are not shown."]
    if posterior.S.active is None:
        return [f"{told}, for lines and bands: 90 % intervals around the answer."]
    doubtful = float(np.mean((posterior.S.active > 0.05) & (posterior.S.active < 0.95)))
    return [f"{told}; for {percent(doubtful)} of the entries it stays open whether they are 0."]


@one_blas_thread
def findings(
    separation: Separation,
    diagnostics: Diagnostics,
    data: Dataset | None = None,
    defects: Sequence[Defect] = (),
) -> list[Finding]:
    """Warnings, those first that cost most; none if nothing looks wrong.

    `data` names measurements and channels; `defects` are those that were found in it. Where they hold
    so much of the energy that they decide what is found, nothing is said about the number of sources.
    """
    found = [*about_defects(separation, data, defects), *_alone(separation, diagnostics, data, defects)]
    if not spoiled(defects):
        found += _no_noise(separation, diagnostics) or _leftover(separation, diagnostics)
        found += _overfit(separation, diagnostics)
        found += about_surplus(separation, diagnostics)
        found += about_starts(separation, diagnostics.share)
    found += [*_negative(diagnostics), *_few_measurements(separation), *_chains(separation)]
    return sorted(found, key=lambda one: -one.cost)


def _no_noise(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Robust noise levels fail where most entries are equal: counts that are mostly 0."""
    found = float(np.median(separation.noise))
    residual = float(np.median(diagnostics.row_rms))
    negligible = residual <= 1e-6 * float(np.nanmax(np.abs(diagnostics.picked), initial=0))
    if diagnostics.zeros < 0.5 or negligible or found > MISSED * residual:
        return []
    text = (
        f"{percent(diagnostics.zeros)} of the entries are exactly 0, as in counts, and the noise level "
        f"found ({found:.2g}) is far below the residual ({residual:.2g}): the threshold does not "
        f"protect against noise. Give the noise level, for instance noise={residual:.2g}, or add up "
        "neighbouring channels or pixels first."
    )
    return [Finding("no-noise", "No noise level could be found", text, 1.0)]


def leftover_share(diagnostics: Diagnostics) -> float:
    """Share of the energy of the data in directions of the residual that stand above the noise."""
    values, edge = diagnostics.singular, diagnostics.singular_edge
    above = values[values > STRUCTURE * edge]
    size = len(diagnostics.sigma) * float(np.sum(diagnostics.column_rms**2))
    left = max(1 - diagnostics.explained, 0.0)
    return left * min(float(np.sum(above**2 - edge**2)) / size, 1.0) if size > 0 else 0.0


def _leftover(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Structure in the residual, unless it is negligible beside every source."""
    above = int(np.count_nonzero(diagnostics.singular > STRUCTURE * diagnostics.singular_edge))
    cost, share = leftover_share(diagnostics), diagnostics.share
    weakest = float(share[~is_empty(share)].min(initial=1))
    if not above or cost < min(HARMLESS, weakest) or not (separation.noise > 0).any():
        return []  # without a noise level nothing can be called larger than noise
    if _growth(separation, diagnostics) > GROWING:
        text = (
            f"What the residual has more than white noise, {percent(cost)} of the energy of the data, "
            "lies where the signal is, in proportion to it, as in counts: no sign of more sources. To "
            "give weak channels as much say as strong ones, divide each by the root of its mean first."
        )
        return [Finding("growing", "The noise grows with the signal", text)]
    r, ratio = len(share), f"{diagnostics.singular[0] / diagnostics.singular_edge:.2g} times"
    more = " or more" if above == len(diagnostics.singular) else ""
    stand = f"{above}{more} directions of the residual stand out, the strongest {ratio}"
    if above == 1:
        stand = f"One direction of the residual stands out, {ratio}"
    text = (
        f"{stand} as high as pure noise would reach, with {percent(cost)} of the energy of the data. "
        f"Try {r + 1} sources. If the new one has the shape of a spectrum, keep it. If it is broad and "
        "smooth, there is a baseline: take it away first. If it repeats lines of another, a little "
        "beside, peaks move: align the measurements. If it only follows the strongest source, noise "
        f"grows with the signal: keep to {r}."
    )
    return [Finding("structure", "The residual has structure: maybe more sources", text, cost)]


def _growth(separation: Separation, diagnostics: Diagnostics) -> float:
    """Correlation over the channels of the residual's variance with the mean of the fit."""
    fit = separation.A.mean(axis=0, dtype=np.float64) @ separation.S.astype(np.float64)
    # in units of noise that was given, far too low, squares of variances would overflow
    (mean, _), (variance, _) = in_own_units(fit), in_own_units(diagnostics.column_rms**2)
    if not (np.ptp(mean) > 0 and np.ptp(variance) > 0):
        return 0.0
    return float(np.corrcoef(mean, variance)[0, 1])


def _overfit(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    m, r = separation.A.shape
    residual = float(np.median(diagnostics.row_rms))
    known = max(diagnostics.rough_noise, float(np.median(separation.noise)))
    if r >= m or not residual < OVERFIT * known:
        return []
    text = (
        f"The residual ({residual:.3g}) is far below the noise of the data ({known:.3g}): "
        "some sources explain noise. Try fewer than "
        f"{len(separation.S)}, or a larger tau=."
    )
    cost = 1 - diagnostics.explained
    return [Finding("overfit", "The fit is closer than the noise: maybe fewer sources", text, cost)]


def _alone(
    separation: Separation, diagnostics: Diagnostics, data: Dataset | None, defects: Sequence[Defect]
) -> list[Finding]:
    """Sources that are in one measurement only, which holds no defect that is told already."""
    A, share = separation.A, diagnostics.share
    energy = np.square(A / (np.linalg.norm(A, axis=0) + (share == 0)))
    known = {defect.measurement for defect in defects}
    found = [
        (i, int(row))
        for i, row in enumerate(energy.argmax(axis=0))
        if energy[row, i] > ALONE and share[i] > HARMLESS and row not in known and len(A) >= FEWEST
    ]
    return [
        Finding(
            "alone",
            f"Source {i + 1} is in one measurement only",
            f"{percent(float(energy[row, i]))} of source {i + 1} is in {place_of(data, row)}: a "
            "substance that no other measurement has, or something that went wrong there. Look at that "
            "measurement, and leave it out if it is an outlier.",
            float(share[i]),
        )
        for i, row in found
    ]


def _negative(diagnostics: Diagnostics) -> list[Finding]:
    if diagnostics.negative_energy < NEGATIVE:
        return []
    text = (
        f"{percent(diagnostics.negative_energy)} of the energy of the data is in entries far below 0 "
        "(more than 5 standard deviations): no non-negative source explains them. Check phase and "
        "baseline, or leave the region out (Dataset.crop)."
    )
    cost = diagnostics.negative_energy
    return [Finding("negative", "The data have strong negative parts", text, cost)]


def _few_measurements(separation: Separation) -> list[Finding]:
    m, r = separation.A.shape
    if r < m:
        return []
    text = (
        f"{r} sources from {m} measurements: only sparsity tells them apart, and the noise cannot be "
        "measured well. More measurements would help."
    )
    return [Finding("few", "There are not more measurements than sources", text)]


def _chains(separation: Separation) -> list[Finding]:
    """What the sampler warns about."""
    posterior = separation.posterior
    if posterior is None:
        return []
    title, texts = "Error bars need care", posterior.warnings
    if posterior.refuted:  # what else there is to say of them helps nobody then
        title, texts = "Error bars are wrong here", posterior.warnings[:1]
    return [Finding("chains", title, text[0].upper() + text[1:]) for text in texts]
