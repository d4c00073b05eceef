"""A separation in plain words: what was found, and what a specialist would warn about."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.data import in_gradient, in_own_units
from ngmca.diagnosis.numbers import Diagnostics
from ngmca.diagnosis.rank import noise_edge
from ngmca.result import Domain, Separation

COPY = 0.95  # cosine from which two sources look alike
EMPTY = 1e-3  # share in the sum of all amplitudes, roots of energies, of a source that is almost empty
STRUCTURE = 1.15  # singular values of the residual above this multiple of the edge are no noise
OVERFIT = 0.6  # residual below this share of the noise: the sources explain noise
MISSED = 0.3  # a noise level below this share of the residual was not found, but missed
LEAST = 0.001  # percent: less is told as such
NEGATIVE = 0.01  # share of energy in clearly negative entries that a non-negative model cannot explain


@dataclass(frozen=True)
class Finding:
    """One warning: a short title, and a sentence that says what it means and what to do."""

    kind: str
    title: str
    text: str


def summary(separation: Separation, diagnostics: Diagnostics) -> list[str]:
    """Plain sentences about what was found."""
    m, n = len(separation.A), separation.S.shape[1]
    r = len(separation.S)
    noise = float(np.median(diagnostics.sigma))
    rows, unit = in_own_units(diagnostics.row_rms)
    residual = float(np.sqrt(np.mean(rows**2))) * unit
    active, channels = float(np.mean(separation.S > 0)), separation.domain.name == "direct"
    many = f"{r} sources explain" if r != 1 else "1 source explains"
    return [
        f"{many} {percent(diagnostics.explained)} of the energy of {m} measurements "
        f"with {n} channels each.",
        f"The noise found has a standard deviation of {noise:.3g} (median over the measurements); "
        f"the residual has {residual:.3g}.",
        *([f"{percent(active)} of the entries of the sources are not 0."] if channels else []),
        *_domain(separation.domain),
        _end(separation),
        *_error_bars(separation),
    ]


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
def findings(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Warnings, the gravest first; none if nothing looks wrong."""
    return [
        *(_no_noise(separation, diagnostics) or _leftover(separation, diagnostics)),
        *_overfit(separation, diagnostics),
        *_too_many(separation, diagnostics),
        *_copies(separation.S),
        *_empty(diagnostics.share),
        *_noise_like(separation, diagnostics),
        *_negative(diagnostics),
        *_few_measurements(separation),
        *_chains(separation),
    ]


def percent(share: float) -> str:
    """A share in percent, with more digits near 0 and 100 where they matter."""
    value = 100 * share
    if 0 < value < LEAST:
        return f"less than {LEAST:g} %"
    if 99 < value < 100:
        digits = min(4, max(1, int(np.ceil(-np.log10(max(100 - value, 1e-4))))))
        return f"{min(value, 100 - 10.0**-digits):.{digits}f} %"
    return f"{value:.2g} %" if abs(value) < 10 else f"{value:.3g} %"


@one_blas_thread
def similarity(S: NDArray) -> NDArray:
    """Cosines between the rows of S, 0 for empty ones."""
    S, _ = in_own_units(S)
    norm = np.linalg.norm(S, axis=1, keepdims=True)
    unit = np.divide(S, norm, out=np.zeros(S.shape), where=norm > 0)
    return np.asarray(unit @ unit.T)


