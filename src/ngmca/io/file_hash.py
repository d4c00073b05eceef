"""The hash of the files that are read, to notice later that they have changed."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ngmca.io.detect import format_of
from ngmca.io.isolated_reading import files_of
from ngmca.io.read_error import ReadError

RESULT_RECORD = "run.toml"  # in every folder of a result


def fingerprint(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of a file's content, or of the names and contents of several files.

    Parameters
    ----------
    paths : sequence of paths
        Files and folders, as `read` takes them. Results that were saved in such a folder do not count.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "empty.csv"
    >>> path.touch()
    >>> fingerprint([path])[:8]
    'e3b0c442'
    """
    files = [(file, path) for path in paths for file in _files_read(path)]
    if len(files) == 1 and paths[0].is_file():
        return _digest(paths[0])
    total = hashlib.sha256()
    for file, path in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        total.update(f"{name}\0{_digest(file)}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def is_plain_folder(path: Path) -> bool:
    """Return whether a folder is a collection of files, not one data set such as a Zarr store."""
    try:
        format_of(path)
    except ReadError:
        return True
    return False


def files_in(folder: Path) -> list[Path]:
    """Return the files of a plain folder that are read."""
    return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))


def _files_read(path: Path) -> list[Path]:
    """Return the files that are read of a path, without results that were saved into its folder."""
    if path.is_file():
        return files_of(path)
    if is_plain_folder(path):
        return files_in(path)
    return [file for file in files_of(path) if not (file.parent / RESULT_RECORD).exists()]


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
