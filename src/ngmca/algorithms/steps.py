"""The two steps: sources for given directions, directions for given sources."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.constraint_arrays import (
    Constraints,
    Gram,
    Inner,
    among,
    constrained,
    exact_rows,
    forbid,
    penalised_rows,
    without,
)
from ngmca.algorithms.options import Options
from ngmca.engines import Grams, InMemory, Solve, Sweep
from ngmca.engines.gpu import Columns
from ngmca.nnqp.bounded_rows import descend_each
from ngmca.nnqp.closed_rows import solve_closed, violation_closed
from ngmca.nnqp.forward_backward import accelerated
from ngmca.nnqp.profile_shapes import descend_shaped

BOUNDED_ROUNDS = 1000  # at most, of the bounded A-step; it ends when a round moves A by less than
BOUNDED_TOL = 1e-6  # of its norm
CLOSED_ROUNDS, CLOSED_TOL = 100, 1e-9  # of sources under a closure and a baseline in turn


def s_step(lam: NDArray, options: Options) -> Solve:
    """The solver of argmin_{S >= 0} 1/2 |Y - AS|^2 + lam |S|_p, p = 1 (soft) or 0 (hard)."""
    known = options.known
    return constrained(_inner(lam[~known.given] if known.on_sources else lam, options), known)


def _inner(lam: NDArray, options: Options) -> Inner:
    hard = options.method == "hard" and bool(lam.any())  # without a threshold the problem is convex
    if options.solver == "pivot" and not hard:
        return penalised_rows(lam)

    def forward_backward(G: Gram, C: Any, X: Any) -> float:
        assert isinstance(G, np.ndarray)  # `Options` refuses weights
        if isinstance(X, Columns):
            return X.descend(G, C, lam, hard=hard, max_iter=options.max_sub_iter)
        solution = accelerated(G, C.T, X.T, threshold=lam, hard=hard, max_iter=options.max_sub_iter)
        X[:] = solution.X.T
        return solution.violation

    return forward_backward


def a_step(
    engine: InMemory,
    sweep: Sweep,
    A: NDArray,
    options: Options,
    lam: NDArray | None = None,
    *,
    bounded: bool,
) -> tuple[NDArray, float]:
    """argmin_{A >= 0} 1/2 |Y - AS|^2, with column norms at most 1 if bounded, and its certificate.

    `lam` are the thresholds of A, where that is penalised too.
    """
    if options.known.any:
        return _constrained_a_step(engine, sweep, A, options.known, lam, bounded=bounded)
    if bounded:
        X, quality = _bounded(engine, sweep.SS, sweep.YS, A, options)
    elif options.solver == "pivot":
        X = np.array(A, dtype=np.float64)
        quality = engine.solve_mixing(sweep.SS, sweep.YS, X)
    else:
        assert isinstance(sweep.SS, np.ndarray)
        solution = accelerated(
            sweep.SS, sweep.YS.T, A.T.astype(np.float64), max_iter=options.max_sub_iter
        )
        X, quality = solution.X.T, solution.violation
        X[:, np.diagonal(sweep.SS) == 0] = 0  # no steps are made there; `pivot` gives 0
    return np.ascontiguousarray(X, dtype=A.dtype), quality


def _constrained_a_step(
    engine: InMemory, sweep: Sweep, A: NDArray, known: Constraints, lam: NDArray | None, *, bounded: bool
) -> tuple[NDArray, float]:
    """The A-step under what is known: each kind of it by its own solver."""
    held, free = np.flatnonzero(known.held), np.flatnonzero(~known.held)
    G = sweep.SS
    C = without(G, sweep.YS, A.astype(np.float64), held, free)
    G = among(G, free)
    if known.both and lam is not None:
        diagonal = G.diagonals if isinstance(G, Grams) else np.diagonal(G)
        C = C - lam[free] * np.sqrt(diagonal)
    if known.zero_mixing is not None:
        forbid(C, known.zero_mixing[:, free], closed=known.totals is not None)
    X = np.array(A[:, free], dtype=np.float64, order="C")
    if known.totals is not None:
        quality = _closed(G, C, X, known, free, A, sweep.S)
    elif known.profiles is not None:
        quality = _shaped(G, C, X, known, free)
    elif bounded:
        X, quality = bounded_mixing(engine, G, C, X, known.given[free])
    else:
        quality = engine.solve_mixing(G, C, X)
    found = A.astype(np.float64)
    found[:, free] = X
    return found.astype(A.dtype, copy=False), quality


def _closed(
    G: Gram, C: NDArray, X: NDArray, known: Constraints, free: NDArray, A: NDArray, S: NDArray
) -> float:
    """Rows of A in physical units sum up to their totals; a baseline is no part of the sum.

    Sources and baseline are solved for in turn, each exactly, until both hold together.
    """
    assert known.totals is not None
    size, held = known.sizes_of(A, S), known.held
    totals = np.maximum(known.totals - A[:, held] @ size[held], 0)
    inside, outside = np.flatnonzero(free < known.r), np.flatnonzero(free >= known.r)
    unit = 1 / size[free[inside]]
    quality = np.inf
    for _ in range(CLOSED_ROUNDS if outside.size else 1):
        rest = without(G, C, X, outside, inside)
        H = among(G, inside)
        H = H.measured(unit) if isinstance(H, Grams) else H * np.outer(unit, unit)
        stack, which = (H.stack, H.which) if isinstance(H, Grams) else (H, None)
        shares = X[:, inside] / unit
        if outside.size:  # before it moves: how far sources are from best for the last baseline
            quality = violation_closed(stack, rest * unit, totals, shares, which)
            if quality < CLOSED_TOL:
                break
        quality = solve_closed(stack, rest * unit, totals, shares, which)
        X[:, inside] = shares * unit
        if outside.size:
            part = np.ascontiguousarray(X[:, outside])
            exact_rows(among(G, outside), without(G, C, X, inside, outside), part)
            X[:, outside] = part
    return quality


def _shaped(G: Gram, C: NDArray, X: NDArray, known: Constraints, free: NDArray) -> float:
    """Profiles in their shapes, for each part of the measurements by itself."""
    assert known.profiles is not None
    shapes = [known.profiles[i] for i in free]
    unit = np.ones(len(X)) if known.rows is None else known.rows  # shapes are those of unit * X
    H = G.scaled(unit**-2.0) if isinstance(G, Grams) else Grams.shared(G, unit**-2.0)
    physical, C, worst = X * unit[:, None], C / unit[:, None], 0.0
    for part in known.parts:
        found = np.ascontiguousarray(physical[part])
        _, moved = descend_shaped(
            H.stack,
            C[part],
            found,
            shapes,
            which=H.which[part],
            max_iter=BOUNDED_ROUNDS,
            tol=BOUNDED_TOL,
        )
        worst = max(worst, moved / max(float(found.max(initial=0)), 1e-300))
        physical[part] = found
    X[:] = physical / unit[:, None]
    return worst


def _bounded(
    engine: InMemory, SS: Gram, YS: NDArray, A: NDArray, options: Options
) -> tuple[NDArray, float]:
    """The bounded A-step by the solver asked for."""
    if options.solver == "pivot":
        return bounded_mixing(engine, SS, YS, A)
    assert isinstance(SS, np.ndarray)
    G, C, X, size, inverse = _unit_rows(SS, YS, A)
    solution = accelerated(G, C, X, bound=size, max_iter=options.max_sub_iter)
    return (solution.X * inverse[:, None]).T, solution.violation


def bounded_mixing(
    engine: InMemory, SS: Gram, YS: NDArray, A: NDArray, unbounded: NDArray | None = None
) -> tuple[NDArray, float]:
    """argmin_{A >= 0} 1/2 |Y - AS|^2 with column norms at most 1, and its certificate.

    `unbounded` columns, those of known sources, may have any norm.
    """
    if isinstance(SS, Grams):
        X = np.array(A, dtype=np.float64, order="C")
        bound = np.where(unbounded, np.inf, 1.0) if unbounded is not None else np.ones(A.shape[1])
        _, moved = descend_each(SS.stack, SS.which, YS, bound, X, BOUNDED_ROUNDS, BOUNDED_TOL)
        return X, moved / max(float(X.max(initial=0)), 1e-300)
    G, C, X, size, inverse = _unit_rows(SS, YS, A)
    if unbounded is not None:
        size[unbounded] = np.inf
    moved = engine.bounded_rows(G, C, size, X, BOUNDED_ROUNDS, BOUNDED_TOL)
    return (X * inverse[:, None]).T, moved / max(float(X.max(initial=0)), 1e-300)


def _unit_rows(SS: NDArray, YS: NDArray, A: NDArray) -> tuple[NDArray, ...]:
    """G, C and X = A' for rows of S scaled to norm 1: row i of X then has norm |S_i| at most."""
    size = np.sqrt(np.diagonal(SS))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    G = SS * inverse * inverse[:, None]
    C = np.multiply(YS.T, inverse[:, None], order="C")
    X = np.multiply(A.T, size[:, None], order="C", dtype=np.float64)
    return G, C, X, size, inverse