def _no_noise(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Robust noise levels fail where most entries are equal: counts that are mostly 0."""
    found = float(np.median(separation.noise))
    residual = float(np.median(diagnostics.row_rms))
    negligible = residual <= 1e-6 * float(np.abs(diagnostics.picked).max(initial=0))
    if diagnostics.zeros < 0.5 or negligible or found > MISSED * residual:
        return []
    text = (
        f"{percent(diagnostics.zeros)} of the entries are exactly 0, as in counts, and the noise level "
        f"found ({found:.2g}) is far below the residual ({residual:.2g}): the threshold does not "
        f"protect against noise. Give the noise level, for instance noise={residual:.2g}, or add up "
        "neighbouring channels or pixels first."
    )
    return [Finding("no-noise", "No noise level could be found", text)]


def _leftover(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    if not (separation.noise > 0).any():
        return []  # without a noise level nothing can be called larger than noise
    above = int(np.count_nonzero(diagnostics.singular > STRUCTURE * diagnostics.singular_edge))
    if not above:
        return []
    ratio = f"{diagnostics.singular[0] / diagnostics.singular_edge:.2g} times"
    more = " or more" if above == len(diagnostics.singular) else ""
    stand = f"{above}{more} directions of the residual stand out, the strongest {ratio}"
    if above == 1:
        stand = f"One direction of the residual stands out, {ratio}"
    text = (
        f"{stand} as high as pure noise would reach: there may be more than {len(separation.S)} "
        "sources, a baseline, peaks that move between measurements, or noise that grows with the signal."
    )
    return [Finding("structure", "The residual has structure: maybe more sources", text)]


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
    return [Finding("overfit", "The fit is closer than the noise: maybe fewer sources", text)]


def _too_many(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    m, r = separation.A.shape
    shown = int(diagnostics.directions)
    if r <= shown or r > m:
        return []
    text = (
        f"{shown} directions of the data stand above the noise, and {r} sources were asked for: the "
        f"others split a substance or describe noise. Try {max(shown, 1)}."
    )
    return [Finding("many", "The data show fewer sources", text)]


def _copies(S: NDArray) -> list[Finding]:
    alike = np.argwhere(np.triu(similarity(S), 1) > COPY)
    return [
        Finding(
            "copy",
            f"Sources {i + 1} and {j + 1} look alike",
            f"Sources {i + 1} and {j + 1} have almost the same shape: one substance may be split "
            "in two. Try one source less.",
        )
        for i, j in alike[:5]
    ]


def _empty(share: NDArray) -> list[Finding]:
    return [
        Finding(
            "empty",
            f"Source {i + 1} is {'' if share[i] == 0 else 'almost '}empty",
            f"Source {i + 1} has {percent(float(share[i]))} of the energy of all sources. "
            "Try fewer sources.",
        )
        for i in np.flatnonzero(is_empty(share))[:5]
    ]


def is_empty(share: NDArray) -> NDArray:
    """Which sources, of these shares of the energy, are almost empty.

    They are judged by their amplitudes: a source of a hundredth of the others' height is weak, not
    empty, though it has a ten-thousandth of their energy.
    """
    amplitude = np.sqrt(share)
    return amplitude < EMPTY * max(float(amplitude.sum()), np.finfo(float).tiny)


def _noise_like(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Sources no stronger than what one source fitted to pure noise would be."""
    m, n = len(separation.A), separation.S.shape[1]
    S, unit = in_own_units(separation.S)
    sigma = in_gradient(separation.A, diagnostics.sigma) / unit
    size, peak = np.linalg.norm(S, axis=1), S.max(axis=1, initial=0)
    weak = (size < sigma * noise_edge(m, n)) & (peak < sigma * (np.sqrt(2 * np.log(n)) + np.sqrt(m)))
    weak &= (peak < 8 * sigma) & ~is_empty(diagnostics.share)
    return [
        Finding(
            "noise",
            f"Source {i + 1} looks like noise",
            f"Source {i + 1} is no stronger than a source fitted to pure noise would be "
            f"(its peak is {peak[i] / sigma[i]:.2g} standard deviations high). Do not trust it; "
            "try fewer sources.",
        )
        for i in np.flatnonzero(weak)[:5]
    ]


def _negative(diagnostics: Diagnostics) -> list[Finding]:
    if diagnostics.negative_energy < NEGATIVE:
        return []
    text = (
        f"{percent(diagnostics.negative_energy)} of the energy of the data is in entries far below 0 "
        "(more than 5 standard deviations): no non-negative source explains them. Check phase and "
        "baseline, or leave the region out (Dataset.crop)."
    )
    return [Finding("negative", "The data have strong negative parts", text)]


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
