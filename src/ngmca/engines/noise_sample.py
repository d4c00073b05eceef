"""Noise levels during the iterations, from a seeded sample of the entries."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import robust_noise as noise
from ngmca.engines.blocks import Choice, picks
from ngmca.engines.degrees_of_freedom import corrected

if TYPE_CHECKING:
    from ngmca.engines.shared_answers import SharedAnswers

SAMPLE_ENTRIES = 1 << 17  # of the residual: they give the noise in the gradient to 0.3 %
SAMPLE_ROWS = 1 << 11  # at most: for unequal measurements they give it to better than 1 %
COLUMNS_FOR_OTHER_ROWS = 128  # at most, for the level of a row that is not in the sample
SUPPORT_ENTRIES = 3200  # in 16 to 64 columns that show how much of the noise the fit follows


SourcesAt = Callable[[Choice], NDArray]  # sources at some columns


def places(shape: tuple[int, int], rng: np.random.Generator) -> tuple[Choice, Choice]:
    """Return rows and columns whose residual shows the noise."""
    m, n = shape
    rows = min(m, SAMPLE_ROWS)
    return picks(m, rows, rng), picks(n, min(n, max(256, SAMPLE_ENTRIES // rows)), rng)


class NoiseSample:
    """Seeded rows and columns of Y whose residual shows the noise.

    With more than `SAMPLE_ROWS` measurements, those outside the sample have a level of their own. It is
    measured in a few columns at the calls 1, 2, 4, 8, ..., and follows the mean level in between.
    """

    def __init__(self, data: "SharedAnswers", seed: int) -> None:
        rng = np.random.default_rng(seed)
        (self._rows, self._columns), (m, n) = places(data.shape, rng), data.shape
        self._Y = np.ascontiguousarray(data.pick(self._rows, self._columns))
        rows, self._n = len(self._Y), n
        self.exhaustive = self._Y.shape == data.shape
        self.supports = thinned(self._columns, n, min(64, max(16, SUPPORT_ENTRIES // rows)))
        self._few = np.ascontiguousarray(data.pick(self._rows, self.supports).T)
        self._last: NDArray | None = None
        self._guess: NDArray | None = None
        self._calls = 0
        self._every: _EveryRow | None = None if rows == m else _EveryRow(data, rng)

    def levels(
        self, A: NDArray, S: SourcesAt, *, held: NDArray | None = None, plain: bool = False
    ) -> NDArray:
        """Return the level of each of the m measurements; `plain` levels are not corrected.

        S returns the sources at some columns.
        """
        part = np.ascontiguousarray(A[self._rows])
        now = self._deviations(part, S)  # starts in other threads may change `_last` at any time
        last, self._last = self._last, now
        # on the way down levels change steadily: expect the same change again
        self._guess = now if last is None else 2 * now - last
        rest = found = noise.GAUSSIAN * now[1]
        if not plain:
            X = S(self.supports).T
            found = corrected(rest, part, self._few @ part, X, self._n, held=held)
        if self._every is None:
            return found
        self._calls += 1
        if self._calls & (self._calls - 1) == 0:
            self._every.measure(A, S, float(np.sqrt(np.mean(rest**2))))
        levels = self._every.ratio * float(np.sqrt(np.mean(found**2)))
        levels[self._rows] = found
        return levels

    def _deviations(self, A: NDArray, S: SourcesAt) -> NDArray:
        """Return median and median absolute deviation of each sampled row of the residual."""
        return noise.deviations(self._Y, A @ S(self._columns), self._guess)

    @property
    def memory(self) -> tuple[int, NDArray] | None:
        """How often levels were estimated, and each row's level over the mean when last measured.

        None if all rows are in the sample. A run sets it when it resumes, and sets None when it starts.
        """
        return None if self._every is None else (self._calls, self._every.ratio)

    @memory.setter
    def memory(self, memory: tuple[int, NDArray] | None) -> None:
        if self._every is not None:
            fresh = 0, np.ones_like(self._every.ratio)
            self._calls, self._every.ratio = fresh if memory is None else memory


def thinned(columns: Choice, n: int, count: int) -> Choice:
    """Return about `count` of some of n columns, evenly spaced."""
    if isinstance(columns, slice):
        return slice(None, None, max(1, n // count))
    return columns[:: max(1, len(columns) // count)]


class _EveryRow:
    """A level for every single measurement, from a few columns, in units of the mean level."""

    def __init__(self, data: "SharedAnswers", rng: np.random.Generator) -> None:
        m, n = data.shape
        self._columns = picks(n, min(COLUMNS_FOR_OTHER_ROWS, max(48, n // 8)), rng)
        self._blocks = data.narrow_blocks(self._columns)
        self._found: NDArray | None = None
        self.ratio = np.ones(m)

    def measure(self, A: NDArray, S: SourcesAt, mean: float) -> None:
        sources, before = S(self._columns), self._found
        found = [
            noise.deviations(Y, A[rows] @ sources, None if before is None else before[:, rows])
            for rows, Y in self._blocks()
        ]
        self._found = np.concatenate(found, axis=1)
        self.ratio = noise.GAUSSIAN * self._found[1] / mean if mean > 0 else np.ones(len(A))
