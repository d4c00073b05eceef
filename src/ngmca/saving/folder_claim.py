"""The claim on a result folder: a lock while a run works, and a move in one step at its end.

A run works in its own folder beside the result folder. An earlier result is first moved aside, then
replaced. Only files that a run of ngmca wrote are removed, one by one and by their names.
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
from ngmca.saving import result_folder

EXISTS_ALREADY = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


@dataclass(frozen=True)
class Claim:
    """A folder to work in, locked against other runs.

    Attributes
    ----------
    folder : Path
        Where the result will be.
    work : Path
        Where the run works until then.
    force : bool
        Whether an earlier result in `folder` is replaced.
    marker : IO[str]
        The locked file that says how far the run is.
    made : tuple[Path, ...]
        Folders above `work` that were created, the lowest first.
    """

    folder: Path
    work: Path
    force: bool
    marker: IO[str]
    made: tuple[Path, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all of a result is written, so that only `finish` is left to do."""
        return result_folder.is_complete(self.work)

    @property
    def can_resume(self) -> bool:
        """Whether a stopped run can be resumed from what is there."""
        return self.complete or result_folder.can_resume(self.work)

    def begin(self, record: str, *, resume: bool) -> None:
        """Remove the files of an earlier run, unless it is resumed, and write the record of this one."""
        if not resume:
            self.marker.truncate(0)
            self._mark(f"A run of ngmca for {self.folder.name!a} works here, or was stopped.\n")
            result_folder.clear(self.work, keep=(result_folder.MARKER,))
        content = record.encode(errors="surrogateescape")  # paths may be no UTF-8
        write_atomically(self.work / result_folder.RECORD, content)

    def check_room(self, size: float) -> None:
        """Raise an error if the disk has less than `size` bytes left."""
        free = shutil.disk_usage(self.work).free
        if free < size:
            text = f"{free / 1e6:.0f} MB are free and the result needs about {size / 1e6:.0f} MB"
            raise OSError(errno.ENOSPC, text, str(self.folder))

    def finish(self) -> Path:
        """Move the complete result to its place, and return that.

        It is another place if something else was created there in the meantime.
        """
        sync(self.work)
        if not self.complete:
            self._mark(result_folder.COMPLETE)
        result_folder.clear(
            self.work, keep=(*result_folder.FILES, result_folder.MARKER)
        )  # not earlier: a run is resumed from the other files
        if os.name == "nt":  # Windows cannot move a folder with an open file
            self.marker.close()
        aside = self._move_earlier_result()
        place = _moved(self.work, self.folder)
        sync(place.parent)
        (place / result_folder.MARKER).unlink()
        if aside is not None:
            result_folder.clear(aside)
            _remove_empty(aside)  # files that others put into it stay
        return place

    def _mark(self, line: str) -> None:
        """Write into the marker how far the run is."""
        self.marker.write(line)
        self.marker.flush()
        os.fsync(self.marker.fileno())

    def _move_earlier_result(self) -> Path | None:
        """Move the result that is replaced aside, and return its new place; other folders stay."""
        if not self.folder.is_dir():
            return None
        empty = not os.listdir(self.folder)
        if not empty and (not self.force or result_folder.why_no_result(self.folder)):
            return None
        shutil.copymode(self.folder, self.work)  # a private folder stays private
        if empty:
            self.folder.rmdir()
            return None
        aside = name_beside(self.folder, f"{secrets.token_hex(6)}.{result_folder.REPLACED}")
        self.folder.rename(aside)
        return aside

    def abandon(self) -> None:
        """Remove the files that an error left, except those from which the run can be resumed."""
        if not self.work.exists() or self.complete:
            return
        to_resume = (
            result_folder.MARKER,
            result_folder.RECORD,
            *result_folder.TO_RESUME_FROM,
            *result_folder.FACTORS,
        )
        result_folder.clear(self.work, keep=to_resume if self.can_resume else ())
        for folder in (self.work, *self.made):
            _remove_empty(folder)


@contextmanager
def claimed(folder: Path, *, force: bool, resume: bool = False) -> Iterator[Claim]:
    """Claim `folder`, an absolute path, for a result.

    Everything that can be wrong with the folder raises an error now, before anything is computed. After
    an error only the files remain from which the run can be resumed.
    """
    check_replaceable(folder, force=force)
    work = result_folder.unfinished(folder)
    if os.path.lexists(work):
        result_folder.check_only_ours(work)
        if result_folder.is_complete(work) and not (force or resume):
            raise occupied(
                message(
                    "an earlier run for {} was stopped when all was written: `ngmca separate --resume` "
                    "puts it in its place, {} discards it",
                    *(folder, option("force", True)),
                )
            )
    made = tuple(above for above in work.parents if not above.exists())
    work.mkdir(parents=True, exist_ok=True)
    with _held(work / result_folder.MARKER, folder) as marker:
        claim = Claim(folder, work, force, marker, made)
        try:
            yield claim
        except BaseException:
            claim.abandon()
            raise


@contextmanager
def _held(path: Path, folder: Path) -> Iterator[IO[str]]:
    """Lock the marker of a folder while the process lives; raise an error if another run has it."""
    with path.open("a+", encoding="utf-8") as marker:
        try:
            import fcntl

            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise occupied(f"another run of ngmca is working on {folder}") from None
        except (ImportError, OSError):  # this system or file system has no locks
            pass
        if not path.exists() or not os.path.samestat(path.stat(), os.fstat(marker.fileno())):
            raise occupied(f"another run of ngmca has just finished {folder}")
        yield marker


def check_replaceable(folder: Path, *, force: bool) -> None:
    """Raise an error if `folder` is not a result, or if it is one and `force` is not set."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise occupied(f"{folder} is not a folder: a result is a folder")
    if os.path.ismount(folder) or Path.cwd() == folder:
        raise occupied(f"{folder} itself cannot be replaced: name a folder inside it")
    if not os.listdir(folder):
        return
    why = result_folder.why_no_result(folder)
    if why:
        raise occupied(f"{folder} {why}; choose another folder")
    if not force:
        raise occupied(message("{} exists; {} replaces it", folder, option("force", True)))


def _moved(work: Path, folder: Path) -> Path:
    """Move a folder to its place, or beside it if something else is there, and return the place."""
    beside = (folder.with_name(f"{folder.name}-{i}") for i in count(2))
    for place in chain([folder], beside):
        try:
            if not os.path.lexists(place):
                work.rename(place)
                return place
        except OSError as error:  # another program was faster
            if error.errno not in EXISTS_ALREADY:
                raise
    raise AssertionError("the names never end")


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
