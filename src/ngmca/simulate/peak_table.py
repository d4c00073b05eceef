"""Peak tables: CSV files with the columns compound, ppm and intensity."""

import csv
import math
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

COLUMNS = ("compound", "ppm", "intensity")


def read_peaks(path: str | PathLike[str]) -> dict[str, tuple[NDArray, NDArray]]:
    """Read positions and intensities of the lines of compounds from a CSV file.

    Parameters
    ----------
    path : path
        A table with the columns compound, ppm and intensity. The first line names the columns, in any
        order, and may name others. Empty lines and lines that start with # are ignored.

    Returns
    -------
    dict of (ndarray, ndarray)
        Positions in ppm and intensities by compound, in the order of the file.

    Raises
    ------
    ValueError
        If the file is not such a table. The message names the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ngmca.simulate import read_peaks
    >>> table = Path(tempfile.mkdtemp()) / "peaks.csv"
    >>> _ = table.write_text("compound, ppm, intensity\\nethanol, 1.175, 3\\nethanol, 3.65, 2\\n")
    >>> list(read_peaks(table))
    ['ethanol']
    """
    path = Path(path)
    rows = _rows(path)
    number, header = next(rows, (1, []))
    names = [cell.lower() for cell in header]
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        raise ValueError(
            f"{path}, line {number}: no column {' and no column '.join(missing)}: the first line must "
            f"be '{', '.join(COLUMNS)}', separated by commas, got {', '.join(header)!r}."
        )
    places = [names.index(column) for column in COLUMNS]
    found: dict[str, list[tuple[float, float]]] = {}
    for number, cells in rows:
        where = f"{path}, line {number}"
        if len(cells) <= max(places):
            raise ValueError(f"{where}: {len(cells)} cells, but the first line has {len(header)}.")
        compound, ppm, intensity = (cells[place] for place in places)
        if not compound:
            raise ValueError(f"{where}: the compound has no name; write it in each line.")
        peak = _number(ppm, f"{where}: ppm"), _intensity(intensity, f"{where}: intensity")
        found.setdefault(compound, []).append(peak)
    if not found:
        raise ValueError(f"{path} has no peaks: add a line such as 'ethanol, 1.175, 3'.")
    return {name: _checked(name, np.array(peaks), path) for name, peaks in found.items()}


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and stripped cells of lines that are not empty and no comment."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, skipinitialspace=True)
            for cells in reader:
                stripped = [cell.strip() for cell in cells]
                if any(stripped) and not stripped[0].startswith("#"):
                    yield reader.line_num, stripped
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a text table: {error}. Save it as CSV in UTF-8.") from error


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{what} must be a number with a decimal point, got {text!r}.")
    return value


def _intensity(text: str, what: str) -> float:
    value = _number(text, what)
    if value < 0:
        raise ValueError(f"{what} must not be negative, got {text}: leave such a peak out.")
    return value


def _checked(name: str, peaks: NDArray, path: Path) -> tuple[NDArray, NDArray]:
    if not peaks[:, 1].any():
        raise ValueError(f"{path}: every intensity of {name!r} is 0: give it a peak, or leave it out.")
    return peaks[:, 0], peaks[:, 1]
