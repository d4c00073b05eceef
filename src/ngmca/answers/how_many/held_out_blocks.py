"""Second criterion: prediction of blocks of entries that were held out.

A block has some measurements and stretches of neighbouring channels. Channels beside a stretch are left
out too, so correlated noise of neighbours predicts nothing. The block is predicted from the other
channels of its measurements and from the other measurements, by a truncated singular value
decomposition.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BETTER = 0.8  # a source counts if it lowers the median error to at most this part
MEASUREMENT_FOLDS = 4
FEW_MEASUREMENTS = 8  # fewer are held out one at a time
CHANNEL_FOLDS = 5
STRETCHES = 4  # of channels in each block
GUARD = 60  # one of so many channels is left out on each side of a stretch
MIN_MEASUREMENTS = 4
MIN_CHANNELS = 10
NEGLIGIBLE_ERROR = 1e-12  # of the error without sources: smaller errors count as equal
SPARE = 2  # so many fewer sources than other measurements: more would only interpolate
ROUNDING = 1e-10  # of the largest singular value


def held_out(values: NDArray, seen: NDArray, limit: int, rng: np.random.Generator) -> NDArray:
    """Return (limit + 1,) the median error of 0, 1, 2, ... sources over blocks; 1 without sources.

    Errors are those of the entries that are `seen`; the others of `values` were filled in.
    """
    blocks = _blocks(values.shape, rng)
    errors = [_errors(values, seen, rows, hidden, guarded, limit) for rows, hidden, guarded in blocks]
    found = np.median(errors, axis=0)
    return np.asarray(np.maximum(found / (found[0] or 1.0), NEGLIGIBLE_ERROR))


def number_that_predicts(errors: NDArray) -> int:
    """Return the last number of sources that lowers the error by a fifth below all smaller numbers."""
    best = np.minimum.accumulate(errors)
    better = np.flatnonzero(errors[1:] < BETTER * best[:-1])
    return int(better[-1]) + 1 if better.size else 0


def _blocks(
    shape: tuple[int, int], rng: np.random.Generator
) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
    """Yield measurements and channels of blocks, and the channels of the block and beside it."""
    m, n = shape
    folds = MEASUREMENT_FOLDS if m >= FEW_MEASUREMENTS else m
    for rows in np.array_split(rng.permutation(m), folds):
        for hidden, guarded in channel_folds(n):
            yield rows, hidden, guarded


def channel_folds(n: int) -> Iterator[tuple[NDArray, NDArray]]:
    """Yield the channels to hold out, and these with the channels beside them; every channel once.

    Few channels are held out one at a time, without those beside them.
    """
    if n < MIN_CHANNELS:
        yield from ((one, one) for one in np.arange(n)[:, None])
        return
    guard = np.arange(-max(1, n // GUARD), max(1, n // GUARD) + 1)
    pieces = np.array_split(np.arange(n), min(STRETCHES * CHANNEL_FOLDS, n // 2))
    for start in range(CHANNEL_FOLDS):
        hidden = np.concatenate(pieces[start::CHANNEL_FOLDS])
        yield hidden, np.clip(hidden[:, None] + guard, 0, n - 1).ravel()


def _errors(
    values: NDArray, seen: NDArray, rows: NDArray, hidden: NDArray, guarded: NDArray, limit: int
) -> list[float]:
    """Return the mean squared errors of one block with 0, 1, 2, ... sources."""
    others, used = np.delete(values, rows, axis=0), np.delete(np.arange(values.shape[1]), guarded)
    U, s, Vt = np.linalg.svd(others[:, used], full_matrices=False)
    target, counts = values[np.ix_(rows, hidden)], seen[np.ix_(rows, hidden)]
    left, right = values[np.ix_(rows, used)] @ Vt.T, U.T @ others[:, hidden]
    rest = np.where(counts, target, 0)
    found = [float(np.sum(rest**2))]
    for k in range(limit):
        if k < min(len(others), len(used)) - SPARE and s[k] > ROUNDING * s[0]:
            rest = rest - counts * np.outer(left[:, k] / s[k], right[k])
        found.append(float(np.sum(rest**2)))
    return [one / max(int(counts.sum()), 1) for one in found]
