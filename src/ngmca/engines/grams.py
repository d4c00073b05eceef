"""A Gram matrix for every row of a problem."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Grams:
    """A Gram matrix for each row of a problem: row i has `stack[which[i]]`."""

    stack: NDArray  # (p, r, r)
    which: NDArray  # (rows,)
    noise: NDArray | None = None  # (rows, r) of the correlations, in units of the whole level; None: 1

    @property
    def diagonals(self) -> NDArray:
        """The diagonal of each row's matrix, (rows, r)."""
        return np.einsum("pkk->pk", self.stack)[self.which]

    def times(self, X: NDArray) -> NDArray:
        """Row i of X (rows, r) times its matrix."""
        return np.einsum("ik,ikl->il", X, self.stack[self.which])

    def among(self, sources: NDArray) -> "Grams":
        """The matrices among some of the sources."""
        noise = None if self.noise is None else self.noise[:, sources]
        stack = np.ascontiguousarray(self.stack[:, sources[:, None], sources])
        return Grams(stack, self.which, noise)

    def scaled(self, row: NDArray) -> "Grams":
        """Row i's matrix times row[i]."""
        return Grams(self.stack[self.which] * row[:, None, None], np.arange(len(row)))

    def measured(self, unit: NDArray) -> "Grams":
        """The matrices for unknowns in these units (r,)."""
        return Grams(self.stack * np.outer(unit, unit), self.which)

    @classmethod
    def shared(cls, G: NDArray, row: NDArray) -> "Grams":
        """G times row[i] for every row i."""
        values, which = np.unique(row, return_inverse=True)
        return cls(G * values[:, None, None], which)
