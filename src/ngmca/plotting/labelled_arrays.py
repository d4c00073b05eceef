"""A separation as arrays of xarray: with the dimensions and coordinates of the data."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ngmca._support.extras import load_extra
from ngmca._support.messages import ArgumentError, option
from ngmca.io import Dataset
from ngmca.io.containers.netcdf_and_xarray import spectral_dimension
from ngmca.plotting.sources_plot import fitting_dataset

if TYPE_CHECKING:
    import xarray as xr

SOURCE = "source"
Labels = tuple[dict[str, int], dict[str, int], dict[str, Any]]  # sizes of rows and channels, coordinates


def is_dataarray(data: Any) -> bool:
    """Return whether an object is a DataArray of xarray; xarray is not imported for that."""
    return all(hasattr(data, part) for part in ("dims", "coords", "sizes")) and hasattr(data, "values")


def labelled(found: Any, data: Any) -> "xr.Dataset":
    """Return A, S, shares, noise, background and error bars of a separation with labels of the data."""
    xr = load_extra("xarray", "to_xarray")
    m, n = len(found.A), found.S.shape[1]
    rows, channels, coords = _labels(data, m, n)
    sizes = [*rows.values()]
    A, S = found.answer
    across, along = (*rows, SOURCE), (SOURCE, *channels)
    arrays: dict[str, Any] = {
        "A": (across, A.reshape(*sizes, -1)),
        "S": (along, S),
        "share": (across, found.shares.reshape(*sizes, -1)),
        "noise": (tuple(rows), found.noise.reshape(sizes)),
    }
    if found.background is not None:
        values = found.background.values.reshape(*sizes, n)
        arrays["background"] = ((*rows, *channels), values)
    if found.posterior is not None and not found.posterior.refuted:
        for end, a, s in zip(("low", "high"), *_ends(found.posterior), strict=True):
            arrays[f"A_{end}"] = (across, a.reshape(*sizes, -1))
            arrays[f"S_{end}"] = (along, s)
    facts = {name: getattr(found, name) for name in ("n_iter", "stopped", "violation")}
    coords = coords | {SOURCE: np.arange(1, len(S) + 1)}
    return xr.Dataset(arrays, coords, facts | {"domain": found.domain.name})


def _ends(posterior: Any) -> tuple[Any, Any]:
    """Return the ends of the 90 % intervals of A and of S."""
    return posterior.A.interval(0.9), posterior.S.interval(0.9)


def _labels(data: Any, m: int, n: int) -> Labels:
    if is_dataarray(data):
        return _own_labels(data, m, n)
    known = Dataset(np.zeros((m, n))) if data is None else fitting_dataset(data, m, n)
    rows: dict[str, int] = {"measurement": m}
    coords: dict[str, Any] = {}
    if known.image_shape is not None:
        rows = dict(zip(("y", "x"), known.image_shape, strict=True))
    elif known.row_names:
        coords["measurement"] = list(known.row_names)
    if known.row_axis is not None:
        coords["row_axis"] = ("measurement", known.row_axis, {"long_name": known.row_label})
    if known.axis is not None:
        attributes = {"long_name": known.axis_name, "units": known.axis_unit}
        coords["channel"] = ("channel", known.axis, attributes)
    return rows, {"channel": n}, coords


def _own_labels(data: Any, m: int, n: int) -> Labels:
    """Return the dimensions and coordinates that a DataArray has itself."""
    if SOURCE in data.dims or SOURCE in data.coords:
        raise ArgumentError(
            "{} has a dimension or coordinate called 'source', which is the name of that of the "
            "sources: rename it with data.rename(source='other').",
            option("data"),
        )
    fitting_dataset(data, m, n)
    last, _ = spectral_dimension(data)
    rows = {dim: size for dim, size in data.sizes.items() if dim != last} or {"spectrum": 1}
    coords = {
        name: one for name, one in data.coords.items() if last not in one.dims or set(one.dims) == {last}
    }
    return rows, {last: data.sizes[last]}, coords
