"""nGMCA^S and nGMCA^H (Algorithm 2): alternate exact constrained steps while the threshold falls."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngmca import noise, thresholds
from ngmca.engine import InMemory, Solve, Sweep
from ngmca.nnqp.fista import fista
from ngmca.nnqp.pivot import solve_rows
from ngmca.records import Options, State
from ngmca.start import revive, unit_columns


def iterate_exact(engine: InMemory, A: NDArray, S: NDArray, options: Options) -> Iterator[State]:
    """Yield the state after every S-step."""
    A, S = unit_columns(A, S)
    A, S = revive(engine, A, S)
    sigma = _noise(engine, A, S, options)
    target = options.tau * noise.in_gradient(A, sigma)
    lam = np.maximum(engine.peak(A, S), target) if options.n_decrease > 1 else target
    for k in range(1, options.n_iter + 1):
        sweep = engine.sweep(A, S, s_step(lam, options))
        falling = k < options.n_decrease
        if falling or k == options.n_iter:
            sigma = _noise(engine, A, sweep.S, options)
        state = State(k, A, sweep.S, lam, sigma, sweep.cost, sweep.violation)
        if k == options.n_iter:
            yield state
            return
        bounded = options.bounded and options.method == "soft" and not falling and bool(lam.any())
        A_next, S = unit_columns(a_step(sweep, A, options, bounded=bounded), sweep.S)
        A_next, S = revive(engine, A_next, S)
        if falling:
            target = options.tau * noise.in_gradient(A_next, sigma)
            lam = thresholds.linear(lam, target, options.n_decrease - k)
        elif np.linalg.norm(A_next - A) <= options.tol * np.sqrt(A.shape[1]):
            yield State(k, A, sweep.S, lam, sigma, sweep.cost, sweep.violation, settled=True)
            return
        yield state
        A = A_next


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


def a_step(sweep: Sweep, A: NDArray, options: Options, *, bounded: bool) -> NDArray:
    """argmin_{A >= 0} 1/2 |Y - AS|^2, with column norms at most 1 if bounded."""
    if bounded:
        return _bounded_a_step(sweep, A, options)
    X = np.array(A, dtype=np.float64)
    if options.solver == "pivot":
        solve_rows(sweep.SS, sweep.YS, X)
    else:
        X = fista(sweep.SS, sweep.YS.T, X.T, max_iter=options.max_sub_iter).X.T
    return X.astype(A.dtype)


def _bounded_a_step(sweep: Sweep, A: NDArray, options: Options) -> NDArray:
    size = np.sqrt(np.diagonal(sweep.SS))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    solution = fista(
        sweep.SS * inverse * inverse[:, None],
        (sweep.YS * inverse).T,
        (A * size).T,
        bound=size,
        max_iter=options.max_sub_iter,
    )
    return (solution.X.T * inverse).astype(A.dtype)


def _noise(engine: InMemory, A: NDArray, S: NDArray, options: Options) -> NDArray:
    return engine.noise(A, S) if options.noise is None else options.noise
