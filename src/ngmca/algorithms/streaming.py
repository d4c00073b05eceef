"""Sources of a stream of measurements: of what came by, only sums of rows that are alike are kept."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.mixing_for_sources import weights_of
from ngmca.algorithms.options import Options
from ngmca.algorithms.soft_and_hard import iterate_thresholded
from ngmca.engines import Engine, Levels, everything, mad, open_whole

BINS_OF_SOURCE, MIN_BINS = 30, 100  # sums of rows that are kept
FORGOTTEN = 0.3  # rows: a bin that counts less is given to a new row
ITERATIONS_PER_BATCH = 3  # on the bins, at the final threshold
NEW_ROWS_TO_ANNEAL = 0.5  # share of all rows that came after the threshold fell last: it falls anew


@dataclass(frozen=True, eq=False)
class Stream:
    """What is known of a stream Y ~ A S after some batches of its rows.

    A row is added to the bin whose weights are most like its own. The mean of a bin is a measurement of
    less noise. The bins are separated like other data, so that what the first batches got wrong does not
    stay. The threshold falls anew whenever half of what counts has come since the last time, as after
    each doubling of the rows; for other batches it stays low, and a few iterations are enough.
    """

    S: NDArray  # (r, n), rows of norm 1
    sums: NDArray  # (bins, n) of rows
    counts: NDArray  # (bins,) of rows
    noise: float = 0.0  # root mean square level
    new: float = 0.0  # number of rows since the threshold fell last

    @classmethod
    def begun(cls, S: NDArray) -> "Stream":
        """A stream with these sources, before anything came by."""
        return cls(_unit_rows(S.astype(np.float64)), np.zeros((0, S.shape[1])), np.zeros(0))

    def after(self, engine: Engine, options: Options, forgetting: float) -> "Stream":
        """The stream after a batch of rows; what came before counts `forgetting` times as much."""
        Y, kept = everything(engine).astype(np.float64), forgetting * self.counts.sum()
        W = weights_of(engine, self.S, Levels())
        level = float(np.median(mad(Y - W @ self.S))) if Y.size else 0.0
        noise = float(np.sqrt((kept * self.noise**2 + len(Y) * level**2) / (kept + len(Y))))
        found = replace(self, counts=forgetting * self.counts, sums=forgetting * self.sums, noise=noise)
        found = found._with_rows(Y, W)
        if not len(self.counts):
            return found  # its sources are those of the batch already
        new = forgetting * self.new + len(Y)
        if new >= NEW_ROWS_TO_ANNEAL * found.counts.sum():
            return replace(found._separated(options), new=0.0)
        few = replace(options, n_iter=ITERATIONS_PER_BATCH, warm=True)
        return replace(found._separated(few), new=new)

    def _with_rows(self, Y: NDArray, W: NDArray) -> "Stream":
        """The stream with rows Y of weights W: the first ones as new bins while there is room."""
        most = max(MIN_BINS, BINS_OF_SOURCE * len(self.S))
        weakest = np.argsort(self.counts, kind="stable")[: max(len(self.counts) + len(Y) - most, 0)]
        forgotten = weakest[self.counts[weakest] < FORGOTTEN]
        sums, counts = np.delete(self.sums, forgotten, axis=0), np.delete(self.counts, forgotten)
        room = most - len(counts)
        sums, counts = np.vstack([sums, Y[:room]]), np.append(counts, np.ones(len(Y[:room])))
        if len(Y) > room:
            own = weights_of(open_whole(sums), self.S, Levels())
            which = np.argmax(W[room:] @ _unit_rows(own).T, axis=1)
            order = np.argsort(which, kind="stable")
            bins, first, count = np.unique(which[order], return_index=True, return_counts=True)
            sums[bins] += np.add.reduceat(Y[room:][order], first)
            counts[bins] += count
        return replace(self, sums=sums, counts=counts)

    def _separated(self, options: Options) -> "Stream":
        """The stream with the sources that its bins have, from those that it has."""
        size = np.sqrt(np.maximum(self.counts, 1e-300))  # of the noise in the sums
        engine = open_whole(self.sums / size[:, None])
        options = replace(options, noise=np.full(len(size), self.noise / engine.unit))
        A = weights_of(engine, self.S, Levels())
        for state in iterate_thresholded(engine, A, self.S, options):
            last = state
        return replace(self, S=_unit_rows(last.S))


def _unit_rows(S: NDArray) -> NDArray:
    norm = np.linalg.norm(S, axis=1, keepdims=True)
    return S / np.where(norm > 0, norm, 1)
