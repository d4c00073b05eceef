"""Several first guesses: run at the same time, and compared."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Event
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import metrics
from ngmca.algorithms.noiseless_data import least_noise
from ngmca.algorithms.options import Options
from ngmca.algorithms.wavelets.wavelet_stage import log_cost
from ngmca.engines import Engine, Stacks, in_gradient
from ngmca.result import Others, Restart, Separation

EQUAL = 0.01  # of the lowest cost, by which that of an equally good answer may be higher
UNSEEN_COST = 1e-8  # of the energy of the data: a difference in cost that no measurement would show
SAME_SOURCE = 0.01  # distance over norm up to which two sources are drawn as one line: 40 dB
SECONDS_BETWEEN_LOOKS = 0.2  # for Ctrl-C, where it does not wake a process that waits
UNIT_NORM_TOLERANCE = 1e-4  # of the norm of a column from 1, if its scale is not known

Start = TypeVar("Start")
Found = TypeVar("Found")


def at_once(
    work: Callable[[Start, Callable[[], bool]], Found], starts: Sequence[Start], workers: int
) -> list[Found]:
    """work(start, stopped) for all starts, in their order, so many at a time.

    An error, or Ctrl-C, ends all of them: what is at work asks `stopped()` now and then, and may return
    anything from then on.
    """
    if workers == 1 or len(starts) == 1:
        return [work(start, lambda: False) for start in starts]
    stop = Event()
    with ThreadPoolExecutor(min(workers, len(starts)), thread_name_prefix="ngmca-start") as pool:
        try:
            futures = [pool.submit(work, start, stop.is_set) for start in starts]
            left, failed = set(futures), list[Future[Found]]()
            while left and not failed:
                left = wait(left, SECONDS_BETWEEN_LOOKS, FIRST_EXCEPTION).not_done
                failed = [one for one in futures if one not in left and one.exception()]
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    return [one.result() for one in failed or futures]


def choose(
    engine: Engine, runs: list[Separation], options: Options, *, plain: bool = True
) -> Separation:
    """The run with the lowest penalised cost, and how far the others are from it.

    Thresholds are common to all runs. Where all of them found lines or bands, it is the cost that falls
    there; otherwise that of their directions with the best direct sources. Where data are not `plain`,
    weighted or under constraints, it is the cost that they ended with.
    """
    if not plain:
        lam = np.mean([run.lam for run in runs])
        costs = [float(run.history.cost[-1] + lam * run.S.sum()) for run in runs]
    elif all(run.domain.name == "wavelet" for run in runs):
        sigma = np.maximum(np.mean([run.noise for run in runs], axis=0), least_noise(engine, options))
        costs = [log_cost(engine, run.A, run.S, sigma, options) for run in runs]
    else:
        tau = 0.0 if options.method == "anls" else options.tau
        levels = [in_gradient(run.A, run.noise) for run in runs]
        common = max(tau * float(np.mean(levels)), least_noise(engine, options))
        costs = _penalised_costs(engine, runs, common)
    return with_restarts(runs, costs, engine.energy if plain else 0.0)


def equally_good(costs: ArrayLike, energy: float = 0.0) -> NDArray:
    """Which costs are as low as the lowest, up to 1 % of it or next to nothing of the data's energy."""
    given = np.asarray(costs, dtype=float)
    lowest = given.min(initial=np.inf)
    return np.asarray(given <= lowest + max(EQUAL * abs(lowest), UNSEEN_COST * energy))


def with_restarts(runs: list[Separation], costs: list[float], energy: float) -> Separation:
    """The run of the lowest cost with what the others cost, and how far they differ, source by source.

    `energy` is that of the data in units of the costs, 0 if it is not known.
    """
    best, equal = runs[int(np.argmin(costs))], equally_good(costs, energy)
    here, restarts, answers = best.in_memory(), [], []
    for run, cost, good in zip(runs, costs, equal, strict=True):
        found = run.in_memory().S
        order, sdr = metrics.matched_rows(here.S, found)
        A, S = run.A[:, order], found[order]
        silent = ~(here.S.any(axis=1) | S.any(axis=1))  # in both: they agree
        sdr = np.where(silent, metrics.CEILING, sdr)
        restarts.append(Restart(cost, float(sdr.mean()), tuple(sdr.tolist()), bool(good)))
        if good and run is not best:
            answers.append((A, S))
    return replace(best, restarts=tuple(restarts), others=_others(here, answers))


def _others(best: Separation, answers: list[tuple[NDArray, NDArray]]) -> Others | None:
    """The range of answers (A, S), whose sources are in the order of the best; None if they are one."""
    low, high, count = [best.A.T, best.S], [best.A.T, best.S], 0
    free = np.abs(np.linalg.norm(best.A, axis=0) - 1) < UNIT_NORM_TOLERANCE
    for A, S in answers:
        A, S = _alike(A.T, best.A.T, free), _alike(S, best.S, free)
        count += bool((S != best.S).any())
        low = [np.minimum(old, new) for old, new in zip(low, (A, S), strict=True)]
        high = [np.maximum(old, new) for old, new in zip(high, (A, S), strict=True)]
    if not count:
        return None
    return Others(count, S_low=low[1], S_high=high[1], A_low=low[0].T, A_high=high[0].T)


def _alike(rows: NDArray, chosen: NDArray, free: NDArray) -> NDArray:
    """Rows with sign and norm of the chosen ones, where these are free; the chosen ones if the same."""
    norm, own = np.linalg.norm(chosen, axis=1), np.linalg.norm(rows, axis=1)
    factor = np.divide(norm, own, out=np.ones_like(own), where=free & (own > 0) & (norm > 0))
    sign = np.where(np.einsum("ij,ij->i", rows, chosen) < 0, -1, 1)
    rows = rows * (sign * factor).astype(rows.dtype)[:, None]
    same = np.linalg.norm(rows - chosen, axis=1) <= SAME_SOURCE * norm
    return np.where(same[:, None], chosen, rows)


def _penalised_costs(engine: Engine, runs: list[Separation], lam: float) -> list[float]:
    """min_{S >= 0} 1/2 |Y - AS|^2 + lam |S|_1 for the directions A of every run."""
    stacks = engine.stacks(runs[0].A.shape[1])
    if stacks is None or not stacks.room:
        return [_penalised_cost(engine, run, lam) for run in runs]
    most = stacks.room
    parts = (runs[first : first + most] for first in range(0, len(runs), most))
    return [cost for part in parts for cost in _costs_at_once(stacks, part, lam)]


def _penalised_cost(engine: Engine, run: Separation, lam: float) -> float:
    shift = np.full(run.A.shape[1], lam)
    sweep = engine.sweep(run.A, run.S, lambda G, C, X, _: G.solve(C, X, shift))
    return sweep.cost + lam * float(sweep.S.sum())


def _costs_at_once(stacks: Stacks, runs: list[Separation], lam: float) -> list[float]:
    device, r = stacks.device, runs[0].A.shape[1]
    shift = device.xp.full((len(runs), r), lam)
    parts = np.stack([run.A for run in runs]), np.stack([run.S for run in runs]).swapaxes(1, 2)
    A, X = (device.xp.asarray(np.ascontiguousarray(part)) for part in parts)
    sweep = stacks.sweep(stacks.see(A), X, lambda G, C, X: device.solve_each(G, C, X, shift))
    return [float(cost) for cost in device.host(sweep.cost + lam * sweep.total.sum(axis=1))]
