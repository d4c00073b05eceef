"""The folder of a result: the names of its files, how to recognise it, and where to find it."""

import os
from pathlib import Path

from ngmca._support.atomic_files import is_temporary, name_beside, occupied
from ngmca.io import ReadError
from ngmca.io.technique import MAX_TECHNIQUES

MARKER = "UNFINISHED"  # in a folder that is still being written
COMPLETE = "All of it is written: it only has to be put in its place.\n"  # last line of the marker then
RESULT = "result.nc"
RECORD = "run.toml"
SIGN = "# Repeats this run: ngmca"  # how the record of every run begins
REPORT = "report.html"
CHECKPOINT = "checkpoint.npz"  # state of the iterations
SEPARATED = "separated.npz"  # the separation, until the result is written
SOURCES = "sources.csv"
BACKGROUND, OUTLIERS, RATES = "background.csv", "outliers.csv", "rates.csv"  # where there are any
FACTORS = ("A.npy", "S.npy")  # complete, where the other files show a part
ANSWERS = ("rank.csv", "identification.csv", "amounts.csv")


def tables_of(name: str, techniques: int) -> tuple[str, ...]:
    """Return the names of the tables of each technique: sources_2.csv for the second of several."""
    return tuple(
        name.replace(".csv", f"_{k + 1}.csv" if techniques > 1 else ".csv") for k in range(techniques)
    )


BY_TECHNIQUE = (*tables_of(SOURCES, MAX_TECHNIQUES), *tables_of(BACKGROUND, MAX_TECHNIQUES))
FILES = (
    *(SOURCES, "mixing.csv", RESULT, RECORD, REPORT, BACKGROUND, OUTLIERS, RATES),
    *(*BY_TECHNIQUE, *ANSWERS, *FACTORS),
)
TO_RESUME_FROM = (CHECKPOINT, SEPARATED)
OURS = (*FILES, MARKER, *TO_RESUME_FROM)
UNFINISHED, REPLACED = "unfinished", "replaced"


class UnfinishedError(ReadError):
    """The run of this folder was stopped: there is no result yet."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is unfinished: its run was stopped.")
        self.folder = folder


def find(path: Path) -> Path:
    """Return the result file in a folder, or the file itself; raise an error if there is none."""
    if not path.exists() and unfinished(absolute(path)).exists():
        raise UnfinishedError(path)
    if not path.exists():
        raise ReadError(f"{path} does not exist.")
    if (path / MARKER).exists() and not is_complete(path):
        raise UnfinishedError(path)
    file = path / RESULT if path.is_dir() else path
    if not file.is_file():
        raise ReadError(f"{path} is not a result of ngmca: it has no {RESULT}.")
    return file


def absolute(folder: Path) -> Path:
    """Return the absolute path of a folder, links followed, so that it has a name and a parent."""
    path = Path(os.path.realpath(folder))
    if not path.name:
        raise ReadError(f"{folder} cannot hold a result: name a folder inside it.")
    return path


def unfinished(folder: Path) -> Path:
    """Return the folder in which a run for `folder` works until all is written."""
    return name_beside(folder, UNFINISHED)


def replaced(folder: Path) -> list[Path]:
    """Return earlier results that killed runs were replacing; only the user removes them."""
    start = name_beside(folder, "").name
    try:
        beside = [path for path in folder.parent.iterdir() if path.name.startswith(start)]
    except OSError:  # a folder that can be written to but not listed
        return []
    return sorted(path for path in beside if path.suffix == f".{REPLACED}")


def is_complete(folder: Path) -> bool:
    """Return whether the marker in a folder says that all of the result is written."""
    try:
        return (folder / MARKER).read_text(encoding="utf-8").endswith(COMPLETE)
    except (OSError, ValueError):
        return False


def can_resume(work: Path) -> bool:
    """Return whether a folder holds a file from which a stopped run can be resumed."""
    return any((work / name).is_file() for name in TO_RESUME_FROM)


def why_no_result(folder: Path) -> str:
    """Return why a folder is not only the result of a run; empty if it is one."""
    foreign = _foreign(folder)
    if foreign:
        return f"holds {foreign}, which ngmca did not write"
    try:
        with (folder / RECORD).open("rb") as record:
            signed = record.read(len(SIGN)) == SIGN.encode()
    except FileNotFoundError:
        signed = False
    return "" if signed else f"has no {RECORD} of ngmca, so it may belong to someone else"


def check_only_ours(work: Path) -> None:
    """Raise an error if the folder in which a run would work holds files that ngmca did not write."""
    foreign = _foreign(work) if work.is_dir() and not work.is_symlink() else work.name
    if foreign:
        raise occupied(f"{work} holds {foreign}, which ngmca did not write; choose another folder")


def clear(folder: Path, keep: tuple[str, ...] = ()) -> None:
    """Remove the files of a run, except those to keep; files of others stay."""
    for name in set(os.listdir(folder)) - set(keep):
        if _is_ours(name):
            (folder / name).unlink()


def _foreign(folder: Path) -> str:
    """Return the first name in a folder that no run writes, or that is not a file; empty if none."""
    with os.scandir(folder) as entries:
        plain = {entry.name: entry.is_file(follow_symlinks=False) for entry in entries}
    return min((name for name, file in plain.items() if not file or not _is_ours(name)), default="")


def _is_ours(name: str) -> bool:
    return name in OURS or is_temporary(name)
