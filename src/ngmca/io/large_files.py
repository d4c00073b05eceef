"""Files that are too large to be read at once: in some formats the data stay in the file."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.array_choice import choose_array, find_axis
from ngmca.io.array_layout import channel_dimension
from ngmca.io.claimed_sizes import in_words, memory_left
from ngmca.io.containers.hdf5_and_zarr import arrays_in_hdf5, arrays_in_zarr, notes_on, vectors_beside
from ngmca.io.dataset import Axis, Dataset
from ngmca.io.detect import format_of
from ngmca.io.read_error import ReadError, printable
from ngmca.io.vendors.images import open_envi, open_rosetta

# Floats in memory may take this many times the bytes on disk; smaller files need no look inside.
MAX_EXPANSION = {"npy": 8, "HDF5": 16, "rosettasciio": 16}
MAX_ZARR_CHUNKS = 10_000_000

# Returns the axis, whether the array must be transposed, and notes.
Describe = Callable[[bool | None], tuple[Axis, bool, list[str]]]
Opened = tuple[Any, str, Describe]  # an array that is read by slicing, and its name


def read_large(
    path: Path,
    *,
    transpose: bool | None = None,
    dataset: str | None = None,
    max_bytes: float | None = None,
    name: str | None = None,
) -> Dataset | None:
    """Return a data set whose Y is read from the file by slicing; None if it fits into the memory.

    The limit is `max_bytes` for all numbers as floats, by default a quarter of the free memory. `name`
    is the format, if it is known.
    """
    limit = memory_left() / 4 if max_bytes is None else max_bytes
    try:
        name = name or format_of(path)
        if name not in OPENERS:
            return None
        if name in MAX_EXPANSION and path.stat().st_size * MAX_EXPANSION[name] < limit:
            return None  # it is read in another process: a damaged file can make HDF5 crash
        array, where, describe = OPENERS[name](path, dataset)
    except (ReadError, OSError, ValueError, TypeError, NotImplementedError):
        return None  # the reader of the whole file says what is wrong
    shape = tuple(map(int, array.shape))
    size = math.prod(shape) * (4.0 if array.dtype == np.float32 else 8.0)
    if size <= limit or len(shape) not in (2, 3) or array.dtype.kind not in "fiub":
        return None
    if getattr(array, "nchunks", 0) > MAX_ZARR_CHUNKS:
        return None  # to check which chunks were written would take too long
    axis, turned, notes = describe(transpose)
    if len(shape) == 3 and turned:
        raise ReadError(
            f"{where}, {in_words(size)}, has its channels along the first of three dimensions and is "
            "too large to be transposed. Write it with channels last, in chunks."
        )
    Y: Any = Pixels(array) if len(shape) == 3 else Transposed(array) if turned else array
    data = Dataset(Y, *axis)
    if len(shape) == 3:
        data = replace(data, image_shape=(shape[0], shape[1]))
    notes.append(
        f"{printable(path.name)}, {in_words(size)}, is too large for the memory: it is read in blocks."
    )
    return replace(data, meta={"format": name, "path": printable(path)}).with_notes(*notes)


def _npy(path: Path, _: str | None) -> Opened:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return array, str(path), _container({"": array}, "", str(path))


def _envi(path: Path, _: str | None) -> Opened:
    cube, axis, where = open_envi(path)
    return cube, where, lambda _: (axis, False, [])


def _rosetta(path: Path, dataset: str | None) -> Opened:
    array, axis, where = open_rosetta(path, dataset)
    return Computed(array), where, lambda _: (axis, False, [])


OPENERS: dict[str, Callable[[Path, str | None], Opened]] = {
    "npy": _npy,
    "HDF5": lambda path, dataset: _in_container(arrays_in_hdf5(path), path, dataset),
    "Zarr": lambda path, dataset: _in_container(arrays_in_zarr(path), path, dataset),
    "ENVI": _envi,
    "rosettasciio": _rosetta,
    "ZSpy": _rosetta,
}


def _in_container(found: dict[str, Any], path: Path, dataset: str | None) -> Opened:
    """Return the array that was asked for among those in a file."""
    shapes = {key: item.shape for key, item in found.items()}
    key = "" if list(found) == [""] else choose_array(shapes, dataset, path)
    where = f"{key} in {path}" if key else str(path)
    return found[key], where, _container(found, key, where)


def _container(found: dict[str, Any], key: str, where: str) -> Describe:
    def describe(transpose: bool | None) -> tuple[Axis, bool, list[str]]:
        array, plain = found[key], isinstance(found[key], np.ndarray)
        notes = [] if plain else list(notes_on(array, where))
        axis = find_axis({} if plain else vectors_beside(found, key), array.shape, transpose)
        shape = tuple(map(int, array.shape))
        place, note = channel_dimension(shape, axis[0], transpose, where)
        turned = place < len(shape) - 1
        return axis, turned, [*notes, note] if note else notes

    return describe


class Computed:
    """A Dask array whose parts are computed here when they are sliced."""

    def __init__(self, array: Any) -> None:
        self._array, self.shape, self.dtype = array, tuple(map(int, array.shape)), array.dtype
        self.chunks = tuple(int(sizes[0]) for sizes in array.chunks)

    def __getitem__(self, where: Any) -> NDArray:
        return np.asarray(self._array[where])


class Transposed:
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

    def place_in_words(self, i: int, j: int) -> str:
        """Return the place of an entry in words: here and in the file."""
        there = f"row {j}, column {i} of the file" + _chunk(self._array, (j, i))
        return f"row {i}, column {j}, that is {there}"


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

    def place_in_words(self, i: int, j: int) -> str:
        """Return the place of an entry in words: here and in the image."""
        y, x = divmod(i, self._across)
        return f"row {i}, that is pixel {y}, {x}, column {j}" + _chunk(self._cube, (y, x, j))


def _chunk(array: Any, place: tuple[int, ...]) -> str:
    """Return the name of the chunk of an entry, or "" if the array has no chunks."""
    chunks = getattr(array, "chunks", None)
    if chunks is None:
        return ""
    return f" (chunk {'.'.join(str(at // size) for at, size in zip(place, chunks, strict=True))})"
