"""The right to put a result into a folder: held while a run works, and used in one step at its end.

A run works in a folder of its own beside the one that was asked for. What is replaced is first moved
aside. Only files that a run of ngmca wrote are ever removed, one by one and by their names.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO

from ngmca._support.atomic_files import name_beside, occupied, sync, write_atomically
from ngmca._support.messages import message, option
from ngmca.saving.result_folder import (
    CHECKPOINT,
    FACTORS,
    FILES,
    MARKER,
    RECORD,
    REPLACED,
    SEARCH,
    SEPARATED,
    WHOLE,
    clear,
    is_whole,
    kept,
    refuse_foreign,
    unfinished,
    why_no_result,
)

IN_THE_WAY = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


@dataclass(frozen=True)
class Claim:
    """A folder to work in, held against other runs, for a result that is to be in `folder`."""

    folder: Path
    work: Path
    force: bool
    marker: IO[str]
    made: tuple[Path, ...] = ()  # folders above it that were not there, the lowest first

    @property
    def whole(self) -> bool:
        """Whether all of a result is in it, so that only `finish` is left to do."""
        return is_whole(self.work)

    @property
    def kept(self) -> bool:
        """Whether there is anything to go on from."""
        return self.whole or kept(self.work)

    def begin(self, record: str, *, resume: bool) -> None:
        """Make room, unless the run in it goes on, and note what this run will do."""
        if not resume:
            self.marker.truncate(0)
            self._mark(f"A run of ngmca for {self.folder.name!a} works here, or was stopped.\n")
            clear(self.work, keep=(MARKER,))
        write_atomically(
            self.work / RECORD, record.encode(errors="surrogateescape")
        )  # paths as they are

    def check_room(self, size: float) -> None:
        """Refuse to begin what the disk has no room for."""
        free = shutil.disk_usage(self.work).free
        if free < size:
            told = f"{free / 1e6:.0f} MB are free and the result needs about {size / 1e6:.0f} MB"
            raise OSError(errno.ENOSPC, told, str(self.folder))

    def finish(self) -> Path:
        """Put what is completely written in its place; where that is.

        It is another place than was asked for where something came into being there meanwhile.
        """
        sync(self.work)
        if not self.whole:
            self._mark(WHOLE)
        clear(self.work, keep=(*FILES, MARKER))  # not before: until then it is gone on from the rest
        if os.name == "nt":  # which moves no folder with an open file
            self.marker.close()
        aside = self._make_room()
        place = _moved(self.work, self.folder)
        sync(place.parent)
        (place / MARKER).unlink()
        if aside is not None:
            clear(aside)
            _remove_empty(aside)  # what somebody put into it meanwhile stays
        return place

    def _mark(self, line: str) -> None:
        """Say in the marker how far the run is."""
        self.marker.write(line)
        self.marker.flush()
        os.fsync(self.marker.fileno())

    def _make_room(self) -> Path | None:
        """Where the result is now that is to be replaced; what is no result stays where it is."""
        if not self.folder.is_dir():
            return None
        empty = not os.listdir(self.folder)
        if not empty and (not self.force or why_no_result(self.folder)):
            return None
        shutil.copymode(self.folder, self.work)  # what was private stays so
        if empty:
            self.folder.rmdir()
            return None
        aside = name_beside(self.folder, f"{secrets.token_hex(6)}.{REPLACED}")
        self.folder.rename(aside)
        return aside

    def abandon(self) -> None:
        """Take away what an error left, except what a run can go on from."""
        if not self.work.exists() or self.whole:
            return
        going_on = (MARKER, RECORD, CHECKPOINT, SEPARATED, SEARCH, *FACTORS)
        clear(self.work, keep=going_on if self.kept else ())
        for folder in (self.work, *self.made):
            _remove_empty(folder)


@contextmanager
def claimed(folder: Path, *, force: bool, resume: bool = False) -> Iterator[Claim]:
    """The right to put a result into `folder`, which is absolute.

    All that can be wrong with the folder is told now, before anything is computed. After an error
    there is left what a run can go on from, and nothing else.
    """
    check_replaceable(folder, force=force)
    work = unfinished(folder)
    if os.path.lexists(work):
        refuse_foreign(work)
        if is_whole(work) and not (force or resume):
            raise occupied(
                message(
                    "an earlier run for {} was stopped when all was written: `ngmca separate --resume` "
                    "puts it in its place, {} discards it",
                    *(folder, option("force", True)),
                )
            )
    made = tuple(above for above in work.parents if not above.exists())
    work.mkdir(parents=True, exist_ok=True)
    with _held(work / MARKER, folder) as marker:
        claim = Claim(folder, work, force, marker, made)
        try:
            yield claim
        except BaseException:
            claim.abandon()
            raise


@contextmanager
def _held(path: Path, folder: Path) -> Iterator[IO[str]]:
    """The marker of a folder, locked as long as the process lives, so that a second run is refused."""
    with path.open("a+", encoding="utf-8") as marker:
        try:
            import fcntl

            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise occupied(f"another run of ngmca is working on {folder}") from None
        except (ImportError, OSError):  # no locks on this system, or in this file system:
            pass  # two runs for one folder are the user's care there
        if not path.exists() or not os.path.samestat(path.stat(), os.fstat(marker.fileno())):
            raise occupied(f"another run of ngmca has just finished {folder}")
        yield marker


def check_replaceable(folder: Path, *, force: bool) -> None:
    """Refuse to overwrite a result unasked, and anything that is not a result at all."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise occupied(f"{folder} is no folder, and a result is one")
    if os.path.ismount(folder) or Path.cwd() == folder:
        raise occupied(f"{folder} itself cannot be replaced: name a folder inside it")
    if not os.listdir(folder):
        return
    why = why_no_result(folder)
    if why:
        raise occupied(f"{folder} {why}; choose another folder")
    if not force:
        raise occupied(message("{} exists; {} replaces it", folder, option("force", True)))


def _moved(work: Path, folder: Path) -> Path:
    """Where a folder is now: in its place, or beside it where something is in its way."""
    beside = (folder.with_name(f"{folder.name}-{i}") for i in count(2))
    for place in chain([folder], beside):
        try:
            if not os.path.lexists(place):
                work.rename(place)
                return place
        except OSError as error:  # somebody was faster
            if error.errno not in IN_THE_WAY:
                raise
    raise AssertionError("there are more names than folders")


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
