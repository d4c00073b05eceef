"""One file or folder, read where its reader can do no harm: in another process, unless it is ours."""

import math
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.isolated_process import (
    Apart,
    CrashedError,
    NotStartedError,
    RaisedError,
    TooLongError,
)
from ngmca.io.dataset import Dataset, ReadError, shown, told, with_gaps_told
from ngmca.io.detect import reader_of

OURS = ("npy", "npz", "text", "pickle")  # formats that no third-party or compiled reader touches
SECONDS = 60.0  # that any file may take
BYTES_PER_SECOND = 2e6  # of which a slow reader is capable
VARIABLE = "NGMCA_READ_SECONDS"


def open_one(path: Path, options: dict[str, Any], apart: Apart) -> Dataset:
    """The data in a file or in a folder that is one data set."""
    try:
        name, _ = reader_of(path)
        size = sum(part.stat().st_size for part in parts_of(path))
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or error}.") from error
    if name in OURS:
        return open_here(path, options)
    try:
        return _open_apart(path, options, apart, size)
    except NotStartedError as error:
        note = "was read without protection against readers that hang or crash"
        return open_here(path, options).noted(f"{shown(path.name)} {note}: {error}.")


def whereabouts(path: Path) -> Path:
    """The path of a file or folder that can be read more than once, or an error for any other thing."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        hint = " Save the standard input to a file first, and give that." if str(path) == "-" else ""
        raise ReadError(f"{path} does not exist.{hint}") from None
    except (OSError, ValueError) as error:  # loops of links, no permission, a null byte in the name
        raise ReadError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    if stat.S_ISFIFO(mode):
        raise ReadError(f"{path} is a pipe: save what comes out of it to a file first, and give that.")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ReadError(f"{path} is a device or a socket, not a file.")
    return _named(path) if path.parts[:2] in (("/", "dev"), ("/", "proc")) else path


def _named(path: Path) -> Path:
    """The name of an open file (/dev/stdin < file), which is another file in another process."""
    real = Path(os.path.realpath(path))
    if not (real.exists() and real.samefile(path)):  # a file that was removed since, or never had a name
        raise ReadError(f"{path} is a file without a name: save it to a file first, and give that.")
    return real


def parts_of(path: Path) -> list[Path]:
    """The files that a path stands for: those of a folder, and the data beside a header."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    if path.suffix.lower() in (".hdr", ".imzml"):
        return sorted(
            file for file in path.parent.iterdir() if file.is_file() and file.stem == path.stem
        )
    return [path]


def open_here(path: Path, options: dict[str, Any]) -> Dataset:
    """The data in a file, read by this process."""
    data = _opened(path, options)
    return data if _place(data.Y, path) is None else replace(data, Y=np.array(data.Y))


def _opened(path: Path, options: dict[str, Any]) -> Dataset:
    """The data in a file, of which Y may be a map: that crashes whoever uses it when the file is cut."""
    name, reader = reader_of(path)
    try:
        data = reader(path, **options)
        if not data.Y.size:
            raise ReadError(f"{path} holds no numbers: {len(data.Y)} x {data.Y.shape[1]}.")
        if data.axis is not None and not np.isfinite(data.axis).all():
            raise ReadError(f"{path}: its axis has an entry that is not a finite number.")
        data = with_gaps_told(data, shown(path.name))
    except ReadError as error:
        named = any(shown(part) in str(error) for part in (path.name, path))
        raise error if named else ReadError(f"{path}: {error}") from error
    except MemoryError:
        raise ReadError(f"{path} needs more memory than this machine has.") from None
    except Exception as error:  # a damaged file makes the libraries raise what comes
        raise ReadError(f"{path} cannot be read as {name}: {told(error)}.") from error
    return replace(data, meta={"format": name, "path": shown(path), **data.meta})


def open_plain(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """The fields of what is in a file, for the way from one process to another.

    Instead of a Y that lies in the file as it is: where. It need not go through a pipe.
    """
    data = _opened(Path(path), options)
    place = _place(data.Y, Path(path))
    return vars(data) | ({} if place is None else {"Y": place})


def _place(Y: NDArray, path: Path) -> dict[str, Any] | None:
    """Offset, type and shape of an array that is part of a map of this file, None for any other."""
    whole = Y
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    turned = not Y.flags.c_contiguous
    if not isinstance(whole, np.memmap) or whole.mode != "r" or (turned and not Y.flags.f_contiguous):
        return None
    if whole.filename is None or not path.samefile(whole.filename):  # but the data beside a header
        return None
    offset = whole.offset + Y.ctypes.data - whole.ctypes.data
    return {"offset": offset, "dtype": Y.dtype.str, "shape": Y.shape, "turned": turned}


def _read_at(path: Path, place: dict[str, Any]) -> NDArray:
    """The array at a place in a file."""
    shape = place["shape"][::-1] if place["turned"] else place["shape"]
    try:
        flat = np.fromfile(path, place["dtype"], math.prod(shape), offset=place["offset"])
    except MemoryError:
        raise ReadError(f"{path} needs more memory than this machine has.") from None
    if flat.size < math.prod(shape):
        raise ReadError(f"{path} became shorter while it was read: try again when it is whole.")
    return flat.reshape(shape).T if place["turned"] else flat.reshape(shape)


def call_apart(apart: Apart, function: str, path: Path, *arguments: Any, size: float = 0.0) -> Any:
    """What a function, "module:name", returns for a path in the other process; errors are ReadErrors."""
    seconds = _seconds(size or path.stat().st_size)
    try:
        return apart.call(function, str(path), *arguments, seconds=seconds)
    except RaisedError as error:
        if error.kind == "ReadError":
            raise ReadError(str(error)) from None
        raise ReadError(f"{path} cannot be read: {error.kind}, {told(error)}.") from None
    except CrashedError as error:
        raise ReadError(f"{path}: its reader crashed ({error}): the file is damaged.") from error
    except TooLongError as error:
        more = f"{VARIABLE}={math.ceil(10 * seconds)} allows more"
        raise ReadError(f"{path}: its reader {error}: the file is damaged, or {more}.") from error
    except MemoryError:
        raise ReadError(f"{path} needs more memory than this machine has.") from None


def _open_apart(path: Path, options: dict[str, Any], apart: Apart, size: float) -> Dataset:
    fields: dict[str, Any] = call_apart(
        apart, "ngmca.io.isolated_reading:open_plain", path, options, size=size
    )
    listed: dict[str, Any] = {key: tuple(v) for key, v in fields.items() if isinstance(v, list)}
    if isinstance(fields["Y"], dict):
        listed["Y"] = _read_at(path, fields["Y"])
    return Dataset(**fields | listed)


def _seconds(size: float) -> float:
    """How long reading so many bytes may take."""
    asked = os.environ.get(VARIABLE)
    if asked is None:
        return SECONDS + size / BYTES_PER_SECOND
    try:
        seconds = float(asked)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise ReadError(f"{VARIABLE} is {asked!r}: a number of seconds is needed.")
    return seconds
