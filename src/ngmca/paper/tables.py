"""Tables on disk: one CSV for each study, which grows row by row, and one for each example.

Beside each lies a JSON file that says what its rows depend on.
"""

import io
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from ngmca._support.atomic_files import write_atomically
from ngmca.paper.experiments import Example, Study
from ngmca.paper.measures import Row

Key = tuple[float, int, str]  # value, simulation, method
LOCK = ".lock"  # in a folder of tables, held while a run writes them
REMOVE = "Choose another folder with -o, or remove the file to run it again."


class TableError(ValueError):
    """A table cannot be used; the message says what to do."""


class StudyTable:
    """The rows of a study in a folder, one for each simulation; an incomplete last line is dropped."""

    def __init__(self, folder: Path, study: Study) -> None:
        self.study = study
        self.path = folder / f"{study.name}.csv"
        self._file: TextIO | None = None
        self._columns: list[str] | None = None

    def keys(self) -> set[Key]:
        """Return the finished simulations."""
        if not self.path.exists() or not _whole_lines(self.path):
            return set()
        table = self.read()
        columns = table[self.study.varies], table["sim"], table["method"]
        return {(float(x), int(sim), str(method)) for x, sim, method in zip(*columns, strict=True)}

    def read(self) -> pd.DataFrame:
        """Return all complete rows, each once."""
        self._check_identity()
        key = [self.study.varies, "sim", "method"]
        table = _read(self.path, _whole_lines(self.path), {*key, "seconds"})
        strange = set(table.columns) - set(table.select_dtypes("number").columns) - {"method"}
        if strange:
            raise TableError(f"{self.path}: {', '.join(sorted(strange))} must be numbers. {REMOVE}")
        return table.drop_duplicates(key)

    def open(self) -> None:
        """Open the file for more rows."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists() and _whole_lines(self.path):
            self._columns = list(self.read().columns)
            os.truncate(self.path, len(_whole_lines(self.path)))
        elif self.path.exists():
            if self.path.stat().st_size and not _read_note(self.path):
                raise TableError(f"{self.path} was not written by ngmca. {REMOVE}")
            self.path.unlink()  # its first line is incomplete
        identity = self.study.identity
        methods = _read_note(self.path).get("methods", {}) | identity["methods"]
        _write_note(self.path, identity | {"methods": methods})
        self._file = self.path.open("a", encoding="utf-8")

    def append(self, row: Row) -> None:
        """Write a row to disk before returning."""
        assert self._file is not None
        cells = (f"{one:.6g}" if isinstance(one, float) else str(one) for one in row.values())
        text = ",".join(cells) + "\n"
        if self._columns is None:
            self._columns = list(row)
            text = ",".join(row) + "\n" + text
        if self._columns != list(row):
            raise TableError(f"{self.path} has other columns than this version writes. {REMOVE}")
        self._file.write(text)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _check_identity(self) -> None:
        """Raise an error if the settings of a table differ in more than additional methods."""
        before, mine = _read_note(self.path), self.study.identity
        methods = before.get("methods", {})
        same = all(before.get(name) == mine[name] for name in ("data", "measure"))
        if not same or any(methods.get(name, told) != told for name, told in mine["methods"].items()):
            raise TableError(f"{self.path} was started with other settings. {REMOVE}")


def example_is_there(folder: Path, example: Example) -> bool:
    """Return whether the table of an example exists and has the current settings."""
    path = folder / f"{example.name}.csv"
    return path.exists() and _read_note(path) == example.identity


def write_example(folder: Path, example: Example, table: pd.DataFrame) -> None:
    """Write the table of an example atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{example.name}.csv"
    write_atomically(path, table.to_csv(index=False, float_format="%.6g"))
    _write_note(path, example.identity)


def read_example(folder: Path, example: Example) -> pd.DataFrame:
    """Return the table of an example."""
    path = folder / f"{example.name}.csv"
    return _read(path, path.read_bytes(), set())


def missing(study: Study, done: set[Key], sims: int, values: Iterable[float]) -> list[Key]:
    """Yield the simulations that are left, all values and methods of one before the next."""
    wanted = ((x, sim, name) for sim in range(sims) for x in values for name in study.methods)
    return [key for key in wanted if key not in done]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder, so that only one run writes to it."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # systems without such a lock do not separate two runs
        yield
        return
    with (folder / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TableError(f"another run is writing to {folder}: wait for it or stop it.") from None
        yield


def _read(path: Path, content: bytes, needed: set[str]) -> pd.DataFrame:

    try:
        table = pd.read_csv(io.BytesIO(content))
    except ValueError as error:
        raise TableError(f"{path} is not a table ({' '.join(str(error).split())}). {REMOVE}") from None
    if needed - set(table.columns):
        raise TableError(f"{path} lacks the columns {sorted(needed - set(table.columns))}. {REMOVE}")
    return table


def _read_note(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _write_note(path: Path, identity: dict[str, Any]) -> None:
    write_atomically(path.with_suffix(".json"), json.dumps(identity, indent=1) + "\n")


def _whole_lines(path: Path) -> bytes:
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1]
