"""Where the iterations in wavelets start, which follow those of `soft`.

Where there are several measurements for each source, plain factorisation continues from the answer of
`soft`. Its sources are often worse, but they are free of the bias of `soft`, which can be a local
minimum. With few measurements it would fit the noise, so the iterations start at the answer of `soft`.
Where known values say what A is, the mixing of the plain factorisation stays, and only S is improved.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.first_guess import unit_columns
from ngmca.algorithms.options import Options
from ngmca.algorithms.soft_and_hard import iterate_thresholded
from ngmca.algorithms.steps import fitted_mixing
from ngmca.algorithms.wavelets.domain_choice import decide
from ngmca.algorithms.wavelets.wavelet_stage import ANALYSIS_STEP, SourceStep, iterate_bands
from ngmca.engines import Engine, fetched
from ngmca.engines.neighbouring_channels import noise_of_differences
from ngmca.result import Domain, State

MAX_FREE_ITERATIONS = 200  # without thresholds
ITERATIONS_AFTER_PART = 20  # over all measurements, once a part of them has told the sources
MIN_MEASUREMENTS_FOR_FREE = 3.5  # for each source
VANISHED = 0.25  # of the noise of differences: with less, `soft` has fitted the noise


def followed_by_bands(
    engine: Engine,
    states: Iterator[State],
    options: Options,
    step: SourceStep = ANALYSIS_STEP,
) -> Iterator[State]:
    """Yield the states of `soft`, and then those in a frame, if its sources have an order."""
    for state in states:
        last = state.settled or state.k >= options.schedule.n_iter
        domain = decide(state, options) if last else state.domain
        if domain.name == "wavelet":
            yield from bands_after(engine, state, domain, options, step)
        else:
            yield replace(state, domain=domain)


def bands_after(
    engine: Engine,
    state: State,
    domain: Domain,
    options: Options,
    step: SourceStep = ANALYSIS_STEP,
    sources: NDArray | None = None,
) -> Iterator[State]:
    """The last state of `soft`, and those after it in a frame, for which it was decided.

    `sources` are those of a run on a part of the measurements, from which few iterations are left.
    """
    yield replace(state, settled=False)
    if sources is not None:
        begin = _refitted(engine, state, sources)
        before = replace(begin, domain=replace(domain, begun=state.k))
        short = replace(options, n_iter=ITERATIONS_AFTER_PART)
        yield from iterate_bands(engine, begin.A, begin.S, short, before, step=step)
        return
    few = _measurements_per_source(engine, len(state.A.T)) < MIN_MEASUREMENTS_FOR_FREE
    if few and options.noise is None:
        state = _with_noise(engine, state, options)
    # known values of A fix it, and thresholds would only pull it away from the best fit
    anchored = options.known.anchored
    begin = state if few and not anchored else _freed(engine, state, options)
    before = replace(state, domain=replace(domain, begun=state.k))
    if anchored:
        before = replace(before, mixing_violation=begin.mixing_violation)
    given = (engine, begin.A, fetched(begin.S), options, before)
    yield from iterate_bands(*given, known=anchored, step=step)


def _measurements_per_source(engine: Engine, r: int) -> float:
    """How many measurements were observed in a channel on average, for each source."""
    weights = engine.weights
    observed = 1.0 if weights is None else np.count_nonzero(weights) / weights.size
    return observed * engine.shape[0] / r


def _with_noise(engine: Engine, state: State, options: Options) -> State:
    """The state, or that of `soft` once more with the noise of differences where it fitted the noise.

    With as many sources as measurements a fit can follow all of the noise. Thresholds then vanish with
    the residual, and never return.
    """
    sigma, white = noise_of_differences(engine)
    if not white or np.mean(state.noise**2) > VANISHED**2 * np.mean(sigma**2):
        return state
    options = replace(options.without_closure(), noise=sigma)
    for again in iterate_thresholded(engine, state.A, state.S, options):
        last = again
    return replace(state, A=last.A, S=last.S, noise=sigma)


def _refitted(engine: Engine, state: State, sources: NDArray) -> State:
    """The state with these sources, and the mixing that fits them best."""
    S = np.ascontiguousarray(sources, dtype=engine.dtype)
    A, quality = fitted_mixing(engine, S)
    A, S = unit_columns(A.astype(engine.dtype), S)
    return replace(state, A=A, S=S, mixing_violation=quality)


def _freed(engine: Engine, state: State, options: Options) -> State:
    """The state after plain factorisation from another one."""
    plain = Options(
        "anls", n_iter=MAX_FREE_ITERATIONS, tol=0.0, noise=options.noise, known=options.known
    )
    for free in iterate_thresholded(engine, state.A, state.S, plain):
        last = free
    return last
