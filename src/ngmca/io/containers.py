"""HDF5 (MATLAB 7.3 among it) and Zarr, by the path of a dataset inside."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.choice import choose, find_axis
from ngmca.io.dataset import Dataset, ReadError, from_array
from ngmca.io.sizes import check_claim, in_words


def read_hdf5(
    path: Path, *, transpose: bool | None = None, dataset: str | None = None, **_: Any
) -> Dataset:
    """A dataset of an HDF5 file, with a vector beside it, or its dimension scale, as the axis."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            found: dict[str, Any] = {}
            file.visititems(lambda name, item: _collect(found, name, item, h5py.Dataset))
            name = choose({key: _shape(item) for key, item in found.items()}, dataset, path)
            item = found[name]
            _check_stored(item, f"{name} in {path}")
            vectors = _beside(found, name)
            array = item[()].T if _is_matlab(item) else item[()]
    except (OSError, KeyError, RuntimeError) as error:
        raise ReadError(f"{path} is not a whole HDF5 file: {error}.") from error
    return _labelled(array, vectors, f"{name} in {path}", transpose, name)


def read_zarr(
    path: Path, *, transpose: bool | None = None, dataset: str | None = None, **_: Any
) -> Dataset:
    """A dataset of a Zarr store, with a vector beside it as the axis."""
    import zarr

    try:
        store = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr raises its own, KeyError and ValueError for damaged stores
        raise ReadError(f"{path} is not a Zarr store: {error}.") from error
    if isinstance(store, zarr.Array):
        check_claim(float(store.nbytes), None, str(path))
        return from_array(np.asarray(store[...]), transpose=transpose, where=str(path))
    found: dict[str, Any] = {
        name: item
        for name, item in sorted(store.members(max_depth=None))
        if isinstance(item, zarr.Array)
    }
    name = choose({key: item.shape for key, item in found.items()}, dataset, path)
    check_claim(float(found[name].nbytes), None, f"{name} in {path}")
    vectors = _beside(found, name)
    return _labelled(np.asarray(found[name][...]), vectors, f"{name} in {path}", transpose, name)


def _collect(found: dict[str, Any], name: str, item: Any, kind: Any) -> None:
    if isinstance(item, kind) and item.dtype.kind in "fiubc" and item.shape is not None:
        found[name] = item


def _is_matlab(item: Any) -> bool:
    """MATLAB counts the first index fastest: its files hold everything transposed."""
    return "MATLAB_class" in item.attrs


def _shape(item: Any) -> tuple[int, ...]:
    return tuple(item.shape[::-1] if _is_matlab(item) else item.shape)


def _check_stored(item: Any, where: str) -> None:
    """Refuse sizes beyond memory, and datasets of which nothing was ever written."""
    check_claim(float(item.nbytes), None, where)
    if item.size and not item.id.get_storage_size():
        raise ReadError(
            f"{where} claims {in_words(item.nbytes)} and none of it was ever written to the file."
        )


def _beside(found: dict[str, Any], name: str) -> dict[str, NDArray]:
    """The vectors in the same group as a dataset."""
    group = name.rpartition("/")[0]
    return {
        key: np.ravel(item[()])
        for key, item in found.items()
        if key.rpartition("/")[0] == group and key != name and item.size == max(item.shape, default=0)
    }


def _labelled(
    array: NDArray, vectors: dict[str, NDArray], where: str, transpose: bool | None, name: str
) -> Dataset:
    axis, axis_name, unit = find_axis(vectors, array.shape)
    return from_array(
        array,
        axis,
        transpose=transpose,
        where=where,
        axis_name=axis_name,
        axis_unit=unit,
        meta={"dataset": name},
    )
