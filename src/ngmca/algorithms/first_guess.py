"""First factors, and dead sources brought back to life."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.constraint_arrays import FREE, Constraints, constrained, exact_rows, without
from ngmca.algorithms.options import Options
from ngmca.algorithms.steps import a_step
from ngmca.engines import Engine, completed
from ngmca.nnqp.gram import Gram

LEAST_SQUARES_ROUNDS = 2
EXACT_ROUNDS = 2


def first_guess(
    engine: Engine, r: int, rng: np.random.Generator, known: Constraints = FREE
) -> tuple[NDArray, NDArray]:
    """A (m, r) with unit columns and S (r, n), from random directions.

    A few rounds of projected least squares turn the directions towards the data, a few rounds of exact
    non-negative least squares make them a sound start.
    """
    m = engine.shape[0]
    A = rng.random((m, r)).astype(engine.dtype)
    S = engine.zero_sources(r)
    engine = completed(engine)  # for a start this is good enough
    loose = known.without_order() if known.points_tell_order else known
    A, S = _rounds(engine, *with_background(engine, A, S, loose), loose, LEAST_SQUARES_ROUNDS)
    if loose is not known:
        A, S = _rounds(engine, *known.in_order(A, S), known, 0)
    return A, S


def _rounds(
    engine: Engine, A: NDArray, S: NDArray, known: Constraints, projections: int
) -> tuple[NDArray, NDArray]:
    """A and S after rounds of projected, and of exact non-negative least squares."""
    exactly = Options(method="anls", known=known)
    for k in range(projections + EXACT_ROUNDS):
        A, S = revive(engine, A, S, known)
        A, S = known.imposed(*unit_columns(A, S))
        solve = exact_rows if k >= projections else projected
        sweep = engine.sweep(A, S, constrained(solve, known))
        A, S = np.array(A), sweep.S
        if known.on_mixing and solve is exact_rows:
            A, _ = a_step(engine, sweep, A, exactly, bounded=False)
        else:
            solve(sweep.SS, sweep.YS, A)
    return known.imposed(*unit_columns(A, S))


def with_background(
    engine: Engine, A: NDArray, S: NDArray, known: Constraints
) -> tuple[NDArray, NDArray]:
    """A and S with what is known; known sources, and a baseline, have the weights that fit best."""
    if not known.any:
        return A, S
    extra = known.total - A.shape[1]
    A = np.hstack([A, np.zeros((len(A), extra), dtype=A.dtype)])
    S = np.vstack([S, np.zeros((extra, S.shape[1]), dtype=S.dtype)])
    A, S = known.imposed(A, S)
    given = known.given
    if given.any():
        G, C = engine.moments(S)
        rest = without(G, C, A.astype(np.float64), np.flatnonzero(~given), np.flatnonzero(given))
        alone = np.zeros(rest.shape)
        A[:, given] = engine.solve_mixing(G.among(np.flatnonzero(given)), rest, alone)[0]
    return A, S


def unit_columns(A: NDArray, S: NDArray, *, scale: bool = True) -> tuple[NDArray, NDArray]:
    """The same product with columns of norm 1 in A; zero columns stay.

    With `scale` off, S keeps its values, which serves where only its support is asked for.
    """
    norm = np.sqrt(np.einsum("ij,ij->j", A, A))
    if not 1e-18 < norm.min() <= norm.max() < 1e18:  # zero, or squares that vanish or overflow
        peak = np.abs(A).max(axis=0)
        A = A / np.where(peak > 0, peak, 1)
        norm = np.sqrt(np.einsum("ij,ij->j", A, A))
        S = S * peak[:, None] if scale else S
        norm[norm == 0] = 1
    return A / norm, S * norm[:, None] if scale else S


def revive(engine: Engine, A: NDArray, S: Any, known: Constraints = FREE) -> tuple[NDArray, Any]:
    """Give sources without a direction (zero column in A) one that the residual Y - A S asks for.

    Their row of S becomes 0: the product A S, and with it every other source, stays as it is. No two
    of them get the same direction. A known source may be absent.
    """
    dead = np.flatnonzero(~A.any(axis=0) & ~known.given if known.any else ~A.any(axis=0))
    if not dead.size:
        return A, S
    A = A.copy()
    if isinstance(S, np.ndarray):
        S = S.copy(order="K")
        S[dead] = 0
    else:  # it is elsewhere
        S = S * np.isin(np.arange(S.shape[0]), dead, invert=True).astype(S.dtype)[:, None]
    A[:, dead] = 0
    directions = engine.leftover(A, S, dead.size)
    blank = np.flatnonzero(~directions.any(axis=0))  # nothing is left over: any will do
    if blank.size:
        directions[:, blank] = _any_directions(len(A), blank)
    A[:, dead] = known.in_shape(directions, dead)
    return A, S


def _any_directions(m: int, which: NDArray) -> NDArray:
    """A non-negative direction for each index: even for the first, others drawn, always the same."""
    drawn = [
        np.ones(m) if index == 0 else np.random.default_rng(int(index)).random(m) for index in which
    ]
    stacked = np.stack(drawn, axis=1)
    return stacked / np.linalg.norm(stacked, axis=0)


def projected(G: Gram, C: Any, X: Any) -> float:
    """X := [C G^+]_+, least squares projected on the orthant."""
    return G.project(C, X)
