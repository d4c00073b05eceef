"""What the data allow in words: a sentence for each result, and a warning where the range is wide."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import message, option
from ngmca.answers.how_sure.next_reference import reference_sentences
from ngmca.answers.wording import Finding, counted, listed, percent
from ngmca.result import Ambiguity, Separation, relative_width

WIDE = 0.25  # half the range of a contribution, over that of the separation
FAR_WIDER = 3.0  # than error bars, which then say little about a source
WORTH_SAYING = 0.1


def noise_widths(separation: Separation) -> NDArray | None:
    """Return half the 90 % interval of each source, over the source; None without error bars."""
    found = separation.posterior
    if found is None or found.refuted or found.columns is not None:
        return None
    return relative_width(separation.answer[1], *found.S.interval(0.9))


def plus_minus(share: float) -> str:
    """Return a relative width as +-15 %."""
    return f"\N{PLUS-MINUS SIGN}{percent(share) if share < 1 else f'{100 * share:.0f} %'}"


def ambiguity_sentences(separation: Separation) -> list[str]:
    """Return what other mixtures allow, beside the noise if there are error bars."""
    found = separation.ambiguity
    if found is None:
        return []
    noise, other = noise_widths(separation), found.relative(separation.S)
    parts = [
        f"source {i + 1} {'' if noise is None else f'error bars {plus_minus(noise[i])}, '}"
        f"other mixtures {plus_minus(width)}"
        for i, width in enumerate(other)
    ]
    most = (
        "Other mixtures of the sources fit the data as well (rotational ambiguity). Uncertainty of the "
        f"spectra: {'; '.join(parts[:5])}{f'; {len(parts) - 5} more in the table' * (len(parts) > 5)}."
    )
    return [most, *_not_converged(found), *reference_sentences(separation)]


def _not_converged(found: Ambiguity) -> list[str]:
    count = int((~found.converged).sum())
    if not count:
        return []
    return [f"{counted(count, 'end')} of these ranges did not converge: they may be wider."]


def ambiguity_findings(separation: Separation) -> list[Finding]:
    """Warn about sources that other mixtures change much, or far more than their error bars say."""
    found = separation.ambiguity
    if found is None:
        return []
    noise, other = noise_widths(separation), found.relative(separation.S)
    if noise is not None and (beyond := (other > FAR_WIDER * noise) & (other > WORTH_SAYING)).any():
        title = "Error bars are narrower than what the data allow"
        begin = (
            f"Error bars of {_named(beyond)} describe one solution and its noise. Other mixtures of the "
            "sources fit the data as well, and their spectra differ by more than "
            f"{FAR_WIDER:g} times the error bars."
        )
    elif (found.width > WIDE).any():
        title = "Other mixtures of the sources fit as well"
        wide = _named(found.width > WIDE, _ends(found))
        begin = f"The data do not determine {wide}. The orange bands show the range."
    else:
        return []
    end = message(
        "Measurements in which a source is absent or alone would narrow the range, and so would what is "
        "known: spectra ({}), amounts ({}) or the shape of profiles ({}).",
        option("KnownSources"), option("KnownMixing"), option("Unimodal"),
    )  # fmt: skip
    return [Finding("ambiguity", title, message("{} {}", begin, end))]


def _ends(found: Ambiguity) -> Callable[[int], str]:
    return lambda i: (
        f" (its contribution to the signal may be {percent(found.lowest[i])} to "
        f"{percent(found.highest[i])}, found {percent(found.found[i])})"
    )


def _named(chosen: NDArray, more: Callable[[int], str] = lambda _: "") -> str:
    """Return the chosen sources by their numbers."""
    return listed([f"source {i + 1}{more(int(i))}" for i in np.flatnonzero(chosen)])
