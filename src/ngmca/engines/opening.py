"""From data in any form to the engine that holds them."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca import rules
from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca._support.threads import one_blas_thread
from ngmca.engines.derived import is_engine
from ngmca.engines.disk import DiskEngine
from ngmca.engines.gpu import open_device
from ngmca.engines.gpu.engine import GpuEngine, there_in_own_units
from ngmca.engines.memory import MemoryEngine
from ngmca.engines.protocol import Engine
from ngmca.engines.sliced_array import Source
from ngmca.engines.units import check_unit, in_own_units
from ngmca.engines.weighted import WeightedEngine
from ngmca.io.claimed_sizes import memory_left
from ngmca.io.conversion import as_dataset, check_orientation

DEVICES = ("cpu", "cuda")
MAX_SHARE_OF_MEMORY = (
    0.25  # of the free memory, up to which data that can be read in parts are read whole
)


@one_blas_thread
def open_data(
    data: Any,
    *,
    mask: Any = None,
    threads: int | None = None,
    lazily: bool | None = None,
    scratch: Path | None = None,
    device: str = "cpu",
) -> Engine:
    """Return the engine for data; an engine is returned as it is. Errors name what is wrong.

    The engine holds the data in units in which squares neither overflow nor vanish, `engine.unit`. All
    its arguments and results are in these units; results are brought back by their method `scaled`.

    Parameters
    ----------
    data : array, DataFrame, DataArray, Dataset, Engine, or list of matrices
        Measurements x channels. Entries that are NaN, or masked in a NumPy masked array, are missing.
        The rows of several data sets with the same channels follow each other. Objects with a shape, a
        dtype and slicing (memory maps, HDF5 datasets, Zarr arrays) that are too large for the memory
        are read in blocks.
    mask : array of bool, optional
        True for entries that are missing, besides those that are NaN or masked.
    threads : int, optional
        Threads to use. None: as many as there are.
    lazily : bool, optional
        Whether to read in blocks. None: only if the data are too large for the memory.
    scratch : Path, optional
        Folder for sources that are too large for the memory.
    device : {"cpu", "cuda"}
        Where to calculate.

    Returns
    -------
    Engine
        The results do not depend on which one it is.
    """
    arguments.check_choice(device, "device", DEVICES)
    if is_engine(data):
        return _opened_before(data, mask, device)
    if hasattr(data, "Y") and hasattr(data, "row_names"):  # a Dataset
        engine = open_data(
            data.Y, mask=mask, threads=threads, lazily=lazily, scratch=scratch, device=device
        )
        engine.parts = getattr(data, "parts", engine.parts)
        engine.techniques = getattr(data, "techniques", ())
        return engine
    if lazily is None and scratch is None and _is_turnable(data):
        data = as_dataset(data, "Y")
        return open_data(data, mask=mask, threads=threads, device=device)
    check_orientation(data, "Y")
    if device == "cuda":
        if lazily or scratch is not None:
            rules.check(rules.written(["disk" if scratch is None else "out", "gpu"]))
        return _on_gpu(data, mask, threads)
    if hasattr(data, "__cuda_array_interface__"):
        raise ArgumentError(
            "Y is on a GPU. Use {}, or copy it to memory with Y.get().", option("device", "cuda")
        )
    if threads is not None:
        arguments.check_count(threads, "threads")
    if is_dask(data):
        return _on_dask(data, mask, threads)
    if lazily or scratch is not None or (lazily is None and is_large(data)):
        _check_rules("disk", mask=True if np.ma.is_masked(data) else mask)
        return DiskEngine(Source.of(data), threads=threads, scratch=scratch)
    Y, missing, unit, parts = _in_own_units(data, mask)
    if missing is None:
        engine = MemoryEngine(Y, threads=threads, unit=unit)
    else:
        engine = WeightedEngine(Y, 1.0 - missing, threads=threads, unit=unit)
    engine.parts = parts
    return engine


def _is_turnable(data: Any) -> bool:
    """Return whether this is a DataArray in memory whose channels may be along any dimension.

    One with as many measurements as channels is not: arrays that belong to it, as masks and levels of
    noise, would fit without being turned.
    """
    if not (hasattr(data, "dims") and hasattr(data, "coords")) or hasattr(data, "data_vars"):
        return False
    square = len(data.dims) == 2 and len(set(data.shape)) == 1
    return not (square or is_dask(data) or is_large(data))


def _opened_before(engine: Engine, mask: Any, device: str) -> Engine:
    if mask is not None:
        raise ArgumentError("Y is an engine, which has its mask already: leave out {}.", option("mask"))
    if device == "cuda" and engine.place != "gpu":
        raise ArgumentError(
            "Y is an engine for the CPU: leave out {}, or open the data with it.",
            option("device", "cuda"),
        )
    return engine


def in_memory(
    Y: NDArray, weights: NDArray | None = None, *, like: Engine | None = None, unit: float = 1.0
) -> Engine:
    """Return the engine for a checked array, which is not copied, with or without weights of entries.

    It has threads, seed and unit of the engine `like`; `unit` is a further factor of the unit.
    """
    given: dict[str, Any] = {"unit": unit}
    if like is not None:
        given = {"unit": like.unit * unit, "threads": like.threads, "seed": like.seed}
    return MemoryEngine(Y, **given) if weights is None else WeightedEngine(Y, weights, **given)


def _read_whole(data: Any) -> Any:
    """Return data that can be sliced as an array; masked entries stay masked."""
    if isinstance(data, np.ndarray) or not is_sliceable(data) or len(data.shape) != 2:
        return data
    return np.asanyarray(data[:, :])


def _on_dask(data: Any, mask: Any, threads: int | None) -> Engine:
    """Return the engine of a Dask array; Dask is imported here, for those who have one."""
    from ngmca.engines.dask.engine import DaskEngine, as_matrix

    _check_rules("dask", mask=mask, threads=threads)
    array = as_matrix(data)
    if array is None:
        raise ArgumentTypeError(
            "a Dask {} is not an array: pass one of its arrays.", type(data).__name__
        )
    if np.isnan([size for sizes in array.chunks for size in sizes]).any():
        raise ArgumentError("the chunks of Y have unknown sizes: call Y.compute_chunk_sizes() first.")
    return DaskEngine(array)


def _on_gpu(data: Any, mask: Any, threads: int | None) -> GpuEngine:
    """Return the engine on the GPU, for arrays in memory and for those that are on the GPU already."""
    _check_rules("gpu", threads=threads)
    if hasattr(data, "__cuda_array_interface__"):
        _check_rules("gpu", mask=mask)
        return GpuEngine(*there_in_own_units(data, open_device()))
    too_large = is_large(data) and not isinstance(data, np.ndarray)  # and not mapped to memory
    _check_rules("gpu", dask=is_dask(data) or None, disk=too_large or None)
    Y, missing, unit, parts = _in_own_units(data, mask)
    _check_rules("gpu", **{"missing entries": missing})
    engine = GpuEngine(Y, open_device(), unit)
    engine.parts = parts
    return engine


def _check_rules(place: str, **given: Any) -> None:
    """Raise an error if what is given, if not None, cannot be combined with the place of the data."""
    rules.check(rules.written([place, *(name for name, value in given.items() if value is not None)]))


def open_whole(data: Any, *, threads: int | None = None) -> Engine:
    """Return the engine for methods that need every entry; raise an error if entries are missing."""
    if not is_engine(data):
        arguments.check_data(data)
    engine = open_data(data, threads=threads)
    if engine.weights is not None:
        raise ArgumentError(
            "this method does not support missing entries. Use {} or {}.",
            *(option("method", "soft"), option("method", "anls")),
        )
    return engine


def is_dask(data: Any) -> bool:
    """Return whether this is a Dask array, or holds one."""
    if isinstance(data, np.ndarray):
        return False
    if hasattr(data, "dims") and getattr(data, "chunks", None) is None:
        return False  # of xarray, and its `data` would be read
    graphs = (getattr(one, "__dask_graph__", None) for one in (data, getattr(data, "data", None)))
    return any(graph is not None and graph() is not None for graph in graphs)


def is_elsewhere(data: Any) -> bool:
    """Return whether data would not be read into memory: too large, or on a cluster."""
    return is_dask(data) or is_large(data)


def is_large(data: Any) -> bool:
    """Return whether data can be read in parts, and are too large to be read whole."""
    if not is_sliceable(data):
        return False
    size = float(np.prod(data.shape)) * (4 if data.dtype == np.float32 else 8)
    return size > MAX_SHARE_OF_MEMORY * memory_left()


def is_sliceable(data: Any) -> bool:
    """Return whether these are numbers outside the memory that slicing gets: on disk, for instance."""
    if isinstance(data, np.ndarray):
        return isinstance(data, np.memmap)
    parts = ("shape", "dtype", "__getitem__")
    others = ("toarray", "__cuda_array_interface__")  # sparse ones, and those on a GPU
    return all(hasattr(data, part) for part in parts) and not any(hasattr(data, one) for one in others)


def is_several(data: Any) -> bool:
    """Return whether these are several data sets: a list of matrices."""
    return isinstance(data, list | tuple) and bool(data) and all(np.ndim(one) == 2 for one in data)


def _in_own_units(data: Any, mask: Any) -> tuple[NDArray, NDArray | None, float, tuple[slice, ...]]:
    """Return data in memory, where entries are missing, the unit, and the rows of each data set."""
    parts: tuple[slice, ...] = (slice(None),)
    data = _read_whole(data)
    if is_several(data):
        data, mask, parts = _joined(data, mask)
    values, missing = arguments.check_observed(data, mask)
    Y, unit = in_own_units(values)
    check_unit(values, unit)
    return Y, missing, unit, parts


def _joined(data: Any, mask: Any) -> tuple[Any, Any, tuple[slice, ...]]:
    """Return several data sets, and their masks, one after the other, and the rows of each."""
    check_several(data)
    sizes = [np.shape(one) for one in data]
    if mask is not None:
        if not isinstance(mask, list | tuple) or [np.shape(one) for one in mask] != sizes:
            raise ArgumentError(
                "{} must be a list with one array for each data set in Y, of the same shape.",
                option("mask"),
            )
        mask = np.concatenate([np.asarray(one) for one in mask])
    if any(map(np.ma.isMaskedArray, data)):
        together = np.ma.concatenate(data)
    else:
        together = np.concatenate([arguments.as_array(one, "Y") for one in data])
    ends = np.cumsum([0, *(m for m, _ in sizes)]).tolist()
    return together, mask, tuple(slice(a, b) for a, b in pairwise(ends))


def check_several(data: Any) -> None:
    """Raise an error if data sets are not in memory, or have different channels."""
    if any(is_elsewhere(one) for one in data):
        raise ArgumentError(
            "several data sets must be in memory, but one of these is too large, or a Dask array. Put "
            "them together on disk, or with dask.array.concatenate."
        )
    sizes = [np.shape(one) for one in data]
    if len({n for _, n in sizes}) > 1:
        raise ArgumentError(
            "Y holds data sets of {}: they must have the same channels. ngmca.io.read brings files with "
            "overlapping axes to a common one.",
            ", ".join(f"{m} x {n}" for m, n in sizes),
        )


def by_part(value: Any, engine: Engine) -> Any:
    """Return one value for each measurement, from one for each data set or for its measurements."""
    parts = engine.parts
    if len(parts) == 1 or not isinstance(value, list | tuple) or len(value) != len(parts):
        return value
    sizes = [part.stop - part.start for part in parts]
    if any(np.ndim(one) > 1 for one in value):
        return np.concatenate(
            [np.broadcast_to(one, (m, engine.shape[1])) for one, m in zip(value, sizes, strict=True)]
        )
    return np.concatenate([np.broadcast_to(one, m) for one, m in zip(value, sizes, strict=True)])
