"""Amounts of substances in measurements: values, intervals and limits of detection, and sentences."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.wording import counted, listed, percent
from ngmca.plotting.answer_plots import amounts_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Amounts:
    """How much of each of k substances is in each of m measurements, as `ngmca.quantify` returns it.

    Attributes
    ----------
    values : ndarray of shape (m, k)
        Amounts; NaN where the data say nothing about them.
    low, high : ndarray of shape (m, k)
        Ends of the intervals; NaN where no width can be given.
    measurements : tuple of str
        Names of the measurements, or their numbers from 1.
    row_axis : ndarray of shape (m,) or None
        Time or another coordinate of the measurements.
    row_label : str
        Name and unit of this coordinate.
    substances : tuple of str
        Names of the substances.
    sources : tuple of int or None
        The source of each substance, from 0. None if its amounts come from several sources together.
    by : tuple of str
        What the amounts of each substance were calculated from: "source 2", "all sources", or more. Of a
        mean of regressions it is the most probable one.
    units : tuple of str
        Unit of each substance, "" if unknown.
    detection : ndarray of shape (k,)
        Limit of detection in the median measurement.
    below : ndarray of bool, shape (m, k)
        Amounts below the limit of detection of their own measurement.
    outside : ndarray of bool, shape (m, k)
        Amounts above the highest standard; if they come from several sources, also intervals below the
        lowest.
    hidden : ndarray of bool, shape (k,)
        Substances that the spectra do not show.
    leave_one_out : ndarray of shape (k,)
        Root mean square error of standards that are predicted by the other standards.
    known : ndarray of shape (m, k)
        Concentrations of standards, NaN elsewhere.
    predicted : ndarray of shape (m, k)
        Concentration of each standard that the other standards predict, NaN elsewhere.
    factors : ndarray of shape (k,)
        Amount of a weight of 1; NaN for substances without a source of their own.
    level : float
        Probability that an interval contains the amount.
    how : str
        What gave the scale, in words.
    relative : bool
        Whether amounts are shares of the signal, not concentrations.
    words : tuple of str
        All results in sentences, including the warnings.
    warnings : tuple of str
        Reasons to read the amounts with care.

    Examples
    --------
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=12, n=300, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(mixture.Y, 2, seed=0)
    >>> amounts = ngmca.quantify(found, ([0, 1, 2, 3], mixture.A[:4]), unit="g/L")
    >>> amounts
    Amounts of 2 substances in 12 measurements: substance 1, substance 2
    >>> [name for name, column in amounts.table()][:4]
    ['measurement', 'substance 1 (g/L)', 'substance 1 (g/L) low', 'substance 1 (g/L) high']
    """

    values: NDArray = field(repr=False)
    low: NDArray = field(repr=False)
    high: NDArray = field(repr=False)
    measurements: tuple[str, ...]
    substances: tuple[str, ...]
    sources: tuple[int | None, ...]
    by: tuple[str, ...]
    units: tuple[str, ...]
    detection: NDArray = field(repr=False)
    below: NDArray = field(repr=False)
    outside: NDArray = field(repr=False)
    hidden: NDArray = field(repr=False)
    leave_one_out: NDArray = field(repr=False)
    known: NDArray = field(repr=False)
    predicted: NDArray = field(repr=False)
    factors: NDArray = field(repr=False)
    level: float
    how: str
    row_axis: NDArray | None = field(default=None, repr=False)
    row_label: str = ""
    relative: bool = False
    words: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def places(self) -> NDArray:
        """(m,) coordinates of the measurements, or their numbers from 1."""
        return np.arange(1.0, len(self.values) + 1) if self.row_axis is None else self.row_axis

    @property
    def leave_one_out_relative(self) -> NDArray:
        """(k,) `leave_one_out` over the mean concentration of the standards."""
        known = np.where(np.isfinite(self.known), self.known, 0)
        count = np.maximum(np.isfinite(self.known).sum(axis=0), 1)
        mean = np.sum(known / count, axis=0)
        return np.divide(self.leave_one_out, mean, out=np.full(len(mean), np.nan), where=mean > 0)

    def table(self) -> list[tuple[str, list[str] | NDArray]]:
        """Return names and columns of a table: measurement, then amount, interval and remark of each."""
        columns: list[tuple[str, list[str] | NDArray]] = [("measurement", list(self.measurements))]
        if self.row_axis is not None:
            columns.append((self.row_label, self.row_axis))
        for j, (name, unit) in enumerate(zip(self.substances, self.units, strict=True)):
            heading = f"{name} ({unit})" if unit else name
            columns.append((heading, self.values[:, j]))
            if not np.isnan(self.low[:, j]).all():
                columns += [(f"{heading} low", self.low[:, j]), (f"{heading} high", self.high[:, j])]
            if not self.relative:
                columns.append((f"{name} remark", self._remarks(j)))
        return columns

    def _remarks(self, j: int) -> list[str]:
        words = np.where(self.outside[:, j], "outside the standards", "")
        words = np.where(self.below[:, j], "below the limit of detection", words)
        words = np.where(self.hidden[j], "not shown by the spectra", words)
        words = np.where(np.isfinite(self.known[:, j]), "standard", words)
        words = np.where(np.isnan(self.values[:, j]), "not observed", words)
        return [str(word) for word in words]

    def plot(self) -> "Figure":
        """Return a matplotlib figure: for each substance its standards and all amounts."""
        return amounts_picture(self)

    def __repr__(self) -> str:
        m, k = self.values.shape
        kind = "Relative amounts" if self.relative else "Amounts"
        size = f"{counted(k, 'substance')} in {counted(m, 'measurement')}"
        return f"{kind} of {size}: {', '.join(self.substances)}"


def with_unit(value: float, unit: str) -> str:
    """Return a number with its unit."""
    return f"{value:.3g} {unit}".strip()


def without(found: Amounts, unseen: NDArray) -> Amounts:
    """Return amounts with NaN where the data say nothing about them."""
    return replace(
        found,
        values=np.where(unseen, np.nan, found.values),
        low=np.where(unseen, np.nan, found.low),
        high=np.where(unseen, np.nan, found.high),
        below=found.below & ~unseen,
        outside=found.outside & ~unseen,
    )


def about_unseen(found: Amounts) -> Iterator[str]:
    """Yield warnings about amounts of which the data say nothing."""
    for name, column in zip(found.substances, np.isnan(found.values).T, strict=True):
        if column.any():
            which = listed([found.measurements[i] for i in np.flatnonzero(column)])
            yield (
                f"{name}: {column.sum()} of {len(column)} measurements have no amount, because the "
                "observed channels do not show this substance or do not separate it from others: "
                f"{which}."
            )


def about_limits(found: Amounts) -> Iterator[str]:
    """Yield sentences about limits of detection, and how many amounts are below them."""
    for j, (name, unit) in enumerate(zip(found.substances, found.units, strict=True)):
        if np.isfinite(found.detection[j]):
            count = int(found.below[:, j].sum())
            less = (
                f"; {count} of {len(found.below)} measurements {_verb(count)} below it" if count else ""
            )
            yield f"The limit of detection of {name} is {with_unit(found.detection[j], unit)}{less}."


def about_range(found: Amounts) -> Iterator[str]:
    """Yield warnings about amounts outside the range of the standards."""
    for j, (name, unit) in enumerate(zip(found.substances, found.units, strict=True)):
        which = np.flatnonzero(found.outside[:, j])
        if which.size:
            low = 0.0 if found.sources[j] is not None else float(np.nanmin(found.known[:, j]))
            top = with_unit(float(np.nanmax(found.known[:, j])), unit)
            yield (
                f"{which.size} of {len(found.values)} measurements {_verb(which.size)} outside the "
                f"standards of {name} ({low:.3g} to {top}): "
                f"{listed([found.measurements[i] for i in which])}. The calibration was not checked "
                "there."
            )


def about_errors(found: Amounts) -> Iterator[str]:
    """Yield sentences about how well the standards predict each other."""
    for j, (name, unit) in enumerate(zip(found.substances, found.units, strict=True)):
        error, part = float(found.leave_one_out[j]), float(found.leave_one_out_relative[j])
        count = int(np.isfinite(found.known[:, j]).sum())
        yield (
            f"{name}: if each of the {count} standards is predicted by the others, the error is "
            f"{with_unit(error, unit)}, {percent(part)} of their mean."
        )


def _verb(count: int) -> str:
    return "is" if count == 1 else "are"
