"""Constraints on A and S as arrays, and the steps under them.

An entry with a negative correlation is 0 in the solution, because A and S are not negative. Entries that
must be 0 therefore get a negative correlation, and the plain solvers need no change. Known values are
moved to the right-hand side, and what is left of their entries must be 0. Closure and shapes of profiles
have their own solvers.

Columns of A have norm 1 on the way. Their sizes in physical units follow from A and S themselves: they
are those for which known values and totals fit (`Constraints.sizes_of`).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.assignment import cheapest_pairs
from ngmca.algorithms.kinetics.kinetic_step import KineticModel
from ngmca.engines import Solve
from ngmca.nnqp.column_sizes import SizeEquations
from ngmca.nnqp.gram import Gram, Inner, held_at
from ngmca.nnqp.pooling import best_column
from ngmca.nnqp.profile_shapes import SHAPES, nearest_in_shape


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints on A (m, R) and S (R, n), in units of the engine; the last R - r are a baseline."""

    r: int = 0  # sources
    sources: NDArray | None = None  # (R, n): known values, and the baseline; NaN is free
    mixing: NDArray | None = None  # (m, R): known values of A in physical units; NaN is free
    expected: NDArray | None = None  # (m, R): values of A that are known up to `sd`; NaN is free
    sd: NDArray | None = None  # (m, R): their standard deviations
    zero_sources: NDArray | None = None  # (R, n), true where S is 0
    zero_mixing: NDArray | None = None  # (m, R), true where A is 0
    totals: NDArray | None = None  # (m,): rows of A, in physical units, sum up to them
    summed: tuple[int, ...] | None = None  # the sources that are summed up; None: all
    sense: str = "equal"  # the sum is equal to its total, "at most" or "at least" that
    sizes: NDArray | None = None  # (R,): norms of columns of A in physical units, where all are known
    rigid: bool = True  # known sources are returned as they were given, the columns of A take the scale
    profiles: tuple[str, ...] | None = None  # (R,) "free", "unimodal", "increasing", "decreasing"
    parts: tuple[slice, ...] = (slice(None),)  # measurements whose profiles belong together
    rows: NDArray | None = None  # (m,) unit of each measurement, in which profiles have their shapes
    both: bool = False  # A is penalised too
    kinetics: KineticModel | None = None  # profiles that follow a rate law
    trilinear: tuple[int, ...] = ()  # sources whose profiles are the same in all parts, up to a factor

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
    def windows(self) -> NDArray:
        """(R,) which sources are known at some channels only."""
        if self.sources is None:
            return np.zeros(self.r, dtype=bool)
        return ~np.isnan(self.sources).all(axis=1) & ~self.given

    @property
    def points(self) -> NDArray | None:
        """(m, R): known values of A, zeros included; NaN is free. None if all are free."""
        if self.zero_mixing is None:
            return self.mixing
        found = np.full(self.zero_mixing.shape, np.nan) if self.mixing is None else self.mixing.copy()
        found[self.zero_mixing] = 0
        return found

    @property
    def zeros(self) -> NDArray:
        """(m, R) or (1, R): where values of A are known to be 0."""
        return np.zeros((1, self.total), dtype=bool) if self.points is None else self.points == 0

    @property
    def pointed(self) -> NDArray:
        """(R,) which columns of A have a size, because some of their values are known."""
        found = np.zeros(self.total, dtype=bool)
        for values in (self.mixing, self.expected):
            found |= False if values is None else (np.nan_to_num(values) > 0).any(axis=0)
        return found

    @property
    def anchored(self) -> bool:
        """Whether known values of A, at least two of each source, say how sources are mixed."""
        count = np.zeros(self.total, dtype=np.intp)
        for values in (self.mixing, self.expected):
            count += 0 if values is None else np.count_nonzero(~np.isnan(values), axis=0)
        return self.r > 0 and bool((count[: self.r] >= 2).all())

    @property
    def modelled(self) -> NDArray:
        """(R,) which columns of A follow a rate law."""
        found = np.zeros(self.total, dtype=bool)
        found[[] if self.kinetics is None else list(self.kinetics.columns)] = True
        return found

    @property
    def known_sources(self) -> NDArray | None:
        """(R, n): known values of S, zeros included; NaN is free. None if all are free."""
        if self.zero_sources is None:
            return self.sources
        found = np.full(self.zero_sources.shape, np.nan) if self.sources is None else self.sources.copy()
        found[self.zero_sources] = 0
        return found

    @property
    def closed(self) -> NDArray:
        """(R,) which sources are summed up by a closure."""
        inside = np.zeros(self.total, dtype=bool)
        if self.totals is not None:
            inside[slice(self.r) if self.summed is None else list(self.summed)] = True
        return inside

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
        parts = (self.mixing, self.expected, self.zero_mixing, self.totals, self.profiles, self.kinetics)
        return self.both or bool(self.trilinear) or any(part is not None for part in parts)

    @property
    def shaped(self) -> bool:
        """Whether A has other constraints than non-negativity, so that it must not be extrapolated."""
        pointed = bool((self.pointed & ~self.held).any())
        others = (self.totals, self.profiles, self.kinetics)
        return pointed or bool(self.trilinear) or any(part is not None for part in others)

    @property
    def keeps_sources(self) -> bool:
        """Whether there are known sources that are returned as they were given."""
        return self.rigid and bool((self.given | self.windows)[: self.r].any())

    @property
    def closes_known(self) -> bool:
        """Whether a closure counts known sources with their own scale."""
        return self.totals is not None and self.keeps_sources

    @property
    def holds_norms(self) -> bool:
        """Whether the norms of A cannot compensate for thresholds: closure, or known values."""
        pointed = bool((self.pointed & ~self.held).any())
        scaled = self.totals is not None or self.kinetics is not None or self.keeps_sources
        return scaled or pointed or bool(self.windows.any())

    @property
    def sized(self) -> NDArray:
        """(R,) which columns of A have a physical size: those of a closure, and of known values."""
        found = self.pointed | self.closed | self.modelled
        found |= (self.given | self.windows) if self.rigid else False
        found[self.r :] = False
        return np.asarray(found)

    @property
    def boundable(self) -> NDArray:
        """(R,) which columns of A may be kept at norms of at most 1: nothing else says their scale."""
        return ~(self.given | self.windows | self.pointed)

    @property
    def scaled_elsewhere(self) -> NDArray:
        """(R,) which columns of A have a size that does not follow from their own values."""
        closed = self.closed if self.sense == "equal" else np.zeros(self.total, dtype=bool)
        return np.asarray(closed | ((self.given | self.windows) if self.rigid else False))

    def without_points(self, columns: NDArray) -> "Constraints":
        """Return the same without the known values above 0 of some columns (R,) of A."""
        if self.mixing is None:
            return replace(self, expected=None, sd=None)
        mixing = np.where(columns & (self.mixing > 0), np.nan, self.mixing)
        return replace(self, mixing=mixing, expected=None, sd=None)

    def without_closure(self) -> "Constraints":
        """Return the same for steps whose thresholds shrink the sources: without sums.

        Values with a standard deviation are exact there, in the shapes of their profiles: alternating
        steps find what such values say about the mixing much faster from an exact fit.
        """
        if self.expected is None or self.sd is None:
            return replace(self, totals=None)
        unit = 1.0 if self.rows is None else self.rows[:, None]
        values, weights = self.expected * unit, self.sd**-2.0
        exact = np.full(values.shape, np.nan) if self.points is None else self.points * unit
        mixing = np.where(np.isnan(exact), np.nan, exact)
        for k in range(self.total):
            shape = SHAPES["free" if self.profiles is None else self.profiles[k]]
            for part in self.parts:
                place = np.flatnonzero(~np.isnan(np.fmax(values[part, k], exact[part, k])))
                h = np.nan_to_num(weights[part, k][place])
                a, x = h * np.nan_to_num(values[part, k][place]), np.empty(len(place))
                best_column(shape, a, h, np.inf, exact[part, k][place], x)
                mixing[part, k][place] = x
        return replace(self, totals=None, mixing=mixing / unit, expected=None, sd=None)

    @property
    def points_tell_order(self) -> bool:
        """Whether known values of A say which source is which, and nothing else does."""
        others = (self.sources, self.zero_sources, self.zero_mixing, self.summed, self.kinetics)
        same = self.profiles is None or len(set(self.profiles)) == 1
        pointed = bool(self.pointed.any()) and not self.held.any()
        return pointed and same and all(part is None for part in others)

    def without_order(self) -> "Constraints":
        """Return the same without known values of A."""
        return replace(self, mixing=None, expected=None, sd=None)

    def in_order(self, A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
        """Return columns of A and rows of S in the order in which known values of A fit best."""
        size, scaled = self.without_order().sizes_of(A, S), self.totals is not None
        misfits = np.zeros((self.r, self.r))
        for values in (self.mixing, self.expected):
            for k in range(self.r if values is not None else 0):
                known = ~np.isnan(values[:, k])  # type: ignore[index]
                p, a = values[known, k, None], A[known].astype(np.float64)  # type: ignore[index]
                energy = np.maximum(np.sum(a * a, axis=0), 1e-300)
                scale = size if scaled else np.sum(p * a, axis=0) / energy
                misfits[k] += np.sum((p - scale * a) ** 2, axis=0)
        order = cheapest_pairs(misfits)[1]
        return A[:, order], S[order]

    def imposed(self, A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
        """Return A and S with all known values; a known source has the scale that S had before."""
        if not self.any:
            return A, S
        points = self.points
        size = None if points is None else self.sizes_of(A, S)
        A, S = A.copy(), S.copy(order="K")
        if points is not None and size is not None:
            np.copyto(A, points / np.where(size > 0, size, 1), where=~np.isnan(points))
        if self.zero_sources is not None:
            S[self.zero_sources] = 0
        if self.sources is not None:
            scaled = self.sources * _scales(S, self.sources)[:, None]
            np.copyto(S, scaled.astype(S.dtype), where=~np.isnan(self.sources))
        return A, S

    def physical_sources(self, A: NDArray, S: NDArray) -> NDArray | None:
        """Return known values of S for profiles of a rate law in physical units; None if all are free.

        Other columns of A keep their norms, and other known sources the scale that they have in S.
        """
        values = self.known_sources
        if values is None or self.kinetics is None:
            return values
        columns, scaled = list(self.kinetics.columns), self.imposed(A, S)[1].astype(np.float64)
        if self.rigid:
            scaled[columns] = values[columns]
        return np.where(np.isnan(values), np.nan, scaled)

    def in_shape(self, columns: NDArray, which: NDArray) -> NDArray:
        """Return the nearest columns of A for these sources with known zeros and shapes of profiles."""
        if self.points is None and self.profiles is None:
            return columns
        zeros = np.broadcast_to(self.zeros[:, which], columns.shape)
        if self.profiles is None:
            return np.where(zeros, 0, columns)
        unit = np.ones(len(columns)) if self.rows is None else self.rows
        found, shapes = columns * unit[:, None], [self.profiles[i] for i in which]
        for part in self.parts:
            found[part] = nearest_in_shape(found[part], shapes, zeros[part])
        return np.asarray(found / unit[:, None], dtype=columns.dtype)

    @property
    def exchangeable(self) -> NDArray:
        """Indices of free sources that differ in the shapes of their profiles and in nothing else."""
        if self.profiles is None:
            return np.empty(0, dtype=int)
        bound = self.given | self.windows | self.pointed | self.modelled
        if self.summed is not None:
            bound |= self.closed
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
        source, shape = cheapest_pairs(costs)
        A, S = A.copy(), S.copy(order="K")
        A[:, which[shape]], S[which[shape]] = A[:, which[source]], S[which[source]]
        A[:, which] = self.in_shape(A[:, which], which)
        return A, S

    def sizes_of(self, A: NDArray, S: NDArray) -> NDArray:
        """Return the norms (R,) of the columns of A in physical units; 0 for those of a baseline.

        A known source has the norm that fits its scale. The others are those for which known values of A
        fit best, and rows of A sum to their totals; 1 if nothing says the size.
        """
        size = np.full(self.total, np.nan) if self.sizes is None else self.sizes.astype(np.float64)
        unsized = np.isnan(size)
        if self.kinetics is not None:
            columns = list(self.kinetics.columns)
            size[columns] = self.kinetics.sizes(A[:, columns])
        if self.sources is not None and self.rigid:
            known = unsized & (self.given | self.windows)
            size[known] = _scales(S[known], self.sources[known])
        if self.mixing is not None:  # a column that is known as a whole has norm 1 in A
            size[self.held] = np.linalg.norm(self.mixing[:, self.held], axis=0)
        size[self.r :] = 0
        if np.isnan(size).any():
            equations = SizeEquations(A.astype(np.float64), size)
            equations.add_points(self.mixing)
            if self.totals is not None and self.sense == "equal":
                equations.add_sums(self.closed, self.totals)
            equations.solve()
            equations.add_points(self.expected, self.sd)
            equations.solve()
        return np.where(np.isnan(size), 1.0, size)

    def within_sums(self, A: NDArray, size: NDArray) -> NDArray:
        """Return sizes of columns with which sums of rows of A are at most, or at least, their totals.

        Sizes that only follow from values with a standard deviation may miss this. They are
        multiplied by one number.
        """
        if self.totals is None or self.sense == "equal" or self.expected is None:
            return size
        exact = False if self.mixing is None else (np.nan_to_num(self.mixing) > 0).any(axis=0)
        given = (self.given | self.windows) if self.rigid else False
        uncertain = (np.nan_to_num(self.expected) > 0).any(axis=0)
        loose = self.closed & uncertain & ~np.asarray(exact | given)
        fixed = self.closed & ~loose
        sums, left = A[:, loose] @ size[loose], self.totals - A[:, fixed] @ size[fixed]
        factors = left[sums > 0] / sums[sums > 0]
        if not factors.size:
            return size
        factor = max(1.0, factors.max()) if self.sense == "at least" else min(1.0, factors.min())
        return np.where(loose, size * max(factor, 0.0), size)


FREE = Constraints()


def _scales(S: NDArray, known: NDArray) -> NDArray:
    """Return the scale of each row of S as a multiple of its known values; 1 if these are 0."""
    values = np.nan_to_num(known)
    energy = np.einsum("ij,ij->i", values, values)
    scale = np.einsum("ij,ij->i", S, values) / np.where(energy > 0, energy, 1)
    return np.where(scale > 0, scale, 1.0)


def constrained(inner: Inner, known: Constraints) -> Solve:
    """Return the S-step of all sources, made from a solver for the unknown ones."""
    if not known.on_sources:
        return lambda G, C, X, columns: inner(G, C, X)
    given, free = np.flatnonzero(known.given), np.flatnonzero(~known.given)
    held = np.zeros((known.total, 0)) if known.sources is None else ~np.isnan(known.sources)
    zero = np.zeros((known.total, 0)) if known.zero_sources is None else known.zero_sources
    fixed = [np.ascontiguousarray(flags[free].T) for flags in (held, zero) if flags[free].any()]

    def solve(G: Gram, C: NDArray, X: NDArray, columns: slice) -> float:
        C = without(G, C, X, given, free)
        part = np.ascontiguousarray(X[:, free])
        if not fixed:
            worst = inner(G.among(free), C, part)
        else:
            known_here = np.logical_or.reduce([flags[columns] for flags in fixed])
            worst = held_at(np.where(known_here, part, 0), known_here, G.among(free), C, part, inner)
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


def penalised_rows(lam: NDArray) -> Inner:
    """Return the solver of argmin_{X >= 0} 1/2 <X, XG> - <C, X> + <lam, X>, row by row.

    If entries have their own noise levels, the thresholds follow the noise of the correlations.
    """
    return lambda G, C, X: G.solve(C, X, lam, unit=True)


def exact_rows(G: Gram, C: NDArray, X: NDArray) -> float:
    """Solve argmin_{X >= 0} 1/2 <X, XG> - <C, X>, row by row, in place of X; return the violation."""
    return G.solve(C, X)
