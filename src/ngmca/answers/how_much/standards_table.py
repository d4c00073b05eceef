"""Tables of standards: cells from files, DataFrames and dicts of columns, as concentrations."""

import math
import numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.io import ReadError
from ngmca.io.cell_grid import read_grid
from ngmca.io.conversion import is_dataframe
from ngmca.io.tables.cells import Style
from ngmca.io.tables.numerals import is_missing

if TYPE_CHECKING:
    from pandas import DataFrame

BRACKETS = re.compile(r"^(?P<name>.*\S)\s*(\((?P<round>[^()]*)\)|\[(?P<square>[^\[\]]*)\])$")
UNIT = re.compile(  # mg/L, g L-1, mmol, wt%, ppm; not the III of iron(III) or the R of (R)
    r".*[/%‰].*|.*(-1|⁻¹|\^-\d)$|[pnuµμmck]?(g|l|mol)|[pnuµμm]?M|mol|ppm|ppb|ppt|a\.?u\.?", re.IGNORECASE
)
FORMS = (
    "a table (a file, a DataFrame or a dict of columns) with names of measurements in its first column "
    "and one further column for each substance, or a pair (measurements, concentrations)"
)


@dataclass(frozen=True)
class Table:
    """A table of standards.

    Attributes
    ----------
    where : str
        Name of the table in messages.
    heads : list of str
        Headings of the columns.
    rows : list of tuple
        For each row its place in messages, and its cells.
    style : Style
        How numbers are written.
    """

    where: str
    heads: list[str]
    rows: list[tuple[str, list[object]]]
    style: Style


def table_of(given: object, *, numbered: bool) -> Table:
    """Return the cells of a file, a DataFrame or a dict of columns."""
    if isinstance(given, str | PathLike):
        lines, style = read_grid(Path(given))
        rows: list[tuple[str, list[object]]] = [
            (f"{given}, line {n}", list(cells)) for n, cells in lines
        ]
        return Table(str(given), lines[0][1], rows[1:], style)
    if is_dataframe(given):
        heads, columns = _of_frame(given, numbered)
    elif isinstance(given, Mapping):
        heads, columns = list(given), list(given.values())
    else:
        raise ArgumentTypeError(
            "{} must be {}, got {}.", option("standards"), FORMS, type(given).__name__
        )
    lists = [list(column) if _is_list(column) else None for column in columns]
    full = [column for column in lists if column is not None]
    if len(full) < len(lists) or len({len(column) for column in full}) > 1:
        raise ArgumentError("{} as a dict must have lists of equal length.", option("standards"))
    cells = [(f"standards, row {i + 1}", list(row)) for i, row in enumerate(zip(*full, strict=True))]
    return Table("standards", [str(name) for name in heads], cells, Style())


def _of_frame(frame: "DataFrame", numbered: bool) -> tuple[list[Any], list[Any]]:
    """Return headings and columns of a DataFrame, the index first unless pandas only counts."""
    heads = list(frame.columns)
    columns = [frame.iloc[:, j].tolist() for j in range(len(heads))]
    index = frame.index
    if type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return heads, columns
    labels = index.tolist()
    if numbered and any(isinstance(label, numbers.Real) for label in labels):
        raise ArgumentError(
            "{} have the index {} ..., and measurements have no names. This is ambiguous: pandas counts "
            "from 0, tables of standards from 1. Give names of measurements ({}), or standards as a "
            "pair (indices from 0, array of concentrations).",
            *(option("standards"), ", ".join(map(str, labels[:3])), option("data")),
        )
    return ["measurement", *heads], [labels, *columns]


def check_no_pixels(table: Table) -> None:
    """Raise an error if pixels are given by row and column: a column would count as a substance."""
    if {"row", "column"} <= {head.strip().casefold() for head in table.heads}:
        raise ReadError(
            f"{table.where} has pixels by row and column. Give their numbers in the first column "
            "instead: row x width + column + 1, where rows and columns count from 0."
        )


def _is_list(column: object) -> bool:
    return isinstance(column, Iterable) and not isinstance(column, str | bytes | Mapping)


def headings(table: Table, unit: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return substances and their units."""
    pairs = [_heading(head) for head in table.heads[1:]]
    units: dict[str, str] = {}
    for (name, own), head in zip(pairs, table.heads[1:], strict=True):
        if not name or table.style.number(head) is not None:
            raise ReadError(
                f"{table.where}: the first line must have names of substances, but has {head!r}."
            )
        before = units.get(name.casefold())
        if before is not None:
            others = f", in {before!r} and in {own!r}" if before != own else ""
            raise ReadError(f"{table.where} has two columns for {name}{others}: keep one of them.")
        if unit and own and own != unit:
            raise ArgumentError(
                "{}: {} is in {!r}, which contradicts {}: leave out one of them.",
                *(table.where, name, own, option("unit", unit)),
            )
        units[name.casefold()] = own
    return tuple(name for name, _ in pairs), tuple(own or unit for _, own in pairs)


def _heading(text: str) -> tuple[str, str]:
    """Return name and unit of "caffeine (mg/L)"; brackets without a unit belong to the name."""
    text = " ".join(text.split())
    found = BRACKETS.match(text)
    if found is None:
        return text, ""
    unit = (found["square"] if found["round"] is None else found["round"]).strip()
    return (found["name"].strip(), unit) if UNIT.fullmatch(unit) else (text, "")


def concentration(cell: object, where: str, style: Style) -> float:
    """Return a cell as a concentration, NaN if it is unknown."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return math.nan
    if isinstance(cell, str):
        text = cell.strip()
        value = math.nan if is_missing(text) else style.number(text)
        if value is None:
            raise ReadError(
                f"{where}: {text[:40]!r} is not a number. Write plain numbers, put units into the "
                "heading as in 'caffeine (mg/L)', and leave unknown concentrations empty."
            )
    elif isinstance(cell, bool | np.bool_) or not isinstance(cell, numbers.Real):
        raise ReadError(f"{where}: {cell!r} is not a number.")
    else:
        value = float(cell)
    if value < 0 or math.isinf(value):
        raise ReadError(
            f"{where}: a concentration of {value:g} is not possible. Correct it, or leave it empty."
        )
    return value
