"""Sizes of columns in physical units, from known values and from sums over columns."""

import numpy as np
from numpy.typing import NDArray

from ngmca.nnqp.pivoting import solve_rows

SMALLEST_SIZE = 1e-6  # of a column, over the largest size


class SizeEquations:
    """Linear equations for the sizes of columns of A that are not known yet, NaN in `size`."""

    def __init__(self, A: NDArray, size: NDArray) -> None:
        self._A, self._size = A, size
        self._rows: list[NDArray] = []
        self._right: list[NDArray] = []

    def add_points(self, values: NDArray | None, sd: NDArray | None = None) -> None:
        """Add A_ik size_k = value where a value is known, over its standard deviation."""
        if values is None:
            return
        weight = np.ones(values.shape) if sd is None else 1 / sd
        known = ~np.isnan(values) & np.isnan(self._size)
        known &= (np.nan_to_num(values) > 0).any(axis=0)
        i, k = np.nonzero(known)
        rows = np.zeros((i.size, len(self._size)))
        rows[np.arange(i.size), k] = (self._A * weight)[i, k]
        self._rows.append(rows)
        self._right.append((values * weight)[i, k])

    def add_sums(self, inside: NDArray, totals: NDArray) -> None:
        """Add sum_k A_ik size_k = total."""
        known = np.where(inside & ~np.isnan(self._size), self._size, 0)
        open_ = inside & np.isnan(self._size)
        self._rows.append(np.where(open_, self._A, 0))
        self._right.append(np.maximum(totals - self._A @ known, 0))

    def solve(self) -> None:
        """Find the sizes that the equations are about, in place."""
        rows, right = np.vstack(self._rows or [np.zeros((0, len(self._size)))]), self._right
        self._rows, self._right = [], []
        about = np.flatnonzero(rows.any(axis=0))
        if not about.size:
            return
        M, t = rows[:, about], np.concatenate(right)
        found = np.zeros((1, about.size))
        solve_rows(M.T @ M, (t @ M)[None], found)
        size = np.maximum(found[0], SMALLEST_SIZE * found.max(initial=0))
        self._size[about] = np.where(size > 0, size, 1.0)
