"""How far equally good answers differ, source by source."""

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.restarts import EQUAL
from ngmca.answers.how_sure.finding import Finding, listed, percent
from ngmca.result import Restart, Separation

APART = 10.0  # dB below which sources of two answers are not the same: a third of the height differs


def equally_good(separation: Separation) -> list[Restart]:
    """The starts whose answer fits as well as the one that was chosen, with it, sources compared."""
    return [one for one in separation.restarts if one.equal and one.sources]


def agreement(separation: Separation) -> NDArray | None:
    """(r,) lowest SDR in dB of each source in equally good answers; None where there are none."""
    equal = equally_good(separation)
    return np.min([one.sources for one in equal], axis=0) if len(equal) > 1 else None


def about_starts(separation: Separation, share: NDArray) -> list[Finding]:
    """A warning about sources that equally good answers do not have."""
    lowest, tried = agreement(separation), len(separation.restarts)
    apart = np.flatnonzero(lowest < APART) if lowest is not None else np.zeros(0, int)
    if lowest is None or not apart.size:
        return []
    equal = len(equally_good(separation))
    which = listed([f"{i + 1} (down to {lowest[i]:.0f} dB)" for i in apart])
    text = (
        f"{equal} of {tried} starts fit equally well, costs within {percent(EQUAL)}, and differ in "
        f"source{'s' if apart.size > 1 else ''} {which}: the data do not decide what these look like. "
        "More, or more different, measurements would; so may another number of sources."
    )
    return [Finding("starts", "Other starts give other answers", text, float(share[apart].sum()))]
