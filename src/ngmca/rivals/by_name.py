"""The factors of a rival, by its name, as a `Separation`."""

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, option
from ngmca.algorithms.first_guess import revive, unit_columns
from ngmca.engines import Engine, by_residual
from ngmca.result import Separation, State, recorded
from ngmca.rivals.alternation import METHODS

SIGNED = ("gmca",)  # methods whose factors may be negative
DIRECT = tuple(name for name, method in METHODS.items() if "start" not in signature(method).parameters)


def as_separation(
    method: str, engine: Engine, r: int, noise: NDArray | None, **options: Any
) -> Separation:
    """Return the factors of a rival with unit columns in A, in the unit of the engine, which must be 1.

    Thresholds, certificates and shares that a rival does not have are NaN.
    """
    if method in DIRECT and options.pop("start", None) is not None:
        raise ArgumentError(
            "{} does not use {}: it starts from the data alone. Leave out {}.",
            *(option("method", method), option("start"), option("start")),
        )
    found = METHODS[method](engine, r, **options)
    A, S = unit_columns(found.A, found.S)
    A, S = revive(engine, A, S)  # a zero source gets a direction too
    k, unknown = len(found.cost), np.full(A.shape[1], np.nan)
    sigma = by_residual(engine).noise(A, S, final=True) if noise is None else noise
    active = np.full(k, np.nan)
    active[-1] = np.count_nonzero(S) / S.size
    own = signature(METHODS[method]).parameters.get("n_iter")
    most = options.get("n_iter", own.default if own else k)
    last = State(k, A, S, unknown, sigma, found.cost[-1], active[-1], np.nan, settled=k < int(most))
    pairs = zip(found.cost, active, strict=True)
    return recorded(last, [(cost, unknown, share, np.nan, np.nan) for cost, share in pairs])
