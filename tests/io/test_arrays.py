"""Formats that come with the core install, written by the libraries they belong to."""

import h5py
import numpy as np
import pytest
import scipy.io
import xarray as xr
import zarr

from ngmca.io import ReadError, read

rng = np.random.default_rng(0)
Y = rng.standard_normal((4, 30))
AXIS = np.linspace(9, 1, 30)
CUBE = rng.standard_normal((3, 5, 30))


def in_npz(path, **arrays):
    np.savez(path, **arrays)


def in_mat(path, **arrays):
    scipy.io.savemat(path, arrays)


def in_hdf5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file["scan/" + name] = array


def in_matlab_7_3(path, **arrays):
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = np.asarray(array).T  # MATLAB's order
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def in_zarr(path, **arrays):
    group = zarr.open_group(str(path), mode="w")
    for name, array in arrays.items():
        group.create_array(name, data=np.asarray(array))


WRITERS = {
    "d.npz": in_npz,
    "d.mat": in_mat,
    "d.h5": in_hdf5,
    "v73.mat": in_matlab_7_3,
    "d.zarr": in_zarr,
}


@pytest.mark.parametrize("name", WRITERS)
def test_table_and_axis(tmp_path, name):
    WRITERS[name](tmp_path / name, data=Y, ppm=AXIS)
    data = read(tmp_path / name)
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, AXIS)
    assert (data.axis_name, data.axis_unit) == ("chemical shift", "ppm")


@pytest.mark.parametrize("name", WRITERS)
def test_channels_in_rows_are_turned_by_their_axis(tmp_path, name):
    WRITERS[name](tmp_path / name, data=Y.T, ppm=AXIS)
    data = read(tmp_path / name)
    np.testing.assert_array_equal(data.Y, Y)
    assert any("transposed" in note for note in data.notes)
    with pytest.raises(ReadError, match="does not fit an axis of length 30"):
        read(tmp_path / name, transpose=False)


@pytest.mark.parametrize("name", WRITERS)
def test_a_cube_becomes_pixels(tmp_path, name):
    WRITERS[name](tmp_path / name, cube=CUBE, ppm=AXIS)
    data = read(tmp_path / name)
    assert data.image_shape == (3, 5)
    np.testing.assert_array_equal(data.Y[7], CUBE[1, 2])


@pytest.mark.parametrize("name", WRITERS)
def test_several_tables_ask_for_a_choice(tmp_path, name):
    WRITERS[name](tmp_path / name, first=Y, second=2 * Y)
    with pytest.raises(ReadError, match=r"dataset='.*first' \(4x30\), dataset='.*second' \(4x30\)"):
        read(tmp_path / name)
    chosen = "scan/second" if name == "d.h5" else "second"
    np.testing.assert_array_equal(read(tmp_path / name, dataset=chosen).Y, 2 * Y)
    with pytest.raises(ReadError, match=r"no data for dataset='third'.*first"):
        read(tmp_path / name, dataset="third")


def test_npy_of_every_kind(tmp_path):
    for kind in ("f4", ">f8", "u2", "i8", "?"):
        array = (10 * Y).astype(kind)
        np.save(tmp_path / "d.npy", np.asfortranarray(array))
        np.testing.assert_array_equal(read(tmp_path / "d.npy").Y, array.astype(float))
    assert read(tmp_path / "d.npy", transpose=True).Y.shape == (30, 4)


@pytest.mark.parametrize(("engine", "form"), [("h5netcdf", None), ("scipy", "NETCDF3_64BIT")])
def test_netcdf(tmp_path, engine, form):
    names = ["a", "b", "c", "d"]
    coordinates = {"tube": names, "wavelength": ("wavelength", AXIS, {"units": "nm"})}
    array = xr.DataArray(Y.T, coordinates, ("wavelength", "tube"), name="absorbance")
    array.to_netcdf(tmp_path / "d.nc", engine=engine, format=form)
    for data in (read(tmp_path / "d.nc"), read(array)):
        np.testing.assert_array_equal(data.Y, Y)
        np.testing.assert_array_equal(data.axis, AXIS)
        assert (data.axis_name, data.axis_unit) == ("wavelength", "nm")
        assert data.row_names == ("a", "b", "c", "d")


