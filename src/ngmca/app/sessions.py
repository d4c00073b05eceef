"""Sessions on disk: one folder for each, with its run.toml, earlier steps, preview and runs.

Nothing else is kept: a server that is killed and started again finds everything there.
"""

import os
import re
import secrets
import shutil
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import tomli_w

from ngmca._support.atomic_files import write_atomically
from ngmca.io import ReadError
from ngmca.saving.result_folder import RECORD
from ngmca.settings import Settings, from_file, to_toml

NAME = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
OFF = "# off: "  # begins a line of run.toml with a setting that is switched off
NEEDS = {  # settings that mean nothing without another one
    "known_scale": "known_sources", "known_mixing_sd": "known_mixing", "closure_kind": "closure",
    "kinetics_start": "kinetics", "times": "kinetics", "gain": "noise", "readout": "noise",
    "tolerance": "library", "detect": "library", "samples": "posterior",
}  # fmt: skip
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

    @property
    def off(self) -> dict[str, Any]:
        """The settings that are switched off: comments in run.toml, each with its value."""
        lines = (self.folder / RECORD).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        found: dict[str, Any] = {}
        for line in lines:
            if line.startswith(OFF):
                found |= tomllib.loads(line.removeprefix(OFF))
        return found

    def switch(self, name: str) -> None:
        """Switch a setting off, with those that need it, or on again with the values that they had."""
        off, given = self.off, self.settings.given
        changed = {name, *(one for one, other in NEEDS.items() if other == name)}
        if name in off:
            again = {one: off.pop(one) for one in changed & off.keys()}
            self.change(replace(self.settings, **again), off)
        elif name in given and name not in ("data", "sources"):
            gone = {one: given[one] for one in changed & given.keys()}
            defaults: dict[str, Any] = {
                one.name: one.default for one in fields(Settings) if one.name in gone
            }
            self.change(replace(self.settings, **defaults), off | gone)
        else:
            raise ReadError("there is no such step: the page shows an older state. Load it again.")

    def change(self, settings: Settings, off: Mapping[str, Any] | None = None) -> None:
        """Write other settings, and which are switched off; the present ones can be brought back."""
        off = {one: value for one, value in (self.off if off is None else off).items()
               if one not in settings.given}  # fmt: skip
        if settings == self.settings and off == self.off:
            return
        before, kept = self.folder / RECORD, self.steps
        number = int(kept[-1].stem) + 1 if kept else 1
        shutil.copyfile(before, self.folder / "steps" / f"{number:06d}.toml")
        for old in kept[:-MAX_STEPS]:
            old.unlink()
        lines = (f"{OFF}{tomli_w.dumps({one: value})}" for one, value in off.items())
        write_atomically(before, to_toml(settings) + "".join(lines))

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

    @property
    def given(self) -> Path:
        """The folder of files that were chosen for settings."""
        return self.folder / "given"


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
