"""Constraints on A and S as arrays, and the steps under them.

An entry with a negative correlation is 0 in the solution, because A and S are not negative. Entries that
must be 0 therefore get a negative correlation, and the plain solvers need no change. Known sources, and
known columns of the mixing, are moved to the right-hand side. Closure and shapes of profiles have their
own solvers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ngmca.engines import Solve
from ngmca.nnqp.gram import Gram
from ngmca.nnqp.pivoting import solve_rows
from ngmca.nnqp.profile_shapes import nearest_in_shape

# Solves the problem of the free sources of a block: (G, C, X in place) -> violation
Inner = Callable[[Gram, NDArray, NDArray], float]


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints on A (m, R) and S (R, n), in units of the engine; the last R - r are a baseline."""

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
        """Number of rows at the end of S that belong to a baseline."""
        return 0 if self.sources is None else len(self.sources) - self.r

    @property
    def total(self) -> int:
        """R: number of sources and of rows of the baseline."""
        return self.r + self.baseline

    @property
    def given(self) -> NDArray:
        """(R,) which sources are known, including the baseline."""
        if self.sources is None:
            return np.zeros(self.r, dtype=bool)
        return ~np.isnan(self.sources).any(axis=1)

    @property
    def free(self) -> NDArray | slice:
        """Indices of the unknown sources; a slice if all are unknown."""
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
        """Whether S is constrained."""
        return self.sources is not None or self.zero_sources is not None

    @property
    def on_mixing(self) -> bool:
        """Whether A is constrained."""
        parts = (self.mixing, self.zero_mixing, self.totals, self.profiles)
        return self.both or any(part is not None for part in parts)

    @property
    def shaped(self) -> bool:
        """Whether A has other constraints than non-negativity, so that it must not be extrapolated."""
        return self.totals is not None or self.profiles is not None

    @property
    def keeps_sources(self) -> bool:
        """Whether there are known sources that are returned as they were given."""
        return self.rigid and bool(self.given[: self.r].any())

    @property
    def closes_known(self) -> bool:
        """Whether a closure counts known sources with their own scale."""
        return self.totals is not None and self.keeps_sources

    @property
    def holds_norms(self) -> bool:
        """Whether the norms of A cannot compensate for thresholds: closure, or known sources."""
        return self.totals is not None or self.keeps_sources

    @property
    def sized(self) -> NDArray:
        """(R,) which columns of A have a physical size: all under a closure, else the known ones."""
        found = self.held | (self.given if self.rigid else False)
        found[: self.r] |= self.totals is not None
        found[self.r :] = False
        return np.asarray(found)

    def imposed(self, A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
        """Return A and S with all known values; a known source has the scale that S had before."""
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

    def in_shape(self, columns: NDArray, which: NDArray) -> NDArray:
        """Return columns of A for these sources, as near as possible in the shape of its profile."""
        if self.profiles is None:
            return columns
        unit = np.ones(len(columns)) if self.rows is None else self.rows
        found = columns * unit[:, None]
        for part in self.parts:
            found[part] = nearest_in_shape(found[part], [self.profiles[i] for i in which])
        return np.asarray(found / unit[:, None], dtype=columns.dtype)

    @property
    def exchangeable(self) -> NDArray:
        """Indices of free sources that differ in the shapes of their profiles and in nothing else."""
        if self.profiles is None:
            return np.empty(0, dtype=int)
        bound = self.given | self.held
        for zeros, axis in ((self.zero_sources, 1), (self.zero_mixing, 0)):
            bound |= False if zeros is None else zeros.any(axis=axis)
        found = np.flatnonzero(~bound[: self.r])
        return found if len({self.profiles[i] for i in found}) > 1 else found[:0]

    def matched(self, A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
        """Return A and S with each exchangeable source at the shape that its profile is nearest to."""
        which = self.exchangeable
        if self.profiles is None or not which.size:
            return A, S
        energy = np.einsum("ij,ij->i", S[which], S[which], dtype=np.float64)
        costs = np.empty((which.size, which.size))  # of a source (row) with a shape (column)
        for j, i in enumerate(which):
            moved = self.in_shape(A[:, which], np.full(which.size, i)) - A[:, which]
            costs[:, j] = np.sum(moved**2, axis=0) * energy
        source, shape = linear_sum_assignment(costs)
        A, S = A.copy(), S.copy(order="K")
        A[:, which[shape]], S[which[shape]] = A[:, which[source]], S[which[source]]
        A[:, which] = self.in_shape(A[:, which], which)
        return A, S

    def sizes_of(self, A: NDArray, S: NDArray) -> NDArray:
        """Return the norms (R,) of the columns of A in physical units; 0 for those of a baseline.

        A known column has its own norm, and a known source the norm that fits its scale. Under a
        closure, the other norms are those for which the rows of A sum to their totals; without one they
        are 1.
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
        size[open_] = np.maximum(found[0], SMALLEST_SIZE * found.max(initial=0))
        return size


FREE = Constraints()
SMALLEST_SIZE = 1e-6  # of a column of A under a closure, over the largest size


def _scales(S: NDArray, known: NDArray) -> NDArray:
    """Return the scale of each row of S as a multiple of a known source; 1 if the row is 0."""
    scale = np.einsum("ij,ij->i", S, known) / np.einsum("ij,ij->i", known, known)
    return np.where(scale > 0, scale, 1.0)


def constrained(inner: Inner, known: Constraints) -> Solve:
    """Return the S-step of all sources, made from a solver for the unknown ones."""
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
    """Return the correlations of the free columns of X, without the part of the given columns."""
    rest = np.ascontiguousarray(C[:, free])
    if given.size:
        fixed = np.zeros(X.shape)
        fixed[:, given] = X[:, given]
        rest -= G.times(fixed)[:, free].astype(C.dtype)
    return rest


def forbid(C: NDArray, zero: NDArray, *, closed: bool = False) -> None:
    """Change correlations in place so that entries are 0 where `zero` is true.

    A negative correlation leads to 0, because X and G are not negative. Under a closure the multiplier
    of the sum is added to the correlations, so they must be minus infinity.
    """
    C[zero] = -np.inf if closed else -np.abs(C[zero])


def penalised_rows(lam: NDArray) -> Inner:
    """Return the solver of argmin_{X >= 0} 1/2 <X, XG> - <C, X> + <lam, X>, row by row.

    If entries have their own noise levels, the thresholds follow the noise of the correlations.
    """
    return lambda G, C, X: G.solve(C, X, lam, unit=True)


def exact_rows(G: Gram, C: NDArray, X: NDArray) -> float:
    """Solve argmin_{X >= 0} 1/2 <X, XG> - <C, X>, row by row, in place of X; return the violation."""
    return G.solve(C, X)
