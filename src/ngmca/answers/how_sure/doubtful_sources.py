"""Sources to doubt: copies, empty sources, noise, and those that differ between good starts."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import message, option
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms.restarts import EQUAL
from ngmca.answers.how_many.singular_values import noise_edge
from ngmca.answers.how_sure.diagnostics import Diagnostics
from ngmca.answers.wording import Finding, counted, listed, percent
from ngmca.engines import in_gradient, in_own_units
from ngmca.metrics import unit_rows
from ngmca.nnqp import pivot
from ngmca.result import Restart, Separation

FAR_TOO_MANY = 2.0  # times the number of sources that the data support
ALIKE_SOURCES = 0.95  # cosine from which on two sources look alike
ALIKE_WEIGHTS = 0.5  # correlation from which on their weights do
SUM_OF_OTHERS = 0.05  # of the norm of a source, not explained by the others
SMALL_PART = 0.1  # of a source, that another one must have to count as a part of it
EMPTY_AMPLITUDE = 1e-3  # share of a source in the sum of all amplitudes (roots of energies)


def about_surplus(
    separation: Separation, diagnostics: Diagnostics, *, chosen: bool = False
) -> list[Finding]:
    """Warn about sources that the data do not support; the advice is given once.

    If the number of sources was chosen from the data, no other number is suggested.
    """
    m, r = separation.A.shape
    shown = supported(diagnostics)
    signs = [
        *_copies(separation, diagnostics),
        *_averages(separation, diagnostics),
        *_empty(diagnostics),
        *_noise_like(separation, diagnostics),
    ]
    if chosen:
        return [replace(sign, text=sign.text.rpartition(" Try ")[0]) for sign in signs]
    if shown < r <= m:
        titles = "".join(f" {sign.title}." for sign in signs)
        text = (
            f"The data show {counted(shown, 'source')}, by the directions of the residual and by the "
            f"prediction of entries, but {r} sources were fitted. The others split a substance or "
            f"describe noise.{titles} Try {_number(shown, diagnostics)}."
        )
        cost = float(np.sort(diagnostics.share)[: r - shown].sum())
        grade = "red" if r >= FAR_TOO_MANY * shown else "amber"
        return [Finding("many", "The data support fewer sources", text, cost, grade)]
    return signs


def _copies(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Warn about sources of the same shape, unless the data support both and their weights differ."""
    A, share = separation.A, diagnostics.share
    alike = np.triu(similarity(separation.S), 1) > ALIKE_SOURCES
    together = similarity((A - A.mean(axis=0)).T) > ALIKE_WEIGHTS
    if supported(diagnostics) >= len(share):
        alike &= together
    pairs = [(int(i), int(j)) for i, j in np.argwhere(alike)]
    if not pairs:
        return []
    title = f"Sources {'; '.join(f'{i + 1} and {j + 1}' for i, j in pairs[:5])} look alike"
    weights = ", and their weights rise and fall together" if together[alike].all() else ""
    text = (
        f"They have almost the same shape{weights}: one substance may be split into two sources. Try "
        f"{_number(len(share) - 1, diagnostics)}."
    )
    weaker = {min(pair, key=lambda k: share[k]) for pair in pairs}
    return [Finding("copy", title, text, float(share[list(weaker)].sum()))]


