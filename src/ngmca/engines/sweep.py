"""One pass over columns of the data: sources for given directions, and the sums for the A-step."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.blocks import gram, stacked, summed
from ngmca.nnqp.gram import Gram

# Solves the S-step for a block of samples: (G, C (b, r), X (b, r) in place, which they are) -> violation
Solve = Callable[[Gram, NDArray, NDArray, slice], float]


@dataclass(frozen=True)
class Sweep:
    """New sources for given mixing directions, and all that the A-step needs of them."""

    S: NDArray  # (r, n)
    SS: Gram  # S S'; of weighted data one for each measurement
    YS: NDArray  # Y S', (m, r)
    cost: float  # 1/2 |Y - A S|^2, to the rounding error of |Y|^2 in the precision of Y
    active: float  # share of entries of S that are not 0
    violation: float
    total: NDArray | None = None  # (r,) sum of each source


# S S', Y S', the sum of each source, entries of S that are not 0, worst violation
Sums = tuple[NDArray, NDArray, NDArray, int, float]


def sweep_columns(
    blocks: Iterable[tuple[slice, NDArray]],
    A: NDArray,
    sources: tuple[NDArray, NDArray],
    solve: Solve,
    step: int,
    first: int = 0,
) -> Sums:
    """The S-step for blocks of columns, from old sources (n, r) to new ones, and its sums.

    The sources are those from column `first` on.
    """
    (m, r), (old, X), G = A.shape, sources, Gram(gram(A))
    SS, YS, total, active, worst = np.zeros((r, r)), np.zeros((m, r)), np.zeros(r), 0, 0.0
    room = np.empty((0, r), dtype=X.dtype)  # the same for all blocks: fresh memory is slow to be had
    for columns, Y in blocks:
        here = slice(columns.start - first, columns.stop - first)
        Yb, Xb = stacked(Y, step), X[here]
        Xb[:] = old[here]
        room = room if len(room) >= len(Xb) else np.empty_like(Xb)
        C = room[: len(Xb)]
        np.matmul(Yb.mT, A, out=C.reshape(len(Yb), -1, r))
        worst = max(worst, solve(G, C, Xb, columns))
        SS += Xb.T @ Xb
        product = np.matmul(Yb, Xb.reshape(len(Yb), -1, r))
        YS += product[0] if len(product) == 1 else product.sum(axis=0)
        total += Xb.sum(axis=0)
        active += int(np.count_nonzero(Xb))
    return SS, YS, total, active, worst


def added(parts: Sequence[Sums]) -> Sums:
    """The sums of several parts."""
    SS, YS, total, active, worst = zip(*parts, strict=True)
    return summed(SS), summed(YS), summed(total), sum(active), max(worst)
