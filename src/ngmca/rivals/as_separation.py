"""The factors of a rival as a `Separation`."""

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.first_guess import revive, unit_columns
from ngmca.engines import Engine, by_residual
from ngmca.result import Separation, State, recorded
from ngmca.rivals.by_name import METHODS


def as_separation(
    method: str, engine: Engine, r: int, noise: NDArray | None, **options: Any
) -> Separation:
    """Unit columns in A; NaN where a rival has no threshold, no certificate, or keeps no record.

    All is in the unit of the engine, which must be 1.
    """
    found = METHODS[method](engine, r, **options)
    A, S = unit_columns(found.A, found.S)
    A, S = revive(engine, A, S)  # a silent source gets a direction too
    k, unknown = len(found.cost), np.full(A.shape[1], np.nan)
    sigma = by_residual(engine).noise(A, S, final=True) if noise is None else noise
    active = np.full(k, np.nan)
    active[-1] = np.count_nonzero(S) / S.size
    own = signature(METHODS[method]).parameters.get("n_iter")
    most = options.get("n_iter", own.default if own else k)
    last = State(k, A, S, unknown, sigma, found.cost[-1], active[-1], np.nan, settled=k < int(most))
    pairs = zip(found.cost, active, strict=True)
    return recorded(last, [(cost, unknown, share, np.nan, np.nan) for cost, share in pairs])
