"""One reading of tables of pandas, arrays of xarray and plain arrays, for all rooms."""

import subprocess
import sys

import numpy as np
import pytest

from ngmca.io import Dataset, as_dataset
from ngmca.io.conversion import spectra_in_dataframe

pd = pytest.importorskip("pandas")
Y = np.arange(12.0).reshape(3, 4)
AXIS = np.array([400.0, 410.0, 420.0, 430.0])


def test_a_dataset_is_returned_as_it_is():
    data = Dataset(Y)
    assert as_dataset(data) is data


@pytest.mark.parametrize("data", [Y, Y.tolist(), Y.astype(np.float32), Y.astype(int)])
def test_an_array_has_neither_axis_nor_names(data):
    found = as_dataset(data)
    np.testing.assert_array_equal(found.Y, Y)
    assert (found.axis, found.row_names, found.axis_name) == (None, (), "channel")


@pytest.mark.parametrize(
    ("title", "label"),
    [("wavelength [nm]", "wavelength [nm]"), ("ppm", "chemical shift [ppm]"), (None, "channel")],
)
def test_columns_are_the_axis_and_the_index_holds_names(title, label):
    table = pd.DataFrame(Y, index=["a", "b", "c"], columns=pd.Index(AXIS, name=title))
    data = as_dataset(table)
    np.testing.assert_array_equal(data.axis, AXIS)
    np.testing.assert_array_equal(data.Y, Y)
    assert (data.axis_label, data.names) == (label, ("a", "b", "c"))


def test_default_labels_of_pandas_are_neither_axis_nor_names():
    data = as_dataset(pd.DataFrame(Y))
    assert (data.axis, data.row_names) == (None, ())
    named = as_dataset(pd.DataFrame(Y, columns=["w", "x", "y", "z"], index=[1, 2, 3]))
    assert (named.axis, named.names) == (None, ("1", "2", "3"))
    masses = as_dataset(pd.DataFrame(Y, columns=pd.Index([1, 2, 3, 4], name="m/z")))
    np.testing.assert_array_equal(masses.axis, [1, 2, 3, 4])  # these only count, and are an axis


def test_missing_entries_of_pandas_are_nan():
    table = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, np.nan, 2.0]})
    np.testing.assert_array_equal(as_dataset(table).Y, [[1, 1], [np.nan, np.nan], [3, 2]])


def test_text_is_an_error_that_names_the_argument():
    with pytest.raises(TypeError, match="library must hold numbers only") as caught:
        as_dataset(pd.DataFrame({"a": ["x", "y"]}), "library")
    assert caught.value.message.names == ("library",)


def test_coordinates_of_xarray_are_axis_and_names():
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(Y, dims=("sample", "wavelength"), coords={"wavelength": AXIS})
    data = as_dataset(array.assign_coords(sample=["a", "b", "c"]))
    np.testing.assert_array_equal(data.axis, AXIS)
    assert (data.names, data.axis_name) == (("a", "b", "c"), "wavelength")


def test_spectra_are_in_the_rows_or_columns_of_a_table():
    wide = pd.DataFrame(Y, index=["a", "b", "c"], columns=pd.Index(AXIS, name="nm"))
    for table in (wide, wide.T):
        data = spectra_in_dataframe(table)
        np.testing.assert_array_equal(data.Y, Y)
        assert (data.names, data.axis_label) == (("a", "b", "c"), "wavelength [nm]")


def test_pandas_is_not_imported_for_arrays():
    code = (
        "import sys, numpy; from ngmca.io import as_dataset; as_dataset(numpy.ones((2, 3)));"
        "assert not {'pandas', 'xarray'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
