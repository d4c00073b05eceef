"""Select the data columns of a table by number or name."""

import re
from dataclasses import replace

from ngmca._support.messages import option
from ngmca.io.axis_units import role
from ngmca.io.dataset import monotonic
from ngmca.io.read_error import ReadError
from ngmca.io.tables.text_tables import Table

RANGES = re.compile(r"\s*\d+\s*(-\s*\d+\s*)?(,\s*\d+\s*(-\s*\d+\s*)?)*")


def selected(table: Table, columns: str, axis: str | None) -> Table:
    """Return the table with the selected columns, after the column that may be the axis or the names."""
    chosen = _by_number(table, columns) if RANGES.fullmatch(columns) else _by_name(table, columns)
    if axis == "none":
        return table.take(chosen)
    before = _label(table, chosen)
    return (
        table.take(chosen)
        if before is None
        else replace(table.take([before, *chosen]), label_first=True)
    )


def _label(table: Table, chosen: list[int]) -> int | None:
    """Return the column named like an axis, or the first one, unless it is selected as data."""
    left = [j for j in range(table.values.shape[1]) if j not in chosen]
    spectral = [j for j in left if j < len(table.names) and role(table.names[j]) == "spectral"]
    shifts = [j for j in spectral if "shift" in table.names[j].lower()]
    rising = [j for j in left if monotonic(table.values[:, j])]
    others = rising if len(rising) == 1 else [j for j in left if j == 0]
    return next(iter([*shifts, *spectral, *others]), None)


def _by_number(table: Table, columns: str) -> list[int]:
    """Return the places, from 0, of columns in `2-5,7`, which counts from 1."""
    chosen: list[int] = []
    for part in columns.split(","):
        low, _, high = part.partition("-")
        chosen += range(int(low) - 1, int(high or low))
    width = table.values.shape[1]
    if not chosen or min(chosen) < 0 or max(chosen) >= width:
        raise ReadError(
            "{} has columns 1 to {}: {} does not fit.", table.where, width, option("columns", columns)
        )
    return list(dict.fromkeys(chosen))


def _by_name(table: Table, columns: str) -> list[int]:
    """Return the places of columns in `a,b`."""
    if columns in table.names:
        return [table.names.index(columns)]
    wanted = [name.strip() for name in columns.split(",")]
    missing = [name for name in wanted if name not in table.names]
    if missing:
        known = ", ".join(name for name in table.names[:20] if name) or "no names"
        raise ReadError(f"{table.where} has no column {missing[0]!r}: it has {known}.")
    return [table.names.index(name) for name in wanted]
