"""`ambiguity`: which other sources and concentrations fit the data as well (rotational ambiguity)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv

from ngmca import rules
from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option, warn_user
from ngmca._support.progress import open_bar
from ngmca._support.threads import available, in_parts, one_blas_thread
from ngmca.constraints import Closure, Constraint, as_constraints
from ngmca.engines import Engine, in_own_units, observed_in, open_data, variance_growth, without_outliers
from ngmca.plotting.sources_plot import wrong_shape
from ngmca.result import Ambiguity, Separation
from ngmca.rotations.constraints_on_rotations import (
    free_entries,
    moves_off_shapes,
    nearest_mixing,
    nearest_sources,
)
from ngmca.rotations.feasible_rotations import End, Rotations
from ngmca.rotations.loose_rotations import LEVEL

FEW_SOURCES = 8  # up to which the search takes a few seconds
MANY_SOURCES = 12  # from which on the search may take minutes
FAINTEST_NOISE = 1e-4  # of the root mean square of the signal: noise below it counts as this much


@one_blas_thread
def ambiguity(
    data: Any,
    separation: Separation,
    *,
    constraints: Sequence[Constraint] = (),
    mask: ArrayLike | None = None,
    level: float = 0.9,
    threads: int | None = None,
    progress: bool = False,
) -> Ambiguity:
    """Find the range of sources and concentrations that fit the data as well (rotational ambiguity).

    Besides the noise, other factorisations may fit: A T and T^-1 S have the same product as A and S.
    Many of them have negative entries, but not all. The contribution |a_k s_k| / |A S| of each source is
    made as small and as large as possible, as MCR-BANDS does, among factors that are not negative and
    keep the constraints. Their product may differ from that of the separation by what noise can hide:
    the sum of squares, in units of the noise, is at most a quantile of chi-squared with r (r - 1)
    degrees of freedom, the number of free entries of T. Noise that is correlated along the channels
    counts as larger.

    The search starts from the separation and goes up or down from there. Like MCR-BANDS, it finds the
    nearest end where there are several. Thresholds (sparsity) are no constraint here: sources may be
    less sparse than those of the separation. A background stays as it was fitted.

    Parameters
    ----------
    data : (m, n) array, Dataset, DataFrame or DataArray
        The data that were separated. Only the noise in them is used: its correlation along the
        channels, and which entries are missing.
    separation : Separation
        What `separate` returned.
    constraints : sequence of constraints
        Those of the separation; the factorisations keep them too.
    mask : (m, n) array of bool, optional
        True where an entry is missing, in addition to NaN and masked entries.
    level : float
        Probability of the quantile, below 1.
    threads : int or None
        Threads for the sources; None uses all cores. The result does not depend on it.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Ambiguity
        Smallest and largest contribution of each source, and bands of S and A.

    Raises
    ------
    ValueError
        If an argument has a wrong value, or cannot be combined with another one.

    See Also
    --------
    posterior : Error bars for the noise.

    Examples
    --------
    Mixtures in which nothing is pure: much of one spectrum may belong to the other.

    >>> import numpy as np
    >>> import ngmca
    >>> S = ngmca.simulate.bands(n=200, r=2, seed=0).S
    >>> shares = np.linspace(0.3, 0.7, 20)
    >>> Y = np.outer(shares, S[0]) + np.outer(1 - shares, S[1])
    >>> Y += 0.01 * np.random.default_rng(0).standard_normal(Y.shape)
    >>> separation = ngmca.separate(Y, 2)
    >>> found = ngmca.ambiguity(Y, separation)
    >>> bool((found.lowest < found.found).all() and (found.found < found.highest).all())
    True
    >>> found.S_low.shape
    (2, 200)
    """
    if not 0 < arguments.check_number(level, "level", high=1.0) < 1:
        raise ArgumentError("{} must be above 0 and below 1, got {}.", option("level"), level)
    threads = available() if threads is None else arguments.check_count(threads, "threads")
    known = as_constraints(constraints)
    engine = open_data(data, mask=mask)
    shape = (len(separation.A), separation.S.shape[1])
    if engine.shape != shape:
        raise wrong_shape(engine.shape, shape)
    r = len(separation.S)
    check_number(r, shape)
    if r > MANY_SOURCES:
        warn_user(
            f"the search for other mixtures of {r} sources may take several minutes: its time grows "
            "with the fifth power of their number. A progress bar shows how far it is."
        )
    if separation.A.min() < 0 or separation.S.min() < 0:
        rules.check(rules.written(["ambiguity", "gmca"]))
    names = [] if engine.whole else ["disk"]
    rules.check(rules.written(["ambiguity", *names]))
    problem = _Problem.of(engine, separation, known, level)
    ends = problem.ends(threads, show=progress)
    return problem.collected(ends)


def ends_that_fit(
    engine: Engine, separation: Separation, known: Sequence[Constraint], threads: int
) -> list[tuple[NDArray, NDArray]]:
    """Return A and S of the mixtures in which a source contributes least or most, two for each source.

    No ends are returned where they are not defined, or where the search would take minutes.
    """
    r, smallest = len(separation.S), min(len(separation.A), separation.S.shape[1])
    if not 1 < r <= min(smallest, FEW_SOURCES) or min(separation.A.min(), separation.S.min()) < 0:
        return []
    problem = _Problem.of(engine, separation, known, LEVEL)
    return [problem.factors(end.T) for end in problem.ends(threads)]


def check_number(r: int, shape: tuple[int, int]) -> None:
    """Raise an error if there are more sources than measurements or channels."""
    if r > min(shape):
        raise ArgumentError(
            "{} needs at least as many measurements and channels as sources, but there are {} sources "
            "and {} x {} entries: separate fewer sources.",
            *(option("ambiguity"), r, *shape),
        )


def _growth(seen: Engine, separation: Separation) -> float:
    """Return how much larger the variance of the noise counts."""
    A, S, background = separation.A, separation.S / seen.unit, separation.background
    if background is not None:
        A, S = np.hstack([A, background.weights / seen.unit]), np.vstack([S, background.basis])
    return variance_growth(seen, A, S)


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is pushed, and how it is written in the units of the data."""

    rotations: Rotations
    separation: Separation
    units: NDArray  # (r,) of the sources, norms of the columns of A
    noise: float  # in units of the data
    held: NDArray  # (r,) columns of A that are known
    closed: bool
    level: float
    growth: float  # of the variance of the noise, by its correlation along the channels

    @classmethod
    def of(
        cls, engine: Engine, separation: Separation, known: Sequence[Constraint], level: float
    ) -> "_Problem":
        m, n = engine.shape
        engine = without_outliers(engine, separation.outliers)
        growth = _growth(engine, separation)
        r = len(separation.S)
        S, unit = in_own_units(np.asarray(separation.S, dtype=float))
        A = np.asarray(separation.A, dtype=float)
        signal = np.sqrt(max(np.vdot(A.T @ A, S @ S.T), 0.0) / (m * n))
        levels = np.nan_to_num(separation.noise / unit) * np.sqrt(growth)
        levels = np.maximum(levels, FAINTEST_NOISE * signal or 1.0)
        seen = np.maximum(observed_in(engine, 1), 1) / n
        noise = float(np.exp(np.mean(np.log(levels))))
        plain = levels / noise / np.sqrt(seen)  # a measurement with few entries counts less
        weighted = A / plain[:, None]
        units = np.linalg.norm(weighted, axis=0)
        units = np.where(units > 0, units, 1.0)
        weighted, S = weighted / units, S * (units / noise)[:, None]
        closed = any(isinstance(one, Closure) and one.sums_up_all for one in known)
        if closed:  # T^-1 1, the scales that keep the sums of A, are not negative: one more channel
            size = np.linalg.norm(S) / np.sqrt(n * (units @ units))
            S = np.column_stack([S, size * units])
        free, held = free_entries(known, r, m, n, np.linalg.norm(S, axis=1) > 0)
        nearest = nearest_mixing(known, separation, plain), nearest_sources(known, r, n)
        shapes = moves_off_shapes(known, separation, plain)
        rotations = Rotations(weighted, S, plain, n, free, nearest, shapes)
        return cls(rotations, separation, units, noise * unit, held, closed, level, growth)

    @property
    def limit(self) -> float:
        """Quantile of chi squared up to which noise hides a change of the signal."""
        r = len(self.separation.S)
        return 2 * float(gammaincinv(max(r * (r - 1), 1) / 2, self.level))

    def ends(self, threads: int, *, show: bool = False) -> list[End]:
        """Return the ends at which each source contributes least, and those at which it does most."""
        r = len(self.separation.S)
        pushes = [(sign, k) for sign in (-1.0, 1.0) for k in range(r)]
        with open_bar(len(pushes), show=show, label="other mixtures") as bar:

            def push(some: range) -> list[End]:
                ends = []
                for i in some:
                    ends.append(self.rotations.end(pushes[i][1], pushes[i][0], self.limit))
                    if bar is not None:
                        bar.advance()
                return ends

            return [end for part in in_parts(push, len(pushes), 1, threads) for end in part]

    def collected(self, ends: list[End]) -> Ambiguity:
        """Return ranges over all ends; each source has the norm of the separation, or a known scale."""
        separation, r = self.separation, len(self.separation.S)
        A, S = separation.A, separation.S
        low, high = [A.copy(), S.copy()], [A.copy(), S.copy()]
        found = self._contributions(np.eye(r))
        contributions = np.stack([found, *(self._contributions(end.T) for end in ends)])
        for end in ends:
            for i, factor in enumerate(self.factors(end.T)):
                np.minimum(low[i], factor, out=low[i])
                np.maximum(high[i], factor, out=high[i])
        return Ambiguity(
            lowest=contributions.min(axis=0),
            found=found,
            highest=contributions.max(axis=0),
            S_low=low[1],
            S_high=high[1],
            A_low=low[0],
            A_high=high[0],
            T=np.stack([end.T * self.units / self.units[:, None] for end in ends]).reshape(2, r, r, r),
            deviance=np.array([end.deviance for end in ends]).reshape(2, r),
            converged=np.array([end.converged for end in ends]).reshape(2, r),
            limit=self.limit,
            level=self.level,
            variance_growth=self.growth,
        )

    def _contributions(self, T: NDArray) -> NDArray:
        A, S = self.rotations.factors(T)
        A, S = A * self.rotations.plain[:, None], S[:, : self.rotations.channels]
        total = np.sqrt(max(float(np.vdot(A.T @ A, S @ S.T)), 0.0))
        sizes = np.linalg.norm(A, axis=0) * np.linalg.norm(S, axis=1)
        return sizes / total if total > 0 else sizes

    def factors(self, T: NDArray) -> tuple[NDArray, NDArray]:
        """Return A and S of an end in the units of the data."""
        A, S = self.rotations.factors(T)
        extra, S = S[:, self.rotations.channels :], S[:, : self.rotations.channels]
        before = self.rotations.S
        if self.closed:
            scale = before[:, -1] / np.maximum(extra[:, 0], before[:, -1] * 1e-9)
        else:
            size = np.linalg.norm(S, axis=1)
            scale = np.linalg.norm(before, axis=1) / np.where(size > 0, size, 1)
            scale = np.where(self.held | (size == 0), 1.0, scale)
        scale = scale / self.units
        return A * self.rotations.plain[:, None] / scale, S * (self.noise * scale)[:, None]
