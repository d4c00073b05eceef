"""Tables of the program Orange, which have lines of types and flags below the names."""

import re
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from ngmca.io.tables.cells import Lines, Style
from ngmca.io.tables.text_tables import Table

TYPES = {"c", "continuous", "d", "discrete", "s", "string", "t", "time"}
FLAGS = {"", "meta", "m", "class", "c", "ignore", "i"}
MARKED = re.compile(r"^([mciwCDST]+)#(.*)$")  # mS#name: meta, string
NOT_DATA = set("mciSD")

Header = tuple[tuple[str, ...], tuple[bool, ...]]  # names, and which are data


def split_header(lines: Lines) -> tuple[Header | None, Lines]:
    """Return the header of a file of Orange, or None, and the lines below it."""
    for delimiter in ("\t", ",") if len(lines.texts) > 2 else ():
        names, types, flags = (Style(delimiter).cells(text) for text in lines.texts[:3])
        known = [cell.lower() in TYPES for cell in types]
        if len(names) != len(types) or len(names) < 2 or not all(types) or 2 * sum(known) < len(known):
            continue
        flagged = {flag.split()[0].lower() if flag else "" for flag in flags} <= FLAGS
        rest = 3 if flagged else 2
        columns = list(zip_longest(names, types, flags if flagged else [], fillvalue=""))[: len(names)]
        data = tuple(not flag and kind.lower() in ("c", "continuous") for _, kind, flag in columns)
        return (tuple(names), data), Lines(lines.numbers[rest:], lines.texts[rest:])
    return None, lines


def headed(table: Table, header: Header) -> Table:
    """Return a table with the names of a header; other columns than data become words."""
    names, data = header
    width = table.values.shape[1]
    return _without_other_columns(
        replace(table, names=(*names, *[""] * width)[:width], over=(), units=()), data
    )


def unmarked(table: Table) -> Table:
    """Return a table without marks such as mS# in its names."""
    found = [MARKED.match(name) for name in table.names]
    if not any(found):
        return table
    names = tuple(one[2] if one else name for one, name in zip(found, table.names, strict=True))
    data = tuple(not (one and set(one[1]) & NOT_DATA) for one in found)
    return _without_other_columns(replace(table, names=names), data)


def _without_other_columns(table: Table, data: tuple[bool, ...]) -> Table:
    """Return the table with the columns that are not data as words."""
    others = [j for j in range(min(len(data), len(table.names))) if not data[j] and j not in table.words]
    words = {j: tuple("" if np.isnan(v) else f"{v:.12g}" for v in table.values[:, j]) for j in others}
    return replace(table, words={**table.words, **words})
