"""Extrapolation of A from one iteration to the next."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.first_guess import unit_columns


def nesterov(t: float) -> tuple[float, float]:
    """Return the next t of Nesterov's sequence, and the share of the last move to add."""
    following = (1 + np.sqrt(1 + 4 * t**2)) / 2
    return following, (t - 1) / following


@dataclass(frozen=True, eq=False)
class Momentum:
    """What is remembered of the last moves of A.

    S is an exact function of A, so that A alone carries the iterations. While the threshold falls, A
    follows a path, a fixed share of its last move ahead. Once it stays, Nesterov's sequence takes over,
    and starts again whenever the cost rises.
    """

    last: NDArray | None = None  # A as the last A-step left it
    t: float = 1.0
    cost: float = np.inf

    def pull(self, A: NDArray, share: float) -> tuple[NDArray, "Momentum"]:
        """A moved on by a share of its last move, and what to remember."""
        return self._extrapolate(A, share), replace(self, last=A)

    def accelerate(self, A: NDArray, cost: float) -> tuple[NDArray, "Momentum"]:
        """A moved on by Nesterov's next share of its last move, by nothing if the cost rose."""
        t, share = nesterov(1.0 if cost > self.cost else self.t)
        return self._extrapolate(A, share), Momentum(A, t, cost)

    def scaled(self, unit: float) -> "Momentum":
        """The same for data that are `unit` times as large."""
        return replace(self, cost=self.cost * unit * unit)

    def _extrapolate(self, A: NDArray, share: float) -> NDArray:
        if self.last is None or share == 0:
            return A
        moved = np.maximum(A + A.dtype.type(share) * (A - self.last), 0)
        return unit_columns(moved, A, scale=False)[0]
