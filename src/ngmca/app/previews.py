"""Previews: started in a second process when the settings of reading change, and looked for on disk."""

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from ngmca._support.messages import Message, from_plain, message
from ngmca.app.kept_data import facts_of
from ngmca.saving.result_folder import RECORD
from ngmca.settings import Settings, from_file
from ngmca.settings.settings import READING

PREVIEW, ROWS, ERROR = "preview", "measurements", "reading-error.json"
LIBRARY_FOLDER = "library"
NOT_READING = ("range", "leave_out", "leave_rows")  # the preview shows these instead of cutting them off


def reading_key(settings: Settings) -> str:
    """Return a text that is another one whenever the data have to be read again."""
    options = [getattr(settings, name) for name in READING if name not in NOT_READING]
    stamps = [_stamp(path) for path in settings.data]
    text = json.dumps([settings.data, settings.shared, options, stamps])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def library_key(settings: Settings) -> str:
    """Return a text that is another one whenever the library has to be read again."""
    return json.dumps([reading_key(settings), settings.library, _stamp(settings.library or "")])


def _stamp(path: str) -> list[int]:
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]


def _error(folder: Path) -> Message:
    """Return why the data of a folder were not read."""
    try:
        return from_plain(json.loads((folder / ERROR).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return message("The process that read the data was ended, for example for lack of memory.")


@dataclass(frozen=True)
class Reading:
    """What is known of a reading: facts when it is done, an error, or since when it is under way."""

    facts: dict[str, Any] | None = None
    error: Message | None = None
    seconds: float = 0.0


@dataclass
class Readers:
    """The processes that read, one for each folder; a new one replaces that of older settings."""

    _running: dict[Path, tuple[str, subprocess.Popen[bytes], float]] = field(default_factory=dict)
    _failed: dict[Path, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def preview(self, folder: Path) -> Reading:
        """Return the preview of a session, and start it if there is none for its settings."""
        key = reading_key(from_file(folder / RECORD)[0])
        facts = facts_of(folder / PREVIEW)
        if facts is not None and facts.get("key") == key:
            return Reading(facts)
        return self._under_way(folder, "preview", key)

    def measurements(self, folder: Path) -> Reading:
        """Return the measurements of a run, and start reading them if there are none yet."""
        facts = facts_of(folder / ROWS)
        return Reading(facts) if facts is not None else self._under_way(folder, "measurements", "")

    def library(self, folder: Path) -> Reading:
        """Return the names in the library of a session, and start reading it if it is another one."""
        settings, place = from_file(folder / RECORD)[0], folder / LIBRARY_FOLDER
        key = library_key(settings)
        facts = facts_of(place)
        if facts is not None and facts["key"] == key:
            return Reading(facts)
        place.mkdir(exist_ok=True)
        return self._under_way(place, "library", key)

    def _under_way(self, folder: Path, job: str, key: str) -> Reading:
        with self._lock:
            running = self._running.get(folder)
            if running is not None and running[0] != key:
                running[1].kill()
                running[1].wait()
                running = None
            if running is None:
                if self._failed.get(folder) == key:
                    return Reading(error=_error(folder))
                process = subprocess.Popen([sys.executable, "-m", "ngmca.app.worker", job, str(folder)])
                running = self._running[folder] = key, process, time.monotonic()
            if running[1].poll() is None:
                return Reading(seconds=time.monotonic() - running[2])
            del self._running[folder]
            if running[1].returncode == 0:
                return Reading(seconds=time.monotonic() - running[2])  # found by the next question
            self._failed[folder] = key
            return Reading(error=_error(folder))

    def end(self, folder: Path | None = None) -> None:
        """End the processes for a folder and those below it, or all of them."""
        for place, (_, process, _) in list(self._running.items()):
            if folder is None or place.is_relative_to(folder):
                process.kill()
                process.wait()
                self._running.pop(place, None)
