"""New files in a folder, each once, when the program that writes it has finished."""

from pathlib import Path

from ngmca._support.atomic_files import is_temporary

Stamp = tuple[int, int]  # size and time of a file
RECENT = 100  # files read last that are looked at again: a look at every one is slow on a network


class Arrivals:
    """Files of a folder that have not changed between two looks.

    A file that was given out comes again only if it changes before `taken` is called for it: a reader
    that found half of it sees it again when the rest is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[Path, Stamp] = {}
        self._given: dict[Path, Stamp] = {}
        self._taken: dict[Path, Stamp | None] = {}  # None: known to have changed

    def look(self) -> list[Path]:
        """Return files whose size and time are the same as at the look before, the oldest first."""
        now = {path: stamp for path in self._files() if (stamp := _stamp(path)) is not None}
        same = [path for path, stamp in now.items() if self._seen.get(path) == stamp]
        new = [path for path in same if self._given.get(path) != now[path]]
        self._seen = now
        self._given |= {path: now[path] for path in new}
        return sorted(new, key=lambda path: (now[path][1], path.name))

    def taken(self, path: Path) -> None:
        """Never give out this file again."""
        self._taken[path] = self._given.get(path)

    def changed(self) -> list[Path]:
        """Return files that have changed since they were read, each once.

        A program that pauses inside the last number of a file leaves one that can be read, with a wrong
        last value.
        """
        recent = list(self._taken.items())[-RECENT:]
        changed = [path for path, read in recent if read and _stamp(path) not in (read, None)]
        self._taken |= dict.fromkeys(changed)
        return changed

    def _files(self) -> list[Path]:
        try:
            inside = list(self._folder.iterdir())
        except OSError:  # a network folder may be away for a while
            return []
        return [
            path
            for path in inside
            if path not in self._taken
            and not path.name.startswith(".")
            and not is_temporary(path.name)
            and path.is_file()
        ]


def _stamp(path: Path) -> Stamp | None:
    """Return size and time; None for an empty file, or one that is gone."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return (facts.st_size, facts.st_mtime_ns) if facts.st_size else None
