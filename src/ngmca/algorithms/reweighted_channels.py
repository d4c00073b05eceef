"""Thresholds that decrease where a source is clearly present, channel by channel, after `soft`.

The thresholds of `soft` shrink large and small entries alike. Here an entry x has the threshold
tau level / (1 + x / level), where level is the noise of its source. The sum of log(1 + x / level) then
decreases instead of the sum of x, and large entries are hardly shrunk. The higher the share of zeros is,
the higher tau may be.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.constraint_arrays import constrained
from ngmca.algorithms.first_guess import revive, unit_columns
from ngmca.algorithms.options import Options
from ngmca.algorithms.steps import a_step
from ngmca.engines import Engine, in_gradient
from ngmca.nnqp.gram import Inner
from ngmca.result import State

ITERATIONS = 8  # nearly all of the gain comes with them
MIN_MEASUREMENTS = 2.0  # for each source
MIN_ZEROS = 0.35  # share of zeros: sources that are nearly everywhere gain nothing
TAU_OF_DENSE_AND_SPARSE = (1.0, 2.5)
ZEROS_OF_DENSE_AND_SPARSE = (0.48, 0.65)  # share of zeros in the sources of `soft`


def suits(engine: Engine, state: State, options: Options) -> bool:
    """Whether thresholds are reweighted: with the automatic schedule, for sources that are often 0.

    There must be enough measurements to tell the sources apart. Constraints under which a fit without
    thresholds follows (`relaxed`) are left out.
    """
    automatic = options.method == "soft" and options.n_iter == "auto" and options.solver == "pivot"
    enough = engine.shape[0] >= MIN_MEASUREMENTS * state.A.shape[1] and 1 - state.active > MIN_ZEROS
    simple = not (options.known.holds_norms or options.known.both or options.noiseless)
    return automatic and enough and simple and bool(state.lam.any())


def iterate_reweighted(engine: Engine, state: State, options: Options) -> Iterator[State]:
    """Yield the state after every S-step with reweighted thresholds, counted on from the state given."""
    A, S, sigma, quality = state.A, state.S, state.noise, state.mixing_violation
    known = options.known
    tau = options.tau * float(
        np.interp(1 - state.active, ZEROS_OF_DENSE_AND_SPARSE, TAU_OF_DENSE_AND_SPARSE)
    )
    for k in range(1, ITERATIONS + 1):
        level = in_gradient(A, sigma)
        sweep = engine.sweep(
            A, S, constrained(_step(level[~known.given] if known.any else level, tau), known)
        )
        found = replace(
            state, k=state.k + k, A=A, S=sweep.S, lam=tau * level, cost=sweep.cost, active=sweep.active,
            violation=sweep.violation, mixing_violation=quality, settled=False,
        )  # fmt: skip
        if k < ITERATIONS:
            yield found
            A, quality = a_step(engine, sweep, A, options, bounded=options.bounded)
            A, S = revive(engine, A, sweep.S, known)
            A, S = known.imposed(*unit_columns(A, S))
    if options.noise is None:
        held = known.given if known.on_sources else None
        sigma = engine.noise(A, found.S, final=True, held=held)
    yield replace(found, noise=sigma, settled=state.settled)


def _step(level: NDArray, tau: float) -> Inner:
    """Return the S-step of the free sources for thresholds tau level / (1 + S / level)."""
    return lambda G, C, X: G.solve_reweighted(C, X, level, tau)
