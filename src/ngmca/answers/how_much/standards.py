"""Standards: measurements of known composition."""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option
from ngmca.answers.how_much import standards_table as tables
from ngmca.answers.wording import counted, listed
from ngmca.io import ReadError
from ngmca.io.axis_units import heading
from ngmca.io.tables.cells import Style

TIMES = ("time", "date", "t", "hour", "hours", "minute", "minutes")  # headings of a first column
MIN_STANDARDS = 2  # with a known amount of a substance
MIN_FOR_REGRESSION = 6  # to calculate a substance from several sources


@dataclass(frozen=True, eq=False)
class Standards:
    """Known concentrations in some measurements.

    Attributes
    ----------
    substances : tuple of str
        Names of q substances.
    units : tuple of str
        Unit of each substance, "" if unknown.
    known : ndarray of shape (m, q)
        Concentrations; NaN if unknown.
    """

    substances: tuple[str, ...]
    units: tuple[str, ...]
    known: NDArray = field(repr=False)


def read_standards(
    given: object,
    measurements: Sequence[str],
    unit: str = "",
    *,
    numbered: bool | None = None,
    coordinates: tuple[NDArray, str] | None = None,
) -> Standards:
    """Return the known concentrations of all measurements from a table, a file, or a pair.

    The first column of a table has names of measurements, or their numbers from 1 if they have no names.
    In a pair (measurements, concentrations) whole numbers are indices from 0. Empty cells and NaN are
    unknown. A heading such as "caffeine (mg/L)" gives a unit. `numbered` says that measurements have
    numbers instead of names; by default this is so if they count from 1. `coordinates` are times or the
    like of all measurements, and their label: a first column of this name gives the nearest measurement.
    """
    if isinstance(given, tuple | list) and len(given) == 2:
        return _of_pair(given[0], given[1], measurements, unit)
    if numbered is None:
        numbered = list(measurements) == [str(i + 1) for i in range(len(measurements))]
    table = tables.table_of(given, numbered=numbered)
    tables.check_no_pixels(table)
    if len(table.heads) < 2 or not table.rows:
        raise ReadError(f"{table.where}: there are no concentrations. Standards must be {tables.FORMS}.")
    substances, units = tables.headings(table, unit)
    known = np.full((len(measurements), len(substances)), np.nan)
    timed = coordinates is not None and _same_quantity(table.heads[0], coordinates[1])
    for place, cells in table.rows:
        if timed and coordinates is not None:
            i = _nearest(cells[0], coordinates, place, table.style)
        else:
            i = _place(cells[0], measurements, place, "" if coordinates else table.heads[0])
        found = [
            tables.concentration(cell, f"{place}, {name}", table.style)
            for cell, name in zip(cells[1:], substances, strict=True)
        ]
        _enter(known, i, np.array(found), measurements[i], substances)
    _check_percent(known, substances, units)
    return Standards(substances, units, known)


def _of_pair(which: Any, values: Any, measurements: Sequence[str], unit: str) -> Standards:
    """Return standards from indices or names, and an array (k, q) of concentrations."""
    array = arguments.as_array(values, "the concentrations of standards").astype(np.float64)
    array = array[:, None] if array.ndim == 1 else array
    chosen = [which] if isinstance(which, str) else list(which)
    if array.ndim != 2 or len(array) != len(chosen) or not array.size:
        raise ArgumentError(
            "{} must have one row of concentrations for each of {} measurements and one column for each "
            "substance, got shape {}.",
            *(option("standards"), len(chosen), array.shape),
        )
    substances = tuple(f"substance {j + 1}" for j in range(array.shape[1]))
    known = np.full((len(measurements), len(substances)), np.nan)
    for one, row in zip(chosen, array, strict=True):
        i = _index(one, measurements)
        for value, name in zip(row, substances, strict=True):
            tables.concentration(float(value), f"standard {one}, {name}", Style())
        _enter(known, i, row, measurements[i], substances)
    units = (unit,) * len(substances)
    _check_percent(known, substances, units)
    return Standards(substances, units, known)


