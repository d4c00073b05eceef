"""A rate law beside known amounts and totals."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, option
from ngmca.algorithms.constraint_arrays import Constraints
from ngmca.algorithms.kinetics.kinetic_step import KineticModel

SAME = 1e-6  # relative difference up to which a law has a value for all its parameters


def beside_rate_law(made: Constraints, model: KineticModel) -> Constraints:
    """Return the constraints with what they say about the columns of a rate law as part of it.

    Known amounts with a standard deviation enter the fit of the parameters. A closure is met by the law,
    or gives the one source besides that it sums up.
    """
    if made.totals is not None:
        model = _closed(made, model, made.totals)
        made = replace(made, totals=None, summed=None)
    columns = list(model.columns)
    if made.points is not None:
        _check_exact(made.points[:, columns], model)
        made = replace(made, mixing=_without(made.mixing, columns, np.nan),
                       zero_mixing=_without(made.zero_mixing, columns, False))  # fmt: skip
    if made.expected is not None and made.sd is not None:
        expected, sd = made.expected[:, columns], made.sd[:, columns]
        if not np.isnan(expected).all():
            model = replace(model, expected=expected, sd=sd)
        rest = _without(made.expected, columns, np.nan)
        made = replace(made, expected=rest, sd=None if rest is None else made.sd)
    return replace(made, kinetics=model)


def _without(values: NDArray | None, columns: list[int], free: float) -> NDArray | None:
    """Return values without those of some columns; None if nothing is left."""
    if values is None:
        return None
    found = values.copy()
    found[:, columns] = free
    left = found if found.dtype == bool else ~np.isnan(found)
    return found if left.any() else None


def _check_exact(points: NDArray, model: KineticModel) -> None:
    """Raise an error for exact values that a law does not have for all its parameters."""
    known = ~np.isnan(points)
    wrong = known & (np.abs(model.tried() - points) > SAME * np.nanmax(points, initial=1e-300)).any(
        axis=0
    )
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ArgumentError(
            "{} gives the whole profile of source {}. It contradicts the exact value in measurement {}: "
            "give known values a standard deviation, with {}, so that the law is fitted to them too.",
            *(option("Kinetics"), model.columns[j], i, option("KnownMixing(..., sd=...)")),
        )


def _closed(made: Constraints, model: KineticModel, totals: NDArray) -> KineticModel:
    """Return a rate law that keeps the totals, with the one source that this needs besides."""
    inside = np.flatnonzero(made.closed)
    summed, outside = np.isin(model.columns, inside), np.setdiff1d(inside, model.columns)
    sums = model.tried()[:, :, summed].sum(axis=2)
    above = sums > totals * (1 + SAME)
    if made.sense != "equal":
        raise ArgumentError(
            "{} and {} together need sums that are equal to their totals, not {!r}.",
            *(option("Kinetics"), option("Closure"), made.sense),
        )
    if len(outside) > 1:
        raise ArgumentError(
            "{} leaves {} sources free, and {} does not say how they share the rest of the total: leave "
            "all but one of them out of the sum, with {}.",
            *(option("Kinetics"), len(outside), option("Closure"), option("Closure(..., sources=...)")),
        )
    below = sums < totals * (1 - SAME)
    if len(outside) and not below.any():
        raise ArgumentError(
            "{} leaves nothing of the total in {} for source {}: leave it out of the sum, with {}.",
            *(option("Kinetics"), option("Closure"), outside[0], option("Closure(..., sources=...)")),
        )
    if above.any() or (not len(outside) and below.any()):
        i = int(np.argmax((above | below).any(axis=0)))
        raise ArgumentError(
            "the amounts of {} sum to {:.4g} in measurement {}, but {} says {:.4g}. Change the starting "
            "amounts or the totals.",
            *(option("Kinetics"), sums[0, i] * model.rows[i], i),
            *(option("Closure"), totals[i] * model.rows[i]),
        )
    return model.with_rest(int(outside[0]), totals, summed) if len(outside) else model
