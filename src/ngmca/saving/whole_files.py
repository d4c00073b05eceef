"""Files that are whole or not there: the one way in which ngmca writes."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PART = ".part"  # after the name of a file that is not whole yet


def write_whole(path: Path, content: str | bytes | Callable[[BinaryIO], object]) -> None:
    """Replace a file in one step by text, by bytes, or by what a function writes to a handle."""
    with appearing(path) as part, part.open("wb") as file:
        if callable(content):
            content(file)
        else:
            file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Where to write what becomes `path` once it is on the disk; an error leaves nothing of it."""
    part = path.with_name(path.name + PART)
    try:
        yield part
        sync(part)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Push a file, or the names in a folder, to the disk; Windows has no such thing for folders."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to replace what is there unasked."""
    if path.exists() and not force:
        raise occupied(f"{path} exists; force=True replaces it")


def occupied(text: str) -> FileExistsError:
    """The error about a place that holds something else, to raise."""
    return FileExistsError(errno.EEXIST, text)
