"""Tables in the sheets of Excel and LibreOffice files, by python-calamine."""

import datetime
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from ngmca.io.containers.array_choice import choose
from ngmca.io.dataset import Dataset, ReadError, shown, told
from ngmca.io.tables.text import read_text
from ngmca.io.vendors.extras import require

Cells = list[list[Any]]


def read_sheets(path: Path, *, dataset: str | None = None, **options: Any) -> Dataset:
    """The table in a sheet: the only one with numbers, or the one that `dataset` names."""
    tables = sheets_of(path)
    name = choose({name: size_of(rows) for name, rows in tables.items()}, dataset, path)
    data = _read_as_text(tables[name], f"{path}, sheet {name}", f"{path.name}, sheet {name}", options)
    return replace(data, meta={**data.meta, "dataset": shown(name)})


def sheets_of(path: Path) -> dict[str, Cells]:
    """The cells of every sheet that holds a number, by its name."""
    calamine = require("python_calamine", "Excel and LibreOffice")
    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as book:
            wanted = [s.name for s in book.sheets_metadata if s.typ == calamine.SheetTypeEnum.WorkSheet]
            sheets = {
                name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in wanted
            }
    except Exception as error:  # calamine has an error class for each format
        raise ReadError(f"{path} is not a whole spreadsheet: {told(error)}.") from error
    return {name: rows for name, rows in sheets.items() if numbers_in(rows)}


def numbers_in(rows: Cells) -> int:
    """How many cells hold a number."""
    return sum(
        isinstance(cell, float | int) and not isinstance(cell, bool) for row in rows for cell in row
    )


def size_of(rows: Cells) -> tuple[int, int]:
    """Rows and columns that hold anything."""
    filled = [[cell != "" for cell in row] for row in rows]
    return sum(map(any, filled)), sum(map(any, zip(*filled, strict=True)))


def _read_as_text(rows: Cells, where: str, short: str, options: dict[str, Any]) -> Dataset:
    """What the reader of text tables makes of the cells: the same layouts mean the same there."""
    used = [any(row[j] != "" for row in rows) for j in range(len(rows[0]))]
    kept = [[as_text(c) for c, keep in zip(row, used, strict=True) if keep] for row in rows]
    lines = ["\t".join(cells) for cells in kept]
    lines = [
        line.strip("\t") if numbers_in([row]) == 0 and sum(map(bool, cells)) == 1 else line
        for line, row, cells in zip(lines, rows, kept, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "cells.tsv"
        table.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            data = read_text(table, **options)
        except ReadError as error:
            raise ReadError(str(error).replace(str(table), where)) from None
    notes = tuple(n.replace(str(table), where).replace(table.name, shown(short)) for n in data.notes)
    return replace(data, notes=notes)


def as_text(cell: Any) -> str:
    """A cell as a table of text would have it."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))  # calamine gives all numbers of a sheet as floats
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    return " ".join(str(cell).split())
