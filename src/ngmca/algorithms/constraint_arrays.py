"""Constraints on A and S as arrays, and the two steps that keep to them.

On A, S >= 0 an entry whose correlation is negative is 0: entries that must be 0 get one, and the solvers
of plain problems do the rest. Known sources and known columns of the mixing are moved to the right-hand
side. A closure, and shapes of profiles, have solvers of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import Solve
from ngmca.nnqp.gram import Gram
from ngmca.nnqp.pivoting import solve_rows

# Solves the problem of the free sources of a block: (G, C, X in place) -> violation
Inner = Callable[[Gram, NDArray, NDArray], float]


@dataclass(frozen=True, eq=False)
class Constraints:
    """What A (m, R) and S (R, n) must hold to, in units of the engine; the last R - r are a baseline."""

    r: int = 0  # sources
    sources: NDArray | None = None  # (R, n): known ones, and the baseline; rows of NaN are free
    mixing: NDArray | None = None  # (m, R): known columns, of norm 1; columns of NaN are free
    zero_sources: NDArray | None = None  # (R, n), true where S is 0
    zero_mixing: NDArray | None = None  # (m, R), true where A is 0
    totals: NDArray | None = None  # (m,): rows of A, in physical units, sum up to them
    sizes: NDArray | None = None  # (R,): norms of known columns of A, else NaN
    rigid: bool = True  # known sources are returned as they were given, the columns of A take the scale
    profiles: tuple[str, ...] | None = None  # (R,) "free", "unimodal", "increasing", "decreasing"
    parts: tuple[slice, ...] = (slice(None),)  # measurements whose profiles belong together
    rows: NDArray | None = None  # (m,) unit of each measurement, in which profiles have their shapes
    both: bool = False  # A is penalised too

    @property
    def baseline(self) -> int:
        """How many rows at the end of S are no sources."""
        return 0 if self.sources is None else len(self.sources) - self.r

    @property
    def total(self) -> int:
        """R: sources, and rows of the baseline."""
        return self.r + self.baseline

    @property
    def given(self) -> NDArray:
        """(R,) which sources are known, the baseline among them."""
        if self.sources is None:
            return np.zeros(self.r, dtype=bool)
        return ~np.isnan(self.sources).any(axis=1)

    @property
    def free(self) -> NDArray | slice:
        """Which sources are looked for; a slice where all of them are."""
        return slice(None) if self.sources is None else np.flatnonzero(~self.given)

    @property
    def held(self) -> NDArray:
        """(R,) which columns of A are known."""
        if self.mixing is None:
            return np.zeros(self.total, dtype=bool)
        return ~np.isnan(self.mixing).any(axis=0)

    @property
    def any(self) -> bool:
        """Whether there is any constraint."""
        return self.on_sources or self.on_mixing

    @property
    def on_sources(self) -> bool:
        """Whether S must hold to anything."""
        return self.sources is not None or self.zero_sources is not None

    @property
    def on_mixing(self) -> bool:
        """Whether A must hold to anything."""
        parts = (self.mixing, self.zero_mixing, self.totals, self.profiles)
        return self.both or any(part is not None for part in parts)

    @property
    def shaped(self) -> bool:
        """Whether A is more than non-negative, so that it must not be extrapolated."""
        return self.totals is not None or self.profiles is not None

    @property
    def keeps_sources(self) -> bool:
        """Whether there are known sources, which are returned as they were given."""
        return self.rigid and bool(self.given[: self.r].any())

    @property
    def closes_known(self) -> bool:
        """Whether a closure counts known sources at their own scale."""
        return self.totals is not None and self.keeps_sources

    @property
    def holds_norms(self) -> bool:
        """Whether norms of A cannot make up for thresholds: under a closure, or with known sources."""
        return self.totals is not None or self.keeps_sources

    @property
    def sized(self) -> NDArray:
        """(R,) whose columns of A have a physical size: under a closure all, else known ones."""
        found = self.held | (self.given if self.rigid else False)
        found[: self.r] |= self.totals is not None
        found[self.r :] = False
        return np.asarray(found)

    def imposed(self, A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
        """A and S with what is known in its place; a known source is as large as A's column has it."""
        if not self.any:
            return A, S
        A, S, given, held = A.copy(), S.copy(order="K"), self.given, self.held
        if self.mixing is not None:
            A[:, held] = self.mixing[:, held]
        if self.zero_mixing is not None:
            A[self.zero_mixing] = 0
        if self.zero_sources is not None:
            S[self.zero_sources] = 0
        if self.sources is not None:
            S[given] = self.sources[given] * _scales(S[given], self.sources[given])[:, None]
        return A, S

    def sizes_of(self, A: NDArray, S: NDArray) -> NDArray:
        """(R,) norms that the columns of A have in physical units; 0 for those of a baseline.

        A known column has its own, a known source that of its scale. Under a closure the others are
        those with which the rows of A sum up to their totals; without one they are 1.
        """
        size = np.full(self.total, np.nan)
        if self.sizes is not None:
            size[:] = self.sizes
        given = self.given
        if self.sources is not None and self.rigid:
            size[given] = _scales(S[given], self.sources[given])
        size[self.r :] = 0
        open_ = np.flatnonzero(np.isnan(size))
        if self.totals is None:
            size[open_] = 1
            return size
        size[open_] = 0
        U = A[:, open_].astype(np.float64)
        rest = np.maximum(self.totals - A @ size, 0)
        found = np.zeros((1, open_.size))
        solve_rows(U.T @ U, (rest @ U)[None], found)
        size[open_] = np.maximum(found[0], SMALLEST * found.max(initial=0))
        return size


