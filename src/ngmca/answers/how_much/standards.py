"""Standards, measurements of known composition: out of a table, and checked."""

import difflib
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.answers.wording import listed
from ngmca.io import ReadError
from ngmca.io.tables.cell_grid import read_grid
from ngmca.io.tables.cells import Style
from ngmca.io.tables.numerals import is_missing

BRACKETS = re.compile(r"^(?P<name>.*\S)\s*(\((?P<round>[^()]*)\)|\[(?P<square>[^\[\]]*)\])$")
UNIT = re.compile(  # mg/L, g L-1, mmol, wt%, ppm; not the III of iron(III) or the R of (R)
    r".*[/%‰].*|.*(-1|⁻¹|\^-\d)$|[pnuµμmck]?(g|l|mol)|[pnuµμm]?M|mol|ppm|ppb|ppt|a\.?u\.?", re.IGNORECASE
)
FEWEST = 2  # standards with some of a substance
FORM = (
    "a table (a file, a DataFrame or a dict of columns) whose first column names measurements and whose "
    "others are substances, or a pair (measurements, concentrations)"
)


@dataclass(frozen=True, eq=False)
class Standards:
    """What is known of the composition of some measurements."""

    substances: tuple[str, ...]
    units: tuple[str, ...]  # of each substance, empty where none was given
    known: NDArray = field(repr=False)  # (m, q), NaN where a concentration is not known


@dataclass(frozen=True)
class _Table:
    """Cells below a line of names."""

    where: str
    heads: list[str]
    rows: list[tuple[str, list[Any]]]  # where a line stands, and its cells
    style: Style


def read_standards(
    given: Any, measurements: Sequence[str], unit: str = "", *, numbered: bool | None = None
) -> Standards:
    """The known concentrations of each of the measurements, from a table, a file of one, or a pair.

    In a table the first column has names of measurements: where those have none, their numbers from 1.
    In a pair (measurements, concentrations) whole numbers are indices, from 0. Empty cells and NaN are
    not known. A heading such as "caffeine (mg/L)" gives a unit. `numbered` says that measurements are
    numbers and no names, by default where they count from 1.
    """
    if isinstance(given, tuple | list) and len(given) == 2:
        return _of_pair(given[0], given[1], measurements, unit)
    if numbered is None:
        numbered = list(measurements) == [str(i + 1) for i in range(len(measurements))]
    table = _table(given, numbered)
    _check_no_pixels(table)
    if len(table.heads) < 2 or not table.rows:
        raise ReadError(f"{table.where} holds no concentrations: it must be {FORM}.")
    substances, units = _headings(table, unit)
    known = np.full((len(measurements), len(substances)), np.nan)
    for place, cells in table.rows:
        i = _place(cells[0], measurements, place)
        found = [
            _concentration(cell, f"{place}, {name}", table.style)
            for cell, name in zip(cells[1:], substances, strict=True)
        ]
        _enter(known, i, np.array(found), measurements[i], substances)
    _check_percent(known, substances, units)
    return Standards(substances, units, known)


def _of_pair(which: Any, values: Any, measurements: Sequence[str], unit: str) -> Standards:
    """Standards out of indices or names, and an array (k, q) of concentrations."""
    array = arguments.as_array(values, "the concentrations of standards").astype(np.float64)
    array = array[:, None] if array.ndim == 1 else array
    chosen = [which] if isinstance(which, str) else list(which)
    if array.ndim != 2 or len(array) != len(chosen) or not array.size:
        raise ValueError(
            f"the concentrations of {len(chosen)} standards must be an array with as many rows, and one "
            f"column a substance, got shape {array.shape}."
        )
    substances = tuple(f"substance {j + 1}" for j in range(array.shape[1]))
    known = np.full((len(measurements), len(substances)), np.nan)
    for one, row in zip(chosen, array, strict=True):
        i = _index(one, measurements)
        for value, name in zip(row, substances, strict=True):
            _concentration(float(value), f"standard {one}, {name}", Style())
        _enter(known, i, row, measurements[i], substances)
    units = (unit,) * len(substances)
    _check_percent(known, substances, units)
    return Standards(substances, units, known)