def test_xarray_cube_with_the_spectra_first():
    array = xr.DataArray(np.moveaxis(CUBE, -1, 0), dims=("band", "y", "x"))
    data = read(array)
    assert data.image_shape == (3, 5)
    np.testing.assert_array_equal(data.Y[7], CUBE[1, 2])


def test_a_square_table_says_what_it_took(tmp_path):
    square = rng.standard_normal((6, 6))
    np.savez(tmp_path / "d.npz", data=square, axis=np.arange(6.0))
    data = read(tmp_path / "d.npz")
    np.testing.assert_array_equal(data.Y, square)
    assert any("transpose=True" in note for note in data.notes)
    np.testing.assert_array_equal(read(tmp_path / "d.npz", transpose=True).Y, square.T)


def test_the_format_is_found_from_the_content(tmp_path):
    np.save(tmp_path / "d.npy", Y)
    (tmp_path / "d.npy").rename(tmp_path / "d.csv")  # a wrong name
    np.testing.assert_array_equal(read(tmp_path / "d.csv").Y, Y)


def test_vectors_that_are_no_spectra_are_asked_about(tmp_path):
    axis = np.arange(300.0, 700.0, 2.0)
    one = np.exp(-(((axis - 500) / 40) ** 2))
    for other in ("absorbance_sd", "temperature"):
        np.savez(tmp_path / "d.npz", wavelength=axis, a=one, **{other: 0.1 * one})
        np.testing.assert_array_equal(read(tmp_path / "d.npz").Y, [one])
    for other in ("dark", "reference", "I0"):
        np.savez(tmp_path / "d.npz", wavelength=axis, a=one, **{other: 0.1 * one})
        with pytest.raises(ReadError, match=r"has several data sets\. Choose one: dataset="):
            read(tmp_path / "d.npz")
    np.savez(tmp_path / "d.npz", wavelength=axis, a=one, b=2 * one)
    data = read(tmp_path / "d.npz")
    np.testing.assert_allclose(data.Y, [one, 2 * one])
    assert data.row_names == ("a", "b")
    assert any("has 2 spectra" in note for note in data.notes)
    assert len(read(tmp_path / "d.npz", dataset="b").Y) == 1


def test_spectra_with_axes_of_different_lengths_come_to_a_common_axis(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        for name, step in (("first", 2.0), ("second", 1.0)):
            x = np.arange(300.0, 700.0, step)
            file[f"{name}/wavelength"], file[f"{name}/counts"] = x, np.exp(-(((x - 500) / 40) ** 2))
    data = read(tmp_path / "d.h5")
    assert data.row_names == ("first", "second")
    assert any("different axes" in note for note in data.notes)
    np.testing.assert_allclose(data.Y[0], data.Y[1], atol=1e-3)


def test_two_dimensions_of_spectra(tmp_path):
    em, ex = np.arange(300.0, 500.0, 4.0), np.arange(240.0, 300.0, 10.0)
    Y = np.random.default_rng(0).random((18, 50))
    cube = xr.DataArray(Y.reshape(3, 6, 50), dims=("sample", "excitation", "emission"),
                        coords={"excitation": ex, "emission": em})  # fmt: skip
    cube["emission"].attrs["units"] = cube["excitation"].attrs["units"] = "nm"
    data = read(cube)
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, em)
    assert data.image_shape is None
    both = cube.rename(excitation="pump_wavelength", emission="probe_wavelength")
    with pytest.raises(ReadError, match="several dimensions are named like an axis of spectra"):
        read(both)
    np.testing.assert_array_equal(read(both, axes="sample,pump,channel").Y, Y)
