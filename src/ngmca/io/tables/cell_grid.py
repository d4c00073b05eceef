"""A table as it stands, cell by cell, where words matter as much as numbers: a list of standards."""

from pathlib import Path

from ngmca._support.isolated_process import Apart, NotStartedError
from ngmca.io.claimed_sizes import memory_left
from ngmca.io.containers.array_choice import listed
from ngmca.io.dataset import ReadError
from ngmca.io.detect import reader_of
from ngmca.io.isolated_reading import call_apart, whereabouts
from ngmca.io.tables.cells import Style, lines_of, style_of
from ngmca.io.tables.spreadsheets import as_text, sheets_of, size_of
from ngmca.io.tables.text import decoded

Rows = list[tuple[int, list[str]]]  # number of the line in the file, from 1, and its cells


def read_grid(path: Path) -> tuple[Rows, Style]:
    """The lines of a table in text or in a workbook, and how its numbers are written.

    Blank lines and comments are left out, as are columns without anything. All lines are as wide as the
    first, or an error names one that is not.
    """
    path = whereabouts(path)
    kind = "folder" if path.is_dir() else reader_of(path)[0]
    if kind not in ("text", "spreadsheet"):
        raise ReadError(f"{path} is no table: save it as .csv or .xlsx, with a line of names on top.")
    rows, style = _of_text(path) if kind == "text" else (_of_sheet(path), Style("\t"))
    if not rows:
        raise ReadError(f"{path} is empty.")
    for number, cells in rows:
        if len(cells) != len(rows[0][1]):
            raise ReadError(
                f"{path}, line {number} has {len(cells)} cells, the first has {len(rows[0][1])}: part "
                "cells by commas or semicolons, and leave those empty that are not known."
            )
    kept = [j for j in range(len(rows[0][1])) if any(cells[j] for _, cells in rows)]
    return [(number, [cells[j] for j in kept]) for number, cells in rows], style


def _of_text(path: Path) -> tuple[Rows, Style]:
    lines, _ = lines_of(decoded(path))
    if not lines.texts:
        return [], Style()
    style = style_of(lines.part(min(1, len(lines.texts) - 1)), str(path))
    return [(n, style.cells(text)) for n, text in zip(*lines, strict=True)], style


def _of_sheet(path: Path) -> Rows:
    try:
        with Apart(memory_left() / 2) as apart:
            rows = call_apart(apart, "ngmca.io.tables.cell_grid:sheet_cells", path)
    except NotStartedError:
        rows = sheet_cells(str(path))
    return [(i, cells) for i, cells in enumerate(rows, start=1) if any(cells)]


def sheet_cells(path: str) -> list[list[str]]:
    """The cells of the only sheet with numbers in a workbook, as text."""
    tables = sheets_of(Path(path))
    if len(tables) != 1:
        has = listed({name: size_of(rows) for name, rows in tables.items()})
        raise ReadError(f"{path} must have one sheet with numbers, and has {has}: save it alone.")
    return [[as_text(cell) for cell in row] for rows in tables.values() for row in rows]
