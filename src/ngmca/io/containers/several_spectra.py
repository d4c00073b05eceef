"""Several spectra in one file: vectors in groups, vectors beside one axis, or tables of two columns."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ngmca._support.messages import message, option
from ngmca.io.array_choice import Shape, find_axis, is_axis_name, is_table, short, single_vectors
from ngmca.io.array_layout import Layout, labelled
from ngmca.io.combine import combine
from ngmca.io.dataset import Dataset, real_numbers
from ngmca.io.read_error import printable
from ngmca.io.tables.axis_evidence import SAFE_LENGTH
from ngmca.io.tables.dialects import is_no_measurement

MAX_NUMBERS = 1 << 26  # of all spectra together

Label = Callable[[str, Any], str]


def several_spectra(
    arrays: Mapping[str, Any], label: Label, layout: Layout, path: Path
) -> Dataset | None:
    """Return the spectra of a file that has each one in arrays of its own; None if it is not so.

    `label` returns the name of an array with its unit. Arrays may be data sets of HDF5 or Zarr.
    """
    shapes = {name: tuple(array.shape) for name, array in arrays.items()}
    if sum(map(math.prod, shapes.values())) > MAX_NUMBERS or layout.words or layout.axis == "none":
        return None
    tables = [name for name, shape in shapes.items() if is_table(shape)]
    parts = _of_pairs(arrays, tables, layout, path) if tables else _of_vectors(arrays, shapes, label)
    if parts is None:
        return None
    note = message(
        "the file has {} spectra, each in its own array: all are read. Choose one with {}.",
        *(len(parts), option("dataset")),
    )
    return combine(list(parts.values()), list(parts)).with_notes(note)


def _of_pairs(
    arrays: Mapping[str, Any], tables: list[str], layout: Layout, path: Path
) -> dict[str, Dataset] | None:
    """Return the spectra in tables of positions and intensities."""
    alike = all(min(arrays[t].shape) == 2 and max(arrays[t].shape) >= SAFE_LENGTH for t in tables)
    if len(tables) < 2 or not alike or any(len(arrays[t].shape) != 2 for t in tables):
        return None
    parts = {
        name: labelled(np.asarray(arrays[name][...]), {}, layout, f"{name} in {path}") for name in tables
    }
    single = all(len(one.Y) == 1 and one.axis is not None for one in parts.values())
    return _renamed(parts) if single else None


def _of_vectors(
    arrays: Mapping[str, Any], shapes: Mapping[str, Shape], label: Label
) -> dict[str, Dataset] | None:
    """Return vectors of intensities that have an axis in their group, or one axis together."""
    names = list(single_vectors(shapes))
    groups = {name.rpartition("/")[0] for name in names}
    alike = len({short(name) for name in names}) == 1
    if len(names) < 2 or not (len(groups) == 1 or (alike and len(groups) == len(names))):
        return None
    if any(is_no_measurement(short(name)) for name in names):
        return None
    parts: dict[str, Dataset] = {}
    for name in names:
        size, group = max(shapes[name]), name.rpartition("/")[0]
        axes = [n for n, s in shapes.items() if is_axis_name(n) and max(s, default=0) == size]
        axes = [n for n in axes if n.rpartition("/")[0] == group] or axes
        vectors = {label(n, arrays[n]): np.ravel(arrays[n][...]) for n in axes}
        axis = find_axis(vectors, (0, size))
        if axis[0] is None:
            return None
        Y = real_numbers(np.ravel(arrays[name][...])[None], name)
        parts[name] = Dataset(Y, *axis)
    return _renamed(parts)


def _renamed(parts: dict[str, Dataset]) -> dict[str, Dataset]:
    """Return the spectra under the part of their paths that differs."""
    paths = [name.strip("/").split("/") for name in parts]
    while len({one[0] for one in paths}) == 1 and all(len(one) > 1 for one in paths):
        paths = [one[1:] for one in paths]
    while len({one[-1] for one in paths}) == 1 and all(len(one) > 1 for one in paths):
        paths = [one[:-1] for one in paths]
    return {printable("/".join(one)): part for one, part in zip(paths, parts.values(), strict=True)}
