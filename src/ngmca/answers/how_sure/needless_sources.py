"""Sources that the data do not ask for: copies, empty ones, noise."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.answers.how_many.singular_values import noise_edge
from ngmca.answers.how_sure.diagnostics import Diagnostics
from ngmca.answers.how_sure.finding import Finding, listed, percent
from ngmca.engines import in_gradient, in_own_units
from ngmca.result import Separation

COPY = 0.95  # cosine from which two sources look alike
TOGETHER = 0.5  # correlation from which their weights do too
EMPTY = 1e-3  # share in the sum of all amplitudes, roots of energies, of a source that is almost empty


def about_surplus(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Sources that the data do not ask for: what shows it, and the advice once."""
    m, r = separation.A.shape
    shown = int(diagnostics.directions)
    signs = [
        *_copies(separation, diagnostics),
        *_empty(diagnostics.share),
        *_noise_like(separation, diagnostics),
    ]
    if shown < r <= m:
        told = "".join(f" {sign.title}." for sign in signs)
        text = (
            f"{shown} directions of the data stand above the noise, and {r} sources were asked for: the "
            f"others split a substance or describe noise.{told} Try {max(shown, 1)}."
        )
        cost = float(np.sort(diagnostics.share)[: r - shown].sum())
        return [Finding("many", "The data show fewer sources", text, cost)]
    return signs


def _copies(separation: Separation, diagnostics: Diagnostics) -> list[Finding]:
    """Sources of the same shape, unless the data ask for both and their weights go their own ways."""
    A, share = separation.A, diagnostics.share
    alike = np.triu(similarity(separation.S), 1) > COPY
    if diagnostics.directions >= len(share):
        alike &= similarity((A - A.mean(axis=0)).T) > TOGETHER
    pairs = [(int(i), int(j)) for i, j in np.argwhere(alike)]
    if not pairs:
        return []
    title = f"Sources {'; '.join(f'{i + 1} and {j + 1}' for i, j in pairs[:5])} look alike"
    text = (
        "They have almost the same shape, and weights that rise and fall together: one substance may "
        f"be split in two. Try {_number(len(share) - 1)}."
    )
    weaker = {min(pair, key=lambda k: share[k]) for pair in pairs}
    return [Finding("copy", title, text, float(share[list(weaker)].sum()))]


def _number(r: int) -> str:
    return f"{max(r, 1)} source{'s' if r > 1 else ''}"


def _empty(share: NDArray) -> list[Finding]:
    empty = np.flatnonzero(is_empty(share))
    if not empty.size:
        return []
    title = f"{_sources(empty)} {'' if not share[empty].any() else 'almost '}empty"
    held = percent(float(share[empty].sum()))
    text = f"It has {held} of the energy of all sources."
    if empty.size > 1:
        text = f"Together they have {held} of the energy of all sources."
    text += f" Try {_number(len(share) - empty.size)}."
    return [Finding("empty", title, text, float(share[empty].sum()))]


def _sources(which: NDArray) -> str:
    """Source 2 is, or sources 2 and 3 are."""
    named = listed([i + 1 for i in which])
    return f"Source {named} is" if which.size == 1 else f"Sources {named} are"


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
    found = np.flatnonzero(weak)
    if not found.size:
        return []
    title = _sources(found).replace(" is", " looks").replace(" are", " look") + " like noise"
    text = (
        "No stronger than what one source fitted to pure noise would be (the highest peak is "
        f"{np.max(peak[found] / sigma[found]):.2g} standard deviations high). Do not trust it; try "
        f"{_number(len(S) - found.size)}."
    )
    return [Finding("noise", title, text, float(diagnostics.share[found].sum()))]


@one_blas_thread
def similarity(S: NDArray) -> NDArray:
    """Cosines between the rows of S, 0 for empty ones."""
    S, _ = in_own_units(S)
    norm = np.linalg.norm(S, axis=1, keepdims=True)
    unit = np.divide(S, norm, out=np.zeros(S.shape), where=norm > 0)
    return np.asarray(unit @ unit.T)
