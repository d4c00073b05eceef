"""Reference spectra from files, folders, data sets and arrays, on axes of one unit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.isolated_process import IsolatedProcess
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.answers.which.library_axes import axis_unit, axis_warnings, common_unit, in_unit
from ngmca.io import Dataset, ReadError
from ngmca.io.axis_units import absorbance, intensity_kind
from ngmca.io.claimed_sizes import memory_left
from ngmca.io.conversion import is_dataframe, spectra_in_dataframe
from ngmca.io.detect import format_of_folder
from ngmca.io.isolated_reading import read_one, readable_path
from ngmca.io.read_error import printable

if TYPE_CHECKING:
    from pandas import DataFrame

FORMS = "a file or folder, a Dataset, a DataFrame, a list of them, or a dictionary by name"
READ_OPTIONS = {"transpose": None, "dataset": None, "nucleus": None}


@dataclass(frozen=True, eq=False)
class Reference:
    """A library spectrum.

    Attributes
    ----------
    name : str
        Name of the substance.
    axis : ndarray of shape (n,)
        Rising positions in the unit of the sources.
    values : ndarray of shape (n,)
        Intensities; NaN where unknown.
    """

    name: str
    axis: NDArray
    values: NDArray


@dataclass(frozen=True, eq=False)
class Library:
    """A library that was read.

    Attributes
    ----------
    references : tuple of Reference
        The spectra that can be compared.
    left_out : tuple of str
        Why others cannot be compared.
    notes : tuple of str
        What was converted or assumed.
    warnings : tuple of str
        Assumptions that may make all matches wrong.
    """

    references: tuple[Reference, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


LibraryLike = Union[
    str, PathLike[str], Dataset, "DataFrame", Mapping[str, object], Sequence[object], Library
]


def nothing_to_compare(reason: str) -> ArgumentError:
    """Return the error for a library without a usable spectrum."""
    return ArgumentError(
        "{} has no spectrum that can be compared. The first reason: {}", option("library"), reason
    )


def open_library(library: LibraryLike, unit: str = "", axis_name: str = "") -> Library:
    """Return all spectra of a library on axes in `unit`; raise an error if none can be used.

    `left_out` names what cannot be read or converted to that unit. A `Library` is returned as it is.
    """
    if isinstance(library, Library):
        return library
    items = list(_items(library))
    notes: list[str] = []
    sets = [item[1] for item in items if not isinstance(item, ReadError)]
    given = axis_unit(unit, axis_name)
    unit = given or common_unit(sets)
    warnings = tuple(axis_warnings(sets, given, unit, axis_name))
    found: list[Reference] = []
    left_out: list[str] = []
    for item in items:
        try:
            if isinstance(item, ReadError):
                raise item
            name, data = item
            found += _spectra(name, in_unit(data, name, unit, axis_name, notes), notes)
        except ValueError as error:
            left_out.append(str(error))
    if not found:
        raise nothing_to_compare(left_out[0] if left_out else "it is empty.")
    return Library(tuple(found), tuple(left_out), tuple(dict.fromkeys(notes)), warnings)


def on_axis(library: Library, name: str, positions: NDArray) -> NDArray:
    """Return a spectrum of a library at these positions: 0 where it is unknown or below 0.

    Parameters
    ----------
    library : Library
        What `open_library` returned.
    name : str
        Name of the spectrum; upper and lower case are the same.
    positions : ndarray of shape (n,)
        Positions in the unit of the library.
    """
    names = [one.name for one in library.references]
    lower = [one.casefold() for one in names]
    if name.casefold() not in lower:
        known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise ArgumentError("{} has no spectrum named {!r}. It has {}.", option("library"), name, known)
    found = library.references[lower.index(name.casefold())]
    known_values = np.isfinite(found.values)
    values = np.interp(
        positions, found.axis[known_values], found.values[known_values], left=0.0, right=0.0
    )
    return np.maximum(values, 0)


Item = tuple[str, Dataset] | ReadError


def _items(library: object, name: str = "") -> Iterator[Item]:
    """Yield every data set with its name, "" if only its rows have names; or the error of reading it."""
    if isinstance(library, str | PathLike):
        if library == "":  # it would be the current folder
            raise ArgumentError("{} is an empty name: give a file or folder.", option("library"))
        for item in _files(readable_path(Path(library))):
            yield item if isinstance(item, ReadError) else (name or item[0], item[1])
    elif isinstance(library, Dataset):
        yield name, library
    elif is_dataframe(library):
        yield name, spectra_in_dataframe(library, "library")
    elif isinstance(library, Mapping) and not name:
        for key, item in library.items():
            yield from _items(item, printable(key))
    elif isinstance(library, list | tuple) and not name:
        for number, item in enumerate(library, 1):
            whole = isinstance(item, str | PathLike | Dataset) or is_dataframe(item)
            yield from _items(item, "" if whole else f"spectrum {number}")
    elif name:
        yield name, _pair(library)
    else:
        raise ArgumentTypeError(
            "{} must be {}, got {}.", option("library"), FORMS, type(library).__name__
        )


def _pair(item: Any) -> Dataset:
    """Return a pair (axis, values) as a data set without a unit."""
    try:
        axis, values = item
        rows = np.atleast_2d(arguments.as_array(values, "a spectrum of the library"))
        positions = arguments.as_array(axis, "an axis of the library").astype(float)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            "{} must be {}; in a list or dictionary, also pairs (axis, values): {}",
            *(option("library"), FORMS, error),
        ) from None
    return Dataset(rows, positions)


def _files(path: Path) -> Iterator[Item]:
    """Yield the data sets in a file, or in all files of a folder and of its subfolders."""
    with IsolatedProcess(memory_left() / 2) as process:
        if path.is_file() or format_of_folder(path):
            yield "", _read(path, process)
        else:
            yield from _folder(path, process)


def _folder(path: Path, process: IsolatedProcess) -> Iterator[Item]:
    for part in sorted(path.iterdir()):
        if part.name.startswith("."):
            continue
        if part.is_dir() and not format_of_folder(part):
            yield from _folder(part, process)
            continue
        try:
            yield printable(part.name if part.is_dir() else part.stem), _read(part, process)
        except ReadError as error:
            yield error


def _read(path: Path, process: IsolatedProcess) -> Dataset:
    data = read_one(path, READ_OPTIONS, process)
    if len(data.Y) == 1:  # the name of its only column may be "absorbance"
        kind = data.meta.get("intensity") or " ".join(data.row_names)
        return replace(data, row_names=(printable(path.stem),), meta={**data.meta, "intensity": kind})
    return data


def _spectra(name: str, data: Dataset, notes: list[str]) -> list[Reference]:
    """Return the rows of a data set as spectra, with transmittance converted to absorbance."""
    called = name or "the library"
    if data.meta.get("peaks"):
        raise ValueError(f"{called} is a list of peaks: give a spectrum with all channels.")
    if data.image_shape and len(data.Y) > 1:
        raise ValueError(f"{called} is an image: give the spectra of pure substances.")
    axis = data.positions
    rows = arguments.as_array(data.Y, called).astype(float)
    if rows.ndim != 2 or axis.shape != rows.shape[1:]:
        sizes = f"{rows.shape[-1]} values and {axis.size} positions"
        raise ValueError(f"{called} has {sizes}: give one position for each value.")
    if axis.size < 2 or not np.isfinite(axis).all() or np.ptp(axis) == 0:
        raise ValueError(f"{called} has no axis of two or more finite positions: correct its axis.")
    order = np.argsort(axis, kind="stable")
    return [
        Reference(each, axis[order], _additive(row[order], data, i, notes))
        for i, (each, row) in enumerate(zip(_names(name, data), rows, strict=True))
    ]


def _names(name: str, data: Dataset) -> list[str]:
    """Return a name for every row: its own, after that of the data set if there are several of each."""
    if name and len(data.Y) == 1:
        return [name]
    if not name and not data.row_names:
        return [f"spectrum {i + 1}" for i in range(len(data.Y))]
    return [row if row == name or not name else f"{name}: {row}" for row in map(printable, data.names)]


def _additive(row: NDArray, data: Dataset, i: int, notes: list[str]) -> NDArray:
    """Return a row as absorbance if it is transmittance, which does not add up in a mixture."""
    kind = data.meta.get("intensity") or (data.row_names[i] if data.row_names else "")
    if intensity_kind(kind) != "transmittance" or not np.isfinite(row).any():
        return row
    known = np.isfinite(row)
    unit = "% transmittance" if "%" in kind else "transmittance"
    turned, _, said = absorbance(row[known], unit)
    notes.extend(f"{one[0].upper()}{one[1:]}" for one in said)
    row = np.full(row.shape, np.nan)
    row[known] = turned
    return row
