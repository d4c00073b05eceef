"""Amounts of substances in measurements: a table, a picture, and sentences about them."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.wording import listed, percent
from ngmca.plotting import calibration_plot as calibration_view

UNSEEN = "not observed"


@dataclass(frozen=True, eq=False, repr=False)
class Amounts:
    """How much of each substance is in every measurement, as `ngmca.quantify` found it.

    `values`, `low` and `high` are (m, k): a row a measurement, a column a substance. Amounts are NaN
    where the data say nothing about them, intervals where nothing says how wide they would have to be.
    With `relative` the amounts are shares of the signal, no concentrations.
    """

    values: NDArray = field(repr=False)
    low: NDArray = field(repr=False)
    high: NDArray = field(repr=False)
    measurements: tuple[str, ...]
    substances: tuple[str, ...]
    sources: tuple[int, ...]  # which source each substance is, from 0
    units: tuple[str, ...]
    detection: NDArray = field(repr=False)  # (k,) limit of detection in the middle measurement
    below: NDArray = field(repr=False)  # (m, k) amounts below that of their own measurement
    outside: NDArray = field(repr=False)  # (m, k) amounts above the highest standard
    leave_one_out: NDArray = field(repr=False)  # (k,) error of standards that the others predict, RMS
    known: NDArray = field(repr=False)  # (m, k) concentrations of standards, NaN elsewhere
    weights: NDArray = field(repr=False)  # (m, k) of the sources
    factors: NDArray = field(repr=False)  # (k,) amount of a weight of 1
    level: float
    how: str  # in words
    relative: bool = False
    words: tuple[str, ...] = ()  # all that is to be said, warnings included
    warnings: tuple[str, ...] = ()

    @property
    def leave_one_out_relative(self) -> NDArray:
        """(k,) the same as part of the mean concentration of the standards."""
        known = np.where(np.isfinite(self.known), self.known, 0)
        count = np.maximum(np.isfinite(self.known).sum(axis=0), 1)
        mean = np.sum(known / count, axis=0)
        return np.divide(self.leave_one_out, mean, out=np.full(len(mean), np.nan), where=mean > 0)

    def table(self) -> list[tuple[str, Any]]:
        """Columns and their names, for a file: measurement, then amount, interval and remark of each."""
        columns: list[tuple[str, Any]] = [("measurement", list(self.measurements))]
        for j, (name, unit) in enumerate(zip(self.substances, self.units, strict=True)):
            told = f"{name} ({unit})" if unit else name
            columns.append((told, self.values[:, j]))
            if not np.isnan(self.low[:, j]).all():
                columns += [(f"{told} low", self.low[:, j]), (f"{told} high", self.high[:, j])]
            if not self.relative:
                columns.append((f"{name} remark", self._remarks(j)))
        return columns

    def _remarks(self, j: int) -> list[str]:
        words = np.where(self.outside[:, j], "above the standards", "")
        words = np.where(self.below[:, j], "below the limit of detection", words)
        words = np.where(np.isfinite(self.known[:, j]), "standard", words)
        words = np.where(np.isnan(self.values[:, j]), UNSEEN, words)
        return [str(word) for word in words]

    def plot(self) -> Any:
        """A matplotlib figure: for each substance the line through its standards, and all amounts."""
        return calibration_view.picture(self)

    def __repr__(self) -> str:
        m, k = self.values.shape
        kind = "Relative amounts" if self.relative else "Amounts"
        many = f"{k} substance{'s' * (k != 1)} in {m} measurement{'s' * (m != 1)}"
        return f"{kind} of {many}: {', '.join(self.substances)}"


def with_unit(value: float, unit: str) -> str:
    """A number with its unit behind it."""
    return f"{value:.3g} {unit}".strip()


def without(found: Amounts, unseen: NDArray) -> Amounts:
    """Amounts less those of which the data say nothing, which become NaN."""
    return replace(
        found,
        values=np.where(unseen, np.nan, found.values),
        low=np.where(unseen, np.nan, found.low),
        high=np.where(unseen, np.nan, found.high),
        below=found.below & ~unseen,
        outside=found.outside & ~unseen,
    )


def about_unseen(found: Amounts) -> list[str]:
    """Warnings about amounts of which the data say nothing."""
    told = []
    for name, column in zip(found.substances, np.isnan(found.values).T, strict=True):
        if column.any():
            which = listed([found.measurements[i] for i in np.flatnonzero(column)])
            told.append(
                f"{name}: {column.sum()} of {len(column)} measurements have no amount, as nothing was "
                f"observed that tells it from none or from the others: {which}."
            )
    return told


def about_limits(found: Amounts) -> list[str]:
    """Sentences about limits of detection, and what lies below them."""
    told = []
    for j, (name, unit) in enumerate(zip(found.substances, found.units, strict=True)):
        if np.isfinite(found.detection[j]):
            count = int(found.below[:, j].sum())
            less = f"; {count} of {len(found.below)} measurements have less" if count else ""
            told.append(f"{name} is told from none above {with_unit(found.detection[j], unit)}{less}.")
    return told


def about_range(found: Amounts) -> list[str]:
    """A warning about amounts above the highest standard."""
    told = []
    for j, (name, unit) in enumerate(zip(found.substances, found.units, strict=True)):
        which = np.flatnonzero(found.outside[:, j])
        if which.size:
            top = with_unit(float(np.nanmax(found.known[:, j])), unit)
            told.append(
                f"{which.size} of {len(found.values)} measurements have more {name} than any "
                f"standard ({top}): {listed([found.measurements[i] for i in which])}. The line was not "
                "checked there."
            )
    return told


def about_errors(found: Amounts) -> list[str]:
    """Sentences about how well standards predict each other."""
    told = []
    for j, (name, unit) in enumerate(zip(found.substances, found.units, strict=True)):
        error, part = float(found.leave_one_out[j]), float(found.leave_one_out_relative[j])
        count = int(np.isfinite(found.known[:, j]).sum())
        told.append(
            f"{name}: each of {count} standards is predicted by the others to "
            f"{with_unit(error, unit)}, {percent(part)} of their mean."
        )
    return told
