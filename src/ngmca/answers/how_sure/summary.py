"""A separation in a few sentences: fit, noise, domain, iterations, error bars."""

from collections.abc import Iterator

import numpy as np

from ngmca._support.messages import Message, message, option
from ngmca.answers.how_sure.ambiguity_words import ambiguity_sentences, noise_widths, plus_minus
from ngmca.answers.how_sure.diagnostics import Diagnostics
from ngmca.answers.how_sure.doubtful_sources import SAME_SOURCE_DB, agreement
from ngmca.answers.wording import counted, percent
from ngmca.engines import in_own_units
from ngmca.result import Domain, Separation


def summary(
    separation: Separation, diagnostics: Diagnostics, shape: tuple[int, int] | None = None
) -> list[str]:
    """Return sentences about a separation; `shape` is that of all data if this is a part of them."""
    m, n = shape or (len(separation.A), separation.S.shape[1])
    r = len(separation.S)
    active, channels = float(np.mean(separation.S > 0)), separation.domain.name == "direct"
    return [
        f"{counted(r, 'source')} {'explains' if r == 1 else 'explain'} {percent(diagnostics.explained)} "
        f"of the energy of {counted(m, 'measurement')} with {n} channels each.",
        *_techniques(separation),
        _noise(diagnostics),
        *([f"{percent(active)} of the entries of the sources are not 0."] if channels else []),
        *_besides_sources(separation, diagnostics),
        *_domain(separation.domain),
        _end(separation),
        *(separation.rates.words() if separation.rates is not None else []),
        *_error_bars(separation),
        *ambiguity_sentences(separation),
    ]


def how_sure(separation: Separation, diagnostics: Diagnostics) -> str:
    """Return sentences about the fit, other starts, error bars and other mixtures."""
    alike, tried = agreement(separation), len(separation.restarts)
    starts = "One start was made"
    if alike is not None:
        same = alike.min() >= SAME_SOURCE_DB
        starts = f"Starts that fit equally well {'agree' if same else 'give other sources'}"
    elif tried > 1:
        starts = f"The best of {tried} starts was taken"
    bars: str = message("Error bars were not asked for ({})", option("posterior", True))
    widths = noise_widths(separation)
    if widths is not None:
        bars = f"Error bars (90 %) of the sources are {plus_minus(widths.min())}"
        bars += f" to {plus_minus(widths.max())}" if len(widths) > 1 else ""
    elif separation.posterior is not None:
        bars = "Error bars are not valid or cover a part of the channels"
    others: Message | str = ""
    if separation.ambiguity is not None:
        most = float(np.max(separation.ambiguity.relative(separation.S), initial=0))
        others = f" Other mixtures fit as well and change a source by up to {plus_minus(most)}."
    elif len(separation.S) > 1:
        others = message(
            " Other mixtures that fit as well were not searched for ({}).", option("ambiguity")
        )
    explained = percent(diagnostics.explained)
    return message(
        "The fit explains {} of the energy of the data. {}. {}.{}", explained, starts, bars, others
    )


def found_background(separation: Separation) -> Message | None:
    """Return a sentence about a background that was found, None if there is none."""
    found = separation.background
    if found is None or not found.found:
        return None
    return message(
        "A smooth background was found and fitted ({}; {} switches it off).",
        option("Baseline", found.found), option("Baseline", "none"),
    )  # fmt: skip


def _techniques(separation: Separation) -> Iterator[str]:
    """Yield a sentence about techniques with a common A, if there are several."""
    several = separation.joined
    if len(several) > 1:
        told = " and ".join(
            f"{one.name} ({one.end - one.first} channels, divided by {one.unit:.3g})" for one in several
        )
        yield (
            f"{len(several)} techniques have the same amounts: {told}. Each was divided by its noise "
            "level, so that noise levels near 1 are expected below."
        )


def _noise(diagnostics: Diagnostics) -> str:
    """Return the noise level, that of the whole residual, and the estimate of `ngmca info`."""
    rows, unit = in_own_units(diagnostics.row_rms)
    residual, rough = float(np.sqrt(np.mean(rows**2))) * unit, diagnostics.rough_noise
    before = (
        f" Before the separation, the noise level was estimated as {rough:.3g} (as in `ngmca info`)."
    )
    return (
        f"The noise level is {float(np.median(diagnostics.sigma)):.3g} (standard deviation, median over "
        f"the measurements). The residual has a standard deviation of {residual:.3g}; it contains "
        "noise, outliers and any signal that the fit missed."
        f"{before if rough > 0 else ''}"
    )


def _besides_sources(separation: Separation, diagnostics: Diagnostics) -> Iterator[str]:
    """Yield sentences about missing entries, outliers and a background."""
    if diagnostics.missing:
        yield (
            f"{percent(diagnostics.missing)} of the entries are missing. They were not filled in: all "
            "numbers are about the observed entries."
        )
    if separation.outliers is not None:
        count = len(separation.outliers)
        yield f"{count or 'No'} outlier{'s' * (count != 1)} had no weight in the fit."
    if separation.background is not None:
        yield found_background(separation) or "A smooth background was fitted to each measurement."
        yield "The background belongs to no source and is drawn separately."


def _domain(domain: Domain) -> list[str]:
    """Return in which basis the sources were fitted, and why."""
    if not domain.why:
        return []
    direct, wavelet = option("domain", "direct"), option("domain", "wavelet")
    if domain.name == "wavelet":
        template = "The sources were fitted in a wavelet basis ({}; {} switches it off). Reason: {}."
        return [message(template, wavelet, direct, domain.why)]
    template = "The sources were fitted channel by channel ({}; {} uses wavelets). Reason: {}."
    return [message(template, direct, wavelet, domain.why)]


def _end(separation: Separation) -> str:
    """Return how the iterations ended."""
    begun = separation.domain.begun
    iterations = limit = counted(separation.n_iter, "iteration")
    if begun:
        before, last = counted(begun, "iteration"), separation.n_iter - begun
        iterations = f"{before} channel by channel and {last} with wavelets"
        limit = f"{counted(last, 'iteration')} with wavelets, after {before} channel by channel"
    endings = {
        "settled": f"The fit converged after {iterations}.",
        "iterations": f"The fit stopped at the limit of {limit}.",
    }
    return endings.get(separation.stopped, f"The fit stopped after {iterations} ({separation.stopped}).")


def _error_bars(separation: Separation) -> list[str]:
    """Return where the error bars come from, if there are any."""
    posterior = separation.posterior
    if posterior is None:
        return []
    origin = f"Error bars come from {posterior.n_chains} chains of {posterior.n_samples} draws each"
    if posterior.refuted:
        return [f"{origin}. They are not shown, because the result contradicts their model."]
    if posterior.S.active is None:
        return [f"{origin}. They are 90 % intervals around the sources, and include their exchange."]
    doubtful = float(np.mean((posterior.S.active > 0.05) & (posterior.S.active < 0.95)))
    return [f"{origin}. For {percent(doubtful)} of the entries it is uncertain whether they are 0."]
