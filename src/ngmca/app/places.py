"""Which files the page may open: those below the folder it was started in, and those of its sessions."""

import os
from dataclasses import dataclass
from pathlib import Path

from ngmca.io import ReadError
from ngmca.settings.settings import Settings

MAX_ENTRIES = 2000  # of a folder that are listed


@dataclass(frozen=True)
class Entry:
    """A file or a folder that can be opened: its path below the start folder, and its size."""

    name: str
    path: str
    folder: bool
    size: int


@dataclass(frozen=True)
class Places:
    """The folders whose files may be opened.

    Attributes
    ----------
    start : Path
        The folder that the page browses, without links in its path.
    sessions : Path
        The folder of the sessions, without links in its path.
    """

    start: Path
    sessions: Path

    def inside(self, given: str) -> Path:
        """Return a path below the start folder; raise an error if it leads elsewhere."""
        return self._checked(self.start / given, (self.start,))

    def check(self, settings: Settings) -> None:
        """Raise an error if the settings name a file elsewhere."""
        for path in (*settings.data, *settings.files.values()):
            self._checked(Path(path), (self.start, self.sessions))

    def absolute(self, given: str) -> str:
        """Return the path of an existing file or folder that a person named; other words stay."""
        path = self.start / given
        return str(self._checked(path, (self.start, self.sessions))) if _exists(path) else given

    def _checked(self, path: Path, roots: tuple[Path, ...]) -> Path:
        """Return a path, links followed, that lies below one of the folders."""
        try:
            real = Path(os.path.realpath(path))
        except ValueError:  # a null byte
            raise ReadError("this name cannot be that of a file.") from None
        if not any(real.is_relative_to(root) for root in roots):
            raise ReadError(
                f"{path.name} is outside of {self.start}, the folder that the page was started in. "
                "Start `ngmca app` in the folder of the data, or drop the file on the page."
            )
        return real

    def shown(self, path: str | Path) -> str:
        """Return a path as short as it can be: below the start folder, or whole."""
        path = Path(path)
        return str(path.relative_to(self.start)) if path.is_relative_to(self.start) else str(path)

    def listing(self, folder: Path) -> list[Entry]:
        """Return folders, then files, without hidden ones and links that lead elsewhere."""
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                hidden = entry.name.startswith(".") or ".ngmca-" in entry.name
                if hidden or Path(entry.path) == self.sessions or not self._leads_inside(entry):
                    continue
                size = 0 if entry.is_dir() else entry.stat().st_size
                found.append(Entry(entry.name, self.shown(entry.path), entry.is_dir(), size))
        return sorted(found, key=lambda one: (not one.folder, one.name.casefold()))[:MAX_ENTRIES]

    def _leads_inside(self, entry: os.DirEntry[str]) -> bool:
        try:
            inside = Path(os.path.realpath(entry.path)).is_relative_to(self.start)
            return inside and (entry.is_dir() or entry.is_file())
        except OSError:
            return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
