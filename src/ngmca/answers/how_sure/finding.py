"""One warning, and how shares are told."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST = 0.001  # percent: less is told as such


@dataclass(frozen=True)
class Finding:
    """One warning: a short title, and sentences that say what it means and what to do."""

    kind: str
    title: str
    text: str
    cost: float = 0.0  # share of the energy of the data that is at stake: the order of warnings


def percent(share: float) -> str:
    """A share in percent, with more digits near 0 and 100 where they matter."""
    value = 100 * share
    if 0 < value < LEAST:
        return f"less than {LEAST:g} %"
    if 99 < value < 100:
        digits = min(4, max(1, int(np.ceil(-np.log10(max(100 - value, 1e-4))))))
        return f"{min(value, 100 - 10.0**-digits):.{digits}f} %"
    return f"{value:.2g} %" if abs(value) < 10 else f"{value:.3g} %"


def listed(words: Sequence[object], most: int = 5) -> str:
    """Words with commas between them and an "and" before the last, the first few of many."""
    shown = [str(word) for word in words[:most]]
    if len(words) > most:
        return f"{', '.join(shown)} and {len(words) - most} more"
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)