def _table(given: Any, numbered: bool) -> _Table:
    """Cells of whatever holds a table."""
    if isinstance(given, str | PathLike):
        lines, style = read_grid(Path(given))
        rows: list[tuple[str, list[Any]]] = [(f"{given}, line {n}", list(cells)) for n, cells in lines]
        return _Table(str(given), lines[0][1], rows[1:], style)
    if hasattr(given, "columns") and hasattr(given, "index"):
        heads, columns = _of_frame(given, numbered)
    elif isinstance(given, Mapping):
        heads, columns = list(given), list(given.values())
    else:
        raise TypeError(f"standards must be {FORM}, got {type(given).__name__}.")
    lists = [list(column) if _is_list(column) else None for column in columns]
    full = [column for column in lists if column is not None]
    if len(full) < len(lists) or len({len(column) for column in full}) > 1:
        raise ValueError("standards as a dict must have columns, lists that are equally long.")
    cells = [(f"standards, row {i + 1}", list(row)) for i, row in enumerate(zip(*full, strict=True))]
    return _Table("standards", [str(name) for name in heads], cells, Style())


def _of_frame(frame: Any, numbered: bool) -> tuple[list[Any], list[Any]]:
    """Headings and columns of a DataFrame, its index first where that is more than pandas' own count."""
    heads = list(frame.columns)
    columns = [frame.iloc[:, j].tolist() for j in range(len(heads))]
    index = frame.index
    if type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return heads, columns
    labels = index.tolist()
    if numbered and any(isinstance(label, numbers.Real) for label in labels):
        raise ReadError(
            f"standards have the index {', '.join(map(str, labels[:3]))} ..., and measurements have no "
            "names: pandas counts from 0 and tables of standards from 1. Name the measurements (data=), "
            "or give standards as a pair (indices from 0, array of concentrations)."
        )
    return ["measurement", *heads], [labels, *columns]


def _check_no_pixels(table: _Table) -> None:
    """Refuse pixels that are given by row and column: the second would be taken for a substance."""
    if {"row", "column"} <= {head.strip().casefold() for head in table.heads}:
        raise ReadError(
            f"{table.where} has pixels by row and column. Give their numbers in one first column "
            "instead: row x width + column + 1, where rows and columns count from 0."
        )


def _is_list(column: Any) -> bool:
    return isinstance(column, Iterable) and not isinstance(column, str | bytes | Mapping)


