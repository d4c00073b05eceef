"""Amounts from the sum of all amounts in each measurement."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option
from ngmca.answers.how_much import calibration
from ngmca.answers.how_much.amounts import Amounts, about_limits, about_unseen, without
from ngmca.answers.how_much.source_weights import Sources, entire
from ngmca.answers.wording import listed, percent
from ngmca.nnqp import pivot

MAX_CONDITION = 1e6  # of the weights


def by_closure(sources: Sources, closure: bool | ArrayLike, unit: str, level: float) -> Amounts:
    """Return amounts that add up to given totals, by the non-negative factors that fit best.

    A source that contains some of another substance fits totals as well as a pure one. Therefore there
    are no intervals.
    """
    totals = _totals(closure, sources.m)
    size = float(totals.max())
    whole = entire(sources.seen)  # a source that was not observed would be missing in the sum
    A, totals = sources.A[whole], totals[whole]
    norms = np.linalg.norm(A, axis=0)
    A = np.divide(A, norms, out=np.zeros_like(A), where=norms > 0)
    if len(A) <= sources.r or np.linalg.cond(A) > MAX_CONDITION:
        raise ArgumentError(
            "{}: {} measurements do not determine the amounts of {} sources. Add measurements of "
            "different composition.",
            *(option("closure"), len(A), sources.r),
        )
    factors = pivot(A.T @ A, A.T @ (totals / size)[:, None]).X[:, 0] / norms
    values = sources.A * factors * size
    found = sources.blank(values, (unit,) * sources.r, level, "the total of each measurement")
    sd = np.sqrt(sources.noise) * factors * size
    limit = calibration.CURRIE * sd
    found.factors[:] = factors * size / sources.sizes
    found = replace(found, detection=calibration.median_limit(limit), below=values < limit)
    found = without(found, ~sources.seen)
    warnings = _warnings(values[whole], totals, found.substances) + about_unseen(found)
    first = "Amounts were calculated from the total of each measurement."
    words = (first, *about_limits(found), *warnings)
    return replace(found, words=words, warnings=tuple(warnings))


def _totals(closure: bool | ArrayLike, m: int) -> NDArray:
    """Return (m,) totals, all above 0."""
    totals = np.ones(1) if closure is True else arguments.as_array(closure, "closure").astype(float)
    if totals.ndim > 1 or totals.size not in (1, m):
        raise ArgumentError(
            "{} must be True, a number or {} totals, got shape {}.",
            *(option("closure"), m, totals.shape),
        )
    if not (np.isfinite(totals) & (totals > 0)).all():
        raise ArgumentError("{} must have finite totals above 0.", option("closure"))
    return np.broadcast_to(totals.ravel(), (m,)).astype(np.float64)


def _warnings(values: NDArray, totals: NDArray, substances: tuple[str, ...]) -> list[str]:
    """Return what totals cannot determine."""
    warnings = [
        "There are no intervals: a source that contains some of another substance fits the totals as "
        "well as a pure one. A few standards would show the difference."
    ]
    rest = float(np.sqrt(np.mean((values.sum(axis=1) / totals - 1) ** 2)))
    if rest > 0.1:
        warnings.append(
            f"The amounts differ from the totals by {percent(rest)}. There may be a substance without a "
            "source."
        )
    none = [name for name, column in zip(substances, values.T, strict=True) if not column.any()]
    if none:
        warnings.append(f"{listed(none)}: its amounts are 0, as the totals do not need it.")
    return warnings
