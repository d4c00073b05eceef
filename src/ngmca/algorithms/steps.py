"""The two steps: the sources for a given mixing, and the mixing for given sources."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.constraint_arrays import (
    Constraints,
    constrained,
    exact_rows,
    penalised_rows,
    without,
)
from ngmca.algorithms.kinetics.kinetic_step import KineticModel, kinetic_step, residual_variance
from ngmca.algorithms.options import Options
from ngmca.engines import Engine, Solve, Sweep
from ngmca.engines.protocol import Sources
from ngmca.nnqp.closed_rows import solve_closed
from ngmca.nnqp.closed_shapes import solve_closed_shapes
from ngmca.nnqp.forward_backward import accelerated
from ngmca.nnqp.gram import Gram, Inner, held_at, unit_rows
from ngmca.nnqp.profile_shapes import descend_shaped
from ngmca.nnqp.trilinear import solve_trilinear

ROUNDING_OF_SUMS = 1e-12  # what known values leave of a total counts as 0 below this share of it
SHAPED_ROUNDS, SHAPED_TOL = 3000, 1e-8  # of profiles in their shapes
COMMON_ROUNDS = 30  # of profiles that data sets share: the next step goes on from there


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
    noise: NDArray | None = None,
) -> tuple[NDArray, float]:
    """Return argmin_{A >= 0} 1/2 |Y - AS|^2 and its certificate; if bounded, column norms are at most 1.

    `lam` are the thresholds of A, if A is penalised too. The `noise` (m,) weighs values of A that are
    known up to a standard deviation; by default it is the known one, or that of the residual.
    """
    if options.known.any:
        options = options if noise is None else replace(options, noise=noise)
        return _constrained_a_step(engine, sweep, A, options, lam, bounded=bounded)
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


def fitted_mixing(engine: Engine, S: Sources) -> tuple[NDArray, float]:
    """Return argmin_{A >= 0} |Y - AS| for sources that another run has found, and its certificate."""
    SS, YS = engine.moments(S)
    return engine.solve_mixing(SS, YS.astype(np.float64, copy=False), np.zeros(YS.shape))


def _constrained_a_step(
    engine: Engine, sweep: Sweep, A: NDArray, options: Options, lam: NDArray | None, *, bounded: bool
) -> tuple[NDArray, float]:
    """Return the A-step under constraints: closure and shapes have their own solvers."""
    known, shrunk = options.known, bounded or (lam is not None and bool(lam.any()))
    physical = known.points is not None or known.expected is not None or known.totals is not None
    size = known.sizes_of(A, sweep.S) if physical else np.ones(known.total)
    drifting = known.pointed & ~known.held & ~known.scaled_elsewhere
    if shrunk and drifting.any():
        # where thresholds shrink S, A grows, but for its points: their size is that of A without them
        without_points = replace(options, known=known.without_points(drifting))
        X, _ = _constrained_a_step(engine, sweep, A, without_points, lam, bounded=bounded)
        size[drifting] = known.sizes_of(X, sweep.S)[drifting]
    fixed = known.held | known.modelled
    held, free = np.flatnonzero(fixed), np.flatnonzero(~fixed)
    G = sweep.SS
    C = without(G, sweep.YS, A.astype(np.float64), held, free)
    G = G.among(free)
    if known.both and lam is not None:
        C = C - lam[free] * np.sqrt(G.diagonals)
    size = np.where(size > 0, size, 1.0)
    if known.expected is not None:
        G, C = _expecting(G, C, engine, sweep, options, size, free)
    X = np.array(A[:, free], dtype=np.float64, order="C")
    points = known.points
    points = np.full(X.shape, np.nan) if points is None else (points / size)[:, free]
    if not free.size:
        quality = 0.0
    elif known.trilinear:
        quality = _common(G, C, X, known, free)
    elif known.profiles is not None:
        quality = _shaped(G, C, X, known, free, A, size, points)
    elif known.totals is not None:
        quality = _closed(G, C, X, known, free, A, size, points)
    else:
        limits = known.boundable[free] if bounded else None

        def solve(G: Gram, C: NDArray, X: NDArray) -> float:
            X[:], quality = engine.solve_mixing(G, C, X, limits)
            return quality

        quality = _with_points(points, G, C, X, solve)
    found = A.astype(np.float64)
    found[:, free] = X
    if known.kinetics is not None:
        quality = max(quality, _follow_law(engine, sweep, found, options, known.kinetics))
    return found.astype(A.dtype, copy=False), quality


def _follow_law(
    engine: Engine, sweep: Sweep, A: NDArray, options: Options, model: KineticModel
) -> float:
    """Give some columns of A, in place, the best profiles of a rate law; how far the parameters may be.

    The columns have the scale at which A S is a fit with the sources before the step.
    """
    columns, values = list(model.columns), options.known.physical_sources(A, sweep.S)
    profiles, S, quality = kinetic_step(engine, A, sweep.S, model, values, options.noise)
    before = np.einsum("kj,kj->k", sweep.S[columns], sweep.S[columns])
    along = np.einsum("kj,kj->k", S[columns], sweep.S[columns])
    factor = np.divide(along, before, out=np.ones(len(columns)), where=(before > 0) & (along > 0))
    A[:, columns] = profiles[:, columns] * factor
    return quality


def _expecting(
    G: Gram,
    C: NDArray,
    engine: Engine,
    sweep: Sweep,
    options: Options,
    size: NDArray,
    free: NDArray,
) -> tuple[Gram, NDArray]:
    """Return the problem with 1/2 |(A - expected) / sd|^2 added, in units of the noise."""
    known = options.known
    assert known.expected is not None
    assert known.sd is not None
    variance = _noise_variance(engine, sweep, options)
    weight = np.nan_to_num(variance[:, None] * (size / known.sd) ** 2)[:, free]
    target = np.nan_to_num(known.expected / size)[:, free]
    return G.with_diagonal(weight), C + weight * target


def _noise_variance(engine: Engine, sweep: Sweep, options: Options) -> NDArray:
    """Return the variance (m,) of the noise: the known one, or that of the residual."""
    if options.noise is not None:
        return np.asarray(options.noise) ** 2
    return residual_variance(engine, sweep, options.known.r)


def _with_points(points: NDArray, G: Gram, C: NDArray, X: NDArray, solve: Inner) -> float:
    """Solve for X, in place, with its points."""
    known = ~np.isnan(points)
    if not known.any():
        return solve(G, C, X)
    return held_at(np.nan_to_num(points), known, G, C, X, solve)


def _closed(
    G: Gram,
    C: NDArray,
    X: NDArray,
    known: Constraints,
    free: NDArray,
    A: NDArray,
    size: NDArray,
    points: NDArray,
) -> float:
    """Solve for rows of A that sum to their totals in physical units; a baseline is not part of the sum.

    Where the sum is at most, or at least, its total, rows are solved without it. Those that break it
    then have the total as their sum.
    """
    assert known.totals is not None
    unit, inside = 1 / size[free], known.closed[free]
    held = np.nan_to_num(points) * inside
    totals = _left(known, A, size) - (held / unit).sum(axis=1)
    totals[totals <= ROUNDING_OF_SUMS * known.totals] = 0
    H, over = G.in_units(unit), np.ones(len(X), dtype=bool)
    quality = 0.0
    if known.sense != "equal":
        quality = _with_points(points, G, C, X, exact_rows)
        sums = ((X - held) * inside / unit).sum(axis=1)
        over = (sums > totals) if known.sense == "at most" else (sums < totals)

    def solve(H: Gram, C: NDArray, X: NDArray) -> float:
        counted = inside & np.isnan(points[over])
        part = None if counted.all() else counted
        return solve_closed(H.values, C, totals[over], X, H.which, part)

    shares = X[over] / unit
    own = Gram(H.values, None if H.which is None else H.which[over])
    quality = max(quality, _with_points(points[over] / unit, own, C[over] * unit, shares, solve))
    X[over] = shares * unit
    return quality


def _common(G: Gram, C: NDArray, X: NDArray, known: Constraints, free: NDArray) -> float:
    """Solve for profiles that are the same in all data sets."""
    unit = np.ones(len(X)) if known.rows is None else known.rows  # profiles are those of unit * X
    factor, H = unit[:, None], G if known.rows is None else G.scaled(unit**-2.0)
    physical = X * factor
    inside, count = np.isin(free, known.trilinear), len(known.parts)
    quality = solve_trilinear(H, C / factor, physical, count, inside, COMMON_ROUNDS)
    X[:] = physical / factor
    return quality


def _left(known: Constraints, A: NDArray, size: NDArray) -> NDArray:
    """Return what known columns of A leave of the totals."""
    assert known.totals is not None
    held = known.held & known.closed
    return np.asarray(np.maximum(known.totals - A[:, held] @ size[held], 0))


def _shaped(
    G: Gram,
    C: NDArray,
    X: NDArray,
    known: Constraints,
    free: NDArray,
    A: NDArray,
    size: NDArray,
    points: NDArray,
) -> float:
    """Solve for profiles in their shapes, separately for each part of the measurements."""
    assert known.profiles is not None
    shapes = [known.profiles[i] for i in free]
    unit = np.ones(len(X)) if known.rows is None else known.rows  # shapes are those of unit * X
    factor, H = unit[:, None], G.scaled(unit**-2.0)
    assert H.which is not None
    physical, C, points, worst = X * factor, C / factor, points * factor, 0.0
    weights = np.where(known.closed, size, 0)[free]
    sums = known.totals is not None and weights.any()  # of known columns alone, they are as they are
    totals = _left(known, A, size) * unit if sums else None
    for part in known.parts:
        own, found = Gram(H.values, H.which[part]), np.ascontiguousarray(physical[part])
        rest, pinned = C[part], points[part]
        if totals is None:
            given: dict[str, Any] = {"which": own.which, "points": pinned}
            descend_shaped(
                own.values, rest, found, shapes, **given, max_iter=SHAPED_ROUNDS, tol=SHAPED_TOL
            )
            far = own.distance(rest, found, np.full(len(free), np.inf), shapes, pinned)
        else:
            given = {"totals": totals[part], "weights": weights, "sense": known.sense}
            far = solve_closed_shapes(own, rest, found, shapes=shapes, points=pinned, **given)
        worst = max(worst, far)
        physical[part] = found
    X[:] = physical / factor
    return worst
