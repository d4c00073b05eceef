"""Tables for spreadsheets and for `read`: columns of numbers or words as .csv."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = Sequence[Any] | NDArray

# A sign with which a cell begins that a spreadsheet would run, also where it parts cells by ; or |.
FORMULA = re.compile(r"(^|[;|]) *(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")  # full-width ones, too


def write_table(
    path: Path, columns: Mapping[str, Column] | Iterable[tuple[str, Column]], *, comment: str = ""
) -> None:
    """Write columns of numbers or words, with all digits, below a line of their names.

    Names that come twice are numbered. Words that a spreadsheet would run as a formula get a ' in front;
    tabs and ends of lines in them become spaces.
    """
    pairs = list(columns.items() if isinstance(columns, Mapping) else columns)
    with path.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:
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
    """Names of which none comes twice: a second `x` becomes `x (2)`."""
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
