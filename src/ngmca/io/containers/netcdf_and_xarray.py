"""Readers of NetCDF files and of xarray objects, whose dimensions have names."""

from pathlib import Path
from typing import Any

import numpy as np

from ngmca.io.array_choice import choose_array
from ngmca.io.axis_units import is_spectral, known_unit, meaning, row_label
from ngmca.io.claimed_sizes import check_claim
from ngmca.io.containers.hdf5_and_zarr import written_notes
from ngmca.io.containers.safety_checks import check_hdf5
from ngmca.io.dataset import Dataset, monotonic, real_numbers
from ngmca.io.read_error import ReadError, damaged

CHANNEL_DIMENSIONS = ("shift", "band", "bands", "channel", "sample", "axis")  # and all quantities


def read_netcdf(
    path: Path, *, transpose: bool | None = None, dataset: str | None = None, **_: Any
) -> Dataset:
    """Read a variable of a NetCDF file, with its coordinates."""
    import xarray as xr

    with path.open("rb") as file:
        classic = file.read(3) == b"CDF"
    with damaged(f"{path} is not a complete NetCDF file"):
        if not classic:
            check_hdf5(path)
        with xr.open_dataset(path, engine="scipy" if classic else "h5netcdf") as stored:
            data = from_xarray(stored, transpose=transpose, dataset=dataset, where=str(path))
        return data if classic else data.with_notes(*written_notes(path, data.meta.get("dataset")))


def from_xarray(
    stored: Any, *, transpose: bool | None = None, dataset: str | None = None, where: str = "the array"
) -> Dataset:
    """Return the data of an xarray Dataset or DataArray; its spectral dimension becomes the channels."""
    if hasattr(stored, "data_vars"):
        numeric = {str(k): v for k, v in stored.data_vars.items() if v.dtype.kind in "fiubc"}
        name = choose_array({key: value.shape for key, value in numeric.items()}, dataset, where)
        array, where = numeric[name], f"{name} in {where}"
    else:
        array = stored
    if array.ndim not in (2, 3):
        raise ReadError(f"{where} has dimensions {dict(array.sizes)}: two or three are required.")
    check_claim(float(array.nbytes), None, where)
    channels = _spectral_dimension(array, transpose)
    others = [dim for dim in array.dims if dim != channels]
    array = array.transpose(*others, channels)
    values = real_numbers(array.values, where)
    axis, axis_name, unit = _axis(array, channels)
    turned = transpose is None and channels != list(stored.dims)[-1] if array is not stored else False
    return Dataset(
        Y=values.reshape(-1, values.shape[-1]),
        axis=axis,
        axis_name=axis_name,
        axis_unit=unit,
        row_names=_row_names(array, others),
        **_row_axis(array, others),
        image_shape=(values.shape[0], values.shape[1]) if values.ndim == 3 else None,
        meta={"dataset": str(array.name)} if array.name is not None else {},
        notes=(f"dimension {channels!r} holds the channels.",) if turned else (),
    )


def _spectral_dimension(array: Any, transpose: bool | None) -> Any:
    """Return the dimension of the channels.

    It is the one that `transpose` says, the one with a spectral name, the only one with numeric
    coordinates, or the last one.
    """
    if transpose is not None:
        return array.dims[0 if transpose else -1]
    named = [
        dim for dim in array.dims if is_spectral(str(dim)) or str(dim).lower() in CHANNEL_DIMENSIONS
    ]
    if len(named) == 1:
        return named[0]
    if array.ndim == 2:
        numeric = [dim for dim in array.dims if _numeric(array, dim)]
        if len(numeric) == 1:
            return numeric[0]
    return array.dims[-1]


def _numeric(array: Any, dim: Any) -> bool:
    return dim in array.coords and array.coords[dim].dtype.kind in "fiu"


def _axis(array: Any, dim: Any) -> tuple[Any, str, str]:
    if not _numeric(array, dim):
        return None, str(dim), ""
    coordinate = array.coords[dim]
    values = np.asarray(coordinate.values, dtype=float)
    known = meaning(str(dim)) or (str(dim).replace("_", " "), "")
    name = coordinate.attrs.get("long_name", known[0])
    unit = known_unit(str(coordinate.attrs.get("units", known[1])))
    return (values if monotonic(values) or len(values) == 1 else None), str(name), unit


def _row_axis(array: Any, others: list[Any]) -> dict[str, Any]:
    """Return the coordinate of the measurements with its label, if it is a time or temperature."""
    if len(others) != 1 or not _numeric(array, others[0]):
        return {}
    values, name, unit = _axis(array, others[0])
    label = row_label(f"{name} [{unit}]" if unit else name)
    return {"row_axis": values, "row_label": label} if label and values is not None else {}


def _row_names(array: Any, others: list[Any]) -> tuple[str, ...]:
    if len(others) != 1 or others[0] not in array.coords:
        return ()
    return tuple(str(value) for value in array.coords[others[0]].values)
