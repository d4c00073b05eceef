"""How much the sources differ between starts that fit equally well."""

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.restarts import EQUAL
from ngmca.answers.how_sure.finding import Finding
from ngmca.answers.wording import listed, percent
from ngmca.result import Restart, Separation

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
