"""Readers: `read(path)` gives measurements x channels with their axis, whatever the format."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ngmca._support.isolated_process import Apart
from ngmca.io.claimed_sizes import memory_left
from ngmca.io.combine import combine, combine_peaks
from ngmca.io.containers.netcdf_and_xarray import from_xarray
from ngmca.io.csv_writing import write_table
from ngmca.io.dataset import Dataset, ReadError, shown, with_gaps_told
from ngmca.io.detect import reader_of
from ngmca.io.isolated_reading import open_one, parts_of, whereabouts
from ngmca.io.large_files import read_large

__all__ = ["Dataset", "ReadError", "check_options", "fingerprint", "read", "read_large", "write_table"]

TABLES = ("text", "spreadsheet")  # formats in which the place of axis, names and data may be given
FOR_SOME = ("axis", "header", "skip", "columns", "nucleus")  # options that not all formats know
RECORD = "run.toml"  # in every folder of a result


def read(
    path: Any,
    *,
    transpose: bool | None = None,
    dataset: str | None = None,
    nucleus: str | None = None,
    axis: str | None = None,
    header: int | None = None,
    skip: int | None = None,
    columns: str | None = None,
) -> Dataset:
    """Measurements x channels out of a file, a folder, several of them, or an xarray object.

    Empty cells of a table, those that say NaN or NA, and NaN in an array are missing: NaN, with a note.

    Parameters
    ----------
    path
        A file or folder, a list of them (their rows are put below each other, on one common axis),
        or an xarray DataArray or Dataset.
    transpose
        Whether channels are in the rows of the file. None finds out from its axis, and takes rows as
        measurements where there is none.
    dataset
        Path or name of the data inside a file that has several: HDF5, Zarr, NetCDF, .npz, .mat; the
        sheet of a workbook, the spectrum of an OPUS file ("sm"), the title of a microscope's signal.
    nucleus
        Which experiments to take out of a folder with several nuclei, such as "1H".
    axis
        Where a table (text, or the sheet of a workbook) has its axis: "first-column" (channels are down
        the rows), "first-row" or "none". None finds out, or asks.
    header, skip
        Which line of a table holds the names of columns, 0 for none, and how many lines at its top are
        passed over.
    columns
        Which columns of a table are data, by number ("2-5,7") or name ("a,b"), the axis not among them.
    """
    options: dict[str, Any] = {"transpose": transpose, "dataset": dataset, "nucleus": nucleus}
    tables = {"axis": axis, "header": header, "skip": skip, "columns": columns}
    options |= {name: value for name, value in tables.items() if value is not None}
    if hasattr(path, "dims"):
        return with_gaps_told(from_xarray(path, transpose=transpose, dataset=dataset), "the array")
    with Apart(memory_left() / 2) as apart:  # what it reads must find room here, too
        if isinstance(path, str | PathLike):
            return _read_one(_path(path), options, apart)
        paths = [_path(one) for one in path]
        if not paths:
            raise ReadError("no file was given.")
        parts = [_read_one(one, options, apart) for one in paths]
    return _together(parts, [_stem(one) for one in paths])


def fingerprint(paths: Sequence[Path]) -> str:
    """SHA-256 of one file's content, or of the names and contents of several or of a folder."""
    files = [(file, path) for path in paths for file in _read_of(path)]
    if len(files) == 1 and paths[0].is_file():
        return _digest(paths[0])
    total = hashlib.sha256()
    for file, path in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        total.update(f"{name}\0{_digest(file)}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def _read_of(path: Path) -> list[Path]:
    """The files that are read of a path; not those of results, which may be written into its folder."""
    if path.is_dir() and _is_plain_folder(path):
        return sorted(_files(path))
    return [file for file in parts_of(path) if not (file.parent / RECORD).exists()]


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")]


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _path(given: str | PathLike[str]) -> Path:
    """A path that somebody gave: nothing at all would be the folder that we are in."""
    if given == "":
        raise ReadError("no file was given: its name is empty.")
    return Path(given)


def _read_one(path: Path, options: dict[str, Any], apart: Apart) -> Dataset:
    path = whereabouts(path)
    try:
        plain = path.is_dir() and _is_plain_folder(path)
        if not plain:
            check_options(path, options)
        return _read_folder(path, options, apart) if plain else open_one(path, options, apart)
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or error}.") from error


def check_options(path: Path, options: dict[str, Any]) -> None:
    """Refuse options for tables, and for NMR, with a file that is none, rather than pass them over."""
    given = [name for name in FOR_SOME if options.get(name) is not None]
    if not given:
        return
    name, kind = given[0], reader_of(path)[0]
    if name == "nucleus" and kind != "Bruker":
        raise ReadError(f"{path} has no experiments of several nuclei: leave out nucleus=.")
    if name != "nucleus" and kind not in TABLES:
        raise ReadError(f"{path} is not a table in text: leave out {name}=.")


def _is_plain_folder(path: Path) -> bool:
    try:
        reader_of(path)
    except ReadError:
        return True
    return False


def _read_folder(path: Path, options: dict[str, Any], apart: Apart) -> Dataset:
    """The files of a folder as one, those that cannot be read left out with a note."""
    parts, names, notes = [], [], []
    for file in sorted(_files(path)):
        try:
            data = open_one(file, options, apart)
            if len(data.Y) > 1 and data.image_shape:
                raise ReadError(f"{file.name} is an image: read it alone.")
        except ReadError as error:
            notes.append(f"left out: {error}")
        else:
            parts.append(data)
            names.append(_stem(file))
    if not parts:
        first = f" The first: {notes[0]}" if notes else " It has no files."
        raise ReadError(f"{path} holds nothing that can be read.{first}")
    parts, names, others = _with_common_range(parts, names)
    notes += others
    try:
        data = _together(parts, names)
    except ReadError as error:
        raise ReadError(f"{path}: {error}") from error
    return replace(data, notes=data.notes + tuple(notes), meta={**data.meta, "path": shown(path)})


def _with_common_range(
    parts: list[Dataset], names: list[str]
) -> tuple[list[Dataset], list[str], list[str]]:
    """Parts that cover at least half of the usual range, their names, and notes about the others."""
    if any(part.axis is None or part.meta.get("peaks") for part in parts):
        return parts, names, []
    ends = np.array([(part.positions.min(), part.positions.max()) for part in parts])
    low, high = np.median(ends, axis=0)
    shared = np.minimum(ends[:, 1], high) - np.maximum(ends[:, 0], low)
    keep = shared >= (high - low) / 2
    notes = [
        f"left out: {name} covers {a:g} to {b:g}, the others {low:g} to {high:g}."
        for name, (a, b), kept in zip(names, ends, keep, strict=True)
        if not kept
    ]
    chosen = np.flatnonzero(keep)
    return [parts[i] for i in chosen], [names[i] for i in chosen], notes


def _together(parts: list[Dataset], names: list[str]) -> Dataset:
    if len(parts) > 1 and all(part.meta.get("peaks") for part in parts):
        return combine_peaks(parts, names)
    data = combine(parts, names)
    kinds = sorted({part.meta["intensity"] for part in parts if part.meta.get("intensity")})
    if len(kinds) > 1:
        return data.noted(
            f"intensities have different units ({', '.join(kinds)}): compare rows with care."
        )
    return data


def _stem(path: Path) -> str:
    name = path.name.removesuffix(".gz").rsplit(".", 1)[0] if path.is_file() else path.name
    return shown(name)
