"""Readers of HDF5 (also MATLAB 7.3) and Zarr."""

import math
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.array_choice import choose_array, is_axis_name, other_arrays
from ngmca.io.array_layout import BY_EVIDENCE, Layout, labelled
from ngmca.io.claimed_sizes import check_claim, in_words
from ngmca.io.containers.attributes import as_text, in_attributes
from ngmca.io.containers.blosc_chunks import check_blosc
from ngmca.io.containers.hdf5_conventions import read_convention
from ngmca.io.containers.safety_checks import check_hdf5, check_zarr
from ngmca.io.containers.several_spectra import several_spectra
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, damaged, printable, require

NUMERIC_KINDS = "fiubc"  # dtype kinds of arrays that may be the data or their axis


def read_hdf5(
    path: Path, *, layout: Layout = BY_EVIDENCE, dataset: str | None = None, **_: Any
) -> Dataset:
    """Read a dataset of an HDF5 file; its axis is its dimension scale or a vector in its group.

    If the numbers are stored as they are in memory, Y is a memory map of the file.
    """
    import h5py

    with damaged(f"{path} is not a complete HDF5 file"), ExitStack() as stack:
        check_hdf5(path)
        file = stack.enter_context(h5py.File(path, "r"))
        known = read_convention(file, dataset, layout, str(path))
        if known is not None:
            return known
        found = _datasets_in(file)
        shapes = {key: _shape(one) for key, one in found.items()}
        several = None if dataset else several_spectra(found, _with_unit, layout, path)
        if several is not None:
            return several
        name = choose_array(shapes, dataset, path)
        item, where = found[name], f"{name} in {path}"
        check_claim(float(item.nbytes), None, where)
        notes = notes_on(item, where)
        vectors = vectors_beside(found, name)
        stored = _mapped(item, path)
        array = stored.T if _is_matlab(item) else stored
    others = () if dataset else other_arrays(shapes, name)
    return labelled(array, vectors, layout, where, name).with_notes(*notes, *others)


def _shape(item: Any) -> tuple[int, ...]:
    """Return the shape of a dataset: fields are columns, and MATLAB stores arrays transposed."""
    if item.dtype.names:
        return (*item.shape, len(item.dtype.names))
    return tuple(item.shape[:: -1 if _is_matlab(item) else 1])


def read_zarr(
    path: Path, *, layout: Layout = BY_EVIDENCE, dataset: str | None = None, **_: Any
) -> Dataset:
    """Read an array of a Zarr store; a vector in its group is the axis."""
    with damaged(f"{path} is not a Zarr store"):
        found = arrays_in_zarr(path)
    shapes = {key: item.shape for key, item in found.items()}
    several = None if dataset else several_spectra(found, _with_unit, layout, path)
    if several is not None:
        return several
    name = "" if list(found) == [""] else choose_array(shapes, dataset, path)
    array, where = found[name], f"{name} in {path}" if name else str(path)
    check_claim(float(array.nbytes), None, where)
    notes = notes_on(array, where)
    values = np.asarray(array[...])
    others = () if dataset else other_arrays(shapes, name)
    return labelled(values, vectors_beside(found, name), layout, where, name).with_notes(*notes, *others)


def arrays_in_zarr(path: Path) -> dict[str, Any]:
    """Return the numeric arrays in a Zarr store by their paths; a single array has the path ""."""
    zarr = require("zarr", "Zarr")
    check_zarr(path)
    store = zarr.open(str(path), mode="r")
    return {"": store} if isinstance(store, zarr.Array) else _arrays_in(store)


def arrays_in_hdf5(path: Path) -> dict[str, Any]:
    """Return the numeric datasets in an HDF5 file, which stays open while one of them is in use."""
    import h5py

    check_hdf5(path)
    found = _datasets_in(h5py.File(path, "r"))
    if any(_is_matlab(item) for item in found.values()):
        raise ReadError(
            f"{path} is a MATLAB file, which stores arrays transposed: it cannot be read in blocks."
        )
    return found


def notes_on(item: Any, where: str) -> tuple[str, ...]:
    """Return a note if some chunks of a dataset were never written; raise an error for cut ones."""
    if not hasattr(item, "id"):
        check_blosc(item)
    share = _share_written(item) if hasattr(item, "id") else _share_stored(item)
    return _written(share, where, item.nbytes)


def vectors_beside(found: dict[str, Any], name: str) -> dict[str, NDArray]:
    """Return the vectors that may be the axis of a dataset."""
    item = found[name]
    beside = (_scales(item, found) if hasattr(item, "dims") else {}) or _beside(found, name)
    beside |= in_attributes(item)
    if any(is_axis_name(key) and vector.size in item.shape for key, vector in beside.items()):
        return beside
    return beside | _elsewhere(found, name)


def _arrays_in(group: Any) -> dict[str, Any]:
    """Return the numeric arrays in a Zarr group and its subgroups, by their paths."""
    zarr = require("zarr", "Zarr")
    members = sorted(group.members(max_depth=None))
    kinds = {key: item for key, item in members if isinstance(item, zarr.Array)}
    return {key: item for key, item in kinds.items() if item.dtype.kind in NUMERIC_KINDS}


def _datasets_in(file: Any) -> dict[str, Any]:
    """Return the numeric datasets in an open HDF5 file, by their paths."""
    import h5py

    found: dict[str, Any] = {}
    file.visititems(found.__setitem__)
    return {
        name: item
        for name, item in found.items()
        if isinstance(item, h5py.Dataset)
        and (item.dtype.kind in NUMERIC_KINDS or item.dtype.names)
        and item.shape is not None
    }


