"""Third criterion: sources that come again from halves of the data.

The data are halved in four ways: every other measurement, blocks of channels, blocks of measurements,
and measurements at random. Both halves are separated, and their sources are compared. For halves of the
channels it is their mixing.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngmca._support.assignment import cheapest_pairs
from ngmca.answers.how_many.condensed_data import Condensed
from ngmca.constraints import Baseline
from ngmca.metrics import unit_rows
from ngmca.result import Separation
from ngmca.separation import separate

AGAIN = 0.8  # median closeness from which on all sources count as found again
HOPELESS = 0.5  # closeness for every other measurement below which no other halves are tried
WAYS = 4
BLOCKS = 8


def closeness_of_halves(
    data: Condensed, rank: int, rng: np.random.Generator, threads: int | None
) -> NDArray:
    """Return (4,) the closeness of the least stable of `rank` sources for each way to halve the data.

    NaN stands for halves that are too small, and for those that cannot change the answer any more.
    """
    found = np.full(WAYS, np.nan)
    for i, (one, other, transposed) in enumerate(_halves(data.chosen.shape, rng)):
        if min(len(one), len(other)) <= rank or (transposed and len(data.chosen) <= rank):
            continue
        factors = [separated(data, rank, rng, threads, half, transposed) for half in (one, other)]
        pair = [part.A.T if transposed else part.S for part in factors]
        found[i] = closeness(*(np.asarray(X, dtype=np.float64) for X in pair)).min()
        if found[0] < HOPELESS or np.count_nonzero(found < 2 * AGAIN - 1) > 1:
            break  # the median cannot reach AGAIN, or hardly
    return found


def separated(
    data: Condensed,
    rank: int,
    rng: np.random.Generator,
    threads: int | None,
    half: NDArray | None = None,
    channels: bool = False,
) -> Separation:
    """Return the sources of the condensed data, or of half of its measurements or channels."""
    columns = half if channels and half is not None else slice(None)
    rows = half if not channels and half is not None else slice(None)
    constraints = []
    if data.baseline is not None:
        curves = np.asarray(data.baseline.kind)[:, columns]
        constraints = [Baseline(curves[curves.any(axis=1)])]
    return separate(
        data.chosen[rows][:, columns], rank,
        constraints=constraints, domain="direct", n_init=1, seed=rng, threads=threads,
    )  # fmt: skip


def come_again(closeness: NDArray) -> bool:
    """Return whether sources come again, from the closeness of halves."""
    tried = closeness[~np.isnan(closeness)]
    return bool(tried.size and np.median(tried) >= AGAIN)


def closeness(S: NDArray, T: NDArray) -> NDArray:
    """Return (r,) for each source of S: 1 - (distance to its partner in T) / (distance to the next one).

    A distance is 1 minus the cosine. The values are at least -1. With one source it is the cosine.
    """
    distance = 1 - unit_rows(S) @ unit_rows(T).T
    own, partner = cheapest_pairs(distance)
    matched = distance[:, partner]
    near = np.diagonal(matched).copy()
    np.fill_diagonal(matched, 1.0)  # the distance to a source that is not there
    next_best = np.minimum(matched.min(axis=0), matched.min(axis=1))
    larger = np.maximum(near, next_best)
    return np.divide(next_best - near, larger, out=np.zeros(len(own)), where=larger > 0)


def _halves(shape: tuple[int, int], rng: np.random.Generator) -> Iterator[tuple[NDArray, NDArray, bool]]:
    """Yield pairs of halves, and whether they are halves of the channels."""
    m, n = shape
    yield np.arange(0, m, 2), np.arange(1, m, 2), False
    for size, transposed in ((n, True), (m, False)):
        first = np.arange(size) * (2 * BLOCKS if transposed else BLOCKS) // size % 2 == 0
        yield np.flatnonzero(first), np.flatnonzero(~first), transposed
    order = rng.permutation(m)
    yield np.sort(order[: m // 2]), np.sort(order[m // 2 :]), False
