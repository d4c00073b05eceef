"""`as_dataset`: a data set from an array, a table of pandas or an array of xarray."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.arguments import as_array
from ngmca._support.messages import ArgumentTypeError, option
from ngmca.io.axis_names import quantity_of, with_axis_words
from ngmca.io.axis_units import NO_AXIS, heading, role, row_label
from ngmca.io.containers.netcdf_and_xarray import dimension_role, from_xarray
from ngmca.io.dataset import Dataset, monotonic
from ngmca.io.missing_values import note_missing
from ngmca.io.read_error import ReadError, printable


def as_dataset(data: Any, name: str = "data") -> Dataset:
    """Return data as a `Dataset`: with axis and names if they have any.

    Parameters
    ----------
    data : Dataset, DataFrame, DataArray or array
        A `Dataset` is returned as it is. The rows of a pandas DataFrame are measurements, its index
        holds their names, and its columns are the axis if they are numbers; an index that only counts
        from 0, which pandas makes by default, is ignored. The coordinates of an xarray DataArray or
        Dataset become axis and names. An array, or a list of lists, has measurements in its rows.
    name : str
        How an error calls the data.

    Returns
    -------
    Dataset

    Raises
    ------
    ArgumentError, ReadError
        If the data are not real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> as_dataset(np.ones((2, 3)))
    Dataset: 2 x 3, channel
    >>> import pandas as pd
    >>> axis = pd.Index([400.0, 410.0, 420.0], name="wavelength [nm]")
    >>> table = pd.DataFrame(np.ones((2, 3)), index=["water", "oil"], columns=axis)
    >>> as_dataset(table)
    Dataset: 2 x 3, wavelength [nm] from 400 to 420
    >>> as_dataset(table).names
    ('water', 'oil')
    """
    if isinstance(data, Dataset):
        return data
    if is_dataframe(data):
        check_orientation(data, name)
    if _is_labelled_array(data):
        return note_missing(from_xarray(data), "the array")
    if not is_dataframe(data):
        return Dataset(Y=as_array(data, name))
    axis, axis_name, unit = label_axis(data.columns) or (None, _text(data.columns.name) or NO_AXIS, "")
    index = data.index  # pandas counts from 0 by default
    counts = index.dtype.kind in "iu" and list(index) == list(range(len(index)))
    names = () if counts else tuple(printable(row) for row in index)
    label = "" if index.dtype.kind not in "fiu" else row_label(_text(index.name))
    along = np.asarray(index, dtype=float) if label else None
    Y = as_array(data, name).astype(float)
    found = Dataset(Y, axis, axis_name, unit, names, row_axis=along, row_label=label)
    return with_axis_words(found, {})


def check_orientation(data: Any, name: str = "data") -> None:
    """Raise an error for a DataFrame or DataArray whose labels say that channels are in its rows."""
    if _is_labelled_array(data) and getattr(data, "ndim", 0) == 2:
        channels, others = data.dims
        if _is_spectral_dim(data, channels) and not _is_spectral_dim(data, others):
            raise ReadError(
                "{}: its first dimension, {!r}, holds the channels, but rows must be measurements. Pass "
                "its transpose, {}.transpose({!r}, {!r}).",
                *(option(name), str(channels), name, str(others), str(channels)),
            )
    if not is_dataframe(data) or _is_spectral(data.columns) or not _is_spectral(data.index):
        return
    index = data.index
    raise ReadError(
        "{}: the index of the DataFrame holds the positions of channels, {:g} to {:g}, but rows must be "
        "measurements. Pass its transpose, {}.T; if these are numbers of measurements, give the index a "
        "name such as 'sample'.",
        *(option(name), float(index[0]), float(index[-1]), name),
    )


def _is_labelled_array(data: Any) -> bool:
    """Return whether data are an array of xarray; sparse arrays of SciPy also have `coords`."""
    return hasattr(data, "dims") and hasattr(data, "coords")


def _is_spectral_dim(array: Any, dim: Any) -> bool:
    return dimension_role(array, dim) == "spectral"


def _is_spectral(labels: Any) -> bool:
    """Return whether the labels of a DataFrame are positions on the axis of a spectrum."""
    found = label_axis(labels)
    if found is None or len(found[0]) < 2 or not monotonic(found[0]):
        return False
    name = _text(labels.name)
    return role(name) == "spectral" or (not role(name) and quantity_of(found[0]) is not None)


def spectra_in_dataframe(table: Any, name: str = "data") -> Dataset:
    """Return the spectra in the rows or in the columns of a DataFrame.

    The other direction must be the axis: exactly one of index and columns must hold positions.
    """
    across, down = label_axis(table.columns), label_axis(table.index)
    if (across is None) == (down is None):
        raise ArgumentTypeError(
            "{} is a DataFrame and {} of its index and columns are positions: make the index the "
            "positions and the columns the names, or the other way round.",
            *(option(name), "neither" if across is None else "both"),
        )
    data = as_dataset(table if across is not None else table.T, name)
    labels = table.index if across is not None else table.columns
    return replace(data, row_names=tuple(printable(label) for label in labels))


def is_dataframe(table: Any) -> bool:
    """Return whether an object is a pandas DataFrame; pandas is not imported for that."""
    return hasattr(table, "columns") and hasattr(table, "index")


def label_axis(labels: Any) -> tuple[NDArray, str, str] | None:
    """Return the positions in an index of pandas, their name and unit.

    Return None if the labels are not numbers, or if they only count from 0 or 1 and are not called an
    axis of spectra.
    """
    try:
        positions = np.asarray([float(label) for label in labels])
    except (TypeError, ValueError):
        return None
    name = _text(labels.name)
    counts = any(np.array_equal(positions, start + np.arange(len(positions))) for start in (0, 1))
    return None if counts and role(name) != "spectral" else (positions, *heading(name))


def _text(name: Any) -> str:
    return "" if name is None else str(name)
