"""Read one file or folder, in a second process unless its reader is part of this package."""

import importlib
import math
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ngmca._support import isolated_process as isolation
from ngmca._support.messages import from_plain, option, to_plain
from ngmca.io.array_layout import Layout
from ngmca.io.axis_names import with_axis_words
from ngmca.io.dataset import Dataset
from ngmca.io.detect import HEAD_BYTES, READERS, TABLE_FORMATS, format_of
from ngmca.io.large_files import read_large
from ngmca.io.missing_values import note_missing
from ngmca.io.read_error import ReadError, printable, reason

OWN_FORMATS = ("npy", "npz", "text", "pickle")  # read without any other library or compiled code
TIMEOUT_VARIABLE = "NGMCA_READ_SECONDS"
TABLE_OPTIONS = ("header", "skip", "columns")
ARRAY_FORMATS = ("npy", "npz", "MATLAB", "MATLAB 7.3", "HDF5", "Zarr")
OPTIONS = {  # of which formats, and what an error calls them
    **dict.fromkeys(TABLE_OPTIONS, (TABLE_FORMATS, "is not a table")),
    "axis": ((*TABLE_FORMATS, *ARRAY_FORMATS), "is not a table"),
    "axes": ((*ARRAY_FORMATS, "NetCDF"), "has no array with several dimensions"),
    "nucleus": (("Bruker",), "has no experiments of several nuclei"),
}


def read_one(
    path: Path,
    options: dict[str, Any],
    process: isolation.IsolatedProcess,
    *,
    check_options: bool = False,
    leave_large: bool = False,
) -> Dataset:
    """Read a file, or a folder that is one data set; open it once in this process.

    With `check_options`, raise an error for options that its format does not have. With `leave_large`,
    data that are too large for the memory stay in the file.
    """
    try:
        if path.is_dir():
            return _read_as(format_of(path), path, options, process, None, check_options, leave_large)
        with path.open("rb") as stream:
            name = format_of(path, stream.read(HEAD_BYTES))
            return _read_as(name, path, options, process, stream, check_options, leave_large)
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read_as(
    name: str,
    path: Path,
    options: dict[str, Any],
    process: isolation.IsolatedProcess,
    stream: BinaryIO | None,
    check_options: bool,
    leave_large: bool,
) -> Dataset:
    if check_options:
        _check_options(name, path, options)
    if leave_large and not (options.get("axis") or options.get("axes")):
        chosen = {key: options.get(key) for key in ("transpose", "dataset")}
        large = read_large(path, name=name, **chosen)
        if large is not None:
            return with_axis_words(large, options)
    if name in OWN_FORMATS:
        return read_here(path, options, name, stream)
    try:
        return _read_isolated(name, path, options, process, stream)
    except isolation.NotStartedError as error:
        note = "was read without protection against readers that hang or crash"
        return read_here(path, options, name).with_notes(f"{printable(path.name)} {note}: {error}.")


def _check_options(name: str, path: Path, options: dict[str, Any]) -> None:
    """Raise an error for an option that the format does not have, so that none is silently ignored."""
    for key, (formats, problem) in OPTIONS.items():
        if options.get(key) is not None and name not in formats:
            raise ReadError("{} {}: leave out {}.", path, problem, option(key))


def readable_path(path: Path) -> Path:
    """Return the path of a file or folder that can be read more than once; else raise an error."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        hint = (
            " Save the standard input to a file first, and give that file." if str(path) == "-" else ""
        )
        raise ReadError(f"{path} does not exist.{hint}") from None
    except (OSError, ValueError) as error:  # loops of links, no permission, a null byte in the name
        raise ReadError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    if stat.S_ISFIFO(mode):
        raise ReadError(f"{path} is a pipe: save its output to a file first, and give that file.")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ReadError(f"{path} is a device or a socket, not a file.")
    return _real_name(path) if path.parts[:2] in (("/", "dev"), ("/", "proc")) else path


def _real_name(path: Path) -> Path:
    """Return the name of an open file (/dev/stdin < file), which another process can open too."""
    real = Path(os.path.realpath(path))
    if not (real.exists() and real.samefile(path)):  # the file was deleted, or never had a name
        raise ReadError(f"{path} is a file without a name: save it to a file first, and give that file.")
    return real


def files_of(path: Path) -> list[Path]:
    """Return the files that belong to a path: all in a folder, or a header and the data beside it."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    if path.suffix.lower() in (".hdr", ".imzml"):
        return sorted(
            file for file in path.parent.iterdir() if file.is_file() and file.stem == path.stem
        )
    return [path]


def read_here(
    path: Path, options: dict[str, Any], name: str | None = None, stream: BinaryIO | None = None
) -> Dataset:
    """Read a file in this process; `stream` is the file if it is open already."""
    data = _read(path, options, name or format_of(path), stream)
    return data if _place(data.Y, path) is None else replace(data, Y=np.array(data.Y))


