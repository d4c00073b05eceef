"""Reader of Agilent's focal plane arrays: a tile (.dat) whose positions are in a file beside it."""

from pathlib import Path
from typing import Any

import numpy as np

from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, damaged
from ngmca.io.vendors.binary_fields import one

PREAMBLE = 255  # 32-bit numbers before the data
STEP, START, POINTS = 2216, 2228, 2236  # offsets in the .bsp file


def settings_beside(path: Path) -> Path | None:
    """Return the file with the positions of a tile, or None if there is none."""
    suffixes = (".bsp", ".BSP", ".dmt") if path.suffix.lower() == ".hdr" else (".bsp", ".BSP")
    found = (path.with_suffix(suffix) for suffix in suffixes)
    return next((one for one in found if one.is_file()), None)


def read_agilent(path: Path, **_: Any) -> Dataset:
    """Read the pixels of a tile, with their wavenumbers."""
    beside = settings_beside(path)
    if beside is None:
        raise ReadError(f"{path} has no file .bsp beside it, which holds its wavenumbers.")
    with damaged(f"{beside} is not a complete file of Agilent"):
        raw = beside.read_bytes()
        step = one(raw, STEP, "<f8", beside)
        start, points = (one(raw, place, "<i4", beside) for place in (START, POINTS))
    numbers = np.fromfile(path, "<f4")[PREAMBLE:]
    side = round(float(np.sqrt(numbers.size / points))) if points > 0 else 0
    if side < 1 or side * side * points != numbers.size or not 0 < step < 1000:
        raise ReadError(
            f"{path} holds {numbers.size} numbers, which are not a square image of the {points} points "
            f"that {beside.name} announces: it is truncated or damaged."
        )
    Y = numbers.reshape(points, side * side).T.astype(float)
    axis = step * (start + np.arange(points))
    return Dataset(Y, axis, "wavenumber", "cm-1", image_shape=(side, side))
