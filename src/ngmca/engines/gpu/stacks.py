"""Small data on a GPU, asked for many factors at once: one start would leave most of the GPU idle.

A stack of mixing matrices is (k, m, r), one of sources (k, n, r): transposed, as every engine has them.
What is asked and answered is what the engines are asked one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.gpu.device import MEDIAN_OF, MOST_SOURCES, levels_room

if TYPE_CHECKING:
    from ngmca.engines.gpu.engine import GpuEngine

MOST_AT_ONCE = 1024  # factors: more would not be faster
ROOM = 0.9  # share of the free memory of the GPU that is used

# Solves for all at once: (G (k, r, r), C (k, n, r), guess (k, n, r)) -> X (k, n, r), violations (k,)
SolveEach = Callable[[Any, Any, Any], tuple[Any, NDArray]]


@dataclass(frozen=True, eq=False)
class Seen:
    """Mixing matrices and what the data say of them."""

    A: Any  # (k, m, r)
    G: Any  # (k, r, r) A'A in double precision
    C: Any  # (k, n, r) Y'A

    def only(self, which: Any) -> "Seen":
        """Some of them."""
        return Seen(self.A[which], self.G[which], self.C[which])


@dataclass(frozen=True, eq=False)
class Sweeps:
    """New sources for mixing matrices: what `Sweep` has of one, on the GPU."""

    X: Any  # (k, n, r)
    SS: Any  # (k, r, r)
    YS: Any  # (k, m, r)
    summary: Any  # (k, 2 + r) cost, share of entries that are not 0, and sum of each source
    violation: NDArray  # (k,), in memory

    @property
    def cost(self) -> Any:
        """(k,) 1/2 |Y - A S|^2."""
        return self.summary[:, 0]

    @property
    def total(self) -> Any:
        """(k, r) sum of each source."""
        return self.summary[:, 2:]


class Stacks:
    """The questions of the outer loop, for stacks of factors."""

    def __init__(self, engine: "GpuEngine", r: int, *, every: int) -> None:
        self.engine, self.device, self.dtype = engine, engine.device, engine.dtype
        self.r, self._every = r, every  # every so many columns show what a fit follows of the noise

    @cached_property
    def Y(self) -> Any:
        """Y (m, n) on the GPU."""
        return self.engine.all_there(self.r)

    @cached_property
    def room(self) -> int:
        """How many factors the GPU works on at once; 0 if the data are too large for that."""
        (m, n), r = self.engine.shape, self.r
        if n > MEDIAN_OF or r > MOST_SOURCES or not self.device.fits_bounded(r, m):
            return 0
        few = levels_room(r, -(-n // self._every))
        each = 3 * m * n * self.dtype.itemsize + 8 * (8 * (m + n) * r + few)
        return min(int(ROOM * self.device.free()) // each, MOST_AT_ONCE)

    def see(self, A: Any) -> Seen:
        """A'A and Y'A."""
        xp, (m, n), (k, _, r) = self.device.xp, self.engine.shape, A.shape
        C, exact = xp.empty((k, n, r), dtype=self.dtype), A.astype(np.float64, copy=False)
        self.device.multiply(xp.broadcast_to(self.Y.T, (k, n, m)), A, C)
        return Seen(A, self._product(exact.swapaxes(1, 2), exact), C)

    def sweep(self, seen: Seen, X: Any, solve: SolveEach) -> Sweeps:
        """Solve the S-step from the supports of X, and collect S S' and Y S'."""
        xp, (m, n), A = self.device.xp, self.engine.shape, seen.A
        X, violation = solve(seen.G, seen.C, X)
        SS, YS = (
            self._product(P, X).astype(np.float64, copy=False)
            for P in (X.swapaxes(1, 2), xp.broadcast_to(self.Y, (len(X), m, n)))
        )
        summary = self.device.summary(A, seen.G, X, SS, YS, self.engine.energy)
        return Sweeps(X, SS, YS, summary, violation)

    def noise(self, seen: Seen, X: Any) -> Any:
        """Robust noise level of each measurement, (k, m), corrected for what each fit follows of it."""
        rest = self._product(seen.A, X.swapaxes(1, 2))
        self.device.xp.subtract(self.Y, rest, out=rest)
        spread = self.device.deviations(rest.reshape(-1, rest.shape[2]))[1]
        return self.device.levels(spread, seen.A, seen.G, seen.C, X, self._every)

    def peak(self, seen: Seen, X: Any) -> Any:
        """Largest entry of |A'(AS - Y)|, (k,)."""
        return abs(seen.C - self._product(X, seen.G.astype(self.dtype))).max(axis=(1, 2))

    def _product(self, P: Any, Q: Any) -> Any:
        """P (k, a, c) Q (k, c, b), in the precision of both."""
        out = self.device.xp.empty((*P.shape[:2], Q.shape[2]), dtype=Q.dtype)
        self.device.multiply(P, Q, out)
        return out
