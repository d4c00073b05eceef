"""What the rivals share: checked arguments, a common start, and alternating steps on A and on S.

Both factors are stored as rows, A as (m, r) and S transposed as X (n, r). A step on either of them uses
only a Gram matrix G (r, r), correlations C and the rows themselves, so that one function serves both:
`G = SS', C = YS'` for the rows of A, `G = A'A, C = Y'A` for the rows of X.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms.first_guess import first_guess, revive, unit_columns
from ngmca.engines import Engine, back, open_whole, residual_energy, times
from ngmca.result import HasFactors

# Returns new rows from (G, C, rows); the rows may be changed in place.
Step = Callable[[NDArray, NDArray, NDArray], NDArray]


Start = tuple[ArrayLike, ArrayLike] | HasFactors


@dataclass(frozen=True)
class Factors:
    """The factors that a rival found.

    Attributes
    ----------
    A : ndarray of shape (m, r)
        Mixing.
    S : ndarray of shape (r, n)
        Sources.
    cost : ndarray of shape (n_iter,)
        1/2 |Y - A S|^2 after each iteration. A cost above the largest float is infinite, one below the
        smallest is 0.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, seed=0)
    >>> ngmca.rivals.hals(data.Y, 2, n_iter=5, seed=0).cost.shape
    (5,)
    """

    A: NDArray
    S: NDArray
    cost: NDArray


PARAMETERS = {
    "Y": "Y : array_like of shape (m, n)\n    Measurements x channels.",
    "r": "r : int\n    Number of sources.",
    "n_iter": "n_iter : int\n    Largest number of iterations.",
    "start": """start : tuple (A, S), or object with the attributes A and S, optional
    First factors. Without them they are drawn as in `ngmca.separate` with the same seed.""",
    "seed": """seed : int, SeedSequence, Generator or None
    The same integer or sequence gives the same result, to the bit, on the same machine.""",
    "tol": """tol : float
    Stop when the directions of the columns of A move by less than this, root mean square.""",
}
RETURNS = "Factors\n    A, S and the cost after each iteration."
METHODS: dict[str, Callable[..., Factors]] = {}  # every rival by its name


@dataclass(frozen=True)
class Problem:
    """Checked arguments, in the units of the engine.

    Attributes
    ----------
    engine : Engine
        The data.
    r : int
        Number of sources.
    n_iter : int
        Largest number of iterations.
    tol : float
        Move of A at which the iterations stop.
    rng : Generator
        Random numbers of the method.
    """

    engine: Engine
    r: int
    n_iter: int
    tol: float
    rng: np.random.Generator

    @classmethod
    def of(cls, Y: ArrayLike, r: int, n_iter: int, seed: Seed, tol: float) -> Self:
        """Return the problem, or raise an error that says which argument is wrong."""
        engine = open_whole(Y, threads=1)
        r = arguments.check_rank(r, engine.shape)
        n_iter = arguments.check_count(n_iter, "n_iter")
        tol = arguments.check_number(tol, "tol")
        return cls(engine, r, n_iter, tol, generator(seed).spawn(1)[0])

    def factors(self, A: NDArray, X: NDArray, cost: list[float], *, scale_in_A: bool = False) -> Factors:
        """Return A and X', the sources, in the units and the precision of the data."""
        dtype, unit = self.engine.dtype, self.engine.unit
        for_A, for_S = (unit, 1.0) if scale_in_A else (1.0, unit)
        with np.errstate(over="ignore"):  # a cost above the largest float is infinite
            in_data_units = np.array(cost) * unit * unit
        return Factors((A * for_A).astype(dtype), (X.T * for_S).astype(dtype), in_data_units)


@dataclass(frozen=True)
class Beginning(Problem):
    """Checked arguments and the first factors, in double precision.

    Products with the data are in the precision of the data.

    Attributes
    ----------
    A : ndarray of shape (m, r)
        Mixing, with columns of norm 1.
    X : ndarray of shape (n, r)
        Sources, transposed.
    """

    A: NDArray
    X: NDArray


