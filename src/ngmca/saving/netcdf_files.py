"""NetCDF files that end with a checksum.

HDF5 ignores bytes after its own. A file without a checksum, written by an older version or by another
program, is read in a separate process: a damaged file can make HDF5 crash or hang.

h5netcdf writes and reads them. xarray can open them too, but takes a second to load.
"""

from collections.abc import Collection, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ngmca._support.atomic_files import write_atomically
from ngmca._support.isolated_process import IsolatedProcess
from ngmca.io.claimed_sizes import check_claim, memory_left
from ngmca.io.containers.safety_checks import check_hdf5
from ngmca.io.isolated_reading import call_isolated
from ngmca.saving.checksummed_files import has_checksum, with_checksum

# The names of its dimensions, its values and, for coordinates, its attributes.
Variable = tuple[Any, ...]


class Contents(TypedDict):
    """What a NetCDF file holds: values of its variables, its attributes, and those of its axis."""

    values: dict[str, NDArray]
    attributes: dict[str, Any]
    axis: dict[str, Any]


def write_netcdf(
    path: Path,
    variables: Mapping[str, Variable],
    coordinates: Mapping[str, Variable],
    attributes: Mapping[str, Any],
    compressed: Collection[str],
) -> None:
    """Write a NetCDF file; in memory first, since HDF5 may crash when a disk is full."""
    import h5netcdf

    content = BytesIO()
    with h5netcdf.File(content, "w") as file:
        file.attrs.update(attributes)
        for name, variable in variables.items():
            described = _written(file, name, variable, name in compressed)
            beside = [key for key, (axes, *_) in coordinates.items() if axes in described.dimensions]
            if beside:
                described.attrs["coordinates"] = " ".join(beside)
        for name, variable in coordinates.items():
            _written(file, name, variable, False)
    write_atomically(path, with_checksum(content))


def _written(file: Any, name: str, variable: Variable, compress: bool) -> Any:
    """Write a variable, with dimensions that do not exist yet, and return it."""
    import h5py

    axes, values, *attributes = variable
    axes, array = (axes,) if isinstance(axes, str) else tuple(axes), np.asarray(values)
    for axis, size in zip(axes, array.shape, strict=True):
        if axis not in file.dimensions:
            file.dimensions[axis] = size
    how: dict[str, Any] = (
        {"compression": "gzip", "compression_opts": 1, "shuffle": True} if compress else {}
    )
    if array.dtype.kind in "OU":
        array, how["dtype"] = array.astype(object), h5py.string_dtype()
    elif array.dtype.kind == "b":
        array, attributes = array.astype(np.int8), [{"dtype": "bool"}]  # as xarray writes them
    elif array.dtype.kind == "f":
        how["fillvalue"] = np.array(np.nan, array.dtype)[()]
    how.setdefault("dtype", array.dtype)
    written = file.create_variable(name, axes, **how)
    written[...] = array
    for described in attributes:
        written.attrs.update(described)
    return written


def read_netcdf(file: Path) -> Contents:
    """Read a NetCDF file, in a separate process if it has no checksum."""
    if has_checksum(file):
        return read_netcdf_here(str(file))
    with IsolatedProcess(memory=memory_left() / 2) as process:
        found: Contents = call_isolated(process, "ngmca.saving.netcdf_files:read_netcdf_here", file)
    return found


def is_written_by_ngmca(file: Path) -> bool:
    """Return whether a NetCDF file says that ngmca wrote it; its values are not read."""
    if has_checksum(file):
        return True
    with IsolatedProcess(memory=memory_left() / 2) as process:
        return bool(call_isolated(process, "ngmca.saving.netcdf_files:has_ngmca_attribute", file))


def read_netcdf_here(path: str) -> Contents:
    """Read a NetCDF file in this process."""
    import h5netcdf

    check_hdf5(Path(path))
    with h5netcdf.File(path, "r", phony_dims="access") as file:
        size = sum(
            variable.dtype.itemsize * float(np.prod(variable.shape))
            for variable in file.variables.values()
        )
        check_claim(size, None, path)
        return {
            "values": {name: _values(variable) for name, variable in file.variables.items()},
            "attributes": {name: _plain(value) for name, value in file.attrs.items()},
            "axis": dict(file.variables["axis"].attrs) if "axis" in file.variables else {},
        }


def _values(variable: Any) -> NDArray:
    """Return the values of a variable: text as str, and flags as bool."""
    values = np.asarray(variable[...])
    if values.dtype.kind == "O":
        return np.array([_text(one) for one in values.ravel()], dtype=object).reshape(values.shape)
    return values.astype(bool) if variable.attrs.get("dtype") == "bool" else values


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _plain(value: Any) -> Any:
    """Return the one value of an attribute that NetCDF holds as an array."""
    return value[0] if isinstance(value, np.ndarray) and value.shape == (1,) else value


def has_ngmca_attribute(path: str) -> bool:
    """Return whether a NetCDF file has the attribute that ngmca writes, read in this process."""
    import h5netcdf

    check_hdf5(Path(path))
    with h5netcdf.File(path, "r", phony_dims="access") as file:
        return "ngmca" in file.attrs
