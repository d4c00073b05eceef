"""Sessions on disk: one folder for each, with its run.toml, earlier steps, preview and runs.

Nothing else is kept: a server that is killed and started again finds everything there.
"""

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ngmca._support.atomic_files import write_atomically
from ngmca.io import ReadError
from ngmca.saving.result_folder import RECORD
from ngmca.settings import Settings, from_file, to_toml

NAME = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
MAX_STEPS = 200  # that can be undone


@dataclass(frozen=True)
class Session:
    """The folder of one data set with its settings and runs."""

    folder: Path

    @property
    def name(self) -> str:
        """The name in addresses."""
        return self.folder.name

    @property
    def settings(self) -> Settings:
        """What is to be done: the content of run.toml."""
        return from_file(self.folder / RECORD)[0]

    @property
    def title(self) -> str:
        """The names of the data."""
        try:
            data = self.settings.data
        except ReadError:
            return "damaged session"
        return Path(data[0]).name + (f" and {len(data) - 1} more" if len(data) > 1 else "")

    @property
    def steps(self) -> list[Path]:
        """Earlier versions of run.toml, the oldest first."""
        return sorted((self.folder / "steps").glob("*.toml"))

    def change(self, settings: Settings) -> None:
        """Write other settings; the present ones can be brought back."""
        if settings == self.settings:
            return
        before, kept = self.folder / RECORD, self.steps
        number = int(kept[-1].stem) + 1 if kept else 1
        shutil.copyfile(before, self.folder / "steps" / f"{number:06d}.toml")
        for old in kept[:-MAX_STEPS]:
            old.unlink()
        write_atomically(before, to_toml(settings))

    def undo(self) -> None:
        """Bring the settings before the last change back."""
        kept = self.steps
        if kept:
            os.replace(kept[-1], self.folder / RECORD)

    def paste(self, name: str, text: str) -> Path:
        """Keep a table that was pasted for a setting, and return its file."""
        path = self.folder / "pasted" / f"{name}-{secrets.token_hex(4)}.txt"
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, text.replace("\r\n", "\n").rstrip() + "\n")
        return path

    @property
    def uploads(self) -> Path:
        """The folder of files that were dropped on the page."""
        return self.folder / "upload"


@dataclass(frozen=True)
class Sessions:
    """All sessions in a folder."""

    folder: Path

    def new(self, settings: Settings) -> Session:
        """Return a new session with these settings."""
        session = self.empty()
        write_atomically(session.folder / RECORD, to_toml(settings))
        return session

    def empty(self) -> Session:
        """Return a new session without data, for files that are still to come."""
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
        session = Session(self.folder / name)
        (session.folder / "steps").mkdir(parents=True)
        (session.folder / "runs").mkdir()
        return session

    def find(self, name: str) -> Session:
        """Return the session of a name; raise an error if there is none."""
        session = Session(self.folder / name)
        if not NAME.fullmatch(name) or not session.folder.is_dir() or session.folder.is_symlink():
            raise ReadError("there is no such session: it may have been deleted.")
        return session

    def all(self) -> Iterator[Session]:
        """Yield the sessions with data, the newest first."""
        for path in sorted(self.folder.iterdir(), reverse=True) if self.folder.is_dir() else ():
            if NAME.fullmatch(path.name) and (path / RECORD).is_file() and not path.is_symlink():
                yield Session(path)

    def delete(self, session: Session) -> None:
        """Remove a session with all its files; data that were opened by path stay."""
        shutil.rmtree(self.find(session.name).folder)
