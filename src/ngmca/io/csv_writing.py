"""Write tables as .csv, for spreadsheets and for `read`."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = Sequence[Any] | NDArray

# The start of a formula in a cell, also if a spreadsheet separates cells at ; or |. The last four
# characters are full-width forms.
FORMULA = re.compile(r"(^|[;|]) *(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


def write_table(
    path: str | PathLike[str],
    columns: Mapping[str, Column] | Iterable[tuple[str, Column]],
    *,
    comment: str = "",
) -> None:
    """Write columns of numbers or words to a .csv file, below a line with their names.

    Numbers are written with all digits. A repeated name is numbered. A word that a spreadsheet would run
    as a formula gets a ' in front; tabs and line ends in words become spaces.

    Parameters
    ----------
    path : str or path
        The file; an existing file is replaced.
    columns : dict, or iterable of (name, column) pairs
        Columns of equal length.
    comment : str
        Text of a first line that begins with #.

    Raises
    ------
    ValueError
        If the columns have different lengths.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> write_table(path, {"ppm": np.array([1.5, 2.0]), "water": [0.1, 0.2]}, comment="two channels")
    >>> print(path.read_text(), end="")
    # two channels
    ppm,water
    1.5,0.1
    2.0,0.2
    """
    pairs = list(columns.items() if isinstance(columns, Mapping) else columns)
    with Path(path).open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:
        if comment:
            file.write(f"# {' '.join(comment.split())}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([_no_formula(name) for name in _distinct([str(name) for name, _ in pairs])])
        writer.writerows(zip(*(_cells(column) for _, column in pairs), strict=True))


def _cells(column: Column) -> Sequence[Any]:
    values = column.tolist() if isinstance(column, np.ndarray) else column
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        return values
    return [_no_formula(value) for value in values]


def _no_formula(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    line = " ".join(value.replace("\t", "\n").splitlines())
    return line if _is_number(line) else FORMULA.sub(r"\g<0>'", line)


def _distinct(names: list[str]) -> list[str]:
    """Return names that are all different: a second `x` becomes `x (2)`."""
    chosen: list[str] = []
    for name in names:
        others = (f"{name} ({i})" for i in count(2))
        free = (other for other in others if other not in chosen and other not in names)
        chosen.append(next(free) if name in chosen else name)
    return chosen


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
