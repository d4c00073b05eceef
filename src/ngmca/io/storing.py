"""Factors that are too large for the memory, put where there is room for them."""

from os import PathLike
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

AT_ONCE = 1 << 24  # entries written at once
CHUNK = 1 << 16  # columns of a chunk of a new store


def scratch_beside(out: Any) -> Path:
    """The folder for what is needed on the way: that of a path, or the one for temporary files."""
    if not isinstance(out, str | PathLike):
        return Path(gettempdir())
    folder = Path(out).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(folder))
    return folder


def check_target(out: Any, shape: tuple[int, int]) -> None:
    """Refuse a place that is taken, or an array of another shape, before anything is computed."""
    if isinstance(out, str | PathLike):
        if Path(out).exists():
            raise FileExistsError(17, "out exists: choose another name, or remove it", str(out))
    elif tuple(getattr(out, "shape", ())) != shape or not hasattr(out, "__setitem__"):
        raise ValueError(f"out must be a path, or an array of shape {shape} that can be written to.")


def stored(out: Any, S: Any) -> Any:
    """S (r, n) in its place, a part at a time; that place, to be sliced."""
    r, n = S.shape
    if isinstance(out, str | PathLike):
        import zarr

        chunks = (r, min(n, CHUNK))
        out = zarr.create_array(str(out), shape=(r, n), dtype=S.dtype, chunks=chunks)
    step = max(1, AT_ONCE // max(r, 1) // CHUNK) * CHUNK
    for start in range(0, n, step):
        out[:, start : start + step] = np.asarray(S[:, start : start + step])
    return out
