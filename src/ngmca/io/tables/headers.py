"""The lines above and around a table: names of columns, units, a title, settings."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from ngmca.io.axis_units import is_known, is_unit, role
from ngmca.io.tables.cells import COMMENTS, Lines, Style, kind_of, rising

SETTING = re.compile(r"^[#%!/\s]*([A-Za-z][\w \[\].]*?)\s*(?:\(([^)]*)\))?\s*[=:\t,;]+\s*(.*)$")
BRACKETED = re.compile(r"[\[(].*[\])]")


class Labels(NamedTuple):
    """The lines above the columns of a table.

    Attributes
    ----------
    names, units : tuple of str
        One for each column.
    over : tuple
        More lines of names above `names`, nearest first.
    title : str
        The last line above that is none of these.
    passed : tuple of (int, str)
        A line of numbers below the names that was left out, with its number.
    """

    names: tuple[str, ...] = ()
    over: tuple[tuple[str, ...], ...] = ()
    units: tuple[str, ...] = ()
    title: str = ""
    passed: tuple[tuple[int, str], ...] = ()


def labels_of(head: Lines, remark: str, style: Style, width: int) -> Labels:
    """Return names, units and title in the lines above a table, or in the comment right above it."""
    found = [_fitted(text, style, width) for text in reversed(head.texts[-6:])]
    fitting = list(takewhile(lambda cells: cells is not None, found))
    title = head.texts[-1 - len(fitting)] if len(fitting) < len(head.texts) else ""
    if not fitting:
        fitting = [_commented(remark, style, width)]
    rows = [tuple(cells) for cells in fitting if cells is not None]
    units = rows.pop(0) if len(rows) > 1 and _are_units(rows[0]) else ()
    if not rows or _is_setting(rows, style, width):
        return Labels(units=units, title=as_title(title or remark))
    passed: tuple[tuple[int, str], ...] = ()
    if len(rows) > 1 and not units and _names_something_else(rows[0], rows[1], style):
        rows, passed = rows[1:], ((head.numbers[-1], head.texts[-1]),)
    return Labels(rows[0], tuple(rows[1:]), units, as_title(title or remark), passed)


def _names_something_else(near: tuple[str, ...], far: tuple[str, ...], style: Style) -> bool:
    """Return whether a line of other numbers, such as concentrations, is between names and columns."""
    numbers, filled = style.numbers(near[1:]), sum(map(bool, near[1:]))
    named = all(far) and len(set(far)) == len(far) and not style.numbers(far)
    if not named or 2 * numbers <= filled or role(near[0]) in ("spectral", "channel"):
        return False
    found = [style.number(cell) or 0.0 for cell in near[1:]]
    return bool(near[0]) or not (rising(near[1:], style) and min(found) >= 100)  # nm or 1/cm


def as_title(text: str) -> str:
    """Return a line above a table as its title."""
    return " ".join(text.strip("#%!/ \t\r\n,;").split())[:60]


def _fitted(text: str, style: Style, width: int) -> list[str] | None:
    """Return one cell for each column of a line above the table; leading cells may be missing."""
    for other in (style.delimiter, "\t", ";", ","):
        if other is None and style.delimiter is not None:
            continue
        cells = Style(other, style.comma).cells(text)
        kind = kind_of(cells, style)
        if len(cells) == width:
            return cells
        missing = width - len(cells)
        if (missing == 1 and len(cells) > 1) or (missing == 2 and kind.is_numbers and len(cells) > 2):
            return [""] * missing + cells
        if len(cells) > width > 1 and not any(cells[width:]):
            return cells[:width]
    return None


def _commented(text: str, style: Style, width: int) -> list[str] | None:
    """Return the cells of a comment right above the table that names its columns."""
    text = text.lstrip()
    for mark in COMMENTS:
        text = text.removeprefix(mark)
    cells = [cell.strip("# ") for cell in style.cells(text.strip())]
    if len(cells) == 2 * width - 1 and not any(cells[1::2]):  # two tabs after each name
        cells = cells[::2]
    if len(cells) != width or width < 2 or cells[0].endswith(("=", ":")):  # a setting
        return None
    kind = kind_of(cells, style)
    named = not kind.numbers and (style.delimiter is not None or any(is_known(cell) for cell in cells))
    return cells if named or kind.is_numbers else None


def _are_units(cells: Sequence[str]) -> bool:
    """Return whether a line holds only units."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(BRACKETED.fullmatch(c) or is_unit(c) for c in filled)


def _is_setting(fitting: list[tuple[str, ...]], style: Style, width: int) -> bool:
    """Return whether the line above two columns is a setting and its value, as in long headers."""
    nearest = fitting[0]
    if width > 2 or is_known(nearest[0]):
        return False
    return style.number(nearest[-1]) is not None or len(fitting) > 2


def facts_in(texts: list[str]) -> dict[str, str]:
    """Return settings in lines such as `XUNITS  1/CM` and `#AxisUnit[1]=1/cm`, by lower-case name."""
    found: dict[str, str] = {}
    for text in texts:
        match = SETTING.match(text[:300])
        if match:
            found.setdefault(" ".join(match[1].lower().split()), match[3].strip())
            if match[2]:
                found.setdefault(" ".join(match[1].lower().split()) + " in", match[2].strip())
    return found
