"""nGMCA^S and nGMCA^H (Algorithm 2): alternate constrained steps while the threshold falls."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.first_guess import revive, unit_columns
from ngmca.algorithms.momentum import Momentum
from ngmca.algorithms.options import Options
from ngmca.algorithms.schedule import Schedule, falling
from ngmca.algorithms.snapshot import Snapshot
from ngmca.algorithms.steps import a_step, s_step
from ngmca.engines import Engine, Sweep, fetched, in_gradient
from ngmca.result import State

ITERATIONS_WITHOUT_THRESHOLDS = 200  # at most
CHANCE_OF_ZEROS = 4.0  # standard deviations by which a fit is clearly better without zeros


def iterate_thresholded(
    engine: Engine, A: NDArray, S: NDArray, options: Options, resume: Snapshot | None = None
) -> Iterator[Snapshot]:
    """Yield the state after every S-step, or only those that come after one to resume from."""
    schedule = options.schedule
    if resume is None:
        engine.noise_memory = None  # a start does not depend on those before it
        A, S = options.known.imposed(*unit_columns(A, S))
        A, S = revive(engine, A, S, options.known)
        sigma, target = _target(engine, A, S, A, options)
        lam = _first_threshold(engine, A, S, target, schedule)
        momentum, first, quality = Momentum(), 1, np.nan
    else:
        A, S, lam, sigma = resume.A, resume.S, resume.lam, resume.noise
        momentum, first, quality = resume.momentum or Momentum(), resume.k, resume.mixing_violation
        engine.noise_memory = resume.memory
    ended = resume is not None and resume.settled
    for k in range(first, schedule.n_iter + 1):
        if resume is not None and k == resume.k and resume.sums is not None:
            SS, YS, total = resume.sums
            sweep = Sweep(S, SS, YS, resume.cost, resume.active, resume.violation, total)
        else:
            sweep = engine.sweep(A, S, s_step(lam, options))
        state = Snapshot(
            *(k, A, sweep.S, lam, sigma, sweep.cost, sweep.active, sweep.violation, quality),
            momentum=momentum,
            sums=(sweep.SS, sweep.YS, sweep.total),
            memory=engine.noise_memory,
        )
        falls, last = k < schedule.n_decrease, k == schedule.n_iter
        if not last:
            bounded = options.bounded and options.method == "soft" and not falls and bool(lam.any())
            A_next, quality = a_step(engine, sweep, A, options, lam, bounded=bounded)
            A_next, S = revive(engine, A_next, sweep.S, options.known)  # while A S is still the fit
            A_next, S = options.known.imposed(*unit_columns(A_next, S, scale=_uses_values(options)))
            settled = not falls and schedule.settles and _distance(A_next, A) <= schedule.tol
            # a shape is that of A as the A-step leaves it: the last S is found for that
            pure = options.known.shaped and (settled or k == schedule.n_iter - 1)
        if last or ended or (settled and not pure):
            sigma = _noise(engine, A, sweep.S, options, final=True)
            yield replace(state, noise=sigma, settled=ended or not last)
            return
        if resume is None or k > resume.k:
            yield state
        ended = pure and settled
        if pure:
            A = A_next
        elif falls:
            sigma, target = _target(engine, A, sweep.S, A_next, options)
            lam = falling(lam, target, schedule.n_decrease - k, schedule.power)
            A, momentum = momentum.pull(A_next, schedule.pull)
        elif schedule.accelerated:
            penalised = sweep.cost + float(lam @ sweep.total) if lam.any() else sweep.cost
            A, momentum = momentum.accelerate(A_next, penalised)
        else:
            A, momentum = momentum.pull(A_next, schedule.pull)
            lam = schedule.decay * lam


def relaxed(engine: Engine, state: State, options: Options) -> Iterator[State]:
    """From a state on without thresholds, for what is not 0 in it.

    Thresholds make sources smaller, which norms of A make up for where they are free. Where they are
    not, as under a closure, what is left must not be shrunk. If the data contradict the zeros, these are
    left out at the end: spectra that overlap everywhere have none.
    """
    known = options.known
    zero = state.S == 0
    zero[known.given] = False
    if known.zero_sources is not None:
        zero |= known.zero_sources
    zero[zero.all(axis=1)] = False  # nothing is known of a source that is nowhere
    plain = replace(
        Options("anls", n_iter=ITERATIONS_WITHOUT_THRESHOLDS, noise=options.noise),
        known=replace(known, zero_sources=zero),
    )
    held = state
    for following in _followed(engine, state, plain):
        if held is not state:
            yield held
        held = following
    free = replace(plain, known=known)
    wrong = _contradict_zeros(engine, held, free, zero)
    yield replace(held, settled=held.settled and not wrong)
    if wrong:
        yield from _followed(engine, held, free)


def _followed(engine: Engine, state: State, options: Options) -> Iterator[State]:
    """Yield the states after another one, counted on from it."""
    for free in iterate_thresholded(engine, state.A, state.S, options):
        noise = state.noise if np.isnan(free.noise).any() else free.noise
        yield replace(free, k=state.k + free.k, noise=noise)


def _contradict_zeros(engine: Engine, held: State, options: Options, zero: NDArray) -> bool:
    """Whether sources fit the data clearly better for the same A if they are not held at 0.

    An entry that is truly 0 becomes positive by chance in half of the cases, and lowers the squared
    residual by the variance of the noise then: p positive ones out of z lower it by p, give or take
    sqrt(5/4 z).
    """
    S, lam = held.S.copy(order="K"), np.zeros(held.A.shape[1])
    free = engine.sweep(held.A, S, s_step(lam, options))
    (m, n), known = engine.shape, options.known
    seen = m * n if engine.weights is None else int(np.count_nonzero(engine.weights))
    variance = 2 * free.cost / max(seen - known.r * (m + n - known.r), 1)
    own = zero if known.zero_sources is None else zero & ~known.zero_sources
    positive = int(np.count_nonzero(fetched(free.S)[own]))
    limit = positive + CHANCE_OF_ZEROS * np.sqrt(1.25 * np.count_nonzero(own))
    return 2 * (held.cost - free.cost) > limit * variance


def _uses_values(options: Options) -> bool:
    """Whether the S-step starts from the values of the last S, not only from its support."""
    return options.solver == "fista" or options.method == "hard" or options.known.any


def _target(
    engine: Engine, A: NDArray, S: NDArray, A_next: NDArray, options: Options
) -> tuple[NDArray, NDArray]:
    """Noise of the measurements, and where the thresholds for the sources of A_next are to arrive."""
    if options.method == "anls":
        return np.full(len(A), np.nan), np.zeros(A.shape[1])
    sigma = _noise(engine, A, S, options)
    return sigma, options.tau * in_gradient(A_next, sigma)


def _first_threshold(
    engine: Engine, A: NDArray, S: NDArray, target: NDArray, schedule: Schedule
) -> NDArray:
    """Where the thresholds begin."""
    if not schedule.begins_high:
        return target
    first = np.maximum(engine.peak(A, S), target)
    if not schedule.begins_at:
        return first
    return np.maximum(first, schedule.begins_at * engine.peak(A, engine.zero_sources(A.shape[1])))


def _noise(engine: Engine, A: NDArray, S: NDArray, options: Options, *, final: bool = False) -> NDArray:
    if options.noise is not None:
        return options.noise
    known = options.known
    return engine.noise(A, S, final=final, held=known.given if known.on_sources else None)


def _distance(A: NDArray, B: NDArray) -> float:
    """Root mean square distance between columns."""
    return float(np.linalg.norm(A - B) / np.sqrt(A.shape[1]))
