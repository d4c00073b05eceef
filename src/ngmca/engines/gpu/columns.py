"""Columns on a GPU, as sources and correlations are there, and what the outer loop asks of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.gpu.device import Device

COLUMNS_AT_ONCE = 1 << 16  # in forward-backward steps


@dataclass(frozen=True, eq=False)
class Columns:
    """An array (r, n) on a GPU, as sources or correlations; what the outer loop asks of it."""

    device: Device
    array: Any
    sums: NDArray | None = None  # of its rows, where they are known
    guess: Any = None  # an array like it, of which a solver starts; otherwise it starts from this one

    @property
    def shape(self) -> tuple[int, int]:
        """(r, n)."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype:
        """Of its numbers."""
        return np.dtype(self.array.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return self.device.host(self.array).astype(dtype or self.dtype, copy=False)

    def fetched(self) -> NDArray:
        """Return the columns as an array in the memory of the host."""
        return np.asarray(self)

    def __getitem__(self, which: tuple[slice, Any]) -> NDArray:
        """Some of the columns, in the memory of the host."""
        every, columns = which
        assert every == slice(None)
        if not isinstance(columns, slice):
            columns = self.device.xp.asarray(columns)
        return self.device.host(self.array[:, columns])

    def __mul__(self, factor: Any) -> "Columns":
        """Times a number, or one for each row (r, 1)."""
        factor = self.device.xp.asarray(factor, dtype=self.dtype)
        return Columns(self.device, (self.array.T * factor.T).T)  # each column stays in one piece

    def sum(self, axis: int | None = None) -> Any:
        """The sum of each row (axis=1), or of all, in double precision."""
        found = self.sums
        if found is None:
            found = self.device.tally(self.array)[0]
        return found if axis == 1 else float(found.sum())

    # Solvers, in place of the guess in this array; each returns the violation.

    def solve(self, G: NDArray, C: "Columns", shift: NDArray | None = None) -> float:
        """argmin_{X >= 0} 1/2 <X, GX> - <C - shift, X>."""
        shift = np.zeros(len(G)) if shift is None else shift
        return self.device.solve(G, C.array, self.array, shift, self.guess)

    def solve_reweighted(self, G: NDArray, C: "Columns", level: NDArray, tau: float) -> float:
        """As `Gram.solve_reweighted`."""
        xp, before = self.device.xp, self.array if self.guess is None else self.guess
        levels = xp.maximum(xp.asarray(level, dtype=self.dtype), np.finfo(self.dtype).tiny)[:, None]
        C.array[...] -= self.dtype.type(tau) * levels * levels / (levels + before)
        return self.solve(G, C)

    def project(self, G: NDArray, C: "Columns") -> float:
        """X := [G C]_+."""
        xp = self.device.xp
        self.device.product(xp.asarray(G, dtype=self.dtype), C.array, self.array)
        xp.maximum(self.array, 0, out=self.array)
        return 0.0

    def descend(
        self,
        G: NDArray,
        C: "Columns",
        threshold: NDArray,
        *,
        hard: bool,
        max_iter: int,
        tol: float = 1e-7,
    ) -> float:
        """Accelerated forward-backward steps, as `nnqp.forward_backward.accelerated` makes them."""
        worst, guess = 0.0, self.array if self.guess is None else self.guess
        for start in range(0, self.shape[1], COLUMNS_AT_ONCE):
            part = slice(start, start + COLUMNS_AT_ONCE)
            steps = _Steps(self.device.xp, G, C.array[:, part], threshold, hard)
            self.array[:, part], violation = steps.accelerated(guess[:, part], max_iter, tol)
            worst = max(worst, violation)
        return worst


class _Steps:
    """X -> prox(X - (GX - C) / L) on a GPU."""

    def __init__(self, xp: Any, G: NDArray, C: Any, threshold: NDArray, hard: bool) -> None:
        L = np.linalg.norm(G, 2)
        inverse = 1 / L if L > 0 else 0.0
        self.xp, self.hard = xp, hard
        self.scaled = xp.asarray(G * inverse, dtype=C.dtype)
        self.level = xp.asarray(threshold[:, None] * inverse, dtype=C.dtype)
        self.drift = C * C.dtype.type(inverse) - (0 if hard else self.level)

    def __call__(self, X: Any) -> Any:
        Z = X - self.scaled @ X
        Z += self.drift
        if self.hard:
            Z *= self.level <= Z
        return self.xp.maximum(Z, 0)

    def accelerated(self, X: Any, max_iter: int, tol: float) -> tuple[Any, float]:
        """X after the steps, and what one more would change, relative to the largest of its column."""
        xp = self.xp
        X = R = xp.maximum(X, 0)
        t = 1.0
        for _ in range(max_iter):
            previous, X = X, self(R)
            following = (1 + np.sqrt(1 + 4 * t * t)) / 2
            moved = X - previous
            R = X + X.dtype.type((t - 1) / following) * moved
            t = following
            if float(xp.abs(moved).max()) <= tol * float(X.max()):
                break
        wrong, size = xp.abs(self(X) - X).max(axis=0), X.max(axis=0)
        relative = xp.where(size > 0, wrong / xp.where(size > 0, size, 1), (wrong > 0) * 1.0)
        return X, float(relative.max())
