"""What several starts are compared by: the data, and the runs in units of these data."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms import Options
from ngmca.algorithms.first_guess import unit_columns
from ngmca.algorithms.restarts import Fit
from ngmca.algorithms.reweighting import SPIKE_LEVEL
from ngmca.engines import Engine, Levels, without
from ngmca.result import Separation, State
from ngmca.task.problem import Problem
from ngmca.task.units_of_noise import in_channels, inside


def compared(problem: Problem, runs: list[Separation]) -> tuple[Engine, Options, list[Fit] | None]:
    """Return what several runs are compared by: data, options, and the runs in units of these data.

    The data are in units of their noise, with the weights of the fits.
    """
    noise = np.mean([run.noise for run in runs], axis=0)
    if problem.repeats(*_fitted(problem, runs[0]), noise):
        assert problem.again is not None
        return compared(problem.again(replace(Levels.of_rows(noise), level=None)), runs)
    if problem.plain:
        return problem.engine, problem.options, None
    factors = [_fitted(problem, run) for run in runs]
    engine = problem.engine
    if problem.levels.counts is not None:  # weights of the mean fit
        A, S = zip(*factors, strict=True)
        engine = problem.levels.following(engine, np.hstack(A), np.vstack(S) / len(runs))
    banded = all(run.domain.name == "wavelet" for run in runs)
    fits = [
        _fit(problem, run, engine, *unit_columns(A, S), banded=banded)
        for run, (A, S) in zip(runs, factors, strict=True)
    ]
    return engine, problem.options, fits


def _fitted(problem: Problem, run: Separation) -> tuple[NDArray, NDArray]:
    """Return the factors of a run, and those of its baseline, in units of the engine."""
    A, S = run.A, run.in_memory().S
    if run.background is not None:
        A, S = np.hstack([A, run.background.weights]), np.vstack([S, run.background.basis])
    if problem.exchanged is not None:
        A, S = S.T, A.T
    return inside(A, S, problem.levels, problem.engine)


def _fit(
    problem: Problem, run: Separation, engine: Engine, A: NDArray, S: NDArray, *, banded: bool
) -> Fit:
    """Return a run with the data that it was fitted to: without its spikes, and in own channels."""
    sigma, left_out = _own_noise(problem, run, engine), 0.0
    if run.outliers is not None and len(run.outliers):
        rows, columns = run.outliers.T if problem.exchanged is None else run.outliers.T[::-1]
        spikes = np.zeros(engine.shape, dtype=bool)
        spikes[rows, columns] = True
        engine = without(engine, spikes)
        left_out = float(np.sum((SPIKE_LEVEL * sigma[rows]) ** 2)) / 2
    if banded:
        state = State(0, A, S, np.zeros(A.shape[1]), sigma, 0.0, 0.0, 0.0)
        options = replace(problem.options, noise=sigma)
        engine, state, _, options = in_channels(engine, state, problem.levels, options)
        return Fit(A, state.S, np.asarray(options.noise), engine, left_out)
    return Fit(A, S, sigma, engine, left_out)


def _own_noise(problem: Problem, run: Separation, engine: Engine) -> NDArray:
    """Return the noise (m,) of entries of weight 1 in units of the engine."""
    if problem.options.noise is not None:
        return problem.options.noise
    units = problem.levels.spread(engine.weights, engine.shape)
    if problem.exchanged is None:
        return np.asarray(run.noise / units)
    return np.full(len(units), np.sqrt(np.mean(run.noise**2) / np.mean(units**2)))
