"""Readers of NetCDF files and of xarray objects, whose dimensions have names."""

from pathlib import Path
from typing import Any

import numpy as np

from ngmca._support.messages import Option, message, option
from ngmca.io.array_choice import EMISSION, EXCITATION, MAX_DIMENSIONS, choose_array, other_arrays, short
from ngmca.io.axis_units import is_place, is_spectral, known_unit, meaning, role, row_label
from ngmca.io.claimed_sizes import check_claim
from ngmca.io.containers.hdf5_and_zarr import written_notes
from ngmca.io.containers.safety_checks import check_hdf5
from ngmca.io.dataset import Dataset, monotonic, real_numbers
from ngmca.io.read_error import ReadError, damaged, require
from ngmca.io.vendors.mass_spectra import andi_run

CHANNEL_DIMENSIONS = ("shift", "band", "bands", "channel", "axis", "feature")  # and all quantities


def read_netcdf(
    path: Path,
    *,
    transpose: bool | None = None,
    dataset: str | None = None,
    axes: str | None = None,
    **_: Any,
) -> Dataset:
    """Read a variable of a NetCDF file, with its coordinates; or the scans of a run of GC-MS."""
    with path.open("rb") as file:
        classic = file.read(3) == b"CDF"
    run = andi_run(path) if classic and dataset is None else None
    if run is not None:
        return run
    xr = require("xarray", "NetCDF")
    with damaged(f"{path} is not a complete NetCDF file"):
        if not classic:
            require("h5netcdf", "NetCDF")
            check_hdf5(path)
        with xr.open_dataset(path, engine="scipy" if classic else "h5netcdf") as stored:
            data = from_xarray(stored, transpose=transpose, dataset=dataset, axes=axes, where=str(path))
        return data if classic else data.with_notes(*written_notes(path, data.meta.get("dataset")))


def from_xarray(
    stored: Any,
    *,
    transpose: bool | None = None,
    dataset: str | None = None,
    axes: str | None = None,
    where: str = "the array",
) -> Dataset:
    """Return the data of an xarray Dataset or DataArray; its spectral dimension becomes the channels."""
    notes: list[str] = []
    if hasattr(stored, "data_vars"):
        numeric = {str(k): v for k, v in stored.data_vars.items() if v.dtype.kind in "fiubc"}
        shapes = {key: value.shape for key, value in numeric.items()}
        name = choose_array(shapes, dataset, where)
        array, where = _with_positions(numeric[name], numeric), f"{name} in {where}"
        notes += [] if dataset else other_arrays(shapes, name)
    else:
        array = stored
    if axes is not None:
        array = _renamed(array, axes, where)
    if array.ndim == 1:
        array = array.expand_dims("spectrum")
    if array.ndim > MAX_DIMENSIONS or array.ndim == 0:
        raise ReadError(f"{where} has dimensions {dict(array.sizes)}: two to five are required.")
    check_claim(float(array.nbytes), None, where)
    channels, sure = spectral_dimension(array, transpose)
    if not sure:
        notes.append(
            message(
                "no dimension of {} is named like an axis of spectra: the last one, {!r}, is taken as "
                "the channels. Give {} to say what each is.",
                *(where, str(channels), option("axes", "channel,time")),
            )
        )
    elif transpose is None and channels != array.dims[-1]:
        notes.append(f"dimension {channels!r} holds the channels.")
    others = [dim for dim in array.dims if dim != channels]
    array = array.transpose(*others, channels)
    values = real_numbers(array.values, where)
    image = values.ndim == 3 and not any(EXCITATION.match(short(str(dim))) for dim in others)
    return Dataset(
        values.reshape(-1, values.shape[-1]),
        *_axis(array, channels),
        row_names=_row_names(array, others),
        **_row_axis(array, others),
        image_shape=(values.shape[0], values.shape[1]) if image else None,
        meta={"dataset": str(array.name)} if array.name is not None else {},
        notes=tuple(notes),
    )


def _with_positions(array: Any, variables: dict[str, Any]) -> Any:
    """Return an array with positions that are variables beside it instead of coordinates."""
    vectors = {k: v for k, v in variables.items() if v.ndim == 1 and v.dims[0] in array.dims}
    spectral = {k: v for k, v in vectors.items() if is_spectral(k)}
    return array.assign_coords(
        {k: (v.dims, v.values, v.attrs) for k, v in spectral.items() if k != array.name}
    )


