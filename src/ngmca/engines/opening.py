"""From what the user has to the engine that holds it."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
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

DEVICES = ("cpu", "cuda")
WHOLE = 0.25  # of the memory that is left, up to which what can be read in parts is read whole


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
    """The engine for an array, or for what is an engine already; errors name what is wrong.

    It holds the data in units in which squares neither overflow nor vanish, `engine.unit`. All that
    goes in and comes out is in these units; results are brought back by their method `scaled`.

    Entries that are NaN, masked (NumPy's masked arrays), or where `mask` (m, n) is true, are missing. Of
    a list of matrices, several data sets with the same channels, the rows follow each other.

    Objects with a shape, a dtype and slicing (memory maps, HDF5 datasets, Zarr arrays) that are too
    large for the memory, or any if `lazily`, are read in blocks; `scratch` is a folder for sources that
    are too large for it as well. The answer does not depend on it.
    """
    arguments.check_choice(device, "device", DEVICES)
    if is_engine(data):
        if mask is not None:
            raise ValueError("mask belongs to an array: these data are opened already.")
        if device == "cuda" and data.place != "gpu":
            raise ValueError("device belongs to an array: these data are opened already, for the CPU.")
        return data
    if device == "cuda":
        if lazily or scratch is not None:
            raise ValueError(
                "out, or blocks from disk, and device='cuda' do not go together: take 'cpu'."
            )
        return _on_gpu(data, mask, threads)
    if hasattr(data, "__cuda_array_interface__"):
        raise ValueError("Y is on a GPU: give device='cuda', or bring it to memory with Y.get().")
    if threads is not None:
        arguments.check_count(threads, "threads")
    if is_dask(data):
        return _on_dask(data, mask, threads)
    if lazily or scratch is not None or (lazily is None and is_large(data)):
        if mask is not None or np.ma.is_masked(data):
            raise ValueError("a mask needs all data in memory at once, and these are read in blocks.")
        return DiskEngine(Source.of(data), threads=threads, scratch=scratch)
    data = _brought(data)
    if is_several(data):
        return _several(data, mask, threads)
    values, missing = arguments.check_observed(data, mask)
    Y, unit = in_own_units(values)
    check_unit(Y, unit)
    if missing is None:
        return MemoryEngine(Y, threads=threads, unit=unit)
    return WeightedEngine(Y, 1.0 - missing, threads=threads, unit=unit)


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


def _brought(data: Any) -> Any:
    """What can be sliced, in memory: what is masked there stays so."""
    if isinstance(data, np.ndarray) or not is_sliceable(data) or len(data.shape) != 2:
        return data
    return np.asanyarray(data[:, :])


def _on_dask(data: Any, mask: Any, threads: int | None) -> Engine:
    """The engine of a Dask array; Dask is loaded by those who have one."""
    from ngmca.engines.dask.engine import DaskEngine, as_matrix

    if mask is not None:
        raise ValueError("mask needs all data in memory at once, and these are a Dask array.")
    if threads is not None:
        raise ValueError("threads has no meaning for a Dask array: its scheduler has its own.")
    array = as_matrix(data)
    if array is None:
        raise TypeError(f"a {type(data).__name__} of Dask is no array: pass one of its arrays.")
    if np.isnan([size for sizes in array.chunks for size in sizes]).any():
        raise ValueError("the chunks of Y have unknown sizes: call Y.compute_chunk_sizes() first.")
    return DaskEngine(array)


def _on_gpu(data: Any, mask: Any, threads: int | None) -> GpuEngine:
    """The engine on the GPU, for arrays in memory and for those that are there already."""
    if threads is not None:
        raise ValueError("threads has no meaning for device='cuda': leave it out.")
    if hasattr(data, "__cuda_array_interface__"):
        if mask is not None:
            raise ValueError("mask and device='cuda' do not go together: take device='cpu'.")
        return GpuEngine(*there_in_own_units(data, open_device()))
    _check_at_hand(data)
    parts: tuple[slice, ...] = (slice(None),)
    if is_several(data):
        check_several(data)
        if mask is not None:
            raise ValueError("mask and device='cuda' do not go together: take device='cpu'.")
        ends = np.cumsum([0] + [len(one) for one in data]).tolist()
        parts = tuple(slice(a, b) for a, b in pairwise(ends))
        data = np.concatenate([arguments.check_data(one) for one in data])
    else:
        data = _brought(data)
    values, missing = arguments.check_observed(data, mask)
    if missing is not None:
        raise ValueError("Y has missing entries, which device='cuda' cannot do without: take 'cpu'.")
    Y, unit = in_own_units(values)
    check_unit(Y, unit)
    engine = GpuEngine(Y, open_device(), unit)
    engine.parts = parts
    return engine


def _check_at_hand(data: Any) -> None:
    """Refuse what neither is in memory nor is mapped to it, and will not be brought there whole."""
    if is_dask(data):
        raise ValueError("a Dask array and device='cuda' do not go together: take device='cpu'.")
    if is_large(data) and not isinstance(data, np.ndarray):
        raise ValueError(
            "Y is too large to be read whole, and device='cuda' does not read in blocks: give a mapped "
            ".npy file, np.load(..., mmap_mode='r'), or take device='cpu'."
        )


def open_whole(data: Any, *, threads: int | None = None) -> Engine:
    """`open_data` for methods that need every entry: what is missing is refused."""
    if not is_engine(data):
        arguments.check_data(data)
    engine = open_data(data, threads=threads)
    if engine.weights is not None:
        raise ValueError("Y has missing entries, which this method cannot do without: use soft or anls.")
    return engine


def is_dask(data: Any) -> bool:
    """Whether this is a Dask array, or holds one."""
    if isinstance(data, np.ndarray):
        return False
    if hasattr(data, "dims") and getattr(data, "chunks", None) is None:
        return False  # of xarray, and its `data` would be read
    graphs = (getattr(one, "__dask_graph__", None) for one in (data, getattr(data, "data", None)))
    return any(graph is not None and graph() is not None for graph in graphs)


def is_elsewhere(data: Any) -> bool:
    """Whether data would not be brought into memory: too large to be, or on a cluster."""
    return is_dask(data) or is_large(data)


def is_large(data: Any) -> bool:
    """Whether this can be read in parts, and is too large to be read whole."""
    if not is_sliceable(data):
        return False
    size = float(np.prod(data.shape)) * (4 if data.dtype == np.float32 else 8)
    return size > WHOLE * memory_left()


def is_sliceable(data: Any) -> bool:
    """Whether these are numbers that lie elsewhere: on disk, or wherever slicing gets them from."""
    if isinstance(data, np.ndarray):
        return isinstance(data, np.memmap)
    parts = ("shape", "dtype", "__getitem__")
    others = ("toarray", "__cuda_array_interface__")  # sparse ones, and those on a GPU
    return all(hasattr(data, part) for part in parts) and not any(hasattr(data, one) for one in others)


def is_several(data: Any) -> bool:
    """Whether these are several data sets: a list of matrices."""
    return isinstance(data, list | tuple) and bool(data) and all(np.ndim(one) == 2 for one in data)


def _several(data: Any, mask: Any, threads: int | None) -> Engine:
    """The engine of several data sets, one after the other."""
    check_several(data)
    sizes = [np.shape(one) for one in data]
    if mask is not None:
        if not isinstance(mask, list | tuple) or [np.shape(one) for one in mask] != sizes:
            raise ValueError("mask must be a list with one array for each data set in Y, of its shape.")
        mask = np.concatenate([np.asarray(one) for one in mask])
    ends = np.cumsum([0] + [m for m, _ in sizes]).tolist()
    engine = open_data(np.ma.concatenate(data) if any(map(np.ma.isMaskedArray, data)) else
                       np.concatenate([arguments.as_array(one, "Y") for one in data]),
                       mask=mask, threads=threads)  # fmt: skip
    engine.parts = tuple(slice(a, b) for a, b in pairwise(ends))
    return engine


def check_several(data: Any) -> None:
    """Refuse data sets that are not in memory, or have other channels than the rest."""
    if any(is_elsewhere(one) for one in data):
        raise ValueError(
            "several data sets must be in memory, and one of these is too large, or a Dask array: "
            "put them together on disk, or with dask.array.concatenate."
        )
    sizes = [np.shape(one) for one in data]
    if len({n for _, n in sizes}) > 1:
        told = ", ".join(f"{m} x {n}" for m, n in sizes)
        raise ValueError(
            f"Y holds data sets of {told}: they must have the same channels. `ngmca.io.read` brings "
            "files with axes that overlap to a common one."
        )


def by_part(value: Any, engine: Engine) -> Any:
    """One value a data set, or one for each measurement of each, as one for each measurement."""
    parts = engine.parts
    if len(parts) == 1 or not isinstance(value, list | tuple) or len(value) != len(parts):
        return value
    sizes = [part.stop - part.start for part in parts]
    if any(np.ndim(one) > 1 for one in value):
        return np.concatenate(
            [np.broadcast_to(one, (m, engine.shape[1])) for one, m in zip(value, sizes, strict=True)]
        )
    return np.concatenate([np.broadcast_to(one, m) for one, m in zip(value, sizes, strict=True)])
