"""Files that are written atomically: all of ngmca writes its files with this module.

A file gets a temporary name until it is complete, and then its own name in one step. A reader never sees
a part of a file, and an error or a crash leaves what was there before. Only plain files are replaced.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from ngmca._support.messages import message, option

MARK = ".ngmca-"  # part of every name that ngmca makes up beside a name of the user
MAX_NAME_BYTES = 180  # of a name that gets a suffix; file systems allow 255


def write_atomically(
    path: Path,
    content: str | bytes | memoryview | Callable[[BinaryIO], object],
    *,
    replacing: bool = True,
) -> None:
    """Write text, bytes, or the output of a function that gets the open file."""
    with atomic_file(path, replacing=replacing) as part, part.open("xb") as file:
        if callable(content):
            content(file)
        elif isinstance(content, str):
            file.write(content.encode(errors="backslashreplace"))  # names of files may be no UTF-8
        else:
            file.write(content)


@contextmanager
def atomic_file(path: Path, *, replacing: bool = True) -> Iterator[Path]:
    """Yield a temporary path; the file there becomes `path` at the end, and is removed after an error.

    A link is followed. Without `replacing`, a file that appeared at `path` in the meantime is kept, and
    an error is raised.
    """
    target = Path(os.path.realpath(path))
    check_free(target, force=replacing)
    part = name_beside(target, f"{secrets.token_hex(6)}.part")
    try:
        yield part
        sync(part)
        if replacing and target.exists():
            shutil.copymode(target, part)  # a private file stays private
        if replacing:
            part.replace(target)
        else:
            _rename_without_replacing(part, target)
        sync(target.parent)
    finally:
        part.unlink(missing_ok=True)


def name_beside(path: Path, suffix: str) -> Path:
    """Return a name in the folder of `path` that only ngmca uses, different for every path."""
    name = os.fsencode(path.name)
    if len(name) > MAX_NAME_BYTES:
        name = name[:MAX_NAME_BYTES] + sha256(name).hexdigest()[:12].encode()
    return path.with_name(f"{os.fsdecode(name)}{MARK}{suffix}")


def is_temporary(name: str) -> bool:
    """Return whether this is the temporary name of a file that was never completed."""
    return MARK in name and name.endswith(".part")


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk; some systems cannot do it for folders."""
    if path.is_dir():
        with suppress(OSError):
            _sync(path, os.O_RDONLY)
    else:
        _sync(path, os.O_RDWR)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_free(path: Path, *, force: bool) -> None:
    """Raise an error if `path` is not a plain file, or if it exists and `force` is not set."""
    if os.path.lexists(path) and not path.is_file():
        what = "a folder" if path.is_dir() else "not a plain file"
        raise occupied(f"{path} is {what}: choose the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    if path.exists() and not force:
        raise occupied(message("{} exists; {} replaces it", path, option("force", True)))


def occupied(text: str) -> FileExistsError:
    """Return the error about a path where something else is, to raise."""
    return FileExistsError(errno.EEXIST, text)


def _rename_without_replacing(part: Path, target: Path) -> None:
    try:
        os.link(part, target)
    except FileExistsError:
        raise occupied(
            message("{} was created by another program; {} replaces it", target, option("force", True))
        ) from None
    except OSError:  # this file system has no hard links
        check_free(target, force=False)
        part.rename(target)
