"""nGMCA^naive (Algorithm 1): least squares, hard threshold, projection."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.first_guess import projected, revive, unit_columns
from ngmca.algorithms.options import Options
from ngmca.algorithms.schedule import multiple_for_count
from ngmca.algorithms.snapshot import Snapshot
from ngmca.engines import Engine, cost, gram, mad
from ngmca.nnqp.gram import Gram, pseudo_inverse

TWIN_GAP = 1e-10  # between 1 and the cosine of two sources, below which they are one and the same


def iterate_naive(
    engine: Engine, A: NDArray, S: NDArray, options: Options, resume: Snapshot | None = None
) -> Iterator[Snapshot]:
    """Yield the state after every estimate of S, or only those that come after one to resume from.

    Steps are projected least squares, which solve no constrained problem: there is no optimality to
    certify, and the violation is NaN.
    """
    schedule = options.schedule
    first = 1 if resume is None else resume.k
    for k in range(first, schedule.n_iter + 1):
        if resume is not None and k == first:
            A, S, lam = resume.A, resume.S, resume.lam
        else:
            A, S = revive(engine, A, S)
            A, S = unit_columns(A, S)
            S, lam = _threshold(_least_squares(engine, A), options.tau, k / schedule.n_decrease)
        SS, YS = engine.moments(S)
        sigma = options.noise
        if sigma is None:
            last = k == schedule.n_iter
            sigma = engine.noise(A, S, final=True) if last else np.full(len(A), np.nan)
        active = np.count_nonzero(S) / S.size
        if resume is None or k > first or k == schedule.n_iter:
            yield Snapshot(k, A, S, lam, sigma, cost(engine, A, SS, YS), active, np.nan)
        A_next = np.empty_like(A)
        projected(_without_twins(SS), YS, A_next)
        A = A_next


def _least_squares(engine: Engine, A: NDArray) -> NDArray:
    """(A'A)^-1 A'Y."""
    return np.asarray(pseudo_inverse(gram(A)) @ engine.correlate(A), dtype=engine.dtype)


def _without_twins(SS: Gram) -> Gram:
    """S S' without sources that are multiples of an earlier one: their columns of A become 0.

    Least squares would give both the same column, and then the same source, in all later iterations. A
    source without a column gets another direction (`revive`).
    """
    G = SS.matrix
    size = np.sqrt(np.diagonal(G))
    alike = np.triu((1 - TWIN_GAP) * np.outer(size, size) < G, 1)
    keep = ~alike.any(axis=0)
    return Gram(G * np.outer(keep, keep))


def _threshold(S: NDArray, tau: float, share: float) -> tuple[NDArray, NDArray]:
    """[Hard_lam(S)]_+ with lam the multiple of each row's noise that keeps `share` of what tau keeps."""
    sigma = mad(S)
    ratios = np.divide(S, sigma[:, None], out=np.where(S > 0, np.inf, 0.0), where=sigma[:, None] > 0)
    multiple = multiple_for_count(ratios, tau, min(share, 1.0))
    kept = np.where((ratios >= multiple) & (S > 0), S, 0)
    return kept, np.multiply(multiple, sigma, out=np.zeros_like(sigma), where=sigma > 0)
