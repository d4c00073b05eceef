"""Files that are whole or not there: the one way in which ngmca writes.

Until a file is whole it has a name of its own, which nobody else can have. Nothing is replaced but what
was named, and only where that is a plain file.
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

MARK = ".ngmca-"  # in every name that is made up beside those of the user
UNKNOWN = "backslashreplace"  # how parts of names that are no UTF-8 are written
LONGEST = 180  # bytes of a name that are kept when something is added to it; systems allow 255


def write_whole(
    path: Path, content: str | bytes | Callable[[BinaryIO], object], *, replacing: bool = True
) -> None:
    """Write text, bytes, or what a function writes to a handle, to a file that appears in one step."""
    with appearing(path, replacing=replacing) as part, part.open("xb") as file:
        if callable(content):
            content(file)
        else:
            file.write(content.encode(errors=UNKNOWN) if isinstance(content, str) else content)


@contextmanager
def appearing(path: Path, *, replacing: bool = True) -> Iterator[Path]:
    """Where to write what becomes `path` once it is on the disk; an error leaves nothing of it.

    A link is followed. Without `replacing`, what came into being at `path` meanwhile is kept, and told.
    """
    target = Path(os.path.realpath(path))
    check_free(target, force=replacing)
    part = made_up(target, f"{secrets.token_hex(6)}.part")
    try:
        yield part
        sync(part)
        if replacing and target.exists():
            shutil.copymode(target, part)  # what was private stays so
        if replacing:
            part.replace(target)
        else:
            _put(part, target)
        sync(target.parent)
    finally:
        part.unlink(missing_ok=True)


def made_up(path: Path, kind: str) -> Path:
    """A name beside `path` that is unmistakably ours, and another one for every other path."""
    name = os.fsencode(path.name)
    if len(name) > LONGEST:
        name = name[:LONGEST] + sha256(name).hexdigest()[:12].encode()
    return path.with_name(f"{os.fsdecode(name)}{MARK}{kind}")


def is_part(name: str) -> bool:
    """Whether a name is that of a file that was never whole."""
    return MARK in name and name.endswith(".part")


def sync(path: Path) -> None:
    """Push a file, or the names in a folder, to the disk; not all systems can do that for folders."""
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
    """Refuse to replace a file unasked, and what is no plain file at all."""
    if os.path.lexists(path) and not path.is_file():
        what = "a folder" if path.is_dir() else "no plain file"
        raise occupied(f"{path} is {what}: choose the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    if path.exists() and not force:
        raise occupied(f"{path} exists; force=True replaces it")


def occupied(text: str) -> FileExistsError:
    """The error about a place that holds something else, to raise."""
    return FileExistsError(errno.EEXIST, text)


def _put(part: Path, target: Path) -> None:
    """Give a file its name unless there is something of that name by now."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise occupied(f"{target} came into being meanwhile; force=True replaces it") from None
    except OSError:  # no second names on this file system
        check_free(target, force=False)
        part.rename(target)
