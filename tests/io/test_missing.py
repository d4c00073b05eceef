"""Missing entries: empty cells, cells that say so, NaN in arrays; several files of several rows."""

import numpy as np
import pytest

from ngmca.io import Dataset, ReadError, read
from ngmca.io.missing_values import note_missing

AXIS = np.linspace(400.0, 800.0, 41)
Y = np.stack([np.exp(-(((AXIS - at) / 40) ** 2)) for at in (480.0, 600.0, 700.0)]).round(6)
HOLES = np.zeros(Y.shape, dtype=bool)
HOLES[0, 3] = HOLES[1, 20:24] = HOLES[2, 40] = True
HOLED = np.where(HOLES, np.nan, Y)


def cells(row, hole):
    return [hole if np.isnan(value) else repr(float(value)) for value in row]


def down(path, hole, sep=","):
    rows = [sep.join([f"{x:g}", *cells(row, hole)]) for x, row in zip(AXIS, HOLED.T, strict=True)]
    path.write_text("\n".join([sep.join(["nm", "a", "b", "c"]), *rows]) + "\n")
    return path


def across(path, hole):
    rows = [",".join([name, *cells(row, hole)]) for name, row in zip("abc", HOLED, strict=True)]
    path.write_text("\n".join([",".join(["nm", *(f"{x:g}" for x in AXIS)]), *rows]) + "\n")
    return path


@pytest.mark.parametrize("hole", ["", "NaN", "NA", "n/a", "-"])
@pytest.mark.parametrize("way", [down, across])
def test_cells_that_are_empty_or_say_so_are_missing(tmp_path, way, hole):
    data = read(way(tmp_path / "a.csv", hole))
    np.testing.assert_array_equal(data.Y, HOLED)
    np.testing.assert_array_equal(data.axis, AXIS)
    assert data.row_names == ("a", "b", "c")
    assert "a.csv has 6 missing entries (4.9 %), which are ignored." in data.notes


def test_semicolons_and_decimal_commas(tmp_path):
    text = down(tmp_path / "a.csv", "", ";").read_text().replace(".", ",")
    (tmp_path / "a.csv").write_text(text)
    np.testing.assert_array_equal(read(tmp_path / "a.csv").Y, HOLED)


def test_nan_in_arrays_is_missing(tmp_path):
    np.save(tmp_path / "a.npy", HOLED)
    np.testing.assert_array_equal(read(tmp_path / "a.npy").Y, HOLED)
    np.savez(tmp_path / "a.npz", Y=HOLED, wavelength=AXIS)
    data = read(tmp_path / "a.npz")
    np.testing.assert_array_equal(data.Y, HOLED)
    assert any("6 missing entries" in note for note in data.notes)


def test_dead_pixels_of_a_cube(tmp_path):
    cube = np.random.default_rng(0).random((4, 5, 41))
    cube[1, 2] = np.nan
    np.save(tmp_path / "cube.npy", cube)
    data = read(tmp_path / "cube.npy")
    assert data.image_shape == (4, 5)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(data.Y).all(axis=1)), [7])


def test_a_cut_table_is_refused_still(tmp_path):
    whole = down(tmp_path / "a.csv", "").read_text()
    (tmp_path / "a.csv").write_text(whole[: whole.rindex(",", 0, whole.rindex(","))])
    with pytest.raises(ReadError, match="line 42 has 2 cells, other lines have 4"):
        read(tmp_path / "a.csv")


def test_several_files_keep_their_measurements_apart(tmp_path):
    one, other = down(tmp_path / "one.csv", ""), across(tmp_path / "other.csv", "")
    data = read([one, other])
    assert data.parts == (slice(0, 3), slice(3, 6))
    assert data.row_names == tuple(f"{file}: {row}" for file in ("one", "other") for row in "abc")
    np.testing.assert_array_equal(data.Y, np.vstack([HOLED, HOLED]))
    assert read(one).parts == (slice(None),)


def test_gaps_stay_gaps_on_a_common_axis(tmp_path):
    one = down(tmp_path / "one.csv", "")
    other = tmp_path / "other.csv"
    fine = np.linspace(400.0, 800.0, 51)
    other.write_text("nm,d\n" + "".join(f"{x:g},{x / 800:g}\n" for x in fine))
    data = read([one, other])
    assert any("different axes" in note for note in data.notes)
    gone = np.isnan(data.Y)
    assert gone[1][(data.axis > 600) & (data.axis < 630)].all()
    assert not gone[3].any()
    assert gone.sum() < 3 * HOLES.sum()


def test_a_scale_that_overflows_is_refused():
    data = Dataset(np.array([[1.0, np.inf], [2.0, np.nan]]))
    with pytest.raises(ReadError, match="too large for 64 bits"):
        note_missing(data, "x")
    huge = Dataset(np.full((2, 2), 1.7e308))
    assert note_missing(huge, "x") is huge


def test_the_user_says_which_number_is_missing(tmp_path):
    path = down(tmp_path / "a.csv", "-999")
    data = read(path)
    np.testing.assert_array_equal(data.Y, HOLED)
    assert any("6 entries are -999" in note and "missing='none'" in note for note in data.notes)
    np.testing.assert_array_equal(read(path, missing="none").Y, np.where(HOLES, -999, Y))
    path = down(tmp_path / "b.csv", "-1")
    np.testing.assert_array_equal(read(path).Y, np.where(HOLES, -1, Y))
    np.testing.assert_array_equal(read(path, missing=-1).Y, HOLED)
    with pytest.raises(ValueError, match="missing must be a number or 'none', got 'x'"):
        read(path, missing="x")


@pytest.mark.parametrize("fill", [-1.23e34, 9.96921e36, -9999.0])
def test_fill_values_are_missing(tmp_path, fill):
    np.save(tmp_path / "a.npy", np.where(HOLES, fill, Y).astype("f4"))
    np.testing.assert_array_equal(read(tmp_path / "a.npy").Y, HOLED.astype("f4"))
    wide = np.where(HOLES, fill, 1e25 * (Y + 1) * np.sign(fill))  # not far from the others
    np.save(tmp_path / "a.npy", wide)
    np.testing.assert_array_equal(read(tmp_path / "a.npy").Y, wide)