def _renamed(array: Any, axes: str, where: str) -> Any:
    """Return an array with the names of dimensions that the user gives; coordinates stay."""
    words = [word.strip() for word in axes.split(",")]
    if len(words) != array.ndim or len(set(words)) < len(words):
        raise ReadError(
            "{} has {} dimensions: {} must give as many different names.",
            *(where, array.ndim, option("axes", axes)),
        )
    changed = {old: new for old, new in zip(array.dims, words, strict=True) if old != new}
    return array.rename(changed)


def spectral_dimension(array: Any, transpose: bool | None = None) -> tuple[Any, bool]:
    """Return the dimension of the channels, and whether anything says so.

    It is the one that `transpose` says, the one with a spectral name or unit, the one that is called
    channel or similar, the one that neither time, place nor samples are along, the only one with
    numeric coordinates, the one beside times or samples, or else the last one.
    """
    dims = list(array.dims)
    if transpose is not None:
        return dims[0 if transpose else -1], True
    roles = {dim: dimension_role(array, dim) for dim in dims}
    channels = [dim for dim in dims if str(dim).lower() in CHANNEL_DIMENSIONS]
    if "sample" in dims and {*dims} - {"sample"} <= {"source", "measurement"}:  # in files of results
        channels = ["sample"]
    left = [dim for dim in dims if not roles[dim] and not is_place(str(dim))]
    known = [dim for dim in left if _numeric(array, dim)]
    numeric = [dim for dim in dims if _numeric(array, dim)] if array.ndim == 2 else []
    spectral = [dim for dim in dims if roles[dim] == "spectral"]
    if len(spectral) > 1 and any(EXCITATION.match(short(str(dim))) for dim in spectral):
        spectral = [dim for dim in spectral if EMISSION.match(short(str(dim)))] or spectral
    spectral = [dim for dim in spectral if dim in channels] or spectral
    if len(spectral) > 1:
        raise ReadError(
            "several dimensions are named like an axis of spectra: {}. Say what each is, as {}.",
            *(", ".join(f"{dim} {array.sizes[dim]}" for dim in spectral), _words(array, spectral)),
        )
    rest = [dim for dim in dims if roles[dim] not in ("time", "counting")] if array.ndim == 2 else []
    for found in (spectral, channels, left, known, numeric, rest):
        if len(found) == 1:
            return found[0], True
    return dims[-1], False


def _words(array: Any, spectral: list[Any]) -> Option:
    """Return the option that names the dimensions, with the last spectral one as the channels."""
    words = {dim: f"axis{n + 1}" for n, dim in enumerate(spectral[:-1])} | {spectral[-1]: "channel"}
    return option("axes", ",".join(words.get(dim, str(dim)) for dim in array.dims))


def dimension_role(array: Any, dim: Any) -> str:
    """Return the role of a dimension: by its name, or by the name and unit of a coordinate along it."""
    words = [str(dim)]
    for name in _along(array, dim):
        unit = str(array.coords[name].attrs.get("units", ""))
        words += [str(name), f"{name} [{unit}]" if unit else ""]
    found = [role(word.replace("_", " ")) for word in words if word]
    return "spectral" if "spectral" in found else next(filter(None, found), "")


def _along(array: Any, dim: Any) -> list[Any]:
    """Return the names of the coordinates along a dimension, its own first."""
    return sorted(
        (name for name, one in array.coords.items() if one.dims == (dim,)), key=lambda name: name != dim
    )


def _numeric(array: Any, dim: Any) -> bool:
    return any(array.coords[name].dtype.kind in "fiu" for name in _along(array, dim))


def _axis(array: Any, dim: Any) -> tuple[Any, str, str]:
    """Return positions, name and unit along a dimension, from a spectral coordinate if there is one."""
    names = [name for name in _along(array, dim) if array.coords[name].dtype.kind in "fiu"]
    names.sort(key=lambda name: not is_spectral(str(name)))
    if not names:
        return None, str(dim), ""
    coordinate = array.coords[names[0]]
    values = np.asarray(coordinate.values, dtype=float)
    known = meaning(str(names[0])) or (str(names[0]).replace("_", " "), "")
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
    """Return names of measurements from the coordinates along all other dimensions."""
    if len(others) != 1:
        return ()
    names = _along(array, others[0])
    return tuple(str(value) for value in array.coords[names[0]].values) if names else ()
