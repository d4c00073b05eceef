"""What the methods share: checked arguments, a common start, and alternate steps on A and on S.

Both factors are held as rows, A as (m, r) and S transposed as X (n, r). A step on either of them sees
only a Gram matrix G (r, r), correlations C and the rows themselves, so that one function serves both:
`G = SS', C = YS'` for the rows of A, `G = A'A, C = Y'A` for the rows of X.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.seeds import Seed as Seed
from ngmca._support.seeds import generator
from ngmca.algorithms.first_guess import first_guess, revive, unit_columns
from ngmca.engines import Engine, back, open_whole, residual_energy, times

# New rows from (G, C, rows); the rows may be changed in place.
Step = Callable[[NDArray, NDArray, NDArray], NDArray]


@dataclass(frozen=True)
class Factors:
    """Y ~ A S with A (m, r) and S (r, n), and 1/2 |Y - A S|^2 after every iteration.

    A cost beyond the largest float is infinite, one below the smallest is 0.
    """

    A: NDArray
    S: NDArray
    cost: NDArray  # (k,)


@dataclass(frozen=True)
class Beginning:
    """Checked arguments, and factors to begin with, in the units of the engine.

    The factors are in double precision; products with the data are in the precision of the data.
    """

    engine: Engine
    A: NDArray  # (m, r), columns of norm 1
    X: NDArray  # (n, r), S transposed
    n_iter: int
    tol: float

    def factors(self, A: NDArray, X: NDArray, cost: list[float], *, scale_in_A: bool) -> Factors:
        """The answer in the units and the precision of the data."""
        dtype, unit = self.engine.dtype, self.engine.unit
        for_A, for_S = (unit, 1.0) if scale_in_A else (1.0, unit)
        with np.errstate(over="ignore"):  # a cost beyond the largest float is infinite
            in_data_units = np.array(cost) * unit * unit
        return Factors((A * for_A).astype(dtype), (X.T * for_S).astype(dtype), in_data_units)


def prepare(Y: ArrayLike, r: int, n_iter: int, start: Any, seed: Seed, tol: float) -> Beginning:
    """The problem, or an error that says which argument is wrong.

    Without a start the first factors are those that `ngmca.separate` would draw from this seed.
    """
    engine = open_whole(Y, threads=1)
    r = arguments.check_rank(r, engine.shape)
    n_iter = arguments.check_count(n_iter, "n_iter")
    tol = arguments.check_number(tol, "tol")
    rng = generator(seed).spawn(1)[0]
    if start is None:
        A, S = first_guess(engine, r, rng)
    else:
        A, S = arguments.check_start(start, engine, r)
    A, S = unit_columns(A.astype(np.float64), S.astype(np.float64))
    A, S = revive(engine, A, S)  # as `separate` does with sources that the start leaves out
    return Beginning(engine, A, np.array(S.T, order="C"), n_iter, tol)


def alternate(
    problem: Beginning,
    a_step: Step,
    s_step: Step,
    *,
    unit: bool = False,
    rescue: bool = False,
    scale_in_A: bool = False,
    settle_after: int = 1,
) -> Factors:
    """Update A, then S, n_iter times, or until the directions in A move by less than tol.

    `unit` brings the columns of A to norm 1 before every step on S. `rescue` gives a source whose column
    of A became zero a new direction out of the residual; its row of S becomes zero, so that the product
    stays the same. `scale_in_A` says that rows of S have a norm of their own and A carries the unit of
    the data. The iterations go on beyond `settle_after`, at
    least 1: A may be the best one for the S to begin with and not move at first.
    """
    A, X = problem.A, problem.X
    XX = X.T @ X
    cost: list[float] = []
    for k in range(1, problem.n_iter + 1):
        before = A.copy() if problem.tol > 0 else A
        A = a_step(XX, times(problem.engine, X), A)
        if unit:
            A, X = _unit(A, X)
        if rescue:
            A, X = _rescue(problem, A, X)
        G, C = A.T @ A, back(problem.engine, A)
        X = s_step(G, C, X)
        XX = X.T @ X
        cost.append(cost_of(problem.engine, A, X, np.vdot(C, X), np.vdot(G, XX)))
        if problem.tol > 0 and k > settle_after and moved(before, A) <= problem.tol:
            break
    return problem.factors(A, X, cost, scale_in_A=scale_in_A)


def _unit(A: NDArray, X: NDArray) -> tuple[NDArray, NDArray]:
    A, S = unit_columns(A, X.T)
    return A, np.ascontiguousarray(S.T)


def _rescue(problem: Beginning, A: NDArray, X: NDArray) -> tuple[NDArray, NDArray]:
    A, S = revive(problem.engine, A, X.T)
    return A, np.ascontiguousarray(S.T)


def moved(before: NDArray, A: NDArray) -> float:
    """How far the unit columns moved, root mean square over the sources."""
    empty = np.zeros((A.shape[1], 0))
    old, new = unit_columns(before, empty)[0], unit_columns(A, empty)[0]
    return float(np.linalg.norm(new - old) / np.sqrt(A.shape[1]))


def cost_of(engine: Engine, A: NDArray, X: NDArray, product: float, square: float) -> float:
    """1/2 |Y - A X'|^2 from <Y, A X'> and |A X'|^2, or anew where rounding would spoil it."""
    cost = engine.energy / 2 - product + square / 2
    if cost > np.sqrt(np.finfo(engine.dtype).eps) * engine.energy:
        return float(cost)
    return residual_energy(engine, A, X.T) / 2
