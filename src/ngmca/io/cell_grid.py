"""Read a table cell by cell, words as well as numbers: for example a list of standards."""

from pathlib import Path

from ngmca._support.isolated_process import IsolatedProcess, NotStartedError
from ngmca.io.array_choice import listed
from ngmca.io.claimed_sizes import memory_left
from ngmca.io.detect import TABLE_FORMATS, format_of
from ngmca.io.isolated_reading import call_isolated, readable_path
from ngmca.io.read_error import ReadError
from ngmca.io.tables.cells import Style, lines_of, style_of
from ngmca.io.tables.spreadsheets import as_text, sheets_of, size_of
from ngmca.io.tables.text_reader import decoded

Rows = list[tuple[int, list[str]]]  # number of the line in the file, from 1, and its cells


def read_grid(path: Path) -> tuple[Rows, Style]:
    """Return the lines of a table in text or in a workbook, and how its numbers are written.

    Blank lines, comments and empty columns are left out. Raise an error if a line has more or fewer
    cells than the first line.
    """
    path = readable_path(path)
    kind = "folder" if path.is_dir() else format_of(path)
    if kind not in TABLE_FORMATS:
        raise ReadError(
            f"{path} is not a table: save it as .csv or .xlsx, with names in the first line."
        )
    rows, style = _text_rows(path) if kind == "text" else (_sheet_rows(path), Style("\t"))
    if not rows:
        raise ReadError(f"{path} is empty.")
    for number, cells in rows:
        if len(cells) != len(rows[0][1]):
            raise ReadError(
                f"{path}, line {number} has {len(cells)} cells, the first has {len(rows[0][1])}: "
                "separate cells with commas or semicolons, and leave unknown cells empty."
            )
    kept = [j for j in range(len(rows[0][1])) if any(cells[j] for _, cells in rows)]
    return [(number, [cells[j] for j in kept]) for number, cells in rows], style


def _text_rows(path: Path) -> tuple[Rows, Style]:
    lines, _ = lines_of(decoded(path))
    if not lines.texts:
        return [], Style()
    style = style_of(lines.part(min(1, len(lines.texts) - 1)), str(path))
    return [(n, style.cells(text)) for n, text in zip(*lines, strict=True)], style


def _sheet_rows(path: Path) -> Rows:
    try:
        with IsolatedProcess(memory_left() / 2) as process:
            rows = call_isolated(process, f"{__name__}:sheet_cells", path)
    except NotStartedError:
        rows = sheet_cells(str(path))
    return [(i, cells) for i, cells in enumerate(rows, start=1) if any(cells)]


def sheet_cells(path: str) -> list[list[str]]:
    """Return the cells, as text, of the only sheet with numbers in a workbook."""
    tables = sheets_of(Path(path))
    if len(tables) != 1:
        found = listed({name: size_of(rows) for name, rows in tables.items()})
        raise ReadError(f"{path} must have one sheet with numbers, got {found}: save that sheet alone.")
    return [[as_text(cell) for cell in row] for rows in tables.values() for row in rows]
