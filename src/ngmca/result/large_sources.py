"""Factors that are too large for the memory, put where there is room for them, and brought back."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.atomic_files import name_beside, sync
from ngmca._support.extras import load_extra
from ngmca._support.messages import message
from ngmca.io.claimed_sizes import in_words, memory_left

AT_ONCE = 1 << 24  # entries written at once
CHUNK = 1 << 16  # columns of a chunk of a new store


def scratch_beside(out: Any) -> Path:
    """The folder for what is needed on the way: that of a path, or the one for temporary files.

    A place that is taken or cannot be written to is refused, before anything is read.
    """
    if not isinstance(out, str | PathLike):
        _check_writable(out)
        return Path(gettempdir())
    folder = Path(out).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(folder))
    _check_free(Path(out))
    _zarr()
    return folder


def _zarr() -> Any:
    """The package that writes sources to a path."""
    return load_extra("zarr", "out= with a path")


def check_target(out: Any, shape: tuple[int, int], dtype: np.dtype) -> None:
    """Refuse an array that S, of this shape and dtype, does not go into, before it is computed."""
    if isinstance(out, str | PathLike):
        return
    if tuple(out.shape) != shape:
        raise ValueError(_wanted(f" of shape {shape}, got shape {tuple(out.shape)}"))
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise ValueError(_wanted(f" of {dtype}: one of {out.dtype} would cut off what S is made of"))


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise FileExistsError(17, "out exists: choose another name, or remove it", str(path))


def _check_writable(out: Any) -> None:
    """Refuse what slices cannot be assigned to: its first column is written as it is."""
    if not all(hasattr(out, part) for part in ("shape", "dtype", "__setitem__")):
        raise ValueError(_wanted(f", got {type(out).__name__}"))
    if len(out.shape) != 2 or not hasattr(out, "__getitem__"):
        return  # `check_target` tells of another shape
    try:
        out[:, :1] = out[:, :1]
    except Exception as error:  # stores raise what comes
        raise ValueError(f"out cannot be written to ({error}): open it for writing.") from error


def _wanted(told: str) -> str:
    return f"out must be a path, or an array that can be written to{told}."


def stored(out: Any, S: Any) -> Any:
    """S (r, n) in its place, a part at a time; that place, to be sliced."""
    if not isinstance(out, str | PathLike):
        _fill(out, S)
        return out
    zarr = _zarr()
    r, n = S.shape
    with _appearing(Path(out)) as part:
        _fill(zarr.create_array(str(part), shape=(r, n), dtype=S.dtype, chunks=(r, min(n, CHUNK))), S)
    return zarr.open_array(str(out), mode="r+")


def _fill(out: Any, S: Any) -> None:
    r, n = S.shape
    step = max(1, AT_ONCE // max(r, 1) // CHUNK) * CHUNK
    for start in range(0, n, step):
        out[:, start : start + step] = np.asarray(S[:, start : start + step])


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """Where to write what becomes a folder once all of it is on the disk; an error leaves nothing."""
    target = folder.absolute()
    part = name_beside(target, f"{secrets.token_hex(6)}.part")
    try:
        yield part
        for one in (part, *part.rglob("*")):
            sync(one)
        _check_free(target)  # a rename would replace a folder that is empty
        part.rename(target)
        sync(target.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def in_memory(S: Any, name: str = "S") -> NDArray:
    """Sources that lie on disk or on a cluster as an array; refused where they would not fit."""
    if isinstance(S, np.ndarray):
        return S
    size = float(np.prod(S.shape)) * np.dtype(S.dtype).itemsize
    told = f"{name}, {in_words(size)}, is too large for the memory: take some of its columns"
    check_room(2 * size, told)
    return np.asarray(S)


def check_room(size: float, told: str) -> None:
    """Refuse what takes more bytes than there are, in words that say what to do."""
    left = memory_left()
    if size > left:
        words = "{}. It takes {}, and {} is left."
        raise MemoryError(message(words, told, in_words(size), in_words(left)))
