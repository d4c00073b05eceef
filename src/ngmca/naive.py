"""nGMCA^naive (Algorithm 1): least squares, hard threshold, projection."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngmca import noise, thresholds
from ngmca.engine import InMemory
from ngmca.records import Options, State
from ngmca.start import projected, revive, unit_columns


def iterate_naive(engine: InMemory, A: NDArray, S: NDArray, options: Options) -> Iterator[State]:
    """Yield the state after every estimate of S.

    Steps are projected least squares, which solve no constrained problem: there is no optimality to
    certify, and the violation is NaN.
    """
    schedule = options.schedule
    for k in range(1, schedule.n_iter + 1):
        A, S = unit_columns(A, S)
        A, S = revive(engine, A, S)
        share = min(k / schedule.n_decrease, 1.0)
        S, lam = _threshold(_least_squares(engine, A), options.tau, share)
        SS, YS = engine.moments(S)
        sigma = options.noise
        if sigma is None:
            last = k == schedule.n_iter
            sigma = engine.noise(A, S, final=True) if last else np.full(len(A), np.nan)
        active = np.count_nonzero(S) / S.size
        yield State(k, A, S, lam, sigma, engine.cost(A, SS, YS), active, np.nan)
        A_next = np.empty_like(A)
        projected(SS, YS, A_next)
        A = A_next


def _least_squares(engine: InMemory, A: NDArray) -> NDArray:
    """(A'A)^-1 A'Y."""
    G = np.linalg.pinv(A.T @ A, rcond=1e-10, hermitian=True)
    return G @ engine.correlate(A)


def _threshold(S: NDArray, tau: float, share: float) -> tuple[NDArray, NDArray]:
    """[Hard_lam(S)]_+ with lam the multiple of each row's noise that keeps `share` of what tau keeps."""
    sigma = noise.mad(S)
    ratios = np.divide(S, sigma[:, None], out=np.where(S > 0, np.inf, 0.0), where=sigma[:, None] > 0)
    multiple = thresholds.multiple_for_count(ratios, tau, share)
    kept = np.where((ratios >= multiple) & (S > 0), S, 0)
    return kept, np.multiply(multiple, sigma, out=np.zeros_like(sigma), where=sigma > 0)
