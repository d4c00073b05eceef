"""NetCDF files that end with a checksum.

HDF5 ignores bytes after its own. Only files with a right checksum are read: a damaged one can make HDF5
crash or hang, or give other numbers.

They are files of HDF5 whose dimensions are dimension scales, which any program for NetCDF can open.
h5py writes and reads them: libraries for NetCDF take five times as long.
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

NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."  # as NetCDF names such scales
OF_NETCDF = ("_NCProperties", "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST")  # HDF5's and NetCDF's

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
    import h5py

    content, scales = BytesIO(), dict[str, Any]()  # of dimensions
    with h5py.File(content, "w", track_order=True) as file:  # netCDF-C appends to ordered files only
        file.attrs["_NCProperties"] = np.bytes_(f"version=2,h5py={h5py.__version__}")
        _describe(file, attributes)
        for name, variable in variables.items():
            described = _written(file, scales, name, variable, name in compressed)
            axes = _axes(variable)
            beside = [key for key, (along, *_) in coordinates.items() if along in axes]
            if beside:
                described.attrs["coordinates"] = " ".join(beside)
        for name, variable in coordinates.items():
            _written(file, scales, name, variable, False)
    write_atomically(path, with_checksum(content))


def _axes(variable: Variable) -> tuple[str, ...]:
    """Return the names of the dimensions of a variable."""
    return (variable[0],) if isinstance(variable[0], str) else tuple(variable[0])


def _written(file: Any, scales: dict[str, Any], name: str, variable: Variable, compress: bool) -> Any:
    """Write a variable, with dimensions that do not exist yet, and return it."""
    import h5py

    axes, array, attributes = _axes(variable), np.asarray(variable[1]), list(variable[2:])
    for axis, size in zip(axes, array.shape, strict=True):
        if axis not in scales:
            scales[axis] = _dimension(file, axis, size, len(scales))
    how: dict[str, Any] = (
        {"compression": "gzip", "compression_opts": 1, "shuffle": True} if compress else {}
    )
    if array.dtype.kind in "OU":
        array, how["dtype"] = array.astype(object), h5py.string_dtype()
    elif array.dtype.kind == "b":
        array, attributes = array.astype(np.int8), [{"dtype": "bool"}]  # as xarray writes them
    elif array.dtype.kind == "f":
        how["fillvalue"] = np.array(np.nan, array.dtype)[()]
        attributes.append({"_FillValue": how["fillvalue"]})
    if not array.size:
        how |= {"maxshape": [size or None for size in array.shape], "chunks": True}
    written = file.create_dataset(name, data=array, track_order=True, **how)
    for i, axis in enumerate(axes):
        written.dims[i].attach_scale(scales[axis])
    for described in attributes:
        _describe(written, described)
    return written


def _dimension(file: Any, name: str, size: int, number: int) -> Any:
    """Return the scale that stands for a dimension; one without entries is unlimited."""
    scale = file.create_dataset(name, (size,), ">f4", maxshape=(size or None,), track_order=True)
    scale.attrs["_Netcdf4Dimid"] = np.int32(number)
    scale.make_scale(f"{NO_VARIABLE}{size:10}")
    return scale


def _describe(item: Any, attributes: Mapping[str, Any]) -> None:
    """Write attributes; numbers are arrays, as NetCDF has them."""
    for key, value in attributes.items():
        item.attrs[key] = value if isinstance(value, str) else np.atleast_1d(value)


def is_written_by_ngmca(file: Path) -> bool:
    """Return whether a NetCDF file says that ngmca wrote it; its values are not read."""
    if has_checksum(file):
        return True
    with IsolatedProcess(memory=memory_left() / 2) as process:
        return bool(call_isolated(process, "ngmca.saving.netcdf_files:has_ngmca_attribute", file))


def read_netcdf(path: Path) -> Contents:
    """Read a NetCDF file that ends with a checksum."""
    import h5py

    if not has_checksum(path):
        raise ValueError("its checksum is missing. It was cut off, or another program wrote the file")
    check_hdf5(path)
    with h5py.File(path, "r") as file:
        variables = {name: item for name, item in file.items() if not _is_dimension(item)}
        size = sum(item.dtype.itemsize * float(np.prod(item.shape)) for item in variables.values())
        check_claim(size, None, str(path))
        return {
            "values": {name: _values(item) for name, item in variables.items()},
            "attributes": _attributes(file),
            "axis": _attributes(variables["axis"]) if "axis" in variables else {},
        }


def _is_dimension(item: Any) -> bool:
    """Return whether a dataset of HDF5 only stands for a dimension."""
    import h5py

    scale = h5py.h5ds.is_scale(item.id) and h5py.h5ds.get_scale_name(item.id)
    return bool(scale) and scale.startswith(NO_VARIABLE.encode())


def _values(variable: Any) -> NDArray:
    """Return the values of a variable: text as str, and flags as bool."""
    values = np.asarray(variable[...])
    if values.dtype.kind == "O":
        return np.array([one.decode() for one in values.ravel()], dtype=object).reshape(values.shape)
    is_flag = values.dtype == np.int8 and variable.attrs.get("dtype") == "bool"
    return values.astype(bool) if is_flag else values


def _attributes(item: Any) -> dict[str, Any]:
    """Return the attributes, and the one value of those that NetCDF holds as an array."""
    return {name: _plain(value) for name, value in item.attrs.items() if name not in OF_NETCDF}


def _plain(value: Any) -> Any:
    return value[0] if isinstance(value, np.ndarray) and value.shape == (1,) else value


def has_ngmca_attribute(path: str) -> bool:
    """Return whether a NetCDF file has the attribute that ngmca writes, read in this process."""
    import h5py

    check_hdf5(Path(path))
    with h5py.File(path, "r") as file:
        return "ngmca" in file.attrs
