"""HDF5 (MATLAB 7.3 among it) and Zarr, by the path of a dataset inside."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.claimed_sizes import check_claim, in_words
from ngmca.io.containers.array_choice import choose, find_axis
from ngmca.io.containers.guards import check_hdf5, check_zarr
from ngmca.io.dataset import Dataset, ReadError, from_array, shown, told

NUMBERS = "fiubc"  # kinds of arrays that may be the data or their axis


def read_hdf5(
    path: Path, *, transpose: bool | None = None, dataset: str | None = None, **_: Any
) -> Dataset:
    """A dataset of an HDF5 file, with a vector beside it, or its dimension scale, as the axis.

    Numbers that lie in the file as they are in memory are a map of it, which their user copies.
    """
    import h5py

    try:
        check_hdf5(path)
        with h5py.File(path, "r") as file:
            found: dict[str, Any] = {}
            file.visititems(lambda name, item: _collect(found, name, item, h5py.Dataset))
            name = choose({key: _shape(item) for key, item in found.items()}, dataset, path)
            item = found[name]
            check_claim(float(item.nbytes), None, f"{name} in {path}")
            notes = _written(_share_written(item), f"{name} in {path}", item.nbytes)
            vectors = _scales(item, found) or _beside(found, name)
            stored = _mapped(item, path)
            array = stored.T if _is_matlab(item) else stored
    except (OSError, KeyError, RuntimeError) as error:
        raise ReadError(f"{path} is not a whole HDF5 file: {told(error)}.") from error
    return _labelled(array, vectors, f"{name} in {path}", transpose, name).noted(*notes)


def read_zarr(
    path: Path, *, transpose: bool | None = None, dataset: str | None = None, **_: Any
) -> Dataset:
    """A dataset of a Zarr store, with a vector beside it as the axis."""
    import zarr

    check_zarr(path)
    try:
        store = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr raises its own, KeyError and ValueError for damaged stores
        raise ReadError(f"{path} is not a Zarr store: {told(error)}.") from error
    if isinstance(store, zarr.Array):
        found, name, where = {"": store}, "", str(path)
    else:
        found = _arrays_in(store)
        name = choose({key: item.shape for key, item in found.items()}, dataset, path)
        where = f"{name} in {path}"
    array = found[name]
    check_claim(float(array.nbytes), None, where)
    notes = _written(_share_stored(array), where, array.nbytes)
    values = np.asarray(array[...])
    return _labelled(values, _beside(found, name), where, transpose, name).noted(*notes)


def arrays_in_zarr(path: Path) -> dict[str, Any]:
    """The arrays of numbers in a Zarr store, by their paths; an array alone has none."""
    import zarr

    check_zarr(path)
    store = zarr.open(str(path), mode="r")
    return {"": store} if isinstance(store, zarr.Array) else _arrays_in(store)


def arrays_in_hdf5(path: Path) -> dict[str, Any]:
    """The datasets of numbers in an HDF5 file, which stays open as long as one of them is in use."""
    import h5py

    check_hdf5(path)
    found: dict[str, Any] = {}
    h5py.File(path, "r").visititems(lambda name, item: _collect(found, name, item, h5py.Dataset))
    if any(_is_matlab(item) for item in found.values()):
        raise ReadError(f"{path} is of MATLAB, which holds everything transposed: it is read whole.")
    return found


def notes_on(item: Any, where: str) -> tuple[str, ...]:
    """What is to be said of a dataset of which some chunks were never written."""
    share = _share_written(item) if hasattr(item, "id") else _share_stored(item)
    return _written(share, where, item.nbytes)


def vectors_beside(found: dict[str, Any], name: str) -> dict[str, NDArray]:
    """The vectors that may be the axis of a dataset."""
    item = found[name]
    return (_scales(item, found) if hasattr(item, "dims") else {}) or _beside(found, name)


def _arrays_in(group: Any) -> dict[str, Any]:
    """The arrays of numbers in a Zarr group, and in those inside, by their paths."""
    import zarr

    members = sorted(group.members(max_depth=None))
    kinds = {key: item for key, item in members if isinstance(item, zarr.Array)}
    return {key: item for key, item in kinds.items() if item.dtype.kind in NUMBERS}


def _collect(found: dict[str, Any], name: str, item: Any, kind: Any) -> None:
    if isinstance(item, kind) and item.dtype.kind in NUMBERS and item.shape is not None:
        found[name] = item


def _mapped(item: Any, path: Path) -> NDArray:
    """The numbers of an HDF5 dataset: where they lie in one piece, a map of the file; else a copy."""
    from h5py import h5t

    place, size, kind = item.id.get_offset(), item.id.get_storage_size(), item.id.get_type()
    plain = any(kind.equal(native) for native in (h5t.NATIVE_DOUBLE, h5t.NATIVE_FLOAT))
    if place is None or not plain or size != item.nbytes or place + size > path.stat().st_size:
        return np.asarray(item[()])
    return np.memmap(path, item.dtype, "r", place, item.shape)


def _is_matlab(item: Any) -> bool:
    """MATLAB counts the first index fastest: its files hold everything transposed."""
    return "MATLAB_class" in item.attrs


def _shape(item: Any) -> tuple[int, ...]:
    return tuple(item.shape[::-1] if _is_matlab(item) else item.shape)


def written_notes(path: Path, name: str | None = None) -> tuple[str, ...]:
    """What is to be said about the numbers that were never written to HDF5 or Zarr; no other has any.

    It is about the dataset of that name, or about the largest one.
    """
    import h5py

    if path.is_dir() or path.suffix.lower() == ".zspy":
        return _zarr_notes(path, name)
    if not h5py.is_hdf5(path):
        return ()
    with h5py.File(path, "r") as file:
        found: dict[str, Any] = {}
        file.visititems(lambda key, item: _collect(found, key, item, h5py.Dataset))
        return _notes_of(found, name, path, _share_written)


def _zarr_notes(path: Path, name: str | None) -> tuple[str, ...]:
    import zarr

    if path.is_dir():
        return _notes_of(_arrays_in(zarr.open_group(str(path), mode="r")), name, path, _share_stored)
    with zarr.storage.ZipStore(path, mode="r") as store:
        return _notes_of(_arrays_in(zarr.open_group(store, mode="r")), name, path, _share_stored)


def _notes_of(
    found: dict[str, Any], name: str | None, path: Path, share: Callable[[Any], float]
) -> tuple[str, ...]:
    if not found:
        return ()
    item = found[name] if name in found else max(found.values(), key=lambda item: item.size)
    return _written(share(item), f"{item.name} in {path}", item.nbytes)


def _share_stored(array: Any) -> float:
    """Which share of the chunks of a Zarr array is in the store, or in the shards that are."""
    if array.shards is None:
        return float(array.nchunks_initialized / max(array.nchunks, 1))
    inside = [shard // chunk for shard, chunk in zip(array.shards, array.chunks, strict=True)]
    chunks = [-(-size // chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)]
    stored = 0
    for place in np.ndindex(*(-(-count // per) for count, per in zip(chunks, inside, strict=True))):
        rest = [count - i * per for count, i, per in zip(chunks, place, inside, strict=True)]
        here = _in_shard(array, array.metadata.encode_chunk_key(place), inside)
        stored += int(here[tuple(map(slice, rest))].sum())  # those beyond the end do not count
    return stored / max(math.prod(chunks), 1)


def _in_shard(array: Any, key: str, inside: list[int]) -> NDArray:
    """Which chunks the index of a shard names: pairs of place and size, all ones for those without."""
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
    """Which share of an HDF5 dataset has a place in the file."""
    if not item.size or item.is_virtual:
        return 1.0
    if item.chunks is None:
        return float(item.id.get_storage_size() > 0)
    whole = np.prod([-(-size // chunk) for size, chunk in zip(item.shape, item.chunks, strict=True)])
    return float(item.id.get_num_chunks() / whole)


def _written(share: float, where: str, size: float) -> tuple[str, ...]:
    """A note where some chunks are missing, which may be meant so; an error where all are."""
    if share <= 0:
        raise ReadError(f"{where} claims {in_words(size)} and none of it was ever written to the file.")
    if share >= 1:
        return ()
    return (f"{100 * (1 - share):.3g} % of {shown(where)} was never written: it is read as fill value.",)


def _beside(found: dict[str, Any], name: str) -> dict[str, NDArray]:
    """The vectors in the same group as a dataset, by names with their units."""
    group = name.rpartition("/")[0]
    return {
        _with_unit(key, item): np.ravel(item[()])
        for key, item in found.items()
        if key.rpartition("/")[0] == group and key != name and item.size == max(item.shape, default=0)
    }


def _scales(item: Any, found: dict[str, Any]) -> dict[str, NDArray]:
    """The vectors that are attached to the directions of an HDF5 dataset."""
    scales = [scale for direction in item.dims for scale in direction.values()]
    return {
        _with_unit(key, vector): np.ravel(vector[()])
        for key, vector in found.items()
        if vector in scales and vector.size == max(vector.shape, default=0)
    }


def _with_unit(key: str, item: Any) -> str:
    """A name as it is written in headings, with the unit that is stored beside the numbers."""
    told = [item.attrs.get(word, "") for word in ("long_name", "units")]
    name, unit = (
        t.decode(errors="replace") if isinstance(t, bytes) else t if isinstance(t, str) else ""
        for t in told
    )
    return f"{name or key} [{unit}]" if unit.strip() else name or key


def _labelled(
    array: NDArray, vectors: dict[str, NDArray], where: str, transpose: bool | None, name: str
) -> Dataset:
    axis, axis_name, unit = find_axis(vectors, array.shape, transpose)
    return from_array(
        array,
        axis,
        transpose=transpose,
        where=where,
        axis_name=axis_name,
        axis_unit=unit,
        meta={"dataset": shown(name)} if name else {},
    )
