"""Reader of Excel and LibreOffice files, with python-calamine."""

import datetime
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from ngmca.io.array_choice import choose_array
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import damaged, printable, require
from ngmca.io.tables.text_reader import from_text

Cells = list[list[Any]]
WRITTEN_NUMBER = re.compile(r"[+-]?\d*[.,]?\d+([eE][+-]?\d+)?")


def read_sheets(path: Path, *, dataset: str | None = None, **options: Any) -> Dataset:
    """Read the table in a sheet: the only sheet with numbers, or the one that `dataset` names."""
    tables = sheets_of(path)
    name = choose_array({name: size_of(rows) for name, rows in tables.items()}, dataset, path)
    data = from_text(_table_text(tables[name]), f"{path}, sheet {name}", **options)
    return replace(data, meta={**data.meta, "dataset": printable(name)})


def sheets_of(path: Path) -> dict[str, Cells]:
    """Return the cells of every sheet that holds a number, by its name."""
    calamine = require("python_calamine", "Excel and LibreOffice")
    opened, kind = calamine.CalamineWorkbook.from_path, calamine.SheetTypeEnum.WorkSheet
    with damaged(f"{path} is not a complete spreadsheet"), opened(str(path)) as book:
        wanted = [sheet.name for sheet in book.sheets_metadata if sheet.typ == kind]
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in wanted}
    return {name: rows for name, rows in sheets.items() if numbers_in(rows)}


def numbers_in(rows: Cells) -> int:
    """Return how many cells hold a number, which may be stored as text."""
    return sum(_is_number(cell) for row in rows for cell in row)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return WRITTEN_NUMBER.fullmatch(cell.strip()) is not None
    return isinstance(cell, float | int) and not isinstance(cell, bool)


def size_of(rows: Cells) -> tuple[int, int]:
    """Return how many rows and columns are not empty."""
    filled = [[cell != "" for cell in row] for row in rows]
    return sum(map(any, filled)), sum(map(any, zip(*filled, strict=True)))


def _table_text(rows: Cells) -> str:
    """Return the cells as text: the same layouts then have the same meaning as in text files."""
    used = [any(row[j] != "" for row in rows) for j in range(len(rows[0]))]
    kept = [[as_text(c) for c, keep in zip(row, used, strict=True) if keep] for row in rows]
    lines = ["\t".join(cells) for cells in kept]
    lines = [
        line.strip("\t") if numbers_in([row]) == 0 and sum(map(bool, cells)) == 1 else line
        for line, row, cells in zip(lines, rows, kept, strict=True)
    ]
    return "\n".join(lines) + "\n"


def as_text(cell: Any) -> str:
    """Return a cell as it is written in a text table."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))  # calamine gives all numbers of a sheet as floats
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    return " ".join(str(cell).split())