def _headings(table: _Table, unit: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Substances and their units."""
    pairs = [_heading(head) for head in table.heads[1:]]
    told: dict[str, str] = {}
    for (name, own), head in zip(pairs, table.heads[1:], strict=True):
        if not name or table.style.number(head) is not None:
            raise ReadError(f"{table.where}: the first line must name substances, and has {head!r}.")
        before = told.get(name.casefold())
        if before is not None:
            others = f", in {before!r} and in {own!r}" if before != own else ""
            raise ReadError(
                f"{table.where} has two columns for {name}{others}: keep one, in one unit for all rows."
            )
        if unit and own and own != unit:
            raise ReadError(
                f"{table.where}: {name} is in {own!r}, and unit= says {unit!r}: leave out one."
            )
        told[name.casefold()] = own
    return tuple(name for name, _ in pairs), tuple(own or unit for _, own in pairs)


def _heading(text: str) -> tuple[str, str]:
    """Name and unit out of "caffeine (mg/L)"; brackets that hold no unit belong to the name."""
    text = " ".join(text.split())
    found = BRACKETS.match(text)
    if found is None:
        return text, ""
    unit = (found["square"] if found["round"] is None else found["round"]).strip()
    return (found["name"].strip(), unit) if UNIT.fullmatch(unit) else (text, "")


def _concentration(cell: Any, where: str, style: Style) -> float:
    """A cell as a concentration, NaN where it is not known."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return math.nan
    if isinstance(cell, str):
        text = cell.strip()
        value = math.nan if is_missing(text) else style.number(text)
        if value is None:
            raise ReadError(
                f"{where}: {text[:40]!r} is not a number. Write plain numbers, units into the heading "
                "as 'caffeine (mg/L)', and nothing where a concentration is not known."
            )
    elif isinstance(cell, numbers.Real) and not isinstance(cell, bool | np.bool_):
        value = float(cell)
    else:
        raise ReadError(f"{where}: {cell!r} is not a number.")
    if value < 0 or math.isinf(value):
        raise ReadError(
            f"{where}: a concentration of {value:g} cannot be. Correct it, or leave it empty."
        )
    return value


def _place(cell: Any, measurements: Sequence[str], where: str) -> int:
    """Which measurement a cell names."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        cell = int(cell)  # pandas makes whole numbers beside gaps floats
    name = " ".join(str(cell).split())
    exact = [i for i, one in enumerate(measurements) if " ".join(one.split()) == name]
    found = exact or [i for i, one in enumerate(measurements) if one.casefold() == name.casefold()]
    if len(found) == 1:
        return found[0]
    if found:
        raise ReadError(
            f"{where}: {len(found)} measurements are called {name!r}. Give each a name of its own, or "
            "standards as a pair (indices, concentrations)."
        )
    near = difflib.get_close_matches(name, measurements, n=5, cutoff=0.3) or list(measurements[:5])
    raise ReadError(
        f"{where}: no measurement is called {name!r}. The nearest are {listed(list(map(repr, near)))}; "
        "the first column must name measurements, or have their numbers from 1 where they have no names."
    )


def _index(one: Any, measurements: Sequence[str]) -> int:
    """Which measurement an index, from 0, or a name means."""
    if isinstance(one, str):
        return _place(one, measurements, "standards")
    i = arguments.check_count(one, "an index of a standard", low=0)
    if i >= len(measurements):
        last = len(measurements) - 1
        raise ValueError(f"there is no measurement {i}: indices of standards go from 0 to {last}.")
    return i


def _enter(known: NDArray, i: int, row: NDArray, name: str, substances: Sequence[str]) -> None:
    """Enter what a row says of measurement i; what was said before must agree."""
    before = known[i]
    differ = np.isfinite(before) & np.isfinite(row) & (before != row)
    if differ.any():
        j = int(np.flatnonzero(differ)[0])
        raise ReadError(
            f"standards give {name!r} twice, with {before[j]:g} and {row[j]:g} of {substances[j]}: keep "
            "the right one. Two measurements of one sample need two names."
        )
    known[i] = np.where(np.isfinite(row), row, before)


def _check_percent(known: NDArray, substances: Sequence[str], units: Sequence[str]) -> None:
    """Refuse percentages above 100: they are amounts in another unit."""
    for column, name, unit in zip(known.T, substances, units, strict=True):
        if "%" in unit and "/" not in unit and np.nanmax(column, initial=0) > 100:
            raise ReadError(
                f"standards have {np.nanmax(column):g} {unit} of {name}: are some rows amounts and "
                "others percent? Give all of them in one unit."
            )


def check_standards(standards: Standards, r: int) -> None:
    """Refuse standards from which no lines can be drawn for r sources."""
    q = len(standards.substances)
    if q > r:
        raise ValueError(
            f"standards have {q} substances ({listed(standards.substances)}), and there "
            f"{'is 1 source' if r == 1 else f'are {r} sources'}: separate with more, or leave out "
            "columns."
        )
    for name, column in zip(standards.substances, standards.known.T, strict=True):
        some = int(np.nansum(column > 0))
        if some == 0 and np.isfinite(column).any():
            raise ValueError(f"{name} is 0 in all standards: add some with a known amount of it.")
        if some < FEWEST:
            raise ValueError(
                f"{name} has {some} standard{'s' * (some != 1)} with a known amount above 0: at least "
                f"{FEWEST} are needed, better 5. Add some, or leave out its column."
            )
