"""What neighbouring channels say about the noise: its level, and whether it is white."""

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.derived import row_blocks
from ngmca.engines.protocol import Engine
from ngmca.engines.robust_noise import mad

WHITE_DIFFERENCES = -0.5  # correlation of neighbouring second differences, -2/3 for white noise


def noise_of_differences(engine: Engine) -> tuple[NDArray, bool]:
    """Return the noise of each measurement from second differences along the axis, and if it is white.

    Smooth bands vanish in second differences. Neighbouring differences of white noise have a
    correlation of -2/3, those of a smooth curve of nearly 1.
    """
    found = engine.second_differences if engine.place == "gpu" else None  # type: ignore[attr-defined]
    level, pairs, squares = _of_rows(engine) if found is None else found
    return level / np.sqrt(6), bool(pairs.sum() < WHITE_DIFFERENCES * squares.sum())


def _of_rows(engine: Engine) -> tuple[NDArray, NDArray, NDArray]:
    """Return the level of second differences in each row, and sums of products and of squares."""
    level, pairs, squares = np.zeros((3, engine.shape[0]))
    for rows, Y in row_blocks(engine):
        second = Y[:, :-2] - 2 * Y[:, 1:-1] + Y[:, 2:]
        observed = np.ones(Y.shape, dtype=bool) if engine.weights is None else engine.weights[rows] > 0
        seen = observed[:, :-2] & observed[:, 1:-1] & observed[:, 2:]
        for k, (row, some) in enumerate(zip(second, seen, strict=True), start=rows.start):
            level[k] = mad(row[some][None])[0] if some.any() else 0.0
            clipped = np.clip(row, -3 * level[k], 3 * level[k]) * some
            pairs[k] = clipped[1:] @ clipped[:-1]
            squares[k] = np.sum(clipped[1:] ** 2 * some[:-1])
    return level, pairs, squares


def residual_correlation(engine: Engine, A: NDArray, S: NDArray) -> float:
    """Return the correlation of neighbouring channels in Y - A S, 0 if the residual is white noise."""
    pairs, squares = np.zeros((2, engine.shape[0]))
    for rows, Y in row_blocks(engine):
        seen = np.ones(Y.shape, dtype=bool) if engine.weights is None else engine.weights[rows] > 0
        residual = np.where(seen, Y - A[rows] @ S, 0.0)
        pairs[rows] = np.einsum("ij,ij->i", residual[:, 1:], residual[:, :-1])
        squares[rows] = np.einsum("ij,ij->i", residual[:, 1:], residual[:, 1:] * seen[:, :-1])
    return float(np.mean(pairs / np.where(squares > 0, squares, 1.0)))
