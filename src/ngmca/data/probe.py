"""The noise along the way, from a seeded choice of entries."""

import numpy as np
from numpy.typing import NDArray

from ngmca.data import noise
from ngmca.data.blocks import Choice, picks
from ngmca.data.freedom import corrected

ENTRIES = 1 << 17  # of the residual tell the noise in the gradient to 0.3 %
ROWS = 1 << 11  # at most, and then for unequal measurements to better than 1 %
OWN = 128  # columns at most for the level of a row beyond these
SUPPORTS = 3200  # entries of columns, 16 to 64 of them, that tell how much of the noise the fit follows


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
        self._supports = thinned(self._columns, n, min(64, max(16, SUPPORTS // rows)))
        self._few = np.ascontiguousarray(Y[self._rows][:, self._supports].T)
        self._last: NDArray | None = None
        self._guess: NDArray | None = None
        self._calls = 0
        self._every: _EveryRow | None = None if rows == m else _EveryRow(Y, rng)

    def levels(
        self, A: NDArray, S: NDArray, *, held: NDArray | None = None, plain: bool = False
    ) -> NDArray:
        """The level of each of the m measurements; `plain` ones are those of the residual."""
        part = np.ascontiguousarray(A[self._rows])
        model = part @ S[:, self._columns]
        last, self._last = self._last, noise.deviations(self._Y, model, self._guess)
        # on the way down levels change steadily: expect the same change again
        self._guess = self._last if last is None else 2 * self._last - last
        rest = found = noise.GAUSSIAN * self._last[1]
        if not plain:
            X = S[:, self._supports].T
            found = corrected(rest, part, self._few @ part, X, S.shape[1], held=held)
        if self._every is None:
            return found
        self._calls += 1
        if self._calls & (self._calls - 1) == 0:
            self._every.measure(A, S, float(np.sqrt(np.mean(rest**2))))
        levels = self._every.levels(float(np.sqrt(np.mean(found**2))))
        levels[self._rows] = found
        return levels


def thinned(columns: Choice, n: int, count: int) -> Choice:
    """Every so many of some of n columns, such that `count` or a few more are left."""
    if isinstance(columns, slice):
        return slice(None, None, max(1, n // count))
    return columns[:: max(1, len(columns) // count)]


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
