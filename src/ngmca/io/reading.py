"""`read`: a file, a folder, several of them, or an xarray object as one data set; and their hash."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from ngmca._support.arguments import check_choice
from ngmca._support.isolated_process import IsolatedProcess
from ngmca.io.axis_names import with_axis_words
from ngmca.io.claimed_sizes import memory_left
from ngmca.io.combine import combine, combine_peaks, with_common_range
from ngmca.io.containers.netcdf_and_xarray import from_xarray
from ngmca.io.dataset import Dataset
from ngmca.io.detect import format_of_folder
from ngmca.io.isolated_reading import files_of, read_one, readable_path
from ngmca.io.missing_values import checked_number, note_missing
from ngmca.io.read_error import ReadError, printable


def read(
    path: str | PathLike[str] | Iterable[str | PathLike[str]] | Any,
    *,
    transpose: bool | None = None,
    dataset: str | None = None,
    nucleus: str | None = None,
    axis: Literal["first-column", "first-row", "none"] | None = None,
    header: int | None = None,
    skip: int | None = None,
    columns: str | None = None,
    axes: str | None = None,
    axis_name: str | None = None,
    axis_unit: str | None = None,
    axis_direction: Literal["rising", "falling"] | None = None,
    missing: float | Literal["none"] | None = None,
    large: Literal["read", "leave"] = "read",
) -> Dataset:
    """Read measurements x channels from a file, a folder, several of them, or an xarray object.

    The format is found from the content and the name. Empty cells of a table, the words NaN and NA, and
    NaN in an array are missing entries: NaN in Y, with a note.

    Parameters
    ----------
    path : str, path, list of them, or xarray object
        A file or folder; a list of them, whose rows are stacked on one common axis; or a DataArray or
        Dataset of xarray.
    transpose : bool, optional
        Whether channels are in the rows of the file. By default, the axis decides; without an axis,
        rows are measurements.
    dataset : str, optional
        Which data to read from a file that has several: the path or name in HDF5, Zarr, NetCDF, .npz
        and .mat; the sheet of a workbook; the spectrum of an OPUS file, such as "sm"; the title of a
        microscope's signal.
    nucleus : str, optional
        Which experiments to read from a folder of NMR experiments with several nuclei, such as "1H".
    axis : {"first-column", "first-row", "none"}, optional
        Where a table (text, the sheet of a workbook, or an array in a file) has its axis. With
        "first-column", channels are in the rows. By default, the content decides; if it is not clear,
        an error asks for this option.
    header : int, optional
        The line of a table that holds the names of its columns, from 1; 0 if there are no names.
    skip : int, optional
        How many lines to ignore at the top of a table.
    columns : str, optional
        Which columns of a table are data, by number ("2-5,7") or name ("a,b"), without the axis.
    axes : str, optional
        What each dimension of an array is, in order: "time,pixel,channel". One of them is the channels,
        called channel or by the name of the axis. All others become measurements; y and x become an
        image.
    axis_name, axis_unit : str, optional
        Name and unit of the axis, such as "wavenumber" and "cm-1", if the file does not say or is wrong.
    axis_direction : {"rising", "falling"}, optional
        In which direction figures draw the axis. By default, chemical shifts and wavenumbers of infrared
        spectra fall, all others rise.
    missing : float or "none", optional
        The number that stands for a missing entry, such as -1; "none" if no number does. By default,
        -999, -9999 and similar numbers do if all others are far from them, and a note says so.
    large : {"read", "leave"}
        "leave" leaves data that are too large for the memory in their file, if the format allows it:
        Y is then an object that is read by slicing (see `Dataset.in_memory`).

    Returns
    -------
    Dataset
        The data with their axis, names, and notes about what the reader decided.

    Raises
    ------
    ReadError
        If the file cannot be read, is damaged, or can be read in more than one way.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "spectra.csv"
    >>> _ = path.write_text("wavelength [nm],a,b\\n400,1,2\\n410,3,4\\n420,5,6\\n430,5,4\\n440,3,2\\n")
    >>> data = read(path)
    >>> data
    Dataset: 2 x 5, wavelength [nm] from 400 to 440
    >>> data.names
    ('a', 'b')
    """
    check_choice(large, "large", ("read", "leave"))
    number = checked_number(missing)
    options: dict[str, Any] = {"transpose": transpose, "dataset": dataset, "nucleus": nucleus}
    more = {"axis": axis, "header": header, "skip": skip, "columns": columns, "axes": axes}
    more |= {
        "axis_name": axis_name,
        "axis_unit": axis_unit,
        "axis_direction": axis_direction,
        "missing": number,
    }
    options |= {name: value for name, value in more.items() if value is not None}
    if hasattr(path, "dims"):
        found = from_xarray(path, transpose=transpose, dataset=dataset, axes=axes)
        return note_missing(with_axis_words(found, options), "the array", number)
    # the data must fit into the memory of this process too
    with IsolatedProcess(memory_left() / 2) as process:
        if isinstance(path, str | PathLike):
            return _read_path(_given_path(path), options, process, leave_large=large == "leave")
        paths = [_given_path(one) for one in path]
        if not paths:
            raise ReadError("no file was given.")
        parts = [_read_path(one, options, process) for one in paths]
    return _combined(parts, [_stem(one) for one in paths])


def _given_path(given: str | PathLike[str]) -> Path:
    """Return a path; raise an error for an empty name, which would mean the current folder."""
    if given == "":
        raise ReadError("no file was given: its name is empty.")
    return Path(given)


def _read_path(
    path: Path, options: dict[str, Any], process: IsolatedProcess, *, leave_large: bool = False
) -> Dataset:
    path = readable_path(path)
    try:
        if path.is_dir() and format_of_folder(path) is None:
            return _read_folder(path, options, process)
        return read_one(path, options, process, check_options=True, leave_large=leave_large)
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read_folder(path: Path, options: dict[str, Any], process: IsolatedProcess) -> Dataset:
    """Read the files of a folder as one data set; leave out unreadable files, with a note."""
    parts: list[Dataset] = []
    names: list[str] = []
    notes: list[str] = []
    for file in files_in(path):
        try:
            data = read_one(file, options, process)
            if len(data.Y) > 1 and data.image_shape:
                raise ReadError(f"{file.name} is an image: read it alone.")
        except ReadError as error:
            notes.append(f"left out: {error}")
        else:
            parts.append(data)
            names.append(_stem(file))
    if not parts:
        first = f" First error: {notes[0].removeprefix('left out: ')}" if notes else _no_files(path)
        raise ReadError(f"{path} holds nothing that can be read.{first}")
    parts, names, others = with_common_range(parts, names)
    notes += others
    try:
        data = _combined(parts, names)
    except ReadError as error:
        raise ReadError("{}: {}", path, error.message) from error
    return replace(data, notes=data.notes + tuple(notes), meta={**data.meta, "path": printable(path)})


def _no_files(path: Path) -> str:
    """Return what a folder without files holds instead."""
    inside = sorted(one.name for one in path.iterdir() if one.is_dir() and not one.name.startswith("."))
    if not inside:
        return " It has no files."
    return f" It has only folders: give one of them, for example {path / inside[0]}."


def _combined(parts: list[Dataset], names: list[str]) -> Dataset:
    if len(parts) > 1 and all(part.meta.get("peaks") for part in parts):
        return combine_peaks(parts, names)
    data = combine(parts, names)
    kinds = sorted({part.meta["intensity"] for part in parts if part.meta.get("intensity")})
    if len(kinds) > 1:
        return data.with_notes(
            f"intensities have different units ({', '.join(kinds)}): compare rows with care."
        )
    return data


def _stem(path: Path) -> str:
    name = path.name.removesuffix(".gz").rsplit(".", 1)[0] if path.is_file() else path.name
    return printable(name)


RESULT_RECORD = "run.toml"  # in every folder of a result


def fingerprint(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of a file's content, or of the names and contents of several files.

    Parameters
    ----------
    paths : sequence of paths
        Files and folders, as `read` takes them. Results that were saved in such a folder do not count.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "empty.csv"
    >>> path.touch()
    >>> fingerprint([path])[:8]
    'e3b0c442'
    """
    files = [(file, path) for path in paths for file in _files_read(path)]
    if len(files) == 1 and paths[0].is_file():
        return _digest(paths[0])
    total = hashlib.sha256()
    for file, path in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        total.update(f"{name}\0{_digest(file)}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def files_in(folder: Path) -> list[Path]:
    """Return the files of a plain folder that are read."""
    return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))


def _files_read(path: Path) -> list[Path]:
    """Return the files that are read of a path, without results that were saved into its folder."""
    if path.is_file():
        return files_of(path)
    if format_of_folder(path) is None:
        return files_in(path)
    return [file for file in files_of(path) if not (file.parent / RESULT_RECORD).exists()]


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
