"""Files that are too large to be read whole: .npy, HDF5 and Zarr are left where they are."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.choice import choose, find_axis
from ngmca.io.containers import arrays_in_hdf5, arrays_in_zarr, notes_on, vectors_beside
from ngmca.io.dataset import Dataset, ReadError, channels_first, shown
from ngmca.io.detect import reader_of
from ngmca.io.sizes import in_words, memory_left

UNPACKED = 16  # times the size on disk that numbers in it are expected to take at most
CHUNKS = 10_000_000  # of a Zarr array at most
KINDS = ("npy", "HDF5", "Zarr")  # formats that can be read in parts
LARGEST = 1 << 32  # bytes of floats up to which a file is read whole, or a quarter of what is left


def read_large(
    path: Path, *, transpose: bool | None = None, dataset: str | None = None, most: float | None = None
) -> Dataset | None:
    """A data set whose Y is read in parts, by slicing; None for a file that can be read whole.

    `most` is the size in bytes up to which it can.
    """
    try:
        kind = reader_of(path)[0]
        if kind not in KINDS:
            return None
        limit = min(LARGEST, memory_left() / 4) if most is None else most
        if kind == "HDF5" and path.stat().st_size < limit / UNPACKED:
            return None  # what is not huge is opened elsewhere: a damaged file can make HDF5 crash
        found, key = _opened(path, kind, dataset)
    except (ReadError, OSError, ValueError):
        return None  # whoever reads it whole tells what is wrong
    array, where = found[key], f"{key} in {path}" if key else str(path)
    shape = tuple(map(int, array.shape))
    size = math.prod(shape) * (4.0 if array.dtype == np.float32 else 8.0)
    if size <= limit or len(shape) not in (2, 3) or array.dtype.kind not in "fiub":
        return None
    if getattr(array, "nchunks", 0) > CHUNKS:
        return None  # to look which were written would take for ever
    vectors = {} if kind == "npy" else vectors_beside(found, key)
    notes = [] if kind == "npy" else list(notes_on(array, where))
    axis, name, unit = find_axis(vectors, shape, transpose)
    turned, note = channels_first(shape, axis, transpose, where)
    if len(shape) == 3 and turned:
        raise ReadError(
            f"{where}, {in_words(size)}, has its channels along the first of three directions: "
            "it is too large to be turned. Write it with channels last, in chunks."
        )
    Y: Any = Pixels(array) if len(shape) == 3 else Turned(array) if turned else array
    data = Dataset(Y=Y, axis=axis, axis_name=name, axis_unit=unit)
    if len(shape) == 3:
        data = replace(data, image_shape=(shape[0], shape[1]))
    notes += [note] if note else []
    notes.append(f"{shown(path.name)}, {in_words(size)}, is too large for the memory: read in blocks.")
    return replace(data, meta={"format": kind, "path": shown(path)}).noted(*notes)


def _opened(path: Path, kind: str, dataset: str | None) -> tuple[dict[str, Any], str]:
    """The arrays in a file, which stay there, and the name of the one that is asked for."""
    if kind == "npy":
        return {"": np.load(path, mmap_mode="r", allow_pickle=False)}, ""
    found = arrays_in_hdf5(path) if kind == "HDF5" else arrays_in_zarr(path)
    if list(found) == [""]:
        return found, ""
    return found, choose({k: item.shape for k, item in found.items()}, dataset, path)


class Turned:
    """A matrix on disk, transposed."""

    def __init__(self, array: Any) -> None:
        self._array, self.shape, self.dtype = array, tuple(array.shape[::-1]), array.dtype
        chunks = getattr(array, "chunks", None)
        self.chunks = None if chunks is None else tuple(chunks[::-1])

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, where: tuple[slice, slice]) -> NDArray:
        rows, columns = where
        return np.asarray(self._array[columns, rows]).T


class Pixels:
    """An image cube (rows, columns, channels) on disk, as a matrix of pixels x channels."""

    def __init__(self, cube: Any) -> None:
        self._cube, self._across, self.dtype = cube, int(cube.shape[1]), cube.dtype
        self.shape = (int(cube.shape[0]) * self._across, int(cube.shape[2]))
        chunks = getattr(cube, "chunks", None)
        self.chunks = None if chunks is None else (int(chunks[0]) * self._across, int(chunks[2]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: tuple[slice, slice]) -> NDArray:
        rows, channels = where
        start, stop, step = rows.indices(len(self))
        first, last = start // self._across, -(-stop // self._across)
        lines = np.asarray(self._cube[first:last, :, channels])
        flat = lines.reshape(-1, lines.shape[2])
        return flat[start - first * self._across : stop - first * self._across : step]
