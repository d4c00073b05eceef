"""Reader of JSON: arrays with names, as in a .npz file, or a list of records."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.array_layout import BY_EVIDENCE, Layout
from ngmca.io.axis_units import role
from ngmca.io.claimed_sizes import check_claim
from ngmca.io.containers.numpy_and_matlab import from_named
from ngmca.io.dataset import Dataset, monotonic
from ngmca.io.read_error import damaged, printable
from ngmca.io.tables.axis_evidence import SHORTEST_AXIS, is_counter

BYTES_IN_MEMORY = 20.0  # for each byte of text, as measured
FEWEST_NAMES = 20  # that are an axis; fewer may be concentrations or times of columns
NUMBER = re.compile(r"\d+(\.\d*)?")
MAX_DEPTH = 6  # of arrays inside of records


def read_json(
    path: Path, *, layout: Layout = BY_EVIDENCE, dataset: str | None = None, **_: Any
) -> Dataset:
    """Read the data among the arrays of a JSON file, and their axis if another array is one."""
    check_claim(BYTES_IN_MEMORY * path.stat().st_size, None, str(path))
    with damaged(f"{path} is not a complete JSON file"):
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        arrays = _arrays_in(content, "", MAX_DEPTH)
    return from_named(arrays, path, layout, dataset)


def _arrays_in(content: Any, name: str, deep: int) -> dict[str, NDArray]:
    """Return the arrays of numbers and of words in a part of the file, by their paths."""
    if isinstance(content, list) and content and all(isinstance(one, dict) for one in content):
        content = _by_key(content)
    if isinstance(content, dict) and deep:
        content = _with_axis(_unlabelled(content))
        parts = [
            _arrays_in(value, f"{name}/{printable(key)}", deep - 1) for key, value in content.items()
        ]
        return {key.removeprefix("/"): value for part in parts for key, value in part.items()}
    array = _as_array(content) if isinstance(content, list) else None
    return {} if array is None else {name or "data": array}


def _unlabelled(columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns with the same labels of rows, as pandas writes a table, as lists."""
    first = next(iter(columns.values()), None)
    if not isinstance(first, dict) or len(columns) < 2 or len(first) < SHORTEST_AXIS:
        return columns
    alike = all(isinstance(one, dict) and one.keys() == first.keys() for one in columns.values())
    plain = alike and not any(
        isinstance(cell, dict | list) for one in columns.values() for cell in one.values()
    )
    if not plain:
        return columns
    labels = {} if all(map(str.isdigit, first)) else {"names": list(first)}
    return labels | {key: list(one.values()) for key, one in columns.items()}


def _with_axis(columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns that are called by positions of an axis as spectra and their axis."""
    axis = {key: float(key) for key in columns if NUMBER.fullmatch(key)}
    values, positions = [columns[key] for key in axis], np.array([*axis.values()])
    if len(axis) < FEWEST_NAMES or not monotonic(positions) or is_counter(positions):
        return columns
    if any(role(key) == "spectral" for key in columns if key not in axis):  # names of measurements
        return columns
    sizes = {len(one) if isinstance(one, list) else 0 for one in values}
    if len(sizes) > 1 or sizes == {0} or any(_as_array(one) is None for one in values):
        return columns
    spectra = {"spectra": [list(row) for row in zip(*values, strict=True)], "axis": [*axis.values()]}
    return {key: one for key, one in columns.items() if key not in axis} | spectra


def _by_key(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return records with the same keys as a list for each key, others by their number."""
    if all(record.keys() == records[0].keys() for record in records):
        return {key: [record[key] for record in records] for key in records[0]}
    return {str(i + 1): record for i, record in enumerate(records)}


def _as_array(values: list[Any]) -> NDArray | None:
    """Return lists of numbers of the same length, or words, as an array; null is a missing number."""
    if values and all(isinstance(one, str) for one in values):
        return np.array(values)
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        return None
    if not array.size or _has_words(values):
        return None
    shared = array.ndim == 2 and monotonic(array[0]) and bool((array == array[0]).all())
    return array[0] if shared else array  # the same axis beside each spectrum


def _has_words(values: list[Any]) -> bool:
    """Return whether there are texts among numbers: NumPy would read "1" as a number."""
    return any(
        _has_words(one) if isinstance(one, list) else isinstance(one, str | bool) for one in values
    )
