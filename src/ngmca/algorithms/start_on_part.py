"""A start for huge data: the whole way down on a part of them, so that few passes over all are left."""

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.first_guess import first_guess, unit_columns
from ngmca.algorithms.options import Options
from ngmca.algorithms.soft_and_hard import iterate_thresholded
from ngmca.algorithms.steps import fitted_mixing, s_step
from ngmca.engines import Engine, stretches

HUGE_ENTRIES = 1 << 29  # of data for which the start on a part is worth it
PART_ENTRIES = 1 << 25


def suits(engine: Engine, options: Options) -> bool:
    """Whether data are huge, and the schedule is free to begin on a part of them."""
    plain = options.method == "soft" and options.n_iter == "auto" and options.tau > 0
    large = engine.shape[0] * engine.shape[1] >= HUGE_ENTRIES
    return large and plain and engine.weights is None and not options.known.any


def start_on_part(
    engine: Engine, r: int, rng: np.random.Generator, options: Options
) -> tuple[NDArray, NDArray]:
    """A and S for all data, A from the answer for a seeded part of the columns (rows, of tall data)."""
    m, n = engine.shape
    tall = m > n
    which = stretches(max(m, n), max(1, PART_ENTRIES // min(m, n)))
    part = engine.part(which, slice(None)) if tall else engine.part(slice(None), which)
    for state in iterate_thresholded(part, *first_guess(part, r, rng), options):
        last = state
    if tall:
        return unit_columns(fitted_mixing(engine, last.S)[0].astype(engine.dtype), last.S)
    return last.A, engine.sweep(last.A, engine.zero_sources(r), s_step(last.lam, options)).S