def _place(cell: object, measurements: Sequence[str], where: str, head: str = "") -> int:
    """Return the measurement that a cell names; `head` is the heading where it may be a time."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        cell = int(cell)  # pandas stores whole numbers beside gaps as floats
    name = " ".join(str(cell).split())
    exact = [i for i, one in enumerate(measurements) if " ".join(one.split()) == name]
    found = exact or [i for i, one in enumerate(measurements) if _same(one, name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ReadError(
            f"{where}: {len(found)} measurements have the name {name!r}. Give each its own name, or "
            "give standards as a pair (indices, concentrations)."
        )
    if heading(head)[0].casefold() in TIMES:
        raise ReadError(
            "{}: no measurement has the name {}. Column {} has times, but those of the "
            "measurements are not known. Give them with {}, as '{} 0:0.5': the first at 0, then every "
            "0.5.",
            *(where, repr(name), repr(head), option("rows"), head),
        )
    near = difflib.get_close_matches(name, measurements, n=5, cutoff=0.3) or list(measurements[:5])
    raise ReadError(
        f"{where}: no measurement has the name {name!r}. The nearest are "
        f"{listed(list(map(repr, near)))}. The first column must have names of measurements, or their "
        "numbers from 1 if they have no names."
    )


def _same_quantity(head: str, label: str) -> bool:
    """Return whether a heading is about the coordinate of the measurements, in the same unit."""
    (name, unit), (other, given) = heading(head), heading(label)
    return name.casefold() == other.casefold() and (not unit or not given or unit == given)


def _nearest(cell: object, coordinates: tuple[NDArray, str], where: str, style: Style) -> int:
    """Return the measurement at a time or the like; raise an error if none is near."""
    places, label = coordinates
    value = style.number(str(cell).strip())
    steps = np.abs(np.diff(np.sort(places)))
    gap = np.abs(places - (np.nan if value is None else value))
    step = float(np.median(steps)) if len(steps) else 0.0
    if not float(gap.min()) <= 0.51 * step:  # also of what is not a number
        raise ReadError(
            f"{where}: no measurement was made at {cell}. {label} goes from {places.min():g} to "
            f"{places.max():g}."
        )
    return int(gap.argmin())


def _same(one: str, name: str) -> bool:
    """Return whether two names differ in case only, or are the same number, as 2 and 2.0."""
    if one.casefold() == name.casefold():
        return True
    try:
        return math.isclose(float(one), float(name), rel_tol=1e-6)
    except ValueError:
        return False


def _index(one: Any, measurements: Sequence[str]) -> int:
    """Return the measurement of an index, from 0, or of a name."""
    if isinstance(one, str):
        return _place(one, measurements, "standards")
    i = arguments.check_count(one, "an index of a standard", low=0)
    if i >= len(measurements):
        last = len(measurements) - 1
        raise ArgumentError(
            "{}: there is no measurement {}. Indices go from 0 to {}.", *(option("standards"), i, last)
        )
    return i


def _enter(known: NDArray, i: int, row: NDArray, name: str, substances: Sequence[str]) -> None:
    """Enter a row for measurement i; raise an error if it contradicts an earlier row."""
    before = known[i]
    differ = np.isfinite(before) & np.isfinite(row) & (before != row)
    if differ.any():
        j = int(np.flatnonzero(differ)[0])
        raise ReadError(
            f"standards have {name!r} twice, with {before[j]:g} and {row[j]:g} of {substances[j]}: keep "
            "the right one. Two measurements of one sample need two names."
        )
    known[i] = np.where(np.isfinite(row), row, before)


def _check_percent(known: NDArray, substances: Sequence[str], units: Sequence[str]) -> None:
    """Raise an error for percentages above 100: these are amounts in another unit."""
    for column, name, unit in zip(known.T, substances, units, strict=True):
        if "%" in unit and "/" not in unit and np.nanmax(column, initial=0) > 100:
            raise ReadError(
                f"standards have {np.nanmax(column):g} {unit} of {name}. Some rows may have another "
                "unit: give all of them in one unit."
            )


def check_standards(standards: Standards, r: int) -> None:
    """Raise an error if there are too few standards for a calibration with r sources."""
    q, fewest = len(standards.substances), int(np.isfinite(standards.known).sum(axis=0).min())
    if q > r and fewest < MIN_FOR_REGRESSION:
        raise ArgumentError(
            "{} have {} substances ({}), but there {} {}: separate more sources, leave out columns, or "
            "give at least {} standards of each.",
            option("standards"), q, listed(standards.substances), "is" if r == 1 else "are",
            counted(r, "source"), MIN_FOR_REGRESSION,
        )  # fmt: skip
    for name, column in zip(standards.substances, standards.known.T, strict=True):
        some = int(np.nansum(column > 0))
        if some == 0 and np.isfinite(column).any():
            raise ArgumentError(
                "{} is 0 in all {}: add standards with a known amount of it.", name, option("standards")
            )
        if some < MIN_STANDARDS:
            raise ArgumentError(
                "{} has {} with a known amount above 0, but at least {} are needed, better 5. Add some "
                "to the {}, or leave out its column.",
                *(name, counted(some, "standard"), MIN_STANDARDS, option("standards")),
            )
