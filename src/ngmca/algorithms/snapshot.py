"""A state with everything that the iterations need to continue from it to the same bits."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

from numpy.typing import NDArray

from ngmca.algorithms.momentum import Momentum
from ngmca.result import State


@dataclass(frozen=True, eq=False)
class Round:
    """One of several fits whose weights follow from the fit before; see `reweighting.reweighed`.

    Attributes
    ----------
    index : int
        Number of the fit, from 1; the first one, 0, has no `Round`.
    done : int
        Iterations before it.
    A, S : arrays
        The last factors of the fit before.
    spikes : (m, n) array of bool
        Spikes that had no weight in the fit before.
    """

    index: int
    done: int
    A: NDArray = field(repr=False)
    S: NDArray = field(repr=False)
    spikes: NDArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Snapshot(State):
    """A state on the way, in units of the engine.

    Attributes
    ----------
    momentum : Momentum or None
        The last moves of A.
    sums : tuple or None
        S S', Y S' and the sum of each source: continuing needs no other pass over the data.
    memory : tuple or None
        What the engine remembers about the noise; see `Engine.memory`.
    round : Round or None
        The fit that this state belongs to, where weights follow from fits.
    """

    momentum: Momentum | None = field(default=None, repr=False)
    sums: tuple[Any, ...] | None = field(default=None, repr=False)
    memory: tuple[int, NDArray] | None = field(default=None, repr=False)
    round: Round | None = field(default=None, repr=False)

    def scaled(self, unit: float) -> "Snapshot":
        """Return the same for data that are `unit` times as large; sums stay in units of the engine."""
        found = super().scaled(unit)
        assert isinstance(found, Snapshot)
        if unit == 1.0 or self.momentum is None:
            return found
        return replace(found, momentum=self.momentum.scaled(unit))


def state_of(state: State) -> State:
    """Return a plain state, without what only the iterations need."""
    return State(**{part.name: getattr(state, part.name) for part in fields(State)})
