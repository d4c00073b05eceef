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

from ngmca import inputs
from ngmca.engine import InMemory
from ngmca.start import Seed as Seed
from ngmca.start import first_guess, generator, revive, unit_columns
from ngmca.threads import one_blas_thread

# New rows from (G, C, rows); the rows may be changed in place.
Step = Callable[[NDArray, NDArray, NDArray], NDArray]


COLUMNS = 4096  # samples at a time where the residual itself is needed


@dataclass(frozen=True)
class Factors:
    """Y ~ A S with A (m, r) and S (r, n), and 1/2 |Y - A S|^2 after every iteration."""

    A: NDArray
    S: NDArray
    cost: NDArray  # (k,)


@dataclass(frozen=True)
class Problem:
    """Checked arguments, and factors to begin with.

    The engine holds Y / unit, so that squares neither overflow nor vanish. The factors are in double
    precision; products with the data are in the precision of the data.
    """

    engine: InMemory
    A: NDArray  # (m, r), columns of norm 1
    X: NDArray  # (n, r), S transposed
    n_iter: int
    tol: float
    unit: float

    @property
    def Y(self) -> NDArray:
        """The data in units of `unit`."""
        return self.engine.Y

    def times(self, rows: NDArray) -> NDArray:
        """Y X, (m, r)."""
        return _product(self.Y, rows)

    def back(self, rows: NDArray) -> NDArray:
        """Y'A, (n, r)."""
        return _product(self.Y.T, rows)

    def factors(self, A: NDArray, X: NDArray, cost: list[float], *, scale_in_A: bool) -> Factors:
        """The answer in the units and the precision of the data."""
        dtype = self.Y.dtype
        for_A, for_S = (self.unit, 1.0) if scale_in_A else (1.0, self.unit)
        with np.errstate(over="ignore"):  # a cost beyond the largest float is infinite
            in_data_units = np.array(cost) * self.unit * self.unit
        return Factors((A * for_A).astype(dtype), (X.T * for_S).astype(dtype), in_data_units)


def prepare(Y: ArrayLike, r: int, n_iter: int, start: Any, seed: Seed, tol: float) -> Problem:
    """The problem, or an error that says which argument is wrong.

    Without a start the first factors are those that `ngmca.separate` would draw from this seed.
    """
    data = inputs.check_data(Y)
    r = inputs.check_rank(r, data.shape)
    n_iter = inputs.check_count(n_iter, "n_iter")
    tol = inputs.check_number(tol, "tol")
    unit = inputs.unit_of(data)
    if unit != 1.0:
        data = data / data.dtype.type(unit)
    engine = InMemory(data, threads=1)
    rng = generator(seed).spawn(1)[0]
    if start is None:
        with one_blas_thread:
            A, S = first_guess(engine, r, rng)
    else:
        A, S = inputs.check_start(start, data.shape, r)
        S = S / unit
    A, S = unit_columns(A.astype(np.float64), S.astype(np.float64))
    A, S = revive(engine, A, S)  # as `separate` does with sources that the start leaves out
    return Problem(engine, A, np.array(S.T, order="C"), n_iter, tol, unit)


def alternate(
    problem: Problem,
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
    with one_blas_thread:
        for k in range(1, problem.n_iter + 1):
            before = A.copy() if problem.tol > 0 else A
            A = a_step(XX, problem.times(X), A)
            if unit:
                A, X = _unit(A, X)
            if rescue:
                A, X = _rescue(problem, A, X)
            G, C = A.T @ A, problem.back(A)
            X = s_step(G, C, X)
            XX = X.T @ X
            cost.append(_cost(problem, A, X, G, C, XX))
            if problem.tol > 0 and k > settle_after and _moved(before, A) <= problem.tol:
                break
    return problem.factors(A, X, cost, scale_in_A=scale_in_A)


def _product(Y: NDArray, rows: NDArray) -> NDArray:
    rows = rows.astype(Y.dtype, copy=False)
    # BLAS is about twice as fast when the long side of the data is the contiguous one of the result.
    product = Y @ rows if Y.flags.c_contiguous else (rows.T @ Y.T).T
    return np.ascontiguousarray(product, dtype=np.float64)


def _unit(A: NDArray, X: NDArray) -> tuple[NDArray, NDArray]:
    A, S = unit_columns(A, X.T)
    return A, np.ascontiguousarray(S.T)


def _rescue(problem: Problem, A: NDArray, X: NDArray) -> tuple[NDArray, NDArray]:
    A, S = revive(problem.engine, A, X.T)
    return A, np.ascontiguousarray(S.T)


def _moved(before: NDArray, A: NDArray) -> float:
    """How far the unit columns moved, root mean square over the sources."""
    empty = np.zeros((A.shape[1], 0))
    old, new = unit_columns(before, empty)[0], unit_columns(A, empty)[0]
    return float(np.linalg.norm(new - old) / np.sqrt(A.shape[1]))


def _cost(problem: Problem, A: NDArray, X: NDArray, G: NDArray, C: NDArray, XX: NDArray) -> float:
    """1/2 |Y - A X'|^2, out of the Gram matrices unless rounding would spoil it."""
    energy = problem.engine.energy
    cost = energy / 2 - np.vdot(C, X) + np.vdot(G, XX) / 2
    if cost > np.sqrt(np.finfo(problem.Y.dtype).eps) * energy:
        return float(cost)
    total = 0.0
    for j in range(0, len(X), COLUMNS):
        rest = problem.Y[:, j : j + COLUMNS] - A @ X[j : j + COLUMNS].T
        total += float(np.vdot(rest, rest))
    return total / 2
