"""Tables on disk: one CSV a study, which grows by a row at a time, and one an example."""

import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ngmca.paper.experiments import Example, Study
from ngmca.paper.measures import Row

if TYPE_CHECKING:
    import pandas as pd

Key = tuple[float, int, str]  # value, simulation, method


class OtherSettingsError(ValueError):
    """A table was begun with other settings than the study has now."""


class StudyTable:
    """The rows of a study in a folder. A whole line is a simulation; a torn last line is dropped."""

    def __init__(self, folder: Path, study: Study) -> None:
        self.study = study
        self.path = folder / f"{study.name}.csv"
        self._note = folder / f"{study.name}.json"
        self._file: TextIO | None = None

    def keys(self) -> set[Key]:
        """The simulations that are done."""
        if not self.path.exists() or not _whole_lines(self.path):
            return set()
        table = self.read()
        columns = table[self.study.varies], table["sim"], table["method"]
        return {(float(x), int(sim), str(method)) for x, sim, method in zip(*columns, strict=True)}

    def read(self) -> "pd.DataFrame":
        """All rows but a torn one."""
        import pandas as pd

        return pd.read_csv(io.BytesIO(_whole_lines(self.path)))

    def open(self) -> None:
        """Make the file ready for more rows."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._check_settings()
        if self.path.exists():
            os.truncate(self.path, len(_whole_lines(self.path)))
        self._file = self.path.open("a", encoding="utf-8")

    def append(self, row: Row) -> None:
        """Write a row so that it survives a kill."""
        assert self._file is not None
        text = ",".join(map(_written, row.values())) + "\n"
        if self._file.tell() == 0:
            text = ",".join(row) + "\n" + text
        self._file.write(text)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """No more rows for now."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _check_settings(self) -> None:
        if not self._note.exists():
            write_whole(self._note, json.dumps({"settings": self.study.settings}, indent=1) + "\n")
            return
        before = json.loads(self._note.read_text())["settings"]
        if before != self.study.settings:
            raise OtherSettingsError(
                f"{self.path} was begun with other settings ({before}; now {self.study.settings}): "
                "choose another folder with -o, or remove this file and the .json beside it."
            )


def write_example(folder: Path, example: Example, table: "pd.DataFrame") -> None:
    """The table of an example, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{example.name}.csv", table.to_csv(index=False, float_format="%.6g"))


def read_example(folder: Path, example: Example) -> "pd.DataFrame":
    """The table of an example."""
    import pandas as pd

    return pd.read_csv(folder / f"{example.name}.csv")


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def missing(study: Study, done: set[Key], sims: int, values: Iterable[float]) -> list[Key]:
    """The simulations still to do, all values and methods of one before the next."""
    wanted = ((x, sim, name) for sim in range(sims) for x in values for name in study.methods)
    return [key for key in wanted if key not in done]


def _whole_lines(path: Path) -> bytes:
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1]


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
