"""Time, temperature and other coordinates of measurements: found in files, given by the user, kept."""

import numpy as np
import pandas as pd
import pytest

from ngmca import io
from ngmca.io.combine import combine
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError
from ngmca.io.row_coordinates import with_rows

AXIS = [900.0 + 4 * j for j in range(12)]
TIMES = [0.0, 0.5, 2.0, 3.25]


def written(path, corner, labels):
    lines = [",".join([corner, *map(str, AXIS)])]
    rows = np.random.default_rng(0).random((len(labels), len(AXIS))).cumsum(axis=1)
    lines += [",".join([str(label), *map(str, row)]) for label, row in zip(labels, rows, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("corner", "label"),
    [("time (h)", "time [h]"), ("t (min)", "t [min]"), ("Temperature [K]", "Temperature [K]")],
)
def test_a_column_of_times_beside_the_spectra_is_kept(tmp_path, corner, label):
    data = io.read(written(tmp_path / "a.csv", corner, TIMES))
    assert data.Y.shape == (4, 12)
    np.testing.assert_array_equal(data.row_axis, TIMES)
    assert data.row_label == label
    assert data.names == ("0", "0.5", "2", "3.25")


@pytest.mark.parametrize(("corner", "labels"), [("sample", [4, 9, 2, 7]), ("name", list("abcd"))])
def test_numbers_of_samples_and_words_are_no_coordinates(tmp_path, corner, labels):
    data = io.read(written(tmp_path / "a.csv", corner, labels))
    assert data.row_axis is None
    assert data.row_label == ""


def test_a_named_index_of_a_dataframe_is_kept():
    frame = pd.DataFrame(np.ones((4, 12)), columns=AXIS, index=pd.Index(TIMES, name="time (h)"))
    data = io.as_dataset(frame)
    np.testing.assert_array_equal(data.row_axis, TIMES)
    assert data.row_label == "time [h]"
    assert io.as_dataset(frame.rename_axis("sample")).row_axis is None


def test_a_coordinate_of_xarray_is_kept():
    xarray = pytest.importorskip("xarray")
    time = ("time", TIMES, {"units": "h"})
    array = xarray.DataArray(
        np.ones((4, 12)), dims=("time", "wavelength"), coords={"time": time, "wavelength": AXIS}
    )
    data = io.read(array)
    np.testing.assert_array_equal(data.row_axis, TIMES)
    assert data.row_label == "time [h]"


def test_files_together_keep_it_if_all_have_it(tmp_path):
    one, other, bare = (
        io.read(written(tmp_path / f"{corner[:2]}{i}.csv", corner, labels))
        for i, (corner, labels) in enumerate(
            [("time (h)", TIMES), ("time (h)", [4.0, 5.0]), ("sample", ["a", "b"])]
        )
    )
    both = combine([one, other], ["one", "other"])
    np.testing.assert_array_equal(both.row_axis, [*TIMES, 4, 5])
    assert both.row_label == "time [h]"
    assert combine([one, bare], ["one", "bare"]).row_axis is None


def test_coordinates_are_given_by_words_steps_or_a_file(tmp_path):
    data = Dataset(np.ones((4, 3)), row_names=("0", "0.5", "2", "3.25"))
    np.testing.assert_array_equal(with_rows(data, "time [h]").row_axis, TIMES)
    stepped = with_rows(data, "depth [um] 10:-2.5")
    np.testing.assert_array_equal(stepped.row_axis, [10, 7.5, 5, 2.5])
    assert stepped.row_label == "depth [um]"
    file = tmp_path / "times.csv"
    file.write_text("sample,time (h)\na,1\nb,2\nc,4\nd,8\n")
    given = with_rows(data, str(file))
    file.write_text("time (h)\n1\n2\n4\n8\n")
    np.testing.assert_array_equal(with_rows(data, str(file)).row_axis, given.row_axis)
    np.testing.assert_array_equal(given.row_axis, [1, 2, 4, 8])
    assert given.row_label == "time [h]"


def test_wrong_coordinates_are_refused_with_what_to_do(tmp_path):
    data = Dataset(np.ones((4, 3)), row_names=tuple("abcd"))
    with pytest.raises(ReadError, match=r"names of the measurements are not numbers.* 0:0.5"):
        with_rows(data, "time [h]")
    file = tmp_path / "times.csv"
    for text in ("time (h)\n1\n2\n", "time (h)\n1\n2\nthree\n4\n"):
        file.write_text(text)
        with pytest.raises(ReadError, match="one number for each of 4 measurements"):
            with_rows(data, str(file))
