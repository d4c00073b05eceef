"""Sources for a mixing that is known: one exact S-step, and the noise to go with it."""

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import Engine, Sweep, in_gradient

MAX_ROUNDS = 100  # for the noise level, which settles within a few
LEVEL_TOLERANCE = 1e-10  # relative change of the noise levels at which the rounds end


def sources_for(engine: Engine, A: NDArray, tau: float, sigma: NDArray | None = None) -> Sweep:
    """argmin_{S >= 0} 1/2 |Y - AS|^2 + tau sum_i sigma_i |S_i|_1, sigma the noise in the gradient.

    Noise levels that are not given come out of the residual: the two are found in turn until they agree.
    """
    S = np.zeros((A.shape[1], engine.shape[1]), dtype=engine.dtype)
    if sigma is not None:
        return _step(engine, A, S, tau * in_gradient(A, sigma))
    sweep = _step(engine, A, S, np.zeros(A.shape[1]))
    sigma = engine.noise(A, sweep.S, final=True)
    for _ in range(MAX_ROUNDS):
        sweep = _step(engine, A, sweep.S, tau * in_gradient(A, sigma))
        before, sigma = sigma, engine.noise(A, sweep.S, final=True)
        if np.abs(sigma - before).max() <= LEVEL_TOLERANCE * before.max():
            break
    return sweep


def _step(engine: Engine, A: NDArray, S: NDArray, lam: NDArray) -> Sweep:
    return engine.sweep(A.astype(engine.dtype), S, lambda G, C, X, _: G.solve(C, X, lam))
