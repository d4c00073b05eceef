"""Choose the orientation of a table: as asked, or by clear evidence."""

import re
from dataclasses import replace

import numpy as np

from ngmca._support.messages import option
from ngmca.io.axis_units import role
from ngmca.io.read_error import ReadError
from ngmca.io.tables.axis_evidence import CLEAR_LEAD, SHORTEST_AXIS, is_counter
from ngmca.io.tables.column_labels import axis_above
from ngmca.io.tables.interpretations import Reading, across, down, none, with_header
from ngmca.io.tables.text_tables import Table

BOTH_WAVELENGTHS = re.compile(  # Em\\Ex (nm)
    r"\W*(em(ission)?\b.*\bex(citation)?|ex(citation)?\b.*\bem(ission)?)\b", re.I
)
AXES = ("first-column", "first-row", "none")


def choose_reading(table: Table, axis: str | None, transpose: bool | None) -> Reading:
    """Return the reading that was asked for, or the clear one; raise an error if none is clear."""
    if axis not in (None, *AXES):
        raise ReadError(
            "{} must be one of {}, got {!r}.", option("axis"), ", ".join(map(repr, AXES)), axis
        )
    headed = with_header(table, axis)
    new = headed.remarks[len(table.remarks) :]
    chosen = _found(headed, transpose) if axis is None else _asked(headed, axis, transpose)
    return replace(chosen, notes=(*chosen.notes, *new))


def _found(table: Table, transpose: bool | None) -> Reading:
    """Return the reading with clear evidence."""
    readings = [one for one in (down(table), across(table)) if one is not None]
    above = axis_above(table) is not None
    if transpose is not None:
        sure = [one for one in readings if above or one.score >= CLEAR_LEAD]
        readings = _turned(sure, transpose, table)
    if not above:
        readings.append(none(table, transpose, alone=not readings))
    chosen = _of_emission(readings, table) or _clear(readings, table)
    counts = 0 not in table.words and is_counter(table.values[:, 0])
    # the name of a first column that counts is that of the axis above
    if chosen.layout == "first-row" and counts and table.names and role(table.names[0]) == "spectral":
        return replace(chosen, name=chosen.name or table.names[0])
    if chosen.axis is None and transpose is None:
        _check_orientation(chosen, table)
    return chosen


def _of_emission(readings: list[Reading], table: Table) -> Reading | None:
    """Return the reading along the emission if the corner names emission and excitation, else None.

    Light is emitted at longer wavelengths than it is absorbed.
    """
    axes = [(one.axis, one) for one in readings if one.axis is not None]
    if len(axes) != 2 or not table.names or not BOTH_WAVELENGTHS.match(table.names[0]):
        return None
    (excitation, _), (_, chosen) = sorted(axes, key=lambda pair: float(np.mean(pair[0])))
    unit = " [nm]" if "nm" in table.names[0].lower() else ""
    return replace(
        chosen,
        name=f"emission wavelength{unit}",
        rows=tuple(f"{value:.12g}" for value in excitation),
        along=(excitation, f"excitation wavelength{unit}"),
    )


def _clear(readings: list[Reading], table: Table) -> Reading:
    """Return the reading that leads clearly."""
    best, *others = sorted(readings, key=lambda reading: -reading.score)
    if others and best.score - others[0].score < CLEAR_LEAD:
        raise ReadError(
            "{} can be read in two ways: {} or {}. Choose the right one.",
            *(table.where, best.description, others[0].description),
        )
    return best


def _asked(table: Table, axis: str, transpose: bool | None) -> Reading:
    if axis == "none":
        return none(table, transpose)
    found = down(table, asked=True) if axis == "first-column" else across(table, asked=True)
    if found is None or found.axis is None:
        raise ReadError("{} has no axis in its {}.", table.where, axis.replace("-", " "))
    return _turned([found], transpose, table)[0]


def _turned(readings: list[Reading], transpose: bool | None, table: Table) -> list[Reading]:
    """Return the readings with channels in the rows of the file, or in its columns, as asked."""
    wanted = {True: "first-column", False: "first-row"}
    fitting = [one for one in readings if transpose is None or one.layout == wanted[transpose]]
    if readings and not fitting:
        place = readings[0].layout.replace("-", " ")
        raise ReadError(
            "{} has its axis in the {}: leave out {}.", table.where, place, option("transpose")
        )
    return fitting


def _check_orientation(reading: Reading, table: Table) -> None:
    """Raise an error if a table without an axis looks like spectra down its columns."""
    m, n = reading.Y.shape
    counted = table.columns[0] > 0 and not table.names  # its names only count
    unclear = reading.score < 0 or (counted and reading.score == 0)
    if min(m, n) >= 2 * SHORTEST_AXIS and unclear:
        raise ReadError(
            "{} has no axis and can be read in two ways: {} measurements x {} channels ({}), or {} "
            "measurements x {} channels ({}). Choose the right one.",
            *(table.where, m, n, option("transpose", False), n, m, option("transpose", True)),
        )
