"""What workers of a cluster do: each a function of one block, which gives back little."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from cloudpickle import loads
from numpy.typing import NDArray

from ngmca._support.threads import one_blas_thread
from ngmca.engines import robust_noise as noise
from ngmca.engines.blocks import Choice, checksum, column_energies, column_runs, gram, largest, square
from ngmca.engines.blockwise import Sums, added, correlate_rows, moments_of, sweep_columns
from ngmca.engines.shared_answers import rest_energies


def _rows(Y: NDArray, step: int) -> Iterator[tuple[slice, NDArray]]:
    """Yield blocks of `step` rows."""
    Y = np.ascontiguousarray(Y)
    return ((slice(i, i + step), Y[i : i + step]) for i in range(0, len(Y), step))


@one_blas_thread
def swept(
    Y: NDArray, old: Any, common: bytes, wanted: NDArray | None, grid: tuple[int, int, int]
) -> tuple[NDArray, tuple[Sums, list[NDArray]]]:
    """New sources (r, b) of a block, its sums, and the sources at the columns that are wanted.

    From old ones, or from what the last sweep left of them.
    """
    old = old[0] if isinstance(old, tuple) else old
    (A, solve), (first, step, together) = loads(common), grid
    Y = np.ascontiguousarray(Y)
    X, last = np.empty((Y.shape[1], A.shape[1]), dtype=Y.dtype), first + Y.shape[1]
    runs = column_runs(range(first, last, together), last, step)
    blocks = ((run, Y[:, run.start - first : run.stop - first]) for run in runs)
    sums = sweep_columns(blocks, A, (np.asarray(old).T, X), solve, step, first)
    seen = [] if wanted is None else [np.ascontiguousarray(X.T[:, wanted])]
    return X.T, (sums, seen)


def added_with_seen(parts: Sequence[tuple[Sums, list[NDArray]]]) -> tuple[Sums, list[NDArray]]:
    """Sums added up, and what was seen of the sources one after the other."""
    return added([sums for sums, _ in parts]), [one for _, seen in parts for one in seen]


def summed_once(parts: Sequence[NDArray]) -> NDArray:
    """The sum of arrays."""
    return np.asarray(np.sum(parts, axis=0))


def summed_pairs(parts: Sequence[tuple[NDArray, NDArray]]) -> tuple[NDArray, NDArray]:
    """The sums of pairs of arrays."""
    SS, YS = zip(*parts, strict=True)
    return np.sum(SS, axis=0), np.sum(YS, axis=0)


def nothing(Y: NDArray, r: int) -> NDArray:
    """Sources (r, b) of a block of columns that are 0."""
    return np.zeros((Y.shape[1], r), dtype=Y.dtype).T


def surveyed(Y: NDArray, first: int, wanted: NDArray | None, step: int, tall: bool) -> dict[str, Any]:
    """What is to be known of a block: squares of its own blocks, largest entry, what is no number."""
    found: dict[str, Any] = {"bad": None, "peak": 0.0, "squares": [], "kept": None}
    if np.ma.is_masked(Y):
        i, j = (int(k) for k in np.argwhere(np.ma.getmaskarray(Y))[0])
        return found | {"bad": (*((i + first, j) if tall else (i, j + first)), "a masked entry")}
    Y = np.ascontiguousarray(Y)
    if not np.isfinite(Y).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(Y))[0])
        at = (i + first, j) if tall else (i, j + first)
        return found | {"bad": (*at, "NaN" if np.isnan(Y[i, j]) else "infinity")}
    starts = range(0, len(Y) if tall else Y.shape[1], step)
    blocks = (Y[a : a + step] if tall else Y[:, a : a + step] for a in starts)
    with np.errstate(over="ignore"):
        found["squares"] = [square(block) for block in blocks]
    found["peak"] = float(np.maximum(Y.max(), -Y.min()))
    if wanted is not None:
        found["kept"] = Y[:, wanted]
    return found


def checked(Y: NDArray, first: int, step: int, tall: bool) -> int:
    """The checksum of a block, which begins at this row (of tall data) or column."""
    starts = range(0, len(Y) if tall else Y.shape[1], step)
    blocks = ((a, Y[a : a + step] if tall else Y[:, a : a + step]) for a in starts)
    return sum(checksum(Yb, *((first + a, 0) if tall else (0, first + a))) for a, Yb in blocks)


@one_blas_thread
def deviations(Y: NDArray, A: NDArray, S: NDArray, columns: Choice, step: int) -> NDArray:
    """Median absolute deviation of each row of Y - A S, at some columns, S being theirs."""
    return np.concatenate([noise.deviations(Yb[:, columns], A[b] @ S)[1] for b, Yb in _rows(Y, step)])


@one_blas_thread
def correlated(Y: NDArray, A: NDArray, step: int) -> NDArray:
    """Y'A over a block of rows."""
    return correlate_rows(_rows(Y, step), A, Y.shape[1])


@one_blas_thread
def rest_of_rows(Y: NDArray, A: NDArray, S: NDArray, step: int) -> NDArray:
    """Sum of squares of each column of the positive part of Y - A S, over a block of rows."""
    return np.asarray(np.sum([rest_energies(Yb, A[b], S) for b, Yb in _rows(Y, step)], axis=0))


@one_blas_thread
def multiplied(Y: NDArray, X: NDArray, step: int) -> NDArray:
    """Y X of a block of rows."""
    return np.concatenate([(Yb @ X).astype(np.float64) for _, Yb in _rows(Y, step)])


@one_blas_thread
def back(Y: NDArray, A: NDArray) -> NDArray:
    """Y'A of a block of columns."""
    return np.asarray(Y.T @ A)


@one_blas_thread
def moments(Y: NDArray, S: NDArray, step: int) -> tuple[NDArray, NDArray]:
    """S S' and Y S' of a block of columns."""
    X, Y = np.ascontiguousarray(S.T), np.ascontiguousarray(Y)
    blocks = (slice(j, j + step) for j in range(0, len(X), step))
    return moments_of(((b, Y[:, b]) for b in blocks), X, len(Y))


@one_blas_thread
def peak(Y: NDArray, S: NDArray, A: NDArray, step: int) -> float:
    """Largest entry of |A'(AS - Y)| in a block of columns."""
    G, X, Y = gram(A).astype(Y.dtype), np.ascontiguousarray(S.T), np.ascontiguousarray(Y)
    blocks = (slice(j, j + step) for j in range(0, len(X), step))
    return max(float(np.abs(X[b] @ G - Y[:, b].T @ A).max()) for b in blocks)


@one_blas_thread
def strongest(Y: NDArray, S: NDArray, A: NDArray, count: int) -> tuple[NDArray, NDArray]:
    """The columns of the residual's positive part that are largest in a block, and their energies."""
    rest = np.maximum(Y - A @ np.asarray(S), 0)
    energy = column_energies(rest)
    top = largest(energy, count)
    return rest[:, top], energy[top]
