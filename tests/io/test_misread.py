"""Files that were once read wrong without a word: read right now, or refused with all readings named."""

import h5py
import numcodecs
import numpy as np
import pandas as pd
import pytest
import scipy.io
import xarray as xr
import zarr

from ngmca.io import ReadError, as_dataset, read

WN = np.arange(4000.0, 398.0, -2.0)
WL = np.arange(400.0, 700.0, 2.0)


def bands(axis, m=1, seed=0):
    """Smooth spectra of three substances in no order."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(axis.min(), axis.max(), (3, 5, 1))
    S = np.exp(-(((axis - centres) / (np.ptp(axis) / 40)) ** 2)).sum(axis=1)
    return rng.random((m, 3)) @ S + 0.002 * rng.standard_normal((m, len(axis)))


def in_npy(path, Y):
    np.save(path, Y)


def in_npz(path, Y):
    np.savez(path, spectrum=Y)


def in_mat(path, Y):
    scipy.io.savemat(path, {"ans": Y})


def in_hdf5(path, Y):
    with h5py.File(path, "w") as file:
        file["entry/table"] = Y


def in_zarr(path, Y):
    zarr.open_group(str(path), mode="w").create_array("table", data=Y)


WRITERS = {"d.npy": in_npy, "d.npz": in_npz, "d.mat": in_mat, "d.h5": in_hdf5, "d.zarr": in_zarr}


@pytest.mark.parametrize("name", WRITERS)
def test_an_axis_inside_an_array(tmp_path, name):
    Y = bands(WN)
    WRITERS[name](tmp_path / name, np.column_stack([WN, Y.T]))
    data = read(tmp_path / name)
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, WN)
    assert (data.axis_name, data.axis_unit) == ("wavenumber", "cm-1")
    assert any("the first column" in note and "is the axis" in note for note in data.notes)
    assert read(tmp_path / name, axis="none").Y.shape == (len(WN), 2)


@pytest.mark.parametrize(("m", "turned"), [(1, True), (1, False), (5, True), (5, False), (60, True)])
def test_an_axis_in_a_column_or_row_of_numbers(tmp_path, m, turned):
    table = np.vstack([WL, bands(WL, m)])
    np.save(tmp_path / "d.npy", table.T if turned else table)
    data = read(tmp_path / "d.npy")
    np.testing.assert_array_equal(data.Y, table[1:])
    np.testing.assert_array_equal(data.axis, WL)


def test_an_axis_down_and_an_axis_across(tmp_path):
    times = np.linspace(0.1, 8, 30)
    for corner in (0.0, np.nan):
        table = np.block([[np.array([[corner]]), times[None]], [WL[:, None], bands(WL, 30).T]])
        np.save(tmp_path / "d.npy", table)
        data = read(tmp_path / "d.npy")
        np.testing.assert_array_equal(data.Y, table[1:, 1:].T)
        np.testing.assert_array_equal(data.axis, WL)
        assert float(data.row_names[0]) == 0.1
    np.savetxt(tmp_path / "d.txt", np.where(np.isnan(table), 0, table))
    np.testing.assert_allclose(read(tmp_path / "d.txt", axis="first-column").Y, data.Y)


def test_numbers_without_an_axis_stay_data(tmp_path):
    decays = np.exp(-np.outer(np.linspace(0.1, 3, 40), np.linspace(1, 2, 60)))
    counts = np.random.default_rng(0).poisson(20, (300, 2)).astype(float)
    for Y in (bands(WL, 40), decays, counts, np.arange(12.0).reshape(4, 3)):
        np.save(tmp_path / "d.npy", Y)
        data = read(tmp_path / "d.npy")
        np.testing.assert_array_equal(data.Y, Y)
        assert data.axis is None


def test_wavelengths_of_a_detector_are_no_data(tmp_path):
    cube = np.random.default_rng(0).random((4, 3, 5, 2, 32))
    np.savez(tmp_path / "d.npz", wl=np.sort(np.random.default_rng(1).random((32, 3))), data=cube)
    with pytest.raises(ReadError, match=r"5 dimensions, 4x3x5x2x32, .* axes="):
        read(tmp_path / "d.npz")
    data = read(tmp_path / "d.npz", axes="time,detector,y,x,channel")
    np.testing.assert_array_equal(data.Y, cube.reshape(-1, 32))
    assert data.row_names[1] == "time 1, detector 1, y 1, x 2"
    data = read(tmp_path / "d.npz", axes="time,detector,y,wavelength,x")
    np.testing.assert_array_equal(data.Y, np.moveaxis(cube, 3, 4).reshape(-1, 2))
    for wrong, words in (("time,channel", "names 2"), ("a,b,c,d,e", "must call one dimension channel")):
        with pytest.raises(ReadError, match=words):
            read(tmp_path / "d.npz", axes=wrong)


def test_an_axis_names_its_dimension(tmp_path):
    cube = np.random.default_rng(0).random((6, 150, 4, 5))
    np.savez(tmp_path / "d.npz", scan=cube, wavelength=WL, time=np.arange(6.0))
    data = read(tmp_path / "d.npz")
    np.testing.assert_array_equal(data.Y, np.moveaxis(cube, 1, -1).reshape(-1, 150))
    np.testing.assert_array_equal(data.axis, WL)
    np.savez(tmp_path / "d.npz", scan=cube[0].transpose(1, 0, 2), wavelength=WL)
    np.testing.assert_array_equal(read(tmp_path / "d.npz").Y[1], cube[0, :, 0, 1])


def test_what_is_large_is_the_data_and_the_rest_is_told(tmp_path):
    Y = bands(WL, 40)
    np.savez(tmp_path / "d.npz", nir=Y, props=np.ones((40, 3)))
    data = read(tmp_path / "d.npz")
    np.testing.assert_array_equal(data.Y, Y)
    assert any("also has props 40x3" in note for note in data.notes)


def test_one_spectrum_and_its_axis_as_vectors(tmp_path):
    Y = bands(WL)
    scipy.io.savemat(tmp_path / "d.mat", {"wavelength": WL[:, None], "absorbance": Y.T})
    data = read(tmp_path / "d.mat")
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, WL)


def test_names_of_measurements_beside_an_array(tmp_path):
    Y = bands(WL, 4)
    np.savez(tmp_path / "d.npz", Y=Y, wl=WL, names=np.array(["a", "b", "c", "d"]))
    assert read(tmp_path / "d.npz").row_names == ("a", "b", "c", "d")
    np.savez(tmp_path / "d.npz", Y=Y, wl=WL, time=np.arange(4) / 2)
    assert read(tmp_path / "d.npz").row_names == ("0", "0.5", "1", "1.5")


def test_coordinates_say_which_dimension_holds_the_channels():
    Y = bands(WL, 12)
    coordinates = {"wavelength": WL, "sample": np.arange(12.0)}
    for order in (("wavelength", "sample"), ("sample", "wavelength")):
        array = xr.DataArray(Y.T, coordinates, ("wavelength", "sample")).transpose(*order)
        for data in (read(array), as_dataset(array)):
            np.testing.assert_array_equal(data.Y, Y)
            np.testing.assert_array_equal(data.axis, WL)
    array = xr.DataArray(Y.T, {"e": ("e", WL, {"units": "nm"}), "t": np.arange(12.0)}, ("e", "t"))
    np.testing.assert_array_equal(read(array).axis, WL)
    array = xr.DataArray(Y.T, dims=("a", "b"))
    assert any("taken as the channels" in note for note in read(array).notes)
    np.testing.assert_array_equal(read(array, axes="channel,time").Y, Y)


@pytest.mark.parametrize("other", ["feature", "variable", "x", "frequency", "bin"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_dimension_called_sample_numbers_the_measurements(other, turned):
    array = xr.DataArray(bands(WL, 12), dims=("sample", other))
    data = as_dataset(array.T if turned else array)
    np.testing.assert_array_equal(data.Y, array.values)


def test_a_table_with_positions_in_its_index_is_refused():
    import ngmca

    table = pd.DataFrame(bands(WL, 3).T, index=pd.Index(WL, name="wavelength"), columns=["a", "b", "c"])
    for door in (as_dataset, lambda data: ngmca.separate(data, 2, n_init=1)):
        with pytest.raises(ReadError, match=r"the index .* 400 to 698.*\.T"):
            door(table)
    assert as_dataset(table.T).axis_name == "wavelength"
    array = xr.DataArray(table.to_numpy(), {"wavelength": WL}, ("wavelength", "tube"))
    turned = as_dataset(array)  # the coordinates say which dimension holds the channels
    assert (turned.Y.shape, turned.axis_name) == ((3, len(WL)), "wavelength")
    np.testing.assert_array_equal(turned.Y, array.to_numpy().T)


@pytest.mark.parametrize(
    ("axis", "known"),
    [
        (WN, ("wavenumber", "cm-1")),
        (WN[::-1], ("wavenumber", "cm-1")),
        (np.linspace(1800, 900, 467), ("wavenumber", "cm-1")),
        (WL, ("wavelength", "nm")),
        (WL[::-1], ("wavelength", "nm")),
        (np.arange(1100.0, 2500.0, 2.0), ("wavelength", "nm")),
        (np.linspace(12, -1, 4096), ("chemical shift", "ppm")),
        (np.linspace(200, 1800, 801), ("channel", "")),
    ],
)
def test_the_quantity_of_an_axis_without_a_name_is_guessed_and_told(tmp_path, axis, known):
    Y = bands(axis, 2)
    pd.DataFrame(Y, index=pd.Index(["a", "b"], name="name"), columns=axis).to_csv(tmp_path / "t.csv")
    data = read(tmp_path / "t.csv")
    assert (data.axis_name, data.axis_unit) == known
    assert any("is a guess" in note for note in data.notes) == (known[0] != "channel")
    data = read(tmp_path / "t.csv", axis_name="energy", axis_unit="eV", axis_direction="falling")
    assert (data.axis_name, data.axis_unit) == ("energy", "eV")
    assert data.meta["axis_direction"] == "falling"
    assert not any("is a guess" in note for note in data.notes)


def test_words_for_an_axis_that_is_not_there(tmp_path):
    np.save(tmp_path / "d.npy", np.random.default_rng(0).random((4, 30)))
    with pytest.raises(ReadError, match="no axis: leave out axis_unit"):
        read(tmp_path / "d.npy", axis_unit="nm")


@pytest.mark.parametrize("metas", [("conc",), ("conc", "class"), ("class",)])
@pytest.mark.parametrize("axis", [WL[:4], WL[:12], WL])
@pytest.mark.parametrize("asked", [None, "first-row"])
def test_properties_after_the_spectra(tmp_path, metas, axis, asked):
    Y = np.round(bands(WL, 12)[:, : len(axis)], 5)
    table = pd.DataFrame(Y, columns=[f"{x:g}" for x in axis])
    for name in metas:
        table[name] = np.arange(12) / 8 if name == "conc" else [*"ababcabcabca"]
    table.to_csv(tmp_path / "t.csv", index=False)
    data = read(tmp_path / "t.csv", axis=asked)
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, axis)
    first = ", ".join({"conc": "conc=0", "class": "class=a"}[name] for name in metas)
    assert data.row_names[0] == (first if len(metas) > 1 or metas[0] == "conc" else "a")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("cut", [1, 4, 8])
def test_a_blosc_chunk_that_was_cut(tmp_path, version, cut):
    codec = numcodecs.Blosc("lz4") if version == 2 else zarr.codecs.BloscCodec(cname="lz4")
    Y = np.round(bands(WL, 40), 3)
    path = tmp_path / "d.zarr"
    zarr.create_array(str(path), data=Y, chunks=(20, 75), zarr_format=version, compressors=codec)
    np.testing.assert_array_equal(read(path).Y, Y)
    chunk = path / ("1.1" if version == 2 else "c/1/1")
    chunk.write_bytes(chunk.read_bytes()[:-cut])
    with pytest.raises(ReadError, match=r"chunk .*1.1 claims \d+ bytes, but the file has \d+"):
        read(path)


def table_of(folder, heads, *columns, sep=",", form="{:.6g}"):
    """A text file with these headings and columns."""
    cells = [[c if isinstance(c, str) else form.format(c) for c in column] for column in columns]
    rows = [sep.join(heads), *(sep.join(row) for row in zip(*cells, strict=True))]
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    return folder / "t.csv"


def test_points_between_thousands_with_few_numbers_below(tmp_path):
    counts = np.round(5000 * np.abs(bands(WL)[0]) + 1000)
    for below in (1, 2, len(counts) - 1):
        counts[:below] = 987
        cells = [f"{v:,.0f}".replace(",", ".") for v in counts]
        with pytest.raises(ReadError, match="decimals or thousands"):
            read(table_of(tmp_path, ["wavelength", "a"], WL, cells, sep=";"))


def test_retention_times_are_no_spectrum(tmp_path):
    mz, Y = np.arange(50.0, 200.0), np.abs(bands(WL, 2))
    path = table_of(tmp_path, ["m/z", "retention time", "a", "b"], mz, np.sort(Y[0]) * 20, *Y)
    data = read(path)
    np.testing.assert_allclose(data.Y, Y, rtol=1e-4)
    assert data.row_names == ("a", "b")
    assert any("left out: retention time" in note for note in data.notes)


@pytest.mark.parametrize("name", ["mean", "c_sd", "d (std)", "Average", "rsd", "i0"])
def test_means_and_deviations_beside_data_are_told(tmp_path, name):
    path = table_of(tmp_path, ["wavelength", "a", "b", name], WL, *bands(WL, 3))
    notes = " ".join(read(path).notes)
    assert f"columns that may not be measurements: 4 {name}" in notes


@pytest.mark.parametrize("code", [-999, -9999])
def test_codes_of_missing_entries(tmp_path, code):
    Y = np.round(bands(WL, 3), 5)
    Y[1, 7:9] = code
    expected = np.where(code == Y, np.nan, Y)
    np.savez(tmp_path / "d.npz", Y=Y, wl=WL)
    for path in (table_of(tmp_path, ["wavelength", "a", "b", "c"], WL, *Y), tmp_path / "d.npz"):
        data = read(path)
        np.testing.assert_allclose(data.Y, expected, rtol=1e-4)
        assert any(f"2 entries are {code}" in note for note in data.notes)
    low = np.where(np.isnan(expected), code, expected + 0.2 * code)  # other entries are as low
    np.savez(tmp_path / "d.npz", Y=low, wl=WL)
    np.testing.assert_array_equal(read(tmp_path / "d.npz").Y, low)


def test_a_log_of_scan_parameters_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    n = np.arange(60)
    heads = ["point", "time", "temperature", "pressure", "detector"]
    columns = [n, 0.5 * n, 293 + rng.random(60), 1.013 + 0.001 * rng.random(60), rng.poisson(900, 60)]
    path = table_of(tmp_path, heads, *columns)
    with pytest.raises(ReadError, match=r"looks like a log.*time, temperature, pressure.*columns="):
        read(path)
    assert read(path, columns="5").Y.shape == (1, 60)
    heads = ["point", "energy", "gain", "current", "theta"]
    columns = [n, 7000 + 0.5 * n, np.ones(60), 99.9 - 0.01 * n, 12 + 0.001 * n]
    with pytest.raises(ReadError, match=r"looks like a log.*energy, gain, current, theta"):
        read(table_of(tmp_path, heads, *columns))


def test_what_was_measured_in_each_name(tmp_path):
    Y = np.round(bands(WL, 12), 5)
    heads = ["sample", "conc", *(f"A{w:g}" for w in WL)]
    data = read(table_of(tmp_path, heads, np.arange(12) + 101, np.arange(12) / 8, *Y.T))
    np.testing.assert_allclose(data.Y, Y)
    np.testing.assert_array_equal(data.axis, WL)
    assert data.row_names[1] == "sample=102, conc=0.125"
    names = [f"A{i}" for i in range(101, 113)]  # of samples
    data = read(table_of(tmp_path, ["wavelength", *names], WL, *Y))
    np.testing.assert_allclose(data.Y, Y)
    assert data.row_names == tuple(names)


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_rows_of_positions_the_even_one_is_the_axis(tmp_path, turned):
    shifts, times = np.arange(1700.0, 149.0, -1.0), np.linspace(0, 7.37, 40).round(3)
    Y = np.round(bands(shifts, 40), 5)
    table = np.block([[np.zeros((1, 1)), times[None]], [shifts[:, None], Y.T]])
    np.savetxt(tmp_path / "t.csv", table.T if turned else table, fmt="%.10g", delimiter=",")
    data = read(tmp_path / "t.csv")
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, shifts)
    assert [float(name) for name in data.row_names] == times.tolist()