def _averages(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Warn about sources that are sums of several others; a copy is a sum of one."""
    S, share = in_own_units(separation.S)[0], diagnostics.share
    sums = [k for k in range(len(S)) if not is_empty(share)[k] and is_sum_of_others(S, k)]
    if not sums:
        return []
    which = np.array(sums)
    verb = "is a sum" if which.size == 1 else "are sums"
    text = (
        f"The other sources, added up, leave less than {percent(SUM_OF_OTHERS)} of this. It may be a "
        "mixture of substances, and no substance of its own. Try "
        f"{_number(len(S) - 1, diagnostics)}."
    )
    title = f"{_sources(which)} {verb} of other sources"
    return [Finding("average", title, text, float(share[which].min()))]


def is_sum_of_others(S: NDArray, k: int) -> bool:
    """Return whether source k is a sum of at least two of the other sources."""
    size, others = float(np.linalg.norm(S[k])), unit_rows(np.delete(S, k, axis=0).astype(float))
    if len(others) < 2 or not size > 0:
        return False
    own = S[k].astype(float) / size
    weights = pivot(others @ others.T, others @ own[:, None]).X[:, 0]
    near = np.linalg.norm(own - weights @ others) <= SUM_OF_OTHERS
    return bool(near and np.count_nonzero(weights > SMALL_PART) > 1)


def _number(r: int, diagnostics: Diagnostics) -> str:
    """Return a number of sources to try: not more than singular values of the data above the noise."""
    return counted(max(min(r, supported(diagnostics)), 1), "source")


def supported(diagnostics: Diagnostics) -> int:
    """Return the largest number of sources that the data support."""
    if np.isnan(diagnostics.most):
        return int(diagnostics.directions)
    return int(min(diagnostics.directions, diagnostics.most))


def _empty(diagnostics: Diagnostics) -> list[Finding]:
    share = diagnostics.share
    empty = np.flatnonzero(is_empty(share))
    if not empty.size:
        return []
    if empty.size == len(share):
        why = message(
            "No entry of the sources is above its threshold: {} or {} is too large, or the data hold "
            "nothing but noise.",
            *(option("noise"), option("tau")),
        )
        title = "The source is empty" if len(share) == 1 else "All sources are empty"
        return [Finding("empty", title, why, 1.0)]
    verb = "is" if empty.size == 1 else "are"
    title = f"{_sources(empty)} {verb} {'almost ' if share[empty].any() else ''}empty"
    holder = "It has" if empty.size == 1 else "Together they have"
    text = (
        f"{holder} {percent(float(share[empty].sum()))} of the energy of all sources. "
        f"Try {_number(len(share) - empty.size, diagnostics)}."
    )
    return [Finding("empty", title, text, float(share[empty].sum()))]


def _sources(which: NDArray) -> str:
    """Return Source 2, or Sources 2 and 3."""
    return f"Source{'s' * (which.size > 1)} {listed([i + 1 for i in which])}"


def is_empty(share: NDArray) -> NDArray:
    """Return which sources are almost empty, from their shares of the energy.

    Amplitudes decide: a source with a hundredth of the height of the others is weak, not empty, although
    it has a ten-thousandth of their energy.
    """
    amplitude = np.sqrt(share)
    return amplitude < EMPTY_AMPLITUDE * max(float(amplitude.sum()), np.finfo(float).tiny)


def _noise_like(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Warn about sources that are not stronger than a source that is fitted to pure noise."""
    m, n = len(separation.A), separation.S.shape[1]
    S, unit = in_own_units(separation.S)
    sigma = in_gradient(separation.A, diagnostics.sigma) / unit
    size, peak = np.linalg.norm(S, axis=1), S.max(axis=1, initial=0)
    weak = (size < sigma * noise_edge(m, n)) & (peak < sigma * (np.sqrt(2 * np.log(n)) + np.sqrt(m)))
    weak &= (peak < 8 * sigma) & ~is_empty(diagnostics.share)
    found = np.flatnonzero(weak)
    if not found.size:
        return []
    title = f"{_sources(found)} {'looks' if found.size == 1 else 'look'} like noise"
    text = (
        f"A fit to pure noise gives sources as strong as {'this' if found.size == 1 else 'these'}: the "
        f"highest peak is only {np.max(peak[found] / sigma[found]):.2g} times the noise level. Do not "
        f"interpret {'it' if found.size == 1 else 'them'}. Try "
        f"{_number(len(S) - found.size, diagnostics)}."
    )
    return [Finding("noise", title, text, float(diagnostics.share[found].sum()))]


@one_blas_thread
def similarity(S: NDArray) -> NDArray:
    """Return the cosines between the rows of S, 0 for empty rows."""
    S, _ = in_own_units(S)
    norm = np.linalg.norm(S, axis=1, keepdims=True)
    unit = np.divide(S, norm, out=np.zeros(S.shape), where=norm > 0)
    return np.asarray(unit @ unit.T)


SAME_SOURCE_DB = 10.0  # with less, two sources differ by a third of their height: they are not the same


def equally_good(separation: Separation) -> list[Restart]:
    """Return the starts that fit as well as the chosen one, which is among them."""
    return [one for one in separation.restarts if one.equal and one.sources]


def agreement(separation: Separation) -> NDArray | None:
    """Return (r,) the lowest SDR in dB of each source over equally good starts; None without others."""
    equal = equally_good(separation)
    return np.min([one.sources for one in equal], axis=0) if len(equal) > 1 else None


def about_starts(separation: Separation, share: NDArray) -> list[Finding]:
    """Warn about sources that differ between equally good starts."""
    lowest, tried = agreement(separation), len(separation.restarts)
    apart = np.flatnonzero(lowest < SAME_SOURCE_DB) if lowest is not None else np.zeros(0, int)
    if lowest is None or not apart.size:
        return []
    equal = len(equally_good(separation))
    which = listed([f"{i + 1} (down to {lowest[i]:.0f} dB)" for i in apart])
    text = (
        f"{equal} of {tried} starts fit equally well (costs within {percent(EQUAL)}), but differ in "
        f"source{'s' if apart.size > 1 else ''} {which}: the data do not determine what these look "
        "like. Add measurements of other compositions, or try another number of sources."
    )
    return [Finding("starts", "Other starts give other sources", text, float(share[apart].sum()))]
