"""The folder of a result: the names in it, how it is told from any other folder, where it is found."""

import os
from pathlib import Path

from ngmca._support.atomic_files import is_temporary, name_beside, occupied
from ngmca.io import ReadError

MARKER = "UNFINISHED"  # in a folder that is still being written
WHOLE = "All of it is written: it only has to be put in its place.\n"  # the marker's last line then
RESULT = "result.nc"
RECORD = "run.toml"
SIGN = "# Repeats this run: ngmca"  # how the record of every run begins
REPORT = "report.html"
CHECKPOINT = "checkpoint.npz"  # where the iterations were
SEPARATED = "separated.npz"  # what they found, until all that belongs to it is written
BACKGROUND, OUTLIERS = "background.csv", "outliers.csv"  # where there are any
FACTORS = ("A.npy", "S.npy")  # all of them, where the rest shows a part
ANSWERS = ("rank.csv", "identification.csv", "amounts.csv")  # of what was asked
SEARCH = "rank.npz"  # where the search for the number of sources was
FILES = ("sources.csv", "mixing.csv", RESULT, RECORD, REPORT, BACKGROUND, OUTLIERS, *ANSWERS, *FACTORS)
OURS = (*FILES, MARKER, CHECKPOINT, SEPARATED, SEARCH)
UNFINISHED, REPLACED = "unfinished", "replaced"


class UnfinishedError(ReadError):
    """The folder of a run that was stopped: there is no result yet."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is unfinished: its run was stopped.")
        self.folder = folder


def find(path: Path) -> Path:
    """The result file in a folder, or the file itself; an error that says what is there instead."""
    if not path.exists() and unfinished(absolute(path)).exists():
        raise UnfinishedError(path)
    if not path.exists():
        raise ReadError(f"{path} does not exist.")
    if (path / MARKER).exists() and not is_whole(path):
        raise UnfinishedError(path)
    file = path / RESULT if path.is_dir() else path
    if not file.is_file():
        raise ReadError(f"{path} is no result of ngmca: it has no {RESULT}.")
    return file


def absolute(folder: Path) -> Path:
    """The same folder from the root, links followed, so that it has a name and a parent."""
    path = Path(os.path.realpath(folder))
    if not path.name:
        raise ReadError(f"{folder} is no folder that a result could be put in.")
    return path


def unfinished(folder: Path) -> Path:
    """Where a run for `folder` works until all of it is written."""
    return name_beside(folder, UNFINISHED)


def replaced(folder: Path) -> list[Path]:
    """Results that runs were replacing when they were killed: nobody removes them but their owner."""
    start = name_beside(folder, "").name
    try:
        beside = [path for path in folder.parent.iterdir() if path.name.startswith(start)]
    except OSError:  # a folder that may be written to and not looked into
        return []
    return sorted(path for path in beside if path.suffix == f".{REPLACED}")


def is_whole(folder: Path) -> bool:
    """Whether the marker in a folder says that all of the result is written."""
    try:
        return (folder / MARKER).read_text(encoding="utf-8").endswith(WHOLE)
    except (OSError, ValueError):
        return False


def kept(work: Path) -> bool:
    """Whether a folder holds what a run that was stopped can go on from."""
    return any((work / name).is_file() for name in (CHECKPOINT, SEPARATED, SEARCH))


def why_no_result(folder: Path) -> str:
    """What shows that a folder is not, or not only, the result of a run; empty if it is one."""
    foreign = _foreign(folder)
    if foreign:
        return f"holds {foreign}, which ngmca did not write"
    try:
        with (folder / RECORD).open("rb") as record:
            signed = record.read(len(SIGN)) == SIGN.encode()
    except FileNotFoundError:
        signed = False
    return "" if signed else f"has no {RECORD} of ngmca, so that it may be anybody's"


def refuse_foreign(work: Path) -> None:
    """Refuse a folder of the name that a run would work in, but with something else in it."""
    foreign = _foreign(work) if work.is_dir() and not work.is_symlink() else work.name
    if foreign:
        raise occupied(f"{work} holds {foreign}, which ngmca did not write; choose another folder")


def clear(folder: Path, keep: tuple[str, ...] = ()) -> None:
    """Remove the files of a run that are not to be kept, and nothing else."""
    for name in set(os.listdir(folder)) - set(keep):
        if _is_ours(name):
            (folder / name).unlink()


def _foreign(folder: Path) -> str:
    """The first thing in a folder that no run writes, if any: another name, or a folder or link."""
    with os.scandir(folder) as entries:
        plain = {entry.name: entry.is_file(follow_symlinks=False) for entry in entries}
    return min((name for name, file in plain.items() if not file or not _is_ours(name)), default="")


def _is_ours(name: str) -> bool:
    return name in OURS or is_temporary(name)
