"""Columns of A that follow a rate law: the A-step, which fits its parameters.

The parameters are found with the sources eliminated: for each trial, S is the exact non-negative fit. So
they do not creep, as they would if A and S were improved in turn. A step of Gauss and Newton needs only
S S' and Y S': with D_j the derivative of A by parameter j, and P the projection off the columns of A,
the curvature is <D_j, P D_k S S'> and the slope -<D_j, Y S' - A S S'>. Steps are damped until the fit
improves. If all columns follow the law, the fit depends on the data only, and is made once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import Engine, Sweep
from ngmca.nnqp.gram import Gram, held_at

MAX_STEPS = 40
TOLERANCE = 1e-12  # relative fall of the cost at which the steps end
DIFFERENCE = 1e-5  # of a parameter, for derivatives
SEARCHED = (0.3, 1.5, 7.0, 35.0)  # rate constants over the first guess
MOST_TRIALS, BEST_TRIALS = 128, 4  # of the search, and how many of them are followed to their end
FAR_FROM_LAW = 0.05  # of the norm of a column: then it is no profile of the law
MOST_RECENT = 8  # steps whose parameters are tried first
MOST_REMEMBERED = 64  # mixings whose parameters are known
FARTHEST = 2.0  # move of the logarithm of a parameter in one step


@dataclass(frozen=True, eq=False)
class KineticModel:
    """Profiles of some columns of A as a function of parameters.

    Attributes
    ----------
    profiles : callable
        Parameters (p,) -> columns (m, q), in units of the engine's measurements.
    columns : tuple of int
        The sources that they belong to.
    names : tuple of str
        Names of the parameters.
    guess : (p,) array
        Where the search begins.
    searched : bool
        Whether other orders of magnitude are tried too.
    times, rows : (m,) arrays
        Time of each measurement, and its unit.
    expected, sd : (m, q) arrays, optional
        Known values of the columns and their standard deviations; NaN is unknown.
    """

    profiles: Callable[[NDArray], NDArray] = field(repr=False)
    columns: tuple[int, ...]
    names: tuple[str, ...]
    guess: NDArray
    searched: bool = True
    times: NDArray = field(default_factory=lambda: np.zeros(0), repr=False)
    rows: NDArray = field(default_factory=lambda: np.ones(1), repr=False)
    expected: NDArray | None = field(default=None, repr=False)
    sd: NDArray | None = field(default=None, repr=False)
    memory: dict[object, Any] = field(default_factory=dict, repr=False)
    recent: list[NDArray] = field(default_factory=list, repr=False)  # free numbers of the last steps

    def with_rest(self, source: int, totals: NDArray, summed: NDArray) -> "KineticModel":
        """Return the model with one column more: what the `summed` (q,) columns leave of totals (m,)."""

        def profiles(parameters: NDArray) -> NDArray:
            columns = self.profiles(parameters)
            return np.column_stack([columns, totals - columns[:, summed].sum(axis=1)])

        return replace(self, profiles=profiles, columns=(*self.columns, source), memory={}, recent=[])

    def tried(self) -> NDArray:
        """Return columns (2, m, q) for two different sets of parameters."""
        theta = self.free(self.guess)
        return np.stack([self.profiles(self.parameters(theta + step)) for step in (0.0, 0.5)])

    def parameters(self, theta: NDArray) -> NDArray:
        """Return parameters from free numbers: logarithms of those that are above 0."""
        return np.where(self.guess > 0, np.exp(np.clip(theta, -700, 700)), theta)

    def free(self, parameters: NDArray) -> NDArray:
        """Return the free numbers of parameters."""
        positive = self.guess > 0
        return np.where(positive, np.log(np.where(positive, parameters, 1.0)), parameters)

    def at(self, theta: NDArray) -> NDArray:
        """Return the columns (m, q); 0 where the law has no finite values."""
        with np.errstate(all="ignore"):
            found = self.profiles(self.parameters(theta))
        return np.nan_to_num(np.maximum(found, 0), nan=0.0, posinf=0.0)

    def derivatives(self, theta: NDArray) -> NDArray:
        """Return the derivatives of the columns by each free number (p, m, q)."""
        step = DIFFERENCE * np.maximum(1.0, np.where(self.guess > 0, 1.0, np.abs(theta)))
        found = [
            (self.at(theta + e) - self.at(theta - e)) / (2 * step[j])
            for j, e in enumerate(np.diag(step))
        ]
        return np.array(found)

    def sizes(self, A: NDArray) -> NDArray:
        """Return the norms (q,) of the profiles that columns (m, q) of any norm stand for."""
        return np.linalg.norm(self.at(self.nearest(A)[0]), axis=0)

    def nearest(self, A: NDArray) -> tuple[NDArray, float]:
        """Return the free numbers whose profiles have the directions of columns (m, q), and the misfit.

        The misfit is the largest distance between a column and its profile, both of norm 1.
        """
        key = A.tobytes()
        if key not in self.memory:
            self.memory[key] = self._nearest(A)
            if len(self.memory) > MOST_REMEMBERED:
                self.memory.pop(next(iter(self.memory)))
        return self.memory[key]

    def trials(self) -> list[NDArray]:
        """Return free numbers of other orders of magnitude, and the first guess."""
        first = self.free(self.guess)
        if not self.searched:
            return [first]
        grid = list(product(np.log(SEARCHED), repeat=len(first)))
        if len(grid) > MOST_TRIALS:
            chosen = np.random.default_rng(0).choice(len(grid), MOST_TRIALS, replace=False)
            grid = [grid[i] for i in chosen]
        return [first, *(first + np.array(moves) for moves in grid)]

    def _nearest(self, A: NDArray) -> tuple[NDArray, float]:
        from scipy.optimize import least_squares  # takes its time to load: not before it is needed

        target = A.astype(np.float64)
        target /= np.maximum(np.linalg.norm(target, axis=0), 1e-300)

        def rest(theta: NDArray) -> NDArray:
            C = self.at(theta)
            size = np.maximum(np.linalg.norm(C, axis=0), 1e-300)
            return np.asarray((C / size - target).ravel())

        def farthest(theta: NDArray) -> float:
            return float(np.linalg.norm(rest(theta).reshape(target.shape), axis=0).max())

        rounding = 16 * float(np.finfo(A.dtype).eps)
        for theta in reversed(self.recent):  # other parameters may have nearly the same directions
            far = farthest(theta)
            if far <= rounding:
                return theta, far
        begin = min(self.trials(), key=lambda theta: float(np.sum(rest(theta) ** 2)))
        theta = least_squares(rest, begin, x_scale=1.0, max_nfev=60, ftol=1e-15, xtol=1e-15).x
        return theta, farthest(theta)


def kinetic_step(
    engine: Engine,
    A: NDArray,
    S: NDArray,
    model: KineticModel,
    known_sources: NDArray | None = None,
    noise: NDArray | None = None,
) -> tuple[NDArray, NDArray, float]:
    """Return A and S with the profiles that fit best, and how far they are from that.

    Columns outside of the model stay. Known sources (R, n) have NaN where S is unknown. The `noise` (m,)
    weighs known values of the columns; by default it is that of the residual.
    """
    if len(model.columns) < A.shape[1]:
        return _stepped(engine, A, S, model, known_sources, noise, alone=False)
    key = id(engine), None if known_sources is None else known_sources.tobytes()
    if key not in model.memory:
        found = _stepped(engine, A, S, model, known_sources, noise, alone=True)
        model.memory[key] = engine, found  # the engine is kept, so that no other has its id
    return model.memory[key][1]


def _stepped(
    engine: Engine,
    A: NDArray,
    S: NDArray,
    model: KineticModel,
    known_sources: NDArray | None,
    noise: NDArray | None,
    *,
    alone: bool,
) -> tuple[NDArray, NDArray, float]:
    """`kinetic_step`, whose first guess comes from A, unless all columns follow the law."""
    fit = KineticFit(engine, A, np.zeros_like(S) if alone else S, model, known_sources)
    theta, far = (model.guess, np.inf) if alone else model.nearest(A[:, model.columns])
    starts = [theta] if far < FAR_FROM_LAW else fit.search()
    found = [fit.descend(one) for one in starts]
    if model.expected is not None:  # the residual of the best fit weighs known values
        sweep = min((sweep for _, sweep in found), key=lambda one: one.cost)
        fit.weigh_known_values(residual_variance(engine, sweep, len(A.T)) if noise is None else noise**2)
        found = [fit.descend(theta) for theta, _ in found]
    theta, sweep = min(found, key=lambda one: fit.cost(*one))
    model.recent[:] = [*model.recent[1 - MOST_RECENT :], theta]
    return fit.mixing(theta), sweep.S, fit.distance(theta, sweep)


def residual_variance(engine: Engine, sweep: Sweep, r: int) -> NDArray:
    """Return the variance (m,) of the noise out of the residual of a fit with r sources."""
    m, n = engine.shape
    seen = m * n if engine.weights is None else int(np.count_nonzero(engine.weights))
    return np.full(m, 2 * sweep.cost / max(seen - r * (m + n - r), 1))


class KineticFit:
    """The cost as a function of the parameters alone: S is the exact fit for each of them."""

    def __init__(
        self,
        engine: Engine,
        A: NDArray,
        S: NDArray,
        model: KineticModel,
        known_sources: NDArray | None = None,
    ) -> None:
        self._engine, self._A, self._model = engine, A.astype(np.float64), model
        self._S, self._known, self._weights = S, known_sources, np.zeros((1, 1))

    def weigh_known_values(self, variance: NDArray) -> None:
        """Add 1/2 |(columns - expected) / sd|^2 to the cost, in units of the noise variance (m,)."""
        if self._model.sd is not None:
            self._weights = np.nan_to_num(variance[:, None] / self._model.sd**2)

    def cost(self, theta: NDArray, sweep: Sweep) -> float:
        """Return the cost, with that of known values."""
        found = sweep.cost + 0.5 * float(np.sum(self._weights * self._beside_known(theta) ** 2))
        return found if np.isfinite(found) else np.inf

    def _beside_known(self, theta: NDArray) -> NDArray:
        """Return columns less their known values, (m, q); 0 where these are unknown."""
        if self._model.expected is None:
            return np.zeros((1, 1))
        return np.nan_to_num(self._model.at(theta) - self._model.expected)

    def mixing(self, theta: NDArray) -> NDArray:
        """Return A with the profiles of the model."""
        A = self._A.copy()
        A[:, self._model.columns] = self._model.at(theta)
        return A

    def sweep(self, theta: NDArray) -> Sweep:
        """Return the best sources for the profiles, with the sums that a step needs.

        A profile near 0 may have a source that overflows: its cost is then not finite, and never best.
        """
        A = self.mixing(theta).astype(self._engine.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._engine.sweep(A, self._S, self._solve)

    def search(self) -> list[NDArray]:
        """Return the best of many orders of magnitude of the parameters."""
        thetas = self._model.trials()
        costs = [self.sweep(theta).cost for theta in thetas]
        return [thetas[i] for i in np.argsort(costs)[:BEST_TRIALS]]

    def descend(self, theta: NDArray) -> tuple[NDArray, Sweep]:
        """Return the parameters of a local minimum, and the fit there."""
        here, damping = self.sweep(theta), 1e-3
        for _ in range(MAX_STEPS):
            cost = self.cost(theta, here)
            slope, curvature = self.slope_and_curvature(theta, here)
            fell = False
            while damping < 1e8:
                scale = np.maximum(np.diagonal(curvature), 1e-300)
                step = -np.linalg.solve(curvature + np.diag(damping * scale), slope)
                step *= min(1.0, FARTHEST / max(float(np.abs(step).max()), 1e-300))
                there = self.sweep(theta + step)
                if self.cost(theta + step, there) < cost:
                    fell = True
                    break
                damping *= 8
            if not fell:
                break
            small = cost - self.cost(theta + step, there) <= TOLERANCE * cost
            theta, here, damping = theta + step, there, max(damping / 8, 1e-12)
            if small:
                break
        return (theta, here) if self._engine.dtype == np.float64 else self._settled(theta, here)

    def _settled(self, theta: NDArray, here: Sweep) -> tuple[NDArray, Sweep]:
        """Return where the slope is 0: in single precision rounding hides that the cost still falls."""
        rise = 10 * float(np.finfo(self._engine.dtype).eps) * self._engine.energy
        most, before = self.cost(theta, here) + rise, np.inf
        for _ in range(MAX_STEPS):
            slope, curvature = self.slope_and_curvature(theta, here)
            step = -np.linalg.lstsq(curvature, slope, rcond=1e-12)[0]
            size = float(np.abs(step).max(initial=0))
            there = self.sweep(theta + step) if size < before / 2 and size < FARTHEST else here
            if there is here or not self.cost(theta + step, there) <= most:
                break
            theta, here, before = theta + step, there, size
        return theta, here

    def slope_and_curvature(self, theta: NDArray, here: Sweep) -> tuple[NDArray, NDArray]:
        """Return the slope of the cost by the parameters, and its curvature with S eliminated."""
        A, D = self.mixing(theta), self.derivatives(theta)
        rest = here.YS - here.SS.times(A)
        slope = -np.einsum("jik,ik->j", D, rest)
        SS = here.SS.matrix if here.SS.shared else here.SS.values[here.SS.which].mean(axis=0)
        Q = np.linalg.qr(A)[0]
        off = D - np.einsum("ia,ba,jbk->jik", Q, Q, D)
        D, weights = D[:, :, self._model.columns], self._weights
        slope = slope + np.einsum("jik,ik->j", D, weights * self._beside_known(theta))
        return slope, np.einsum("jik,kl,hil->jh", off, SS, off) + self.curvature_of_known(D)

    def slopes_of_known(self, theta: NDArray, D: NDArray) -> NDArray:
        """Return the slope of each value of the columns (m q, p)."""
        pull = self._weights * self._beside_known(theta)
        return -np.einsum("jik,ik->ikj", D, np.broadcast_to(pull, D.shape[1:])).reshape(-1, len(D))

    def curvature_of_known(self, D: NDArray) -> NDArray:
        """Return the curvature of the cost of known values; D (p, m, q) are derivatives of columns."""
        return np.einsum("jik,ik,hik->jh", D, np.broadcast_to(self._weights, D.shape[1:]), D)

    def derivatives(self, theta: NDArray) -> NDArray:
        """Return the derivatives of A by the parameters (p, m, R)."""
        D = np.zeros((len(theta), *self._A.shape))
        D[:, :, self._model.columns] = self._model.derivatives(theta)
        return D

    def distance(self, theta: NDArray, here: Sweep) -> float:
        """Return the next step of the parameters: 0 at the minimum only."""
        slope, curvature = self.slope_and_curvature(theta, here)
        return float(np.abs(np.linalg.lstsq(curvature, slope, rcond=1e-12)[0]).max(initial=0))

    def _solve(self, G: Gram, C: NDArray, X: NDArray, columns: slice) -> float:
        """Solve for S, with its known values."""
        if self._known is None:
            return G.solve(C, X)
        part = self._known[:, columns].T
        return held_at(np.nan_to_num(part), ~np.isnan(part), G, C, X, Gram.solve)