def _read(path: Path, options: dict[str, Any], name: str, stream: BinaryIO | None = None) -> Dataset:
    """Read a file; Y may be a memory map, which crashes its user if the file becomes shorter."""
    opened: dict[str, Any] = {}
    if stream is not None and name in OWN_FORMATS:
        stream.seek(0)
        opened = {"stream": stream}
    try:
        layout = Layout(*(options.get(key) for key in ("transpose", "axis", "axes")))
        data = with_axis_words(READERS[name](path, layout=layout, **opened, **options), options)
        if not data.Y.size:
            raise ReadError(f"{path} holds no numbers: {len(data.Y)} x {data.Y.shape[1]}.")
        if data.axis is not None and not np.isfinite(data.axis).all():
            raise ReadError(f"{path}: its axis has an entry that is not a finite number.")
        data = note_missing(data, printable(path.name), options.get("missing"))
    except ReadError as error:
        named = any(printable(part) in str(error) for part in (path.name, path))
        raise error if named else ReadError("{}: {}", path, error.message) from error
    except MemoryError:
        raise ReadError(f"{path} needs more memory than this machine has.") from None
    except Exception as error:  # a damaged file makes libraries raise errors of any type
        raise ReadError(f"{path} cannot be read as {name}: {reason(error)}.") from error
    return replace(data, meta={"format": name, "path": printable(path), **data.meta})


def read_as_plain(path: str, options: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the fields of the data set in a file, as plain values for another process.

    If Y is stored in the file as it is in memory, return its place in the file instead.
    """
    data = _read(Path(path), options, name)
    place = _place(data.Y, Path(path))
    fields = vars(data) | {"notes": [to_plain(note) for note in data.notes]}
    return fields if place is None else fields | {"Y": place}


def _place(Y: NDArray, path: Path) -> dict[str, Any] | None:
    """Return offset, type and shape of an array that is a memory map of this file, else None."""
    whole = Y
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    turned = not Y.flags.c_contiguous
    if not isinstance(whole, np.memmap) or whole.mode != "r" or (turned and not Y.flags.f_contiguous):
        return None
    if whole.filename is None or not path.samefile(whole.filename):  # the data file beside a header
        return None
    offset = whole.offset + Y.ctypes.data - whole.ctypes.data
    return {"offset": offset, "dtype": Y.dtype.str, "shape": Y.shape, "turned": turned}


def _read_at(path: Path, stream: BinaryIO, place: dict[str, Any]) -> NDArray:
    """Return the array at a place in a file."""
    shape = place["shape"][::-1] if place["turned"] else place["shape"]
    stream.seek(0)
    try:
        flat = np.fromfile(stream, place["dtype"], math.prod(shape), offset=place["offset"])
    except MemoryError:
        raise ReadError(f"{path} needs more memory than this machine has.") from None
    if flat.size < math.prod(shape):
        raise ReadError(f"{path} became shorter while it was read: try again when it is complete.")
    return flat.reshape(shape).T if place["turned"] else flat.reshape(shape)


def call_isolated(
    process: isolation.IsolatedProcess, function: str, path: Path, *arguments: Any, size: float = 0.0
) -> Any:
    """Call a function, "module:name", with a path in the second process; errors become ReadErrors."""
    seconds = _timeout(size or path.stat().st_size)
    try:
        called = (f"{__name__}:value_or_error", function, str(path), *arguments)
        answer = process.call(*called, seconds=seconds)
    except isolation.RaisedError as error:
        raise ReadError(f"{path} cannot be read: {error.kind}, {reason(error)}.") from None
    except isolation.CrashedError as error:
        raise ReadError(f"{path}: its reader crashed ({error}): the file is damaged.") from error
    except isolation.TooLongError as error:
        more = f"{TIMEOUT_VARIABLE}={math.ceil(10 * seconds)} allows more time"
        raise ReadError(f"{path}: its reader {error}: the file is damaged, or {more}.") from error
    except MemoryError:
        raise ReadError(f"{path} needs more memory than this machine has.") from None
    if "error" in answer:
        raise ReadError("{}", from_plain(answer["error"]))
    return answer["value"]


def value_or_error(function: str, *arguments: Any) -> dict[str, Any]:
    """Call a function in the second process; return its value, or the message of its ReadError."""
    module, name = function.split(":")
    try:
        return {"value": getattr(importlib.import_module(module), name)(*arguments)}
    except ReadError as error:
        return {"error": to_plain(error.message)}


def _read_isolated(
    name: str,
    path: Path,
    options: dict[str, Any],
    process: isolation.IsolatedProcess,
    stream: BinaryIO | None,
) -> Dataset:
    size = sum(file.stat().st_size for file in files_of(path))
    fields: dict[str, Any] = call_isolated(
        process, f"{__name__}:read_as_plain", path, options, name, size=size
    )
    fields["notes"] = [from_plain(note) for note in fields["notes"]]
    tuples: dict[str, Any] = {key: tuple(v) for key, v in fields.items() if isinstance(v, list)}
    if isinstance(fields["Y"], dict) and stream is not None:
        tuples["Y"] = _read_at(path, stream, fields["Y"])
    return Dataset(**fields | tuples)


def _timeout(size: float) -> float:
    """Return how many seconds reading this many bytes may take, at 2 MB for each second."""
    asked = os.environ.get(TIMEOUT_VARIABLE)
    if asked is None:
        return 60.0 + size / 2e6
    try:
        seconds = float(asked)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise ReadError(f"{TIMEOUT_VARIABLE} is {asked!r}: it must be a number of seconds.")
    return seconds