def prepare(
    Y: ArrayLike,
    r: int,
    *,
    n_iter: int = 500,
    start: Start | None = None,
    seed: Seed = None,
    tol: float = 0.0,
) -> Beginning:
    """Return the problem with its start, or raise an error that says which argument is wrong.

    Without a start the first factors are those that `ngmca.separate` would draw with this seed.
    """
    problem = Problem.of(Y, r, n_iter, seed, tol)
    engine = problem.engine
    if start is None:
        A, S = first_guess(engine, problem.r, problem.rng)
    else:
        A, S = arguments.check_start(start, engine, problem.r)
    A, S = unit_columns(A.astype(np.float64), S.astype(np.float64))
    A, S = revive(engine, A, S)  # as `separate` does with zero sources of a start
    return Beginning(**vars(problem), A=A, X=np.array(S.T, order="C"))


def rival(
    method: Callable[..., Factors], prepare: Callable[..., Problem] = prepare
) -> Callable[..., Factors]:
    """Turn a function of a prepared problem into a rival, and enter it into `METHODS`.

    The rival has the parameters of `prepare`, and after them the options of the method itself. In the
    docstring ``{shared}`` stands for the parameters of `prepare`, and ``{returns}`` for the factors.
    BLAS uses one thread.
    """
    shared, own = signature(prepare).parameters, [*signature(method).parameters.values()][1:]

    @wraps(method)
    def run(Y: ArrayLike, r: int, **given: Any) -> Factors:
        options = {name: given.pop(name) for name in set(given) - set(shared)}
        return method(prepare(Y, r, **given), **options)

    texts = {"{shared}": "\n".join(PARAMETERS[name] for name in shared), "{returns}": RETURNS}
    for mark, text in texts.items():
        run.__doc__ = str(run.__doc__).replace(mark, text.replace("\n", "\n    "))
    found = one_blas_thread(run)
    whole = Signature([*shared.values(), *own], return_annotation=Factors)
    found.__signature__ = whole  # type: ignore[attr-defined]
    METHODS[method.__name__] = found
    return found


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

    Parameters
    ----------
    problem : Beginning
        Checked arguments and the first factors.
    a_step, s_step : Step
        Return new rows of A, and of S transposed.
    unit : bool
        Scale the columns of A to norm 1 before each step on S.
    rescue : bool
        Give a source whose column of A became zero a new direction from the residual. Its row of S
        becomes zero, so that the product does not change.
    scale_in_A : bool
        Rows of S have a fixed norm, and A carries the unit of the data.
    settle_after : int
        Iterations, at least 1, before `tol` is checked: A may already be optimal for the first S and
        not move at first.
    """
    A, X = problem.A, problem.X
    XX = X.T @ X
    cost: list[float] = []
    for k in range(1, problem.n_iter + 1):
        before = A.copy() if problem.tol > 0 else A
        A = a_step(XX, times(problem.engine, X), A)
        S = X.T
        if unit:
            A, S = unit_columns(A, S)
        if rescue:
            A, S = revive(problem.engine, A, S)
        X = np.ascontiguousarray(S.T)
        G, C = A.T @ A, back(problem.engine, A)
        X = s_step(G, C, X)
        XX = X.T @ X
        cost.append(cost_of(problem.engine, A, X, np.vdot(C, X), np.vdot(G, XX)))
        if problem.tol > 0 and k > settle_after and moved(before, A) <= problem.tol:
            break
    return problem.factors(A, X, cost, scale_in_A=scale_in_A)


def moved(before: NDArray, A: NDArray) -> float:
    """Return how far the unit columns moved, root mean square over the sources."""
    empty = np.zeros((A.shape[1], 0))
    old, new = unit_columns(before, empty)[0], unit_columns(A, empty)[0]
    return float(np.linalg.norm(new - old) / np.sqrt(A.shape[1]))


def cost_of(engine: Engine, A: NDArray, X: NDArray, product: float, square: float) -> float:
    """Return 1/2 |Y - A X'|^2 from <Y, A X'> and |A X'|^2, or from the residual if rounding matters."""
    cost = engine.energy / 2 - product + square / 2
    if cost > np.sqrt(np.finfo(engine.dtype).eps) * engine.energy:
        return float(cost)
    return residual_energy(engine, A, X.T) / 2
