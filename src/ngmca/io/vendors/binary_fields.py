"""Numbers and text at a place in the bytes of a file."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.read_error import check_held


def take(raw: bytes, place: int, kind: str, count: int, where: Path) -> NDArray:
    """Return `count` numbers of a NumPy type from a place; raise an error if the file is too short."""
    end = place + np.dtype(kind).itemsize * count
    if place < 0 or count < 0 or end > len(raw):
        check_held(where, end, len(raw), "bytes")
    return np.frombuffer(raw, kind, count, place)


def one(raw: bytes, place: int, kind: str, where: Path) -> Any:
    """Return the number of a NumPy type at a place, as a Python number."""
    return take(raw, place, kind, 1, where)[0].item()


def words(raw: bytes) -> str:
    """Return the text up to the first zero byte."""
    return " ".join(raw.split(b"\0", 1)[0].decode("latin-1").split())