def _mapped(item: Any, path: Path) -> NDArray:
    """Return a memory map of an HDF5 dataset if it is stored in one piece, else a copy."""
    from h5py import h5t

    place, size, kind = item.id.get_offset(), item.id.get_storage_size(), item.id.get_type()
    plain = any(kind.equal(native) for native in (h5t.NATIVE_DOUBLE, h5t.NATIVE_FLOAT))
    if place is None or not plain or size != item.nbytes or place + size > path.stat().st_size:
        return np.asarray(item[()])
    return np.memmap(path, item.dtype, "r", place, item.shape)


def _is_matlab(item: Any) -> bool:
    """Return whether MATLAB wrote a dataset: it is stored transposed."""
    return "MATLAB_class" in item.attrs


def written_notes(path: Path, name: str | None = None) -> tuple[str, ...]:
    """Return notes about numbers that were never written to an HDF5 file or Zarr store.

    They are about the dataset of that name, or about the largest one.
    """
    import h5py

    if path.is_dir():
        group = require("zarr", "Zarr").open_group(str(path), mode="r")
        return _notes_of(_arrays_in(group), name, path)
    if path.suffix.lower() == ".zspy":
        zarr = require("zarr", "Zarr")
        with zarr.storage.ZipStore(path, mode="r") as store:
            return _notes_of(_arrays_in(zarr.open_group(store, mode="r")), name, path)
    if not h5py.is_hdf5(path):
        return ()
    with h5py.File(path, "r") as file:
        return _notes_of(_datasets_in(file), name, path)


def _notes_of(found: dict[str, Any], name: str | None, path: Path) -> tuple[str, ...]:
    if not found:
        return ()
    item = found[name] if name in found else max(found.values(), key=lambda item: item.size)
    return notes_on(item, f"{item.name} in {path}")


def _share_stored(array: Any) -> float:
    """Return the share of the chunks of a Zarr array that were written."""
    if array.shards is None:
        return float(array.nchunks_initialized / max(array.nchunks, 1))
    inside = [shard // chunk for shard, chunk in zip(array.shards, array.chunks, strict=True)]
    chunks = [-(-size // chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)]
    stored = 0
    for place in np.ndindex(*(-(-count // per) for count, per in zip(chunks, inside, strict=True))):
        rest = [count - i * per for count, i, per in zip(chunks, place, inside, strict=True)]
        here = _in_shard(array, array.metadata.encode_chunk_key(place), inside)
        stored += int(here[tuple(map(slice, rest))].sum())  # chunks beyond the end do not count
    return stored / max(math.prod(chunks), 1)


def _in_shard(array: Any, key: str, inside: list[int]) -> NDArray:
    """Return which chunks a shard holds.

    Its index has a pair (offset, size) for each chunk; all bits are 1 for a missing chunk.
    """
    from zarr.abc.store import RangeByteRequest, SuffixByteRequest
    from zarr.core.sync import sync

    codec = array.metadata.codecs[0].to_dict()["configuration"]
    size = 16 * math.prod(inside)
    more = 4 * sum(part["name"] == "crc32c" for part in codec["index_codecs"])
    first = codec["index_location"] == "start"
    where = RangeByteRequest(0, size) if first else SuffixByteRequest(size + more)
    raw = sync((array.store_path / key).get(byte_range=where))
    if raw is None:
        return np.zeros(inside, bool)
    pairs = np.frombuffer(raw.to_bytes()[:size], np.uint64).reshape(*inside, 2)
    return pairs[..., 0] != np.iinfo(np.uint64).max


def _share_written(item: Any) -> float:
    """Return the share of an HDF5 dataset that was written."""
    if not item.size or item.is_virtual:
        return 1.0
    if item.chunks is None:
        return float(item.id.get_storage_size() > 0)
    whole = np.prod([-(-size // chunk) for size, chunk in zip(item.shape, item.chunks, strict=True)])
    return float(item.id.get_num_chunks() / whole)


def _written(share: float, where: str, size: float) -> tuple[str, ...]:
    """Return a note if some chunks are missing; raise an error if all are."""
    if share <= 0:
        raise ReadError(f"{where} claims {in_words(size)}, but none of it was ever written to the file.")
    if share >= 1:
        return ()
    missing = f"{100 * (1 - share):.3g} % of {printable(where)}"
    return (f"{missing} was never written: the fill value is read there.",)


def _beside(found: dict[str, Any], name: str) -> dict[str, NDArray]:
    """Return the vectors in the same group as a dataset, by names with their units."""
    group = name.rpartition("/")[0]
    return {
        _with_unit(key, item): np.ravel(item[()])
        for key, item in found.items()
        if key.rpartition("/")[0] == group
        and key != name
        and not item.dtype.names
        and item.size == max(item.shape, default=0)
    }


def _elsewhere(found: dict[str, Any], name: str) -> dict[str, NDArray]:
    """Return vectors that are named like an axis in other groups, and fit a dimension of a dataset."""
    return {
        _with_unit(key, item): np.ravel(item[()])
        for key, item in found.items()
        if key != name and is_axis_name(key) and not item.dtype.names
        and item.size == max(item.shape, default=0) and item.size in found[name].shape
    }  # fmt: skip


def _scales(item: Any, found: dict[str, Any]) -> dict[str, NDArray]:
    """Return the vectors that are attached to the dimensions of an HDF5 dataset."""
    scales = [scale for direction in item.dims for scale in direction.values()]
    return {
        _with_unit(key, vector): np.ravel(vector[()])
        for key, vector in found.items()
        if vector in scales and vector.size == max(vector.shape, default=0)
    }


def _with_unit(key: str, item: Any) -> str:
    """Return a name as in headings, with the unit that is stored with the numbers."""
    name, units, unit = (as_text(item.attrs.get(word)) for word in ("long_name", "units", "unit"))
    unit = units or unit
    return f"{name or key} [{unit}]" if unit.strip() else name or key