FREE = Constraints()
SMALLEST = 1e-6  # size of a column under a closure that has no use for it, over the largest


def _scales(S: NDArray, known: NDArray) -> NDArray:
    """How large each row of S is, as a multiple of a known source; 1 where it is 0."""
    scale = np.einsum("ij,ij->i", S, known) / np.einsum("ij,ij->i", known, known)
    return np.where(scale > 0, scale, 1.0)


def constrained(inner: Inner, known: Constraints) -> Solve:
    """The S-step of all sources by a solver for the free ones."""
    if not known.on_sources:
        return lambda G, C, X, columns: inner(G, C, X)
    given, free = np.flatnonzero(known.given), np.flatnonzero(~known.given)
    zero = None if known.zero_sources is None else np.ascontiguousarray(known.zero_sources.T)

    def solve(G: Gram, C: NDArray, X: NDArray, columns: slice) -> float:
        C = without(G, C, X, given, free)
        if zero is not None:
            forbid(C, zero[columns][:, free])
        part = np.ascontiguousarray(X[:, free])
        worst = inner(G.among(free), C, part)
        X[:, free] = part
        return worst

    return solve


def without(G: Gram, C: NDArray, X: NDArray, given: NDArray, free: NDArray) -> NDArray:
    """Correlations of the free columns of X once the given ones are taken away."""
    rest = np.ascontiguousarray(C[:, free])
    if given.size:
        fixed = np.zeros(X.shape)
        fixed[:, given] = X[:, given]
        rest -= G.times(fixed)[:, free].astype(C.dtype)
    return rest


def forbid(C: NDArray, zero: NDArray, *, closed: bool = False) -> None:
    """Correlations that lead to 0 wherever `zero` is true: all of X and G is at least 0.

    Under a closure the multiplier of the sum is added to them: they must be below all others by far.
    """
    C[zero] = -np.inf if closed else -np.abs(C[zero])


def penalised_rows(lam: NDArray) -> Inner:
    """argmin_{X >= 0} 1/2 <X, XG> - <C, X> + <lam, X>, row by row.

    Where entries have levels of their own, thresholds follow the noise of the correlations.
    """
    return lambda G, C, X: G.solve(C, X, lam, unit=True)


def exact_rows(G: Gram, C: NDArray, X: NDArray) -> float:
    """argmin_{X >= 0} 1/2 <X, XG> - <C, X>, row by row, in place of X; the violation."""
    return G.solve(C, X)
