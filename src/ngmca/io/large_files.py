"""Files that are too large to be read whole: those of some formats are left where they are."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.claimed_sizes import in_words, memory_left
from ngmca.io.containers.array_choice import choose, find_axis
from ngmca.io.containers.hdf5_and_zarr import (
    arrays_in_hdf5,
    arrays_in_zarr,
    notes_on,
    vectors_beside,
)
from ngmca.io.dataset import Dataset, ReadError, channels_first, shown
from ngmca.io.detect import reader_of
from ngmca.io.vendors.spectral_images import Axis, open_envi, open_rosetta

UNPACKED = 16  # times the size on disk that numbers in it are expected to take at most
PACKED = ("HDF5", "rosettasciio")
CHUNKS = 10_000_000  # of a Zarr array at most

# What is along the axis, whether the array is to be transposed, and notes; asked of large ones only.
Described = Callable[[bool | None], tuple[Axis, bool, list[str]]]
Opened = tuple[Any, str, Described]  # an array that is read by slicing, and its name


def read_large(
    path: Path, *, transpose: bool | None = None, dataset: str | None = None, most: float | None = None
) -> Dataset | None:
    """A data set whose Y is read in parts, by slicing; None for a file that can be read whole.

    `most` is the size in bytes of its floats up to which it can: a quarter of the memory that is left.
    """
    limit = memory_left() / 4 if most is None else most
    try:
        kind = reader_of(path)[0]
        if kind not in KINDS or (kind in PACKED and path.stat().st_size < limit / UNPACKED):
            return None  # what is not huge is opened elsewhere: a damaged file can make HDF5 crash
        array, where, described = KINDS[kind](path, dataset)
    except (ReadError, OSError, ValueError, TypeError, NotImplementedError):
        return None  # whoever reads it whole tells what is wrong
    shape = tuple(map(int, array.shape))
    size = math.prod(shape) * (4.0 if array.dtype == np.float32 else 8.0)
    if size <= limit or len(shape) not in (2, 3) or array.dtype.kind not in "fiub":
        return None
    if getattr(array, "nchunks", 0) > CHUNKS:
        return None  # to look which were written would take for ever
    (axis, name, unit), turned, notes = described(transpose)
    if len(shape) == 3 and turned:
        raise ReadError(
            f"{where}, {in_words(size)}, has its channels along the first of three directions: "
            "it is too large to be turned. Write it with channels last, in chunks."
        )
    Y: Any = Pixels(array) if len(shape) == 3 else Turned(array) if turned else array
    data = Dataset(Y=Y, axis=axis, axis_name=name, axis_unit=unit)
    if len(shape) == 3:
        data = replace(data, image_shape=(shape[0], shape[1]))
    notes.append(f"{shown(path.name)}, {in_words(size)}, is too large for the memory: read in blocks.")
    return replace(data, meta={"format": kind, "path": shown(path)}).noted(*notes)


def _npy(path: Path, _: str | None) -> Opened:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return array, str(path), _container({"": array}, "", str(path))


def _hdf5(path: Path, dataset: str | None) -> Opened:
    return _in_container(arrays_in_hdf5(path), path, dataset)


def _zarr(path: Path, dataset: str | None) -> Opened:
    return _in_container(arrays_in_zarr(path), path, dataset)


def _envi(path: Path, _: str | None) -> Opened:
    cube, axis, where = open_envi(path)
    return cube, where, lambda _: (axis, False, [])


def _rosetta(path: Path, dataset: str | None) -> Opened:
    array, axis, where = open_rosetta(path, dataset)
    return Computed(array), where, lambda _: (axis, False, [])


KINDS: dict[str, Callable[[Path, str | None], Opened]] = {
    "npy": _npy,
    "HDF5": _hdf5,
    "Zarr": _zarr,
    "ENVI": _envi,
    "rosettasciio": _rosetta,
    "ZSpy": _rosetta,
}


def _in_container(found: dict[str, Any], path: Path, dataset: str | None) -> Opened:
    """The array that is asked for among those in a file."""
    shapes = {key: item.shape for key, item in found.items()}
    key = "" if list(found) == [""] else choose(shapes, dataset, path)
    where = f"{key} in {path}" if key else str(path)
    return found[key], where, _container(found, key, where)


def _container(found: dict[str, Any], key: str, where: str) -> Described:
    def described(transpose: bool | None) -> tuple[Axis, bool, list[str]]:
        array, plain = found[key], isinstance(found[key], np.ndarray)
        notes = [] if plain else list(notes_on(array, where))
        axis = find_axis({} if plain else vectors_beside(found, key), array.shape, transpose)
        turned, note = channels_first(tuple(array.shape), axis[0], transpose, where)
        return axis, turned, [*notes, note] if note else notes

    return described


class Computed:
    """A Dask array whose parts are computed here, when they are asked for."""

    def __init__(self, array: Any) -> None:
        self._array, self.shape, self.dtype = array, tuple(map(int, array.shape)), array.dtype
        self.chunks = tuple(int(sizes[0]) for sizes in array.chunks)

    def __getitem__(self, where: Any) -> NDArray:
        return np.asarray(self._array[where])


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

    def told_at(self, i: int, j: int) -> str:
        """Where an entry is, in words: here and in the file."""
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

    def told_at(self, i: int, j: int) -> str:
        """Where an entry is, in words: here and in the image."""
        y, x = divmod(i, self._across)
        return f"row {i}, that is pixel {y}, {x}, column {j}" + _chunk(self._cube, (y, x, j))


def _chunk(array: Any, place: tuple[int, ...]) -> str:
    """The name that a store gives to the chunk of an entry; empty where it has no chunks."""
    chunks = getattr(array, "chunks", None)
    if chunks is None:
        return ""
    return f" (chunk {'.'.join(str(at // size) for at, size in zip(place, chunks, strict=True))})"
