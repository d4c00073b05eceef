"""Several first guesses compared."""

from dataclasses import replace

import numpy as np

from ngmca import metrics
from ngmca.algorithms.bands import log_cost
from ngmca.algorithms.options import Options
from ngmca.data import InMemory, in_gradient
from ngmca.nnqp.pivoting import solve_rows
from ngmca.result import Restart, Separation


def choose(
    engine: InMemory, runs: list[Separation], options: Options, *, plain: bool = True
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
        sigma = np.mean([run.noise for run in runs], axis=0)
        costs = [log_cost(engine, run.A, run.S, sigma, options) for run in runs]
    else:
        tau = 0.0 if options.method == "anls" else options.tau
        common = tau * float(np.mean([in_gradient(run.A, run.noise) for run in runs]))
        costs = [_penalised_cost(engine, run, common) for run in runs]
    return with_restarts(runs[int(np.argmin(costs))], runs, costs)


def with_restarts(best: Separation, runs: list[Separation], costs: list[float]) -> Separation:
    """The best run with what the others cost, and how much they agree with it, source by source."""
    scores = (metrics.evaluate(best.S, run.S) for run in runs)
    restarts = (
        Restart(cost, score.mean_sdr, tuple(score.sdr.tolist()))
        for cost, score in zip(costs, scores, strict=True)
    )
    return replace(best, restarts=tuple(restarts))


def _penalised_cost(engine: InMemory, run: Separation, lam: float) -> float:
    """min_{S >= 0} 1/2 |Y - AS|^2 + lam |S|_1 for the directions A of a run."""
    shift = np.full(run.A.shape[1], lam)
    sweep = engine.sweep(run.A, run.S, lambda G, C, X, _: solve_rows(G, C, X, shift))
    return sweep.cost + lam * float(sweep.S.sum())
