"""The folder of a run: held while it works, put in place whole, never overwritten unasked."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ngmca.io import ReadError

MARKER = "UNFINISHED"  # in a folder that is still being written
RESULT = "result.nc"
CHECKPOINT = "checkpoint.npz"
FILES = ("sources.csv", "mixing.csv", RESULT, "run.toml", "report.html")
OURS = (*FILES, MARKER, CHECKPOINT, CHECKPOINT + ".part", "report.html.part")


def find(folder: Path) -> Path:
    """The result file of a finished run, or an error that says what the folder is instead."""
    if (folder / MARKER).exists() or (not folder.exists() and unfinished(folder).exists()):
        raise ReadError(
            f"{folder} is unfinished: its run was stopped. "
            f"Go on with `ngmca separate --resume {folder}`."
        )
    if not folder.exists():
        raise ReadError(f"{folder} does not exist.")
    path = folder / RESULT if folder.is_dir() else folder
    if not path.is_file():
        raise ReadError(f"{folder} is no result of ngmca: it has no {RESULT}.")
    return path


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def unfinished(folder: Path) -> Path:
    """Where a run for `folder` works until all of it is written."""
    return folder.with_name(folder.name + ".unfinished")


@contextmanager
def claimed(folder: Path, *, force: bool, resume: bool = False) -> Iterator[Path]:
    """The folder to work in for `folder`, held against other runs; `finish` moves it into place."""
    check_replaceable(folder, force=force)
    work = unfinished(folder)
    if work.exists():
        _refuse_foreign(work)
    work.mkdir(parents=True, exist_ok=True)
    with (work / MARKER).open("a+", encoding="utf-8") as marker:
        _lock(marker, folder)
        if not resume:
            clear(work, keep=(MARKER,))
        if not marker.tell():
            marker.write(f"A run of ngmca for {folder.name} is going on here, or was stopped.\n")
            marker.flush()
        yield work


def finish(work: Path, folder: Path) -> None:
    """Put a completely written folder in its place, in one step that a crash cannot halve."""
    clear(work, keep=FILES)
    previous = folder.with_name(folder.name + ".previous")
    if folder.exists():
        shutil.rmtree(previous, ignore_errors=True)
        folder.rename(previous)
    work.rename(folder)
    _sync(folder.parent)
    shutil.rmtree(previous, ignore_errors=True)


def check_replaceable(folder: Path, *, force: bool) -> None:
    """Refuse to overwrite a result unasked, and anything that is not a result at all."""
    previous = folder.with_name(folder.name + ".previous")
    if not folder.exists() and (previous / RESULT).is_file():
        previous.rename(folder)  # a run was killed between its two last steps
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileExistsError(errno.EEXIST, f"{folder} is a file; -o names a folder")
    _refuse_foreign(folder)
    if os.listdir(folder) and not force:
        raise FileExistsError(errno.EEXIST, f"{folder} exists; --force replaces it")


def clear(folder: Path, keep: tuple[str, ...]) -> None:
    """Remove the files of a run that are not to be kept."""
    for name in set(os.listdir(folder)) - set(keep):
        (folder / name).unlink()


def _refuse_foreign(folder: Path) -> None:
    foreign = sorted(set(os.listdir(folder)) - set(OURS)) if folder.is_dir() else [folder.name]
    if foreign:
        raise FileExistsError(
            errno.EEXIST,
            f"{folder} holds {foreign[0]}, which ngmca did not write; choose another folder",
        )


def _lock(marker: IO[str], folder: Path) -> None:
    """Hold the marker as long as the process lives, so that a second run is refused."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows: two runs for one folder are the user's care there
        return
    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileExistsError(errno.EEXIST, f"another run of ngmca is working on {folder}") from None


def _sync(folder: Path) -> None:
    """Push the names in a folder to the disk; Windows has no such thing."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def absolute(folder: Path) -> Path:
    """The same folder from the root, so that it has a name and a parent; links are kept."""
    path = Path(os.path.abspath(folder))
    if not path.name:
        raise ReadError(f"{folder} is no folder that a result could be put in.")
    return path
