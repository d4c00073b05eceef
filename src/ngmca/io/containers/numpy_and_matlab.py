"""NumPy's .npy and .npz, and MATLAB's .mat up to version 7."""

import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.claimed_sizes import check_claim
from ngmca.io.containers.array_choice import choose, find_axis
from ngmca.io.dataset import Dataset, ReadError, from_array, told

ZLIB_LIMIT = 1100  # deflate makes nothing smaller than 1/1032 of its size


def read_npy(path: Path, *, transpose: bool | None = None, **_: Any) -> Dataset:
    """The array in a .npy file."""
    with path.open("rb") as file:
        _check_header(file, path.stat().st_size, str(path))
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ReadError(f"{path} is not a whole .npy file: {told(error)}.") from error
    return from_array(array, transpose=transpose, where=str(path))


def read_npz(
    path: Path, *, transpose: bool | None = None, dataset: str | None = None, **_: Any
) -> Dataset:
    """The data in a .npz file, and their axis if another array in it is one."""
    try:
        with zipfile.ZipFile(path) as archive:
            claims = 0.0
            for info in archive.infolist():
                with archive.open(info) as member:
                    claims += _check_header(member, info.file_size, f"{info.filename} in {path}")
            check_claim(claims, None, str(path))
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(f"{path} is not a whole .npz file: {told(error)}.") from error
    return from_named(arrays, path, transpose=transpose, dataset=dataset)


def read_mat(
    path: Path, *, transpose: bool | None = None, dataset: str | None = None, **_: Any
) -> Dataset:
    """The data in a MATLAB file up to version 7, and their axis if another variable is one."""
    from scipy.io import loadmat, matlab, whosmat

    try:
        for name, shape, kind in whosmat(path):
            size = 1 if kind in ("char", "logical", "int8", "uint8") else 4
            check_claim(
                float(np.prod(shape, dtype=float)) * size, path.stat().st_size * ZLIB_LIMIT, name
            )
        stored = loadmat(path)
    except ReadError as error:
        raise ReadError(f"{path}: {error}") from error
    except (matlab.MatReadError, ValueError, TypeError, OSError, EOFError, IndexError) as error:
        raise ReadError(f"{path} is not a whole MATLAB file: {told(error)}.") from error
    arrays = {
        name: np.asarray(value)
        for name, value in stored.items()
        if not name.startswith("__") and isinstance(value, np.ndarray) and value.dtype.kind in "fiubc"
    }
    return from_named(arrays, path, transpose=transpose, dataset=dataset)


def from_named(
    arrays: dict[str, NDArray], path: Path, *, transpose: bool | None, dataset: str | None
) -> Dataset:
    """The data out of several named arrays, with their axis if one of them fits."""
    name = choose({key: value.shape for key, value in arrays.items()}, dataset, path)
    vectors = {key: value for key, value in arrays.items() if value.size == max(value.shape, default=0)}
    axis, axis_name, unit = find_axis(vectors, arrays[name].shape, transpose)
    return from_array(
        arrays[name],
        axis,
        transpose=transpose,
        where=f"{name} in {path}",
        axis_name=axis_name,
        axis_unit=unit,
        meta={"dataset": name},
    )


def _check_header(file: Any, size: int, where: str) -> float:
    """Bytes that a header claims; pickles, and claims of more than there is, are refused."""
    try:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else (np.lib.format.read_array_header_2_0)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python, which parses the header, about a damaged one
            shape, _, kind = read(file)
    except ValueError as error:
        raise ReadError(f"{where} is not a whole .npy file: {told(error)}.") from error
    if kind.hasobject:
        raise ReadError(
            f"{where} holds Python objects (a pickle), which could run any program when opened: "
            "it is not read. Save plain numbers."
        )
    claimed = float(np.prod(shape, dtype=float)) * kind.itemsize
    check_claim(claimed, size - file.tell(), where)
    return claimed
