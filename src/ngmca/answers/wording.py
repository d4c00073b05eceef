"""How sentences show numbers and lists, and the warnings that are made of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ngmca._support.messages import Message

SMALLEST_PERCENT = 0.001
GRADES = ("red", "amber", "note")  # of warnings, the worst first


def percent(share: float) -> str:
    """Return a share in percent, with more digits near 0 and 100 where they matter."""
    value = 100 * share
    if 0 < value < SMALLEST_PERCENT:
        return f"less than {SMALLEST_PERCENT:g} %"
    if 99 < value < 100:
        digits = min(4, max(1, int(np.ceil(-np.log10(max(100 - value, 1e-4))))))
        return f"{min(value, 100 - 10.0**-digits):.{digits}f} %"
    return f"{value:.2g} %" if abs(value) < 10 else f"{value:.3g} %"


def listed(words: Sequence[object], limit: int = 5) -> str:
    """Return words with commas between them and an "and" before the last; of many, the first few."""
    shown = [str(word) for word in words[:limit]]
    if len(words) > limit:
        return f"{', '.join(shown)} and {len(words) - limit} more"
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 source, 2 sources."""
    return f"{number} {noun}{'s' * (number != 1)}"


def capitalised(text: str) -> str:
    """Return a text that begins with a capital letter; a message remains one."""
    if isinstance(text, Message):
        return Message(capitalised(text.template), *text.parts)
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Finding:
    """A warning: a short title, and sentences that say what it means and what to do.

    Attributes
    ----------
    kind : str
        A word for programs, such as ``"spike"`` or ``"structure"``.
    title : str
        A few words, without a full stop.
    text : str
        Sentences. A text that mentions arguments is a message, see `ngmca._support.messages`.
    cost : float
        Share of the energy of the data that is concerned. Warnings are sorted by it.
    grade : str
        ``"red"`` if the result should not be used because of it, ``"amber"`` if it needs care, and
        ``"note"`` if the reader should only know it.
    """

    kind: str
    title: str
    text: str
    cost: float = 0.0
    grade: str = "amber"
