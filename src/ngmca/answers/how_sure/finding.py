"""One warning about a separation, its data or its answers."""

from dataclasses import dataclass


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
    """

    kind: str
    title: str
    text: str
    cost: float = 0.0
