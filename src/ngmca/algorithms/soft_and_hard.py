"""nGMCA^S and nGMCA^H (Algorithm 2): alternate constrained steps while the threshold falls."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.momentum import Momentum
from ngmca.algorithms.options import Options
from ngmca.algorithms.schedule import falling
from ngmca.algorithms.start import revive, unit_columns
from ngmca.data import InMemory, Solve, Sweep, in_gradient
from ngmca.nnqp.bounded_rows import descend_rows
from ngmca.nnqp.forward_backward import accelerated
from ngmca.nnqp.pivoting import solve_rows
from ngmca.result import State

BOUNDED_ROUNDS = 1000  # at most, of the bounded A-step; it ends when a round moves A by less than
BOUNDED_TOL = 1e-6  # of its norm


def iterate_thresholded(
    engine: InMemory, A: NDArray, S: NDArray, options: Options, resume: State | None = None
) -> Iterator[State]:
    """Yield the state after every S-step, or only those that come after one to resume from."""
    schedule = options.schedule
    if resume is None:
        A, S = unit_columns(A, S)
        A, S = revive(engine, A, S)
        sigma, target = _target(engine, A, S, A, options)
        lam = np.maximum(engine.peak(A, S), target) if schedule.n_decrease > 1 else target
        momentum, first, quality = Momentum(), 1, np.nan
    else:
        A, S, lam, sigma = resume.A, resume.S, resume.lam, resume.noise
        momentum, first, quality = resume.momentum or Momentum(), resume.k, resume.mixing_violation
    for k in range(first, schedule.n_iter + 1):
        sweep = engine.sweep(A, S, s_step(lam, options))
        state = State(
            k, A, sweep.S, lam, sigma, sweep.cost, sweep.active, sweep.violation, quality, momentum
        )
        falls, last = k < schedule.n_decrease, k == schedule.n_iter
        if not last:
            bounded = options.bounded and options.method == "soft" and not falls and bool(lam.any())
            A_next, quality = a_step(engine, sweep, A, options, bounded=bounded)
            A_next, S = revive(engine, A_next, sweep.S)  # while A S is still the fit
            A_next, S = unit_columns(A_next, S, scale=_uses_values(options))
            settled = not falls and _distance(A_next, A) <= schedule.tol
        if last or settled:
            sigma = _noise(engine, A, sweep.S, options, final=True)
            yield replace(state, noise=sigma, settled=not last)
            return
        if resume is None or k > resume.k:
            yield state
        if falls:
            sigma, target = _target(engine, A, sweep.S, A_next, options)
            lam = falling(lam, target, schedule.n_decrease - k, schedule.power)
            A, momentum = momentum.pull(A_next, schedule.pull)
        elif schedule.accelerated:
            penalised = sweep.cost + float(lam @ sweep.S.sum(axis=1)) if lam.any() else sweep.cost
            A, momentum = momentum.accelerate(A_next, penalised)
        else:
            A = A_next


def s_step(lam: NDArray, options: Options) -> Solve:
    """The solver of argmin_{S >= 0} 1/2 |Y - AS|^2 + lam |S|_p, p = 1 (soft) or 0 (hard)."""
    hard = options.method == "hard" and bool(lam.any())  # without a threshold the problem is convex
    if options.solver == "pivot" and not hard:
        return lambda G, C, X: solve_rows(G, C, X, lam, unit=True)

    def forward_backward(G: NDArray, C: NDArray, X: NDArray) -> float:
        solution = accelerated(G, C.T, X.T, threshold=lam, hard=hard, max_iter=options.max_sub_iter)
        X[:] = solution.X.T
        return solution.violation

    return forward_backward


def a_step(
    engine: InMemory, sweep: Sweep, A: NDArray, options: Options, *, bounded: bool
) -> tuple[NDArray, float]:
    """argmin_{A >= 0} 1/2 |Y - AS|^2, with column norms at most 1 if bounded, and its certificate."""
    if bounded:
        return _bounded_a_step(sweep, A, options)
    X = np.array(A, dtype=np.float64)
    if options.solver == "pivot":
        quality = engine.solve_mixing(sweep.SS, sweep.YS, X)
    else:
        solution = accelerated(sweep.SS, sweep.YS.T, X.T, max_iter=options.max_sub_iter)
        X, quality = solution.X.T, solution.violation
        X[:, np.diagonal(sweep.SS) == 0] = 0  # no steps are made there; `pivot` gives 0
    return X.astype(A.dtype, copy=False), quality


def _bounded_a_step(sweep: Sweep, A: NDArray, options: Options) -> tuple[NDArray, float]:
    """The bounded A-step by the solver asked for."""
    if options.solver == "pivot":
        X, quality = bounded_mixing(sweep.SS, sweep.YS, A)
    else:
        G, C, X, size, inverse = _unit_rows(sweep.SS, sweep.YS, A)
        solution = accelerated(G, C, X, bound=size, max_iter=options.max_sub_iter)
        X, quality = (solution.X * inverse[:, None]).T, solution.violation
    return np.ascontiguousarray(X, dtype=A.dtype), quality


def bounded_mixing(SS: NDArray, YS: NDArray, A: NDArray) -> tuple[NDArray, float]:
    """argmin_{A >= 0} 1/2 |Y - AS|^2 with column norms at most 1, and its certificate."""
    G, C, X, size, inverse = _unit_rows(SS, YS, A)
    _, moved = descend_rows(G, C, size, X, BOUNDED_ROUNDS, BOUNDED_TOL)
    return (X * inverse[:, None]).T, moved / max(float(X.max(initial=0)), 1e-300)


def _unit_rows(SS: NDArray, YS: NDArray, A: NDArray) -> tuple[NDArray, ...]:
    """G, C and X = A' for rows of S scaled to norm 1: row i of X then has norm |S_i| at most."""
    size = np.sqrt(np.diagonal(SS))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    G = SS * inverse * inverse[:, None]
    C = np.multiply(YS.T, inverse[:, None], order="C")
    X = np.multiply(A.T, size[:, None], order="C", dtype=np.float64)
    return G, C, X, size, inverse


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
    return sigma, options.tau * in_gradient(A_next, sigma)


def _noise(
    engine: InMemory, A: NDArray, S: NDArray, options: Options, *, final: bool = False
) -> NDArray:
    return engine.noise(A, S, final=final) if options.noise is None else options.noise


def _distance(A: NDArray, B: NDArray) -> float:
    """Root mean square distance between columns."""
    return float(np.linalg.norm(A - B) / np.sqrt(A.shape[1]))
