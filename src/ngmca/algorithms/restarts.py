"""Several first guesses: run at the same time, and compared."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from threading import Event
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import metrics
from ngmca.algorithms.constraint_arrays import Constraints, constrained, penalised_rows
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


@dataclass(frozen=True, eq=False)
class Fit:
    """A run in the units of the data that it was fitted to: columns of A have norm 1."""

    A: NDArray  # (m, R), with the columns of a baseline
    S: NDArray  # (R, n)
    noise: NDArray  # (m,) of entries of weight 1
    engine: Engine | None = None  # the data with its own weights, where it has any
    left_out: float = 0.0  # cost of the spikes that it leaves out, as if each were just no spike

    def data(self, common: Engine) -> Engine:
        """The data of this run."""
        return common if self.engine is None else self.engine


def choose(
    engine: Engine,
    runs: list[Separation],
    options: Options,
    *,
    fits: Sequence[Fit] | None = None,
    chosen: int | None = None,
) -> Separation:
    """The run with the lowest penalised cost, or the `chosen` one, and how far the others are from it.

    The engine holds the data in units of their noise, and `fits` are the runs in these units; None if
    those of the runs are the same. Thresholds are common to all runs. Where all of them found lines or
    bands, it is the cost that falls there; otherwise that of their directions with the best direct
    sources.
    """
    known = options.known
    fits = [Fit(run.A, run.S, run.noise) for run in runs] if fits is None else fits
    if all(run.domain.name == "wavelet" for run in runs):
        sigma = np.maximum(np.mean([fit.noise for fit in fits], axis=0), least_noise(engine, options))
        costs = [log_cost(fit.data(engine), fit.A, fit.S, sigma, options) for fit in fits]
    else:
        tau = 0.0 if options.method == "anls" else options.tau
        levels = [in_gradient(fit.A, fit.noise)[known.free] for fit in fits] if tau > 0 else [0.0]
        common = max(tau * float(np.mean(levels)), least_noise(engine, options))
        costs = _penalised_costs(engine, fits, common, known)
    costs = [cost + fit.left_out for cost, fit in zip(costs, fits, strict=True)]
    return with_restarts(runs, costs, engine.energy, chosen=chosen)


def equally_good(costs: ArrayLike, energy: float = 0.0) -> NDArray:
    """Which costs are as low as the lowest, up to 1 % of it or next to nothing of the data's energy."""
    given = np.asarray(costs, dtype=float)
    lowest = given.min(initial=np.inf)
    return np.asarray(given <= lowest + max(EQUAL * abs(lowest), UNSEEN_COST * energy))


def with_restarts(
    runs: list[Separation], costs: list[float], energy: float, *, chosen: int | None = None
) -> Separation:
    """The run of the lowest cost with what the others cost, and how far they differ, source by source.

    `energy` is that of the data in units of the costs, 0 if it is not known. A run that was `chosen` for
    another reason than its cost counts as equally good.
    """
    equal = equally_good(costs, energy)
    best = runs[int(np.argmin(costs)) if chosen is None else chosen]
    equal[runs.index(best)] = True
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


def _penalised_costs(engine: Engine, fits: Sequence[Fit], lam: float, known: Constraints) -> list[float]:
    """min_{S >= 0} 1/2 |Y - AS|^2 + lam |S|_1 for the directions A of every run, with what is known."""
    own = known.any or any(fit.engine is not None for fit in fits)
    stacks = None if own else engine.stacks(fits[0].A.shape[1])
    if stacks is None or not stacks.room:
        return [_penalised_cost(fit.data(engine), fit, lam, known) for fit in fits]
    most = stacks.room
    parts = (fits[first : first + most] for first in range(0, len(fits), most))
    return [cost for part in parts for cost in _costs_at_once(stacks, part, lam)]


def _penalised_cost(engine: Engine, fit: Fit, lam: float, known: Constraints) -> float:
    """The cost of one run: known sources are not penalised, and thresholds follow the noise."""
    free, A = known.free, fit.A
    least = penalised_rows(np.full(A.shape[1], lam)[free])
    sweep = engine.sweep(A, fit.S, constrained(least, known))
    assert sweep.total is not None
    penalty = sweep.total
    if engine.noise_weights is not None:  # of every channel, as in the S-step
        level = np.sqrt(engine.noise_weights.T @ np.square(A, dtype=np.float64))
        penalty = np.einsum("kj,jk->k", sweep.S, level)
    if known.both:
        penalty = penalty + A.sum(axis=0) * np.linalg.norm(sweep.S, axis=1)
    return sweep.cost + lam * float(penalty[free].sum())


def _costs_at_once(stacks: Stacks, fits: Sequence[Fit], lam: float) -> list[float]:
    device, r = stacks.device, fits[0].A.shape[1]
    shift = device.xp.full((len(fits), r), lam)
    parts = np.stack([fit.A for fit in fits]), np.stack([fit.S for fit in fits]).swapaxes(1, 2)
    A, X = (device.xp.asarray(np.ascontiguousarray(part)) for part in parts)
    sweep = stacks.sweep(stacks.see(A), X, lambda G, C, X: device.solve_each(G, C, X, shift))
    return [float(cost) for cost in device.host(sweep.cost + lam * sweep.total.sum(axis=1))]
