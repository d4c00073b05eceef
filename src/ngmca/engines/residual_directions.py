"""What a fit leaves over, and the directions that it points to."""

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.blocks import column_energies


def rest_energies(Y: NDArray, A: NDArray, S: NDArray) -> NDArray:
    """Sum of squares of each column of the positive part of Y - A S."""
    return column_energies(np.maximum(Y - A @ S, 0))


def directions(columns: NDArray, k: int) -> NDArray:
    """k different unit directions (m, k) among columns of a residual's positive part, or zeros.

    Each is the strongest once the directions before it are taken away from all of them. A column that
    hardly anything is left of is none.
    """
    little = 1e3 * np.finfo(columns.dtype).eps * column_energies(columns)
    found = np.zeros((len(columns), k), dtype=columns.dtype)
    rest = columns
    for i in range(k):
        left = column_energies(rest)
        left[left <= little] = 0  # what rounding leaves of a direction that is taken
        pick = left.argmax()
        if not left[pick]:
            break
        little[pick] = np.inf
        found[:, i] = columns[:, pick] / np.linalg.norm(columns[:, pick])
        rest = np.maximum(rest - np.outer(found[:, i], found[:, i] @ rest), 0)
    return found
