"""Which way round a table is: of its readings, the one that was asked for, or that clearly wins."""

from dataclasses import replace

from ngmca.io.axis_units import role
from ngmca.io.read_error import ReadError
from ngmca.io.tables.axis_evidence import CLEAR, SHORTEST_AXIS, is_counter
from ngmca.io.tables.column_labels import axis_above
from ngmca.io.tables.interpretations import Reading, across, down, none, with_header
from ngmca.io.tables.text_tables import Table

AXES = ("first-column", "first-row", "none")


def choose_reading(table: Table, axis: str | None, transpose: bool | None) -> Reading:
    """The reading that was asked for, or that is clear; an error with both where none is."""
    if axis not in (None, *AXES):
        raise ReadError(f"axis={axis!r} is not known: it is one of {', '.join(AXES)}.")
    headed = with_header(table, axis)
    new = headed.remarks[len(table.remarks) :]
    chosen = _found(headed, transpose) if axis is None else _asked(headed, axis, transpose)
    return replace(chosen, notes=(*chosen.notes, *new))


def _found(table: Table, transpose: bool | None) -> Reading:
    """The reading that is clear."""
    readings = [one for one in (down(table), across(table)) if one is not None]
    above = axis_above(table) is not None
    if transpose is not None:
        sure = [one for one in readings if above or one.score >= CLEAR]
        readings = _turned(sure, transpose, table)
    if not above:
        readings.append(none(table, transpose, alone=not readings))
    chosen = _clear(readings, table)
    counts = 0 not in table.words and is_counter(table.values[:, 0])  # so that it has no name itself
    if chosen.layout == "first-row" and counts and table.names and role(table.names[0]) == "spectral":
        return replace(chosen, name=chosen.name or table.names[0])
    if chosen.axis is None and transpose is None:
        _check_orientation(chosen, table)
    return chosen


def _clear(readings: list[Reading], table: Table) -> Reading:
    """The reading that leads by enough."""
    best, *others = sorted(readings, key=lambda reading: -reading.score)
    if others and best.score - others[0].score < CLEAR:
        names = " or ".join(reading.described() for reading in (best, others[0]))
        raise ReadError(
            f"{table.where} can be read in two ways: {names}. Give the option for the right one."
        )
    return best


def _asked(table: Table, axis: str, transpose: bool | None) -> Reading:
    if axis == "none":
        return none(table, transpose)
    found = down(table, asked=True) if axis == "first-column" else across(table, asked=True)
    if found is None or found.axis is None:
        raise ReadError(f"{table.where} has no numbers in its {axis.replace('-', ' ')}: it is no axis.")
    return _turned([found], transpose, table)[0]


def _turned(readings: list[Reading], transpose: bool | None, table: Table) -> list[Reading]:
    """The readings with channels in the rows of the file, or in its columns, as asked."""
    wanted = {True: "first-column", False: "first-row"}
    fitting = [one for one in readings if transpose is None or one.layout == wanted[transpose]]
    if readings and not fitting:
        place = readings[0].layout.replace("-", " ")
        raise ReadError(f"{table.where}: its axis is in the {place}: leave out transpose=.")
    return fitting


def _check_orientation(reading: Reading, table: Table) -> None:
    """Ask where a table without an axis is more like spectra down its columns than along its rows."""
    m, n = reading.Y.shape
    counted = table.columns[0] > 0 and not table.names  # its names only counted
    unclear = reading.score < 0 or (counted and reading.score == 0)
    if min(m, n) >= 2 * SHORTEST_AXIS and unclear:
        raise ReadError(
            f"{table.where} has no axis and can be read in two ways: {m} measurements x {n} channels "
            f"(transpose=False), or {n} measurements x {m} channels (transpose=True). Give the option "
            "for the right one."
        )
