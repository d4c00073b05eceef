"""Readers of NumPy's .npy and .npz, and of MATLAB's .mat up to version 7."""

import warnings
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ngmca.io.array_choice import choose_array, other_arrays
from ngmca.io.array_layout import BY_EVIDENCE, Layout, labelled
from ngmca.io.claimed_sizes import check_claim
from ngmca.io.containers.several_spectra import several_spectra
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, damaged

MAX_CELLS = 10_000  # of a cell array of MATLAB
MAX_COMPRESSION = 1100  # deflate makes nothing smaller than 1/1032 of its size


def read_npy(
    path: Path, *, stream: BinaryIO | None = None, layout: Layout = BY_EVIDENCE, **_: Any
) -> Dataset:
    """Read the array in a .npy file; `stream` is the file if it is open already."""
    opened = nullcontext(stream) if stream else path.open("rb")
    with damaged(f"{path} is not a complete .npy file"), opened as file:
        _check_header(file, path.stat().st_size, str(path))
        file.seek(0)
        array = np.load(file, allow_pickle=False)
    return labelled(array, {}, layout, str(path))


def read_npz(
    path: Path,
    *,
    layout: Layout = BY_EVIDENCE,
    dataset: str | None = None,
    stream: BinaryIO | None = None,
    **_: Any,
) -> Dataset:
    """Read the data in a .npz file, and their axis if another array in it is one."""
    opened = nullcontext(stream) if stream else path.open("rb")
    with damaged(f"{path} is not a complete .npz file"), opened as file:
        with zipfile.ZipFile(file) as archive:
            claims = 0.0
            for info in archive.infolist():
                with archive.open(info) as member:
                    claims += _check_header(member, info.file_size, f"{info.filename} in {path}")
            check_claim(claims, None, str(path))
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    return from_named(arrays, path, layout, dataset)


def read_mat(
    path: Path, *, layout: Layout = BY_EVIDENCE, dataset: str | None = None, **_: Any
) -> Dataset:
    """Read the data in a MATLAB file up to version 7, and their axis if another variable is one."""
    from scipy.io import loadmat, whosmat

    most = path.stat().st_size * MAX_COMPRESSION
    with damaged(f"{path} is not a complete MATLAB file"):
        for name, shape, kind in whosmat(path):
            size = 1 if kind in ("char", "logical", "int8", "uint8") else 4
            check_claim(float(np.prod(shape, dtype=float)) * size, most, f"{name} in {path}")
        stored = loadmat(path)
    named = {name: value for name, value in stored.items() if not name.startswith("__")}
    arrays = _numbers_and_words(named)
    return from_named(arrays, path, layout, dataset)


def _numbers_and_words(stored: dict[str, Any], deep: int = 3) -> dict[str, NDArray]:
    """Return the arrays of numbers and words in variables of MATLAB, also in their structures."""
    found: dict[str, NDArray] = {}
    for name, value in stored.items():
        if not isinstance(value, np.ndarray):
            continue
        if value.dtype.names and value.size == 1 and deep:
            inner = {f"{name}/{part}": value[part].item() for part in value.dtype.names}
            found |= _numbers_and_words(inner, deep - 1)
        elif value.dtype.kind == "O" and deep and value.size <= MAX_CELLS:
            found |= _in_cells(name, np.ravel(value).tolist(), deep - 1)
        elif value.dtype.kind in "fiubcU":
            found[name] = value
    return found


def _in_cells(name: str, cells: list[Any], deep: int) -> dict[str, NDArray]:
    """Return the words in cells of MATLAB as one array, or the arrays in them one by one."""
    if cells and all(isinstance(c, np.ndarray) and c.dtype.kind == "U" and c.size <= 1 for c in cells):
        return {name: np.array([str(c.item()) if c.size else "" for c in cells])}
    return _numbers_and_words({f"{name}/{i + 1}": cell for i, cell in enumerate(cells)}, deep)


def from_named(arrays: dict[str, NDArray], path: Path, layout: Layout, dataset: str | None) -> Dataset:
    """Return the data among several named arrays, with their axis if one of them fits."""
    numbers = {key: value for key, value in arrays.items() if value.dtype.kind in "fiubc"}
    several = None if dataset else several_spectra(numbers, lambda key, _: key, layout, path)
    if several is not None:
        return several
    shapes = {key: value.shape for key, value in numbers.items()}
    name = choose_array(shapes, dataset, path)
    vectors = {
        key: value
        for key, value in arrays.items()
        if key != name and value.size == max(value.shape, default=0)
    }
    data = labelled(arrays[name], vectors, layout, f"{name} in {path}", name)
    return data if dataset else data.with_notes(*other_arrays(shapes, name))


def _check_header(file: IO[bytes], size: int, where: str) -> float:
    """Return the bytes that a header announces; raise an error for pickles and for missing bytes."""
    formats = np.lib.format
    with damaged(f"{where} is not a complete .npy file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns about a damaged header when it parses it
        version = formats.read_magic(file)
        read = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
        shape, _, kind = read(file)
    if kind.hasobject:
        raise ReadError(
            f"{where} holds Python objects (a pickle), which could run any program when opened: "
            "it is not read. Save plain numbers."
        )
    claimed = float(np.prod(shape, dtype=float)) * kind.itemsize
    check_claim(claimed, size - file.tell(), where)
    return claimed
