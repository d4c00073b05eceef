"""The noise along the way, from a seeded choice of entries."""

import numpy as np
from numpy.typing import NDArray

from ngmca.data import noise
from ngmca.data.blocks import picks

ENTRIES = 1 << 17  # of the residual tell the noise in the gradient to 0.3 %
ROWS = 1 << 11  # at most, and then for unequal measurements to better than 1 %
OWN = 128  # columns at most for the level of a row beyond these


class Probe:
    """Seeded rows and columns of Y whose residual tells the noise.

    Beyond `ROWS` measurements, those that are not among the chosen rows keep a level of their own: it is
    measured in a few columns at the calls 1, 2, 4, 8, ..., and follows the mean level in between.
    """

    def __init__(self, Y: NDArray, seed: int) -> None:
        m, n = Y.shape
        rng = np.random.default_rng(seed)
        rows = min(m, ROWS)
        columns = min(n, max(256, ENTRIES // rows))
        self.exhaustive = rows == m and columns == n
        self._rows = picks(m, rows, rng)
        self._columns = picks(n, columns, rng)
        self._Y = np.ascontiguousarray(Y[self._rows][:, self._columns])
        self._last: NDArray | None = None
        self._guess: NDArray | None = None
        self._calls = 0
        self._every: _EveryRow | None = None if rows == m else _EveryRow(Y, rng)

    def levels(self, A: NDArray, S: NDArray) -> NDArray:
        """The level of each of the m measurements."""
        model = np.ascontiguousarray(A[self._rows]) @ S[:, self._columns]
        last, self._last = self._last, noise.deviations(self._Y, model, self._guess)
        # on the way down levels change steadily: expect the same change again
        self._guess = self._last if last is None else 2 * self._last - last
        found = noise.GAUSSIAN * self._last[1]
        if self._every is None:
            return found
        self._calls += 1
        mean = float(np.sqrt(np.mean(found**2)))
        if self._calls & (self._calls - 1) == 0:
            self._every.measure(A, S, mean)
        levels = self._every.levels(mean)
        levels[self._rows] = found
        return levels


class _EveryRow:
    """A level of its own for every measurement, from a few columns, in units of the mean level."""

    def __init__(self, Y: NDArray, rng: np.random.Generator) -> None:
        n = Y.shape[1]
        self._columns = picks(n, min(OWN, max(48, n // 8)), rng)
        self._Y = np.ascontiguousarray(Y[:, self._columns])
        self._found: NDArray | None = None
        self._ratio = np.ones(len(Y))

    def measure(self, A: NDArray, S: NDArray, mean: float) -> None:
        self._found = noise.deviations(self._Y, A @ S[:, self._columns], self._found)
        self._ratio = noise.GAUSSIAN * self._found[1] / mean if mean > 0 else np.ones(len(self._Y))

    def levels(self, mean: float) -> NDArray:
        return self._ratio * mean
