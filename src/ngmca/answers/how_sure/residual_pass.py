"""One pass over the residual Y - AS, tile by tile, that never holds all of it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import in_parts, one_blas_thread
from ngmca.answers.how_many.singular_values import MAX_ENTRIES
from ngmca.engines import Engine, spread, threads_for

HISTOGRAM_BINS = np.linspace(-6, 6, 121)  # in standard deviations of the noise
FAR_BELOW_ZERO = 5  # standard deviations of the noise
TILE_ENTRIES = 1 << 17  # of a residual: they stay in the cache of a core
MIN_TILE_ROWS = 16  # the sources are read once for all rows of a tile


@one_blas_thread
def row_residuals(engine: Engine, A: NDArray, S: NDArray) -> NDArray:
    """Return (m,) the sum of squares of each row of Y - AS."""
    total = np.zeros(len(A))

    def part(starts: range) -> None:
        for i, _, _, rest in _tiles(engine, A, S, starts):
            total[i] += np.einsum("ij,ij->i", rest, rest, dtype=float)

    in_parts(part, len(A), _height(engine), threads_for(engine, len(S)))
    return total


class EntrySums:
    """Sums over the entries of Y and of the standardised residual Z = (Y - AS) / sigma."""

    def __init__(self, channels: int) -> None:
        self.negative, self.zeros = 0, 0  # counts of entries of Y
        self.far = 0.0  # energy of entries of Y far below 0
        self.columns = np.zeros(channels)  # sum of squares of Z
        self.product = 0.0  # of neighbouring channels of Z
        self.counts = np.zeros(len(HISTOGRAM_BINS) - 1)  # of Z in the bins of the histogram
        self.seen = 0  # entries of Z in the histogram and beyond it

    def __iadd__(self, other: "EntrySums") -> "EntrySums":
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self

    @property
    def density(self) -> NDArray:
        """The histogram as a density."""
        return self.counts / (self.seen * (HISTOGRAM_BINS[1] - HISTOGRAM_BINS[0]))

    @property
    def outside(self) -> float:
        """Share of entries beyond the histogram."""
        return 1 - float(self.counts.sum()) / self.seen

    @property
    def autocorrelation(self) -> float:
        """Correlation of neighbouring channels."""
        energy = float(self.columns.sum())
        return self.product / energy if energy > 0 else 0.0


def entry_sums(engine: Engine, A: NDArray, S: NDArray, sigma: NDArray) -> EntrySums:
    """Return the sums over all entries; of large data the histogram uses a seeded choice of rows."""
    m, n = engine.shape
    chosen = np.zeros(m, dtype=bool)
    chosen[spread(m, max(1, MAX_ENTRIES // n), np.random.default_rng(0))] = True

    def part(starts: range) -> EntrySums:
        found, last = EntrySums(n), np.zeros(0)
        for i, j, y, rest in _tiles(engine, A, S, starts):
            z = rest / sigma[i][:, None]
            there = None if engine.weights is None else engine.weights[i, j] > 0
            if there is not None:
                y = np.where(there, y, np.nan)  # neither negative nor 0
            low = y[y < -FAR_BELOW_ZERO * sigma[i][:, None]].astype(float)
            found.negative += int(np.count_nonzero(y < 0))
            found.zeros += int(np.count_nonzero(y == 0))  # ten times faster than count_nonzero(y)
            found.far += float(low @ low)
            found.columns[j] += np.einsum("ij,ij->j", z, z)
            found.product += float(np.einsum("ij,ij->", z[:, 1:], z[:, :-1]))
            found.product += float(last @ z[:, 0]) if j.start else 0.0
            last = z[:, -1]
            shown = z[chosen[i]] if there is None else z[chosen[i]][there[chosen[i]]]
            found.counts += np.histogram(
                shown, len(HISTOGRAM_BINS) - 1, (HISTOGRAM_BINS[0], HISTOGRAM_BINS[-1])
            )[0]
            found.seen += shown.size
        return found

    total = EntrySums(n)
    for one in in_parts(part, m, _height(engine), threads_for(engine, len(S))):
        total += one
    if engine.weights is not None:  # pairs with a missing entry add nothing to the product
        there = engine.weights > 0
        both = float(np.mean(there[:, 1:] & there[:, :-1]))
        total.product *= float(there.mean()) / both if both else 0.0
    return total


def _height(engine: Engine) -> int:
    """Return the number of measurements of a tile."""
    return max(MIN_TILE_ROWS, TILE_ENTRIES // engine.shape[1])


def _tiles(
    engine: Engine, A: NDArray, S: NDArray, starts: range
) -> Iterator[tuple[slice, slice, NDArray, NDArray]]:
    """Yield rows and columns of tiles, the tiles of Y, and those of Y - AS, from left to right."""
    for start in starts:
        i = slice(start, start + starts.step)
        Y, weights = (
            engine.pick(i, slice(None)),
            A[i].astype(np.result_type(A, engine.dtype), copy=False),
        )
        for left in range(0, engine.shape[1], max(1, TILE_ENTRIES // starts.step)):
            j = slice(left, left + max(1, TILE_ENTRIES // starts.step))
            rest = weights @ S[:, j]
            np.subtract(Y[:, j], rest, out=rest)  # allocating memory costs more than a pass
            if engine.weights is not None:
                rest *= engine.weights[i, j] > 0
            yield i, j, Y[:, j], rest
