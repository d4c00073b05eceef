"""nGMCA^S and nGMCA^H (Algorithm 2): alternate exact constrained steps while the threshold falls."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca import noise, thresholds
from ngmca.engine import InMemory, Solve, Sweep
from ngmca.nnqp.bounded import descend_rows
from ngmca.nnqp.fista import fista
from ngmca.nnqp.pivot import solve_rows
from ngmca.records import Options, Schedule, State
from ngmca.start import revive, unit_columns


def iterate_exact(engine: InMemory, A: NDArray, S: NDArray, options: Options) -> Iterator[State]:
    """Yield the state after every S-step."""
    schedule = options.schedule
    A, S = unit_columns(A, S)
    A, S = revive(engine, A, S)
    sigma, target = _target(engine, A, S, A, options)
    lam = np.maximum(engine.peak(A, S), target) if schedule.n_decrease > 1 else target
    momentum = Momentum(schedule)
    for k in range(1, schedule.n_iter + 1):
        sweep = engine.sweep(A, S, s_step(lam, options))
        state = State(k, A, sweep.S, lam, sigma, sweep.cost, sweep.active, sweep.violation)
        falling, last = k < schedule.n_decrease, k == schedule.n_iter
        if not last:
            bounded = options.bounded and options.method == "soft" and not falling and bool(lam.any())
            A_next = a_step(engine, sweep, A, options, bounded=bounded)
            A_next, S = unit_columns(A_next, sweep.S, scale=_uses_values(options))
            A_next, S = revive(engine, A_next, S)
            settled = not falling and _distance(A_next, A) <= schedule.tol
        if last or settled:
            sigma = _noise(engine, A, sweep.S, options, final=True)
            yield replace(state, noise=sigma, settled=not last)
            return
        yield state
        if falling:
            sigma, target = _target(engine, A, sweep.S, A_next, options)
            lam = thresholds.falling(lam, target, schedule.n_decrease - k, schedule.power)
            A = momentum.pull(A_next)
        else:
            penalised = sweep.cost + float(lam @ sweep.S.sum(axis=1)) if lam.any() else sweep.cost
            A = momentum.accelerate(A_next, penalised)


class Momentum:
    """Extrapolation of A from one iteration to the next.

    S is an exact function of A, so that A alone carries the iterations. While the threshold falls, A
    follows a path, a fixed share of its last move ahead. Once it stays, Nesterov's sequence takes over,
    and starts again whenever the cost rises.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._last: NDArray | None = None
        self._t = 1.0
        self._cost = np.inf

    def pull(self, A: NDArray) -> NDArray:
        """A moved on by a share of its last move."""
        return self._extrapolate(A, self._schedule.pull)

    def accelerate(self, A: NDArray, cost: float) -> NDArray:
        """A moved on by Nesterov's next share of its last move; by nothing if the cost rose."""
        if not self._schedule.accelerated:
            return A
        self._t = 1.0 if cost > self._cost else self._t
        self._cost = cost
        t = (1 + np.sqrt(1 + 4 * self._t**2)) / 2
        share, self._t = (self._t - 1) / t, t
        return self._extrapolate(A, share)

    def _extrapolate(self, A: NDArray, share: float) -> NDArray:
        last, self._last = self._last, A
        if last is None or share == 0:
            return A
        return unit_columns(np.maximum(A + A.dtype.type(share) * (A - last), 0), A, scale=False)[0]


def s_step(lam: NDArray, options: Options) -> Solve:
    """The solver of argmin_{S >= 0} 1/2 |Y - AS|^2 + lam |S|_p, p = 1 (soft) or 0 (hard)."""
    hard = options.method == "hard" and bool(lam.any())  # without a threshold the problem is convex
    if options.solver == "pivot" and not hard:
        return lambda G, C, X: solve_rows(G, C, X, lam, unit=True)

    def forward_backward(G: NDArray, C: NDArray, X: NDArray) -> float:
        solution = fista(G, C.T, X.T, threshold=lam, hard=hard, max_iter=options.max_sub_iter)
        X[:] = solution.X.T
        return solution.violation

    return forward_backward


def a_step(engine: InMemory, sweep: Sweep, A: NDArray, options: Options, *, bounded: bool) -> NDArray:
    """argmin_{A >= 0} 1/2 |Y - AS|^2, with column norms at most 1 if bounded."""
    if bounded:
        return _bounded_a_step(sweep, A, options)
    X = np.array(A, dtype=np.float64)
    if options.solver == "pivot":
        engine.solve_mixing(sweep.SS, sweep.YS, X)
    else:
        X = fista(sweep.SS, sweep.YS.T, X.T, max_iter=options.max_sub_iter).X.T
        X[:, np.diagonal(sweep.SS) == 0] = 0  # no steps are made there; `pivot` gives 0
    return X.astype(A.dtype, copy=False)


def _bounded_a_step(sweep: Sweep, A: NDArray, options: Options) -> NDArray:
    """The bounded A-step for rows of S scaled to norm 1; column i of A then has norm |S_i| at most."""
    size = np.sqrt(np.diagonal(sweep.SS))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    G = sweep.SS * inverse * inverse[:, None]
    C = np.multiply(sweep.YS.T, inverse[:, None], order="C")
    X = np.multiply(A.T, size[:, None], order="C", dtype=np.float64)
    if options.solver == "pivot":
        descend_rows(G, C, size, X, options.max_sub_iter, 1e-6)
    else:
        X = fista(G, C, X, bound=size, max_iter=options.max_sub_iter).X
    return np.ascontiguousarray((X * inverse[:, None]).T, dtype=A.dtype)


def _uses_values(options: Options) -> bool:
    """Whether the S-step starts from the values of the last S, not only from its support."""
    return options.solver == "fista" or options.method == "hard"


def _target(
    engine: InMemory, A: NDArray, S: NDArray, A_next: NDArray, options: Options
) -> tuple[NDArray, NDArray]:
    """Noise of the measurements, and where the thresholds for the sources of A_next are to arrive."""
    if options.method == "anls":
        return np.full(len(A), np.nan), np.zeros(A.shape[1])
    sigma = _noise(engine, A, S, options)
    return sigma, options.tau * noise.in_gradient(A_next, sigma)


def _noise(
    engine: InMemory, A: NDArray, S: NDArray, options: Options, *, final: bool = False
) -> NDArray:
    return engine.noise(A, S, final=final) if options.noise is None else options.noise


def _distance(A: NDArray, B: NDArray) -> float:
    """Root mean square distance between columns."""
    return float(np.linalg.norm(A - B) / np.sqrt(A.shape[1]))
