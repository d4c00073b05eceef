"""The two steps: the sources for a given mixing, and the mixing for given sources."""

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.constraint_arrays import (
    Constraints,
    Inner,
    constrained,
    exact_rows,
    forbid,
    penalised_rows,
    without,
)
from ngmca.algorithms.options import Options
from ngmca.engines import Engine, Solve, Sweep
from ngmca.nnqp.closed_rows import solve_closed, violation_closed
from ngmca.nnqp.forward_backward import accelerated
from ngmca.nnqp.gram import Gram, unit_rows
from ngmca.nnqp.profile_shapes import descend_shaped

CLOSED_ROUNDS, CLOSED_TOL = 100, 1e-9  # of sources under a closure and a baseline in turn
SHAPED_ROUNDS, SHAPED_TOL = 3000, 1e-8  # of profiles in their shapes


def s_step(lam: NDArray, options: Options) -> Solve:
    """Return the solver of argmin_{S >= 0} 1/2 |Y - AS|^2 + lam |S|_p, with p = 1 (soft) or 0 (hard)."""
    known = options.known
    return constrained(_inner(lam[~known.given] if known.on_sources else lam, options), known)


def _inner(lam: NDArray, options: Options) -> Inner:
    hard = options.method == "hard" and bool(lam.any())  # without a threshold the problem is convex
    if options.solver == "pivot" and not hard:
        return penalised_rows(lam)
    return lambda G, C, X: G.descend(C, X, lam, hard=hard, max_iter=options.max_sub_iter)


def a_step(
    engine: Engine,
    sweep: Sweep,
    A: NDArray,
    options: Options,
    lam: NDArray | None = None,
    *,
    bounded: bool,
) -> tuple[NDArray, float]:
    """Return argmin_{A >= 0} 1/2 |Y - AS|^2 and its certificate; if bounded, column norms are at most 1.

    `lam` are the thresholds of A, if A is penalised too.
    """
    if options.known.any:
        return _constrained_a_step(engine, sweep, A, options.known, lam, bounded=bounded)
    if options.solver == "pivot":
        bounds = np.ones(A.shape[1], dtype=bool) if bounded else None
        X, quality = engine.solve_mixing(sweep.SS, sweep.YS, A.astype(np.float64), bounds)
    elif bounded:
        G, C, guess, size, inverse = unit_rows(sweep.SS.matrix, sweep.YS, A)
        solution = accelerated(G, C, guess, bound=size, max_iter=options.max_sub_iter)
        X, quality = (solution.X * inverse[:, None]).T, solution.violation
    else:
        SS, guess = sweep.SS.matrix, A.T.astype(np.float64)
        solution = accelerated(SS, sweep.YS.T, guess, max_iter=options.max_sub_iter)
        X, quality = solution.X.T, solution.violation
        X[:, np.diagonal(SS) == 0] = 0  # no steps are made there; `pivot` gives 0
    return np.ascontiguousarray(X, dtype=A.dtype), quality


def _constrained_a_step(
    engine: Engine, sweep: Sweep, A: NDArray, known: Constraints, lam: NDArray | None, *, bounded: bool
) -> tuple[NDArray, float]:
    """Return the A-step under constraints: each kind has its own solver."""
    held, free = np.flatnonzero(known.held), np.flatnonzero(~known.held)
    G = sweep.SS
    C = without(G, sweep.YS, A.astype(np.float64), held, free)
    G = G.among(free)
    if known.both and lam is not None:
        C = C - lam[free] * np.sqrt(G.diagonals)
    if known.zero_mixing is not None:
        forbid(C, known.zero_mixing[:, free], closed=known.totals is not None)
    X = np.array(A[:, free], dtype=np.float64, order="C")
    if known.totals is not None:
        quality = _closed(G, C, X, known, free, A, sweep.S)
    elif known.profiles is not None:
        quality = _shaped(G, C, X, known, free)
    else:
        X, quality = engine.solve_mixing(G, C, X, ~known.given[free] if bounded else None)
    found = A.astype(np.float64)
    found[:, free] = X
    return found.astype(A.dtype, copy=False), quality


def _closed(
    G: Gram, C: NDArray, X: NDArray, known: Constraints, free: NDArray, A: NDArray, S: NDArray
) -> float:
    """Solve for rows of A that sum to their totals in physical units; a baseline is not part of the sum.

    Sources and baseline are solved in turn, each exactly, until both are optimal together.
    """
    assert known.totals is not None
    size, held = known.sizes_of(A, S), known.held
    totals = np.maximum(known.totals - A[:, held] @ size[held], 0)
    inside, outside = np.flatnonzero(free < known.r), np.flatnonzero(free >= known.r)
    unit = 1 / size[free[inside]]
    quality = np.inf
    for _ in range(CLOSED_ROUNDS if outside.size else 1):
        rest = without(G, C, X, outside, inside)
        H = G.among(inside).in_units(unit)
        shares = X[:, inside] / unit
        if outside.size:  # whether the sources are still optimal for the new baseline
            quality = violation_closed(H.values, rest * unit, totals, shares, H.which)
            if quality < CLOSED_TOL:
                break
        quality = solve_closed(H.values, rest * unit, totals, shares, H.which)
        X[:, inside] = shares * unit
        if outside.size:
            part = np.ascontiguousarray(X[:, outside])
            exact_rows(G.among(outside), without(G, C, X, inside, outside), part)
            X[:, outside] = part
    return quality


def _shaped(G: Gram, C: NDArray, X: NDArray, known: Constraints, free: NDArray) -> float:
    """Solve for profiles in their shapes, separately for each part of the measurements."""
    assert known.profiles is not None
    shapes = [known.profiles[i] for i in free]
    unit = np.ones(len(X)) if known.rows is None else known.rows  # shapes are those of unit * X
    H = G.scaled(unit**-2.0)
    assert H.which is not None
    physical, C, worst = X * unit[:, None], C / unit[:, None], 0.0
    for part in known.parts:
        own, rest, found = Gram(H.values, H.which[part]), C[part], np.ascontiguousarray(physical[part])
        problem = own.values, rest, found, shapes
        descend_shaped(*problem, which=own.which, max_iter=SHAPED_ROUNDS, tol=SHAPED_TOL)
        worst = max(worst, own.distance(rest, found, np.full(len(free), np.inf), shapes))
        physical[part] = found
    X[:] = physical / unit[:, None]
    return worst
