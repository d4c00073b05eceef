"""The folder of a run: held while it works, put in place whole, never overwritten unasked."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ngmca.io import ReadError
from ngmca.saving.whole_files import PART, check_free, occupied, sync, write_whole

MARKER = "UNFINISHED"  # in a folder that is still being written
RESULT = "result.nc"
RECORD = "run.toml"
REPORT = "report.html"
CHECKPOINT = "checkpoint.npz"  # where the iterations were
SEPARATED = "separated.nc"  # what they found, while its posterior is sampled
FILES = ("sources.csv", "mixing.csv", RESULT, RECORD, REPORT)
OURS = (*FILES, MARKER, CHECKPOINT, SEPARATED)


class UnfinishedError(ReadError):
    """The folder of a run that was stopped: there is no result yet."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is unfinished: its run was stopped.")
        self.folder = folder


def find(path: Path) -> Path:
    """The result file in a folder, or the file itself; an error that says what is there instead."""
    if (path / MARKER).exists() or (not path.exists() and unfinished(path).exists()):
        raise UnfinishedError(path)
    if not path.exists():
        raise ReadError(f"{path} does not exist.")
    file = path / RESULT if path.is_dir() else path
    if not file.is_file():
        raise ReadError(f"{path} is no result of ngmca: it has no {RESULT}.")
    return file


def unfinished(folder: Path) -> Path:
    """Where a run for `folder` works until all of it is written."""
    return folder.with_name(folder.name + ".unfinished")


@contextmanager
def claimed(folder: Path, *, force: bool) -> Iterator[Path]:
    """The folder to work in for `folder`, held against other runs; `finish` moves it into place.

    What an earlier run left in it stays until `begin`. After an error it is taken away, except what
    there is to go on from.
    """
    _check_replaceable(folder, force=force)
    work = unfinished(folder)
    if work.exists():
        _refuse_foreign(work)
    work.mkdir(parents=True, exist_ok=True)
    with (work / MARKER).open("a+", encoding="utf-8") as marker:
        _lock(marker, folder)
        if not marker.tell():
            marker.write(f"A run of ngmca for {folder.name} is going on here, or was stopped.\n")
            marker.flush()
        try:
            yield work
        except BaseException:
            _abandon(work)
            raise


def begin(work: Path, record: str, *, resume: bool) -> None:
    """Make room in a claimed folder, unless the run in it goes on, and note what this run will do."""
    if not resume:
        _clear(work, keep=(MARKER,))
    write_whole(work / RECORD, record)


def finish(work: Path, folder: Path) -> None:
    """Put a completely written folder in its place, in one step that a crash cannot halve."""
    _clear(work, keep=FILES)
    sync(work)
    previous = folder.with_name(folder.name + ".previous")
    if folder.exists():
        shutil.rmtree(previous, ignore_errors=True)
        folder.rename(previous)
    work.rename(folder)
    sync(folder.parent)
    shutil.rmtree(previous, ignore_errors=True)


def remove(folder: Path) -> None:
    """Take away a result, if there is one, and nothing but a result."""
    if folder.exists():
        _check_replaceable(folder, force=True)
        shutil.rmtree(folder)


def absolute(folder: Path) -> Path:
    """The same folder from the root, so that it has a name and a parent; links are kept."""
    path = Path(os.path.abspath(folder))
    if not path.name:
        raise ReadError(f"{folder} is no folder that a result could be put in.")
    return path


def _check_replaceable(folder: Path, *, force: bool) -> None:
    """Refuse to overwrite a result unasked, and anything that is not a result at all."""
    previous = folder.with_name(folder.name + ".previous")
    if not folder.exists() and (previous / RESULT).is_file():
        previous.rename(folder)  # a run was killed between its two last steps
    if not folder.exists():
        return
    if not folder.is_dir():
        raise occupied(f"{folder} is a file; a result is a folder")
    _refuse_foreign(folder)
    if os.listdir(folder):
        check_free(folder, force=force)


def _refuse_foreign(folder: Path) -> None:
    names = os.listdir(folder) if folder.is_dir() else [folder.name]
    foreign = sorted(name for name in names if name.removesuffix(PART) not in OURS)
    if foreign:
        raise occupied(f"{folder} holds {foreign[0]}, which ngmca did not write; choose another folder")


def _abandon(work: Path) -> None:
    """Take away what an error left, except what a run can go on from."""
    if not work.exists():
        return
    kept = [name for name in (CHECKPOINT, SEPARATED) if (work / name).is_file()]
    _clear(work, keep=(MARKER, RECORD, *kept) if kept else ())
    if not kept:
        work.rmdir()


def _clear(folder: Path, keep: tuple[str, ...]) -> None:
    """Remove the files of a run that are not to be kept."""
    for name in set(os.listdir(folder)) - set(keep):
        (folder / name).unlink()


def _lock(marker: IO[str], folder: Path) -> None:
    """Hold the marker as long as the process lives, so that a second run is refused."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows: two runs for one folder are the user's care there
        return
    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise occupied(f"another run of ngmca is working on {folder}") from None
