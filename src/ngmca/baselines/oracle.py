"""What `soft` could find if it knew the mixing (the paper's oracle)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import inputs
from ngmca import noise as levels
from ngmca.baselines.alternation import Factors
from ngmca.engine import InMemory, Sweep
from ngmca.nnqp.pivot import solve_rows
from ngmca.threads import one_blas_thread

ROUNDS = 100  # for the noise level, which settles within a few
SETTLED = 1e-10


def oracle(
    Y: ArrayLike, A_ref: ArrayLike, *, tau: float = 1.0, noise: ArrayLike | None = None
) -> Factors:
    """argmin_{S >= 0} 1/2 |Y - A_ref S|^2 + sum_i lam_i |S_i|_1, exactly, for known mixing A_ref.

    As in `soft`, lam_i is tau times the standard deviation of the noise in row i of A_ref'(A_ref S - Y).
    `noise`, a number or one per measurement, is the standard deviation in Y. If it is not given it is
    estimated from the residual Y - A_ref S, and S is solved anew until the two agree. The columns of
    A_ref need not have norm 1: another scale of a column only scales its source. The single entry of
    `cost` is 1/2 |Y - A_ref S|^2.
    """
    data = inputs.check_data(Y)
    A = _check_mixing(A_ref, len(data))
    tau = inputs.check_number(tau, "tau")
    sigma = inputs.check_noise(noise, len(data))
    unit = inputs.unit_of(data)
    engine = InMemory(data if unit == 1.0 else data / data.dtype.type(unit))
    with one_blas_thread:
        sweep = _solve(engine, A, tau, None if sigma is None else sigma / unit)
    with np.errstate(over="ignore"):
        cost = np.array([sweep.cost]) * unit * unit
    return Factors(A=A.astype(data.dtype), S=(sweep.S * unit).astype(data.dtype), cost=cost)


def _solve(engine: InMemory, A: NDArray, tau: float, sigma: NDArray | None) -> Sweep:
    """The sources, and the noise out of their residual where it is not known."""
    S = np.zeros((A.shape[1], engine.shape[1]), dtype=engine.dtype)
    if sigma is not None:
        return _sources(engine, A, S, tau * levels.in_gradient(A, sigma))
    sweep = _sources(engine, A, S, np.zeros(A.shape[1]))
    sigma = engine.noise(A, sweep.S, final=True)
    for _ in range(ROUNDS):
        sweep = _sources(engine, A, sweep.S, tau * levels.in_gradient(A, sigma))
        before, sigma = sigma, engine.noise(A, sweep.S, final=True)
        if np.abs(sigma - before).max() <= SETTLED * before.max():
            break
    return sweep


def _sources(engine: InMemory, A: NDArray, S: NDArray, lam: NDArray) -> Sweep:
    return engine.sweep(A.astype(engine.dtype), S, lambda G, C, X: solve_rows(G, C, X, lam))


def _check_mixing(A_ref: ArrayLike, m: int) -> NDArray:
    A = inputs.check_data(A_ref, "A_ref").astype(np.float64)
    if len(A) != m:
        raise ValueError(f"A_ref must have one row a measurement ({m}), got shape {A.shape}.")
    return A
