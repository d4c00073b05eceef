"""What the names above and the columns beside numbers say: an axis, names, places of measurements."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ngmca.io.dataset import monotonic
from ngmca.io.tables import Table
from ngmca.io.units import heading, known_unit, meaning


def axis_above(table: Table) -> tuple[int, int, NDArray, str] | None:
    """Where the names above columns are an axis, from which column to which, and its unit."""
    cells = [_with_unit(name, table) for name in table.names]
    places = [j for j, (number, _) in enumerate(cells) if number is not None]
    if len(places) < 2 or places != list(range(places[0], places[-1] + 1)):
        return None
    axis = np.array([cells[j][0] for j in places], dtype=float)
    units = {cells[j][1] for j in places}
    if not monotonic(axis) or len(units) > 1 or any(j in table.words for j in places):
        return None
    return places[0], places[-1] + 1, axis, units.pop()


def _with_unit(name: str, table: Table) -> tuple[float | None, str]:
    """The number in a name such as 400, 400 nm or X400, and its unit."""
    number = table.style.number(name)
    if number is not None or not name:
        return number, ""
    digits = name.rstrip("⁻¹µabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/^ ")
    for text, unit in ((digits, name[len(digits) :].strip()), (name.removesuffix("cm-1"), "cm-1")):
        number = table.style.number(text)
        if number is not None and meaning(unit):
            return number, known_unit(unit)
    return (table.style.number(name[1:]), "") if name[0] == "X" else (None, "")


def name_across(table: Table, others: Sequence[int]) -> str:
    """The heading of an axis above the columns: after a \\ in the corner, or the corner itself."""
    corner = table.names[0] if 0 in others else ""
    if "\\" in corner:
        return corner.split("\\")[1].strip()
    beside_words = len(others) == 1 and 0 in table.words
    return corner if not others or (beside_words and meaning(heading(corner)[1] or corner)) else ""


def beside(table: Table, others: Sequence[int]) -> tuple[str, ...]:
    """Names of measurements out of the columns beside the data."""
    columns = [
        table.words[j] if j in table.words else [f"{value:.12g}" for value in table.values[:, j]]
        for j in others
    ]
    if len(columns) < 2:
        return tuple(columns[0]) if columns and any(columns[0]) else ()
    marks = [f"{table.names[j]}=" if table.names and table.names[j] else "" for j in others]
    if coordinates(table, others) is not None:
        marks = [mark or place for mark, place in zip(marks, ("x=", "y="), strict=True)]
    return tuple(
        ", ".join(m + cell for m, cell in zip(marks, row, strict=True))
        for row in zip(*columns, strict=True)
    )


def coordinates(table: Table, others: Sequence[int]) -> tuple[NDArray, NDArray] | None:
    """x and y of each measurement, where two columns beside the data are these."""
    names = [
        heading(table.names[j])[0].lower()[:1] if table.names[j] else "" for j in others if table.names
    ]
    if len(others) != 2 or any(j in table.words for j in others):
        return None
    first, second = (table.values[:, j] for j in others)
    if names in (["x", "y"], ["", ""]):
        return first, second
    return (second, first) if names == ["y", "x"] else None
