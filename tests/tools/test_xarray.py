"""Labelled arrays of xarray in, labelled arrays out."""

import numpy as np
import pytest
import xarray as xr

import ngmca
import ngmca.tools.xarray

AXIS = np.linspace(1800, 600, 90)
MIXTURE = ngmca.simulate.spectra(m=12, n=90, r=2, snr=25, seed=0)
OPTIONS = {"n_init": 1, "domain": "direct", "constraints": []}


@pytest.fixture
def table():
    coords = {
        "wavenumber": ("wavenumber", AXIS, {"units": "cm-1"}),
        "sample": [f"tube {i}" for i in range(12)],
        "hour": ("sample", np.arange(12) / 2),
        "operator": "someone",
    }
    return xr.DataArray(MIXTURE.Y, coords, ("sample", "wavenumber"), name="absorbance")


@pytest.fixture
def cube():
    coords = {"energy": ("energy", AXIS, {"units": "eV"}), "y": [10.0, 20.0], "x": np.arange(6) * 0.5}
    return xr.DataArray(MIXTURE.Y.reshape(2, 6, 90), coords, ("y", "x", "energy"))


@pytest.fixture(scope="module")
def expected():
    return ngmca.separate(MIXTURE.Y, 2, **OPTIONS)


def test_a_table_keeps_its_coordinates(table, expected):
    found = ngmca.separate(table, 2, **OPTIONS).to_xarray(table)
    np.testing.assert_array_equal(found.S, expected.S)
    np.testing.assert_array_equal(found.A, expected.A)
    np.testing.assert_array_equal(found.share, expected.shares)
    assert found.S.dims == ("source", "wavenumber")
    assert found.wavenumber.attrs["units"] == "cm-1"
    xr.testing.assert_equal(found.A.hour.drop_vars("operator"), table.hour.drop_vars("operator"))
    assert expected.A[3, 1] == found.sel(sample="tube 3", source=2).A


def test_dimensions_in_the_other_order_are_turned(table, expected):
    turned = table.transpose()
    found = ngmca.separate(turned, 2, **OPTIONS)
    np.testing.assert_array_equal(found.A, expected.A)
    assert found.to_xarray(turned).A.dims == ("sample", "source")
    np.testing.assert_array_equal(turned.ngmca.separate(2, **OPTIONS).S, expected.S)


def test_what_belongs_to_a_turned_array_is_refused_or_turned_too(table):
    mask = np.zeros((12, 90), dtype=bool)
    mask[3, 10:30] = True
    turned = table.transpose()
    wanted = ngmca.separate(MIXTURE.Y, 2, mask=mask, **OPTIONS)
    with pytest.raises(ValueError, match="mask"):
        ngmca.separate(turned, 2, mask=mask.T, **OPTIONS)
    found = turned.ngmca.separate(2, mask=xr.DataArray(mask, dims=table.dims), **OPTIONS)
    np.testing.assert_array_equal(found.S, wanted.S)
    levels = xr.DataArray(np.linspace(1, 2, 12), dims="sample")
    found = turned.ngmca.separate(2, noise=levels, **OPTIONS)
    np.testing.assert_allclose(found.noise, levels)
    with pytest.raises(ValueError, match="noise has the dimensions other"):
        table.ngmca.separate(2, noise=levels.rename(sample="other"))


def test_as_many_measurements_as_channels_in_the_other_order_are_refused():
    square = xr.DataArray(
        np.ones((5, 5)), {"wavelength": np.arange(5) + 400.0}, ("wavelength", "sample")
    )
    with pytest.raises(ValueError, match="holds the channels"):
        ngmca.separate(square, 1)


def test_the_estimator_does_not_take_channels_for_measurements(table):
    with pytest.raises(ValueError, match="holds the channels"):
        ngmca.NGMCA(2).fit(table.transpose())


@pytest.mark.parametrize("order", [("y", "x", "energy"), ("energy", "y", "x"), ("x", "energy", "y")])
def test_maps_are_folded_back(cube, expected, order):
    array = cube.transpose(*order)
    found = array.ngmca.separate(2, **OPTIONS)
    assert set(found.A.dims) == {"y", "x", "source"}
    if order != ("x", "energy", "y"):  # rows in another order have another first guess
        np.testing.assert_array_equal(found.A.transpose("y", "x", "source"), expected.A.reshape(2, 6, 2))
    fit = xr.dot(found.A, found.S, dim="source")
    assert float(abs(fit - array).max()) < 6 * float(MIXTURE.noise.std())
    np.testing.assert_array_equal(found.x, cube.x)


def test_the_dimension_of_the_channels_can_be_named(expected):
    plain = xr.DataArray(MIXTURE.Y.T, dims=("a", "b"))
    found = plain.ngmca.separate(2, channels="a", **OPTIONS)
    np.testing.assert_array_equal(found.S, expected.S)
    assert found.A.dims == ("b", "source")
    with pytest.raises(ValueError, match="channels='c' is not a dimension of the array, which has a, b"):
        plain.ngmca.separate(2, channels="c")


def test_a_file_keeps_all_of_it(cube, tmp_path):
    found = cube.ngmca.separate(2, **OPTIONS)
    found.to_netcdf(tmp_path / "found.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "found.nc", engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load(), found)


def test_labels_of_a_dataset_and_of_nothing(expected):
    data = ngmca.io.Dataset(MIXTURE.Y, AXIS, "wavenumber", "cm-1", tuple("abcdefghijkl"))
    found = expected.to_xarray(data)
    assert float(found.S.sel(channel=600, source=1)) == expected.S[0, -1]
    assert found.channel.attrs == {"long_name": "wavenumber", "units": "cm-1"}
    assert found.A.sel(measurement="c", source=1) == expected.A[2, 0]
    image = ngmca.io.Dataset(MIXTURE.Y, image_shape=(3, 4))
    assert expected.to_xarray(image).A.sizes == {"y": 3, "x": 4, "source": 2}
    assert dict(expected.to_xarray().sizes) == {"measurement": 12, "source": 2, "channel": 90}


def test_a_dimension_of_the_same_name_is_refused(table, expected):
    with pytest.raises(ValueError, match="called 'source'"):
        expected.to_xarray(table.rename(sample="source"))
    with pytest.raises(ValueError, match="12 x 90 were separated"):
        expected.to_xarray(table[:4])


def test_a_background_has_the_dimensions_of_the_data(cube):
    bent = cube + xr.DataArray(np.linspace(1, 2, 90), dims="energy") * float(cube.max())
    found = bent.ngmca.separate(2, n_init=1, constraints=[ngmca.Baseline("splines")])
    assert found.background.dims == ("y", "x", "energy")
    assert float(abs(xr.dot(found.A, found.S, dim="source") + found.background - bent).std()) < 0.1
