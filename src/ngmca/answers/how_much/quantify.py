"""Amounts of substances: weights of sources in physical units."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import rules
from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, ArgumentTypeError, message, option
from ngmca._support.threads import one_blas_thread
from ngmca.answers.how_much import calibration
from ngmca.answers.how_much.amounts import Amounts, about_limits, about_unseen, without
from ngmca.answers.how_much.by_responses import by_responses
from ngmca.answers.how_much.by_standards import by_standards
from ngmca.answers.how_much.source_weights import Sources, entire
from ngmca.answers.how_much.standards import read_standards
from ngmca.answers.wording import listed, percent
from ngmca.io import Dataset
from ngmca.nnqp import pivot
from ngmca.result import Separation

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import DataArray

Data = Union[Dataset, ArrayLike, "DataFrame", "DataArray", None]
StandardsLike = Union[
    str, PathLike[str], "DataFrame", Mapping[str, Sequence[object]], tuple[ArrayLike, ArrayLike], None
]
ResponsesLike = str | PathLike[str] | Dataset | Mapping[str, ArrayLike] | ArrayLike | None


@one_blas_thread
def quantify(
    separation: Separation,
    standards: StandardsLike = None,
    *,
    data: Data = None,
    names: Sequence[str | None] | None = None,
    responses: ResponsesLike = None,
    closure: bool | ArrayLike | None = None,
    unit: str = "",
    level: float = 0.9,
) -> Amounts:
    """Return amounts of substances in all measurements, with intervals and limits of detection.

    One of `standards`, `responses` and `closure` gives the scale of the weights. Without any of them the
    amounts are relative: shares of the signal.

    Parameters
    ----------
    separation : Separation
        The result of `ngmca.separate` or `ngmca.load`.
    standards : path, DataFrame, dict or pair
        Measurements of known composition, among those that were separated. Either a table (a CSV or
        Excel file, a DataFrame, a dict of columns): its first column has the names of measurements, or
        their numbers from 1 if they have no names, and the other columns are substances. Or a pair:
        indices (from 0) or names of measurements, and an array (k, q) of concentrations. Empty cells and
        NaN are unknown. A heading such as "caffeine (mg/L)" gives the unit.
    data : Dataset, array-like of shape (m, n), DataFrame, DataArray, or m names
        The data that were separated. They have the names of the measurements; missing entries make
        intervals wider; responses are fitted to them (otherwise to A S). Amounts of which they say
        nothing are NaN.
    names : sequence of r names
        The substances of the sources, None if unknown. A column of the standards with the same name
        belongs to that source. Other columns are assigned to the source whose weights follow them; if
        this is ambiguous, an error says so.
    responses : path, Dataset, dict or array-like of shape (q, n)
        Spectra of the pure substances for one unit of concentration, on the same channels.
    closure : True, float or array-like of shape (m,)
        The sum of all amounts in each measurement.
    unit : str
        Unit of the amounts if no heading has one.
    level : float
        Probability that an interval contains the amount.

    Returns
    -------
    Amounts
        Amounts with intervals, limits of detection, and sentences about them.

    Raises
    ------
    ValueError
        If an argument is wrong, or if the standards do not determine the amounts.

    Examples
    --------
    >>> import numpy as np
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=12, n=300, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(mixture.Y, 2, seed=0)
    >>> amounts = ngmca.quantify(found, ([0, 1, 2, 3], mixture.A[:4]), unit="g/L")
    >>> bool(np.abs(amounts.values - mixture.A).max() < 0.05)
    True
    """
    level = arguments.check_number(level, "level", high=1.0)
    if not 0 < level < 1:
        raise ArgumentError("{} must be above 0 and below 1, for instance 0.9.", option("level"))
    if not isinstance(unit, str):
        raise ArgumentTypeError("{} must be text, got {!r}.", option("unit"), unit)
    scales = {"standards": standards, "responses": responses, "totals": closure}
    rules.check(rules.written(name for name, one in scales.items() if one is not None))
    if not isinstance(separation, Separation):
        raise ArgumentTypeError(
            "{} must be a Separation, as ngmca.separate and ngmca.load return it. Pass the separation_ "
            "of a fitted estimator. Got {}.",
            *(option("separation"), type(separation).__name__),
        )
    separation = separation.in_memory()
    sources = Sources.of(separation, data, names)
    if standards is not None:
        axis = sources.axis
        at = None if axis is None or axis.row_axis is None else (axis.row_axis, axis.row_label)
        known = read_standards(
            standards, sources.measurements, unit, numbered=sources.numbered, coordinates=at
        )
        return by_standards(sources, known, level)
    if responses is not None:
        return by_responses(sources, responses, unit, level)
    if closure is not None:
        return by_closure(sources, closure, unit, level)
    return _relative(sources, separation.shares, level)


def _relative(sources: Sources, shares: NDArray, level: float) -> Amounts:
    """Return shares of the signal, with a warning that they are not concentrations."""
    warning = message(
        "The amounts are relative: shares of the signal of each measurement. They are not "
        "concentrations and cannot be compared between substances, because one substance may give more "
        "signal than another. A few measurements of known composition ({}) turn them into "
        "concentrations.",
        option("standards"),
    )
    found = sources.blank(
        100 * shares, ("% of signal",) * sources.r, level, "shares of the signal, without standards"
    )
    # shares are parts of the whole signal, so all sources of a measurement must be known
    found = without(found, np.broadcast_to(~entire(sources.seen)[:, None], shares.shape))
    words = (warning, *about_unseen(found))
    return replace(found, relative=True, words=words, warnings=words)


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
    warnings = (*_warnings(values[whole], totals, found.substances), *about_unseen(found))
    first = "Amounts were calculated from the total of each measurement."
    words = (first, *about_limits(found), *warnings)
    return replace(found, words=words, warnings=warnings)


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
