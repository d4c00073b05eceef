"""Files that are dropped on the page: streamed to the disk, never held in memory."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

from ngmca.io import ReadError

MAX_BYTES = 50 * 10**9  # of one session
MAX_FILES = 20_000
ROOM = 10**9  # that stays free on the disk
MAX_NAME = 200


def place_for(folder: Path, name: str) -> Path:
    """Return where a dropped file goes; its name may have folders, which must stay below `folder`."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    wrong = any(part in ("..", "/", "") or part.startswith(".") or "\0" in part for part in parts)
    if not parts or wrong or any(len(os.fsencode(part)) > MAX_NAME for part in parts) or len(parts) > 8:
        raise ReadError(f"{name[:80]!r} cannot be the name of a file here: rename it.")
    path = folder.joinpath(*parts)
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise ReadError(f"{name[:80]!r} leads out of its folder.")
    return path


async def store(path: Path, chunks: AsyncIterator[bytes], declared: int | None, used: int) -> int:
    """Write the content of a file as it arrives, and return its size; nothing is left of a part."""
    room = min(shutil.disk_usage(_existing(path)).free - ROOM, MAX_BYTES - used)
    if declared is not None and declared > room:
        raise ReadError(_too_large(path, room))
    path.parent.mkdir(parents=True, exist_ok=True)
    part, size = path.with_name(f"{path.name}.ngmca-upload.part"), 0
    try:
        with part.open("wb") as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > room:
                    raise ReadError(_too_large(path, room))
                file.write(chunk)
        if declared is not None and size != declared:
            raise ReadError(f"{path.name} did not arrive whole.")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return size


def _existing(path: Path) -> Path:
    return next(one for one in path.parents if one.exists())


def _too_large(path: Path, room: int) -> str:
    return (
        f"{path.name} is too large: there is room for {max(room, 0) / 1e9:.1f} GB. Open it by its path "
        "instead, which copies nothing."
    )


def used(folder: Path) -> tuple[int, int]:
    """Return the number of files in a folder and their bytes."""
    sizes = [one.stat().st_size for one in folder.rglob("*") if one.is_file()] if folder.is_dir() else []
    return len(sizes), sum(sizes)
