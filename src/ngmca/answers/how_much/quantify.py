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
from ngmca.answers.how_much.amounts import Amounts, about_unseen, without
from ngmca.answers.how_much.by_closure import by_closure
from ngmca.answers.how_much.by_responses import by_responses
from ngmca.answers.how_much.by_standards import by_standards
from ngmca.answers.how_much.source_weights import Sources, entire
from ngmca.answers.how_much.standards import read_standards
from ngmca.io import Dataset
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
        known = read_standards(standards, sources.measurements, unit, numbered=sources.numbered)
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
