"""Files that are too large for the memory: read in blocks, said so, and the same answer."""

import warnings

import h5py
import numpy as np
import pytest
import zarr
from command_line import run

import ngmca
from ngmca.cli import large
from ngmca.data import opening
from ngmca.io import ReadError, lazy, read, read_large

SHAPE = (18, 20, 60)  # rows, columns, channels


@pytest.fixture(autouse=True)
def _little_memory(monkeypatch):
    monkeypatch.setattr(lazy, "LARGEST", 1000)
    monkeypatch.setattr(opening, "WHOLE", 1000)
    monkeypatch.setattr(large, "MEASUREMENTS", 100)


def cube():
    rng = np.random.default_rng(0)
    S = rng.exponential(size=(3, SHAPE[2])) * (rng.random((3, SHAPE[2])) < 0.3)
    maps = rng.random((SHAPE[0], SHAPE[1], 3))
    return maps @ S + 0.02 * rng.standard_normal(SHAPE)


def test_a_cube_in_zarr_ends_as_maps_in_the_report(tmp_path):
    Y = cube()
    store = zarr.create_group(tmp_path / "cube.zarr")
    store.create_array("data", shape=SHAPE, dtype=float, chunks=(5, 20, 60))[...] = Y
    store.create_array("wavelength", shape=60, dtype=float)[...] = np.linspace(400, 700, 60)
    told = run("separate", tmp_path / "cube.zarr", "-r", 3, "-o", tmp_path / "out").stderr
    assert "cube.zarr, 173 kB, is too large for the memory: read in blocks" in told.replace("\n", " ")
    assert "90 of 360 measurements and 60 of 60 channels" in told.replace("\n", " ")
    expected = ngmca.separate(Y.reshape(-1, 60), 3, seed=0)
    A, S = (np.load(tmp_path / "out" / name) for name in ("A.npy", "S.npy"))
    np.testing.assert_array_equal(A, expected.A)
    np.testing.assert_array_equal(S, expected.S)
    separation, data = ngmca.load(tmp_path / "out", with_data=True)
    assert data.image_shape == (9, 10)
    np.testing.assert_array_equal(separation.A, A.reshape(18, 20, 3)[::2, ::2].reshape(-1, 3))
    np.testing.assert_array_equal(data.axis, np.linspace(400, 700, 60))
    assert "heatmap" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("kind", ["npy", "hdf5", "zarr"])
def test_tables_of_every_kind_that_can_be_read_in_parts(kind, tmp_path):
    Y, path = cube().reshape(-1, 60), tmp_path / f"table.{kind}"
    if kind == "npy":
        np.save(path, Y)
    elif kind == "hdf5":
        with h5py.File(path, "w") as file:
            file["scan/data"] = Y
            file["scan/energy"] = np.arange(60.0)
    else:
        zarr.save(str(path), Y)
    run("separate", path, "-r", 3, "-o", tmp_path / "out", "--iterations", 5, "--n-init", 1, "-q")
    expected = ngmca.separate(Y, 3, n_iter=5, seed=0)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "A.npy"), expected.A)


@pytest.mark.parametrize("interleave", ["bsq", "bil", "bip"])
def test_an_envi_image_stays_where_it_is(interleave, tmp_path):
    spectral = pytest.importorskip("spectral")
    Y, waves = cube().astype(np.float32), [f"{w:.2f}" for w in np.linspace(400, 700, 60)]
    options = {"interleave": interleave, "ext": ".img", "metadata": {"wavelength": waves}}
    spectral.envi.save_image(str(tmp_path / "cube.hdr"), Y, **options)
    data, whole = read_large(tmp_path / "cube.hdr"), read(tmp_path / "cube.hdr")
    assert not isinstance(data.Y, np.ndarray)
    np.testing.assert_array_equal(data.Y[:, :], whole.Y)
    np.testing.assert_array_equal(data.axis, whole.axis)
    assert data.image_shape == whole.image_shape == SHAPE[:2]
    assert (data.axis_name, data.axis_unit) == (whole.axis_name, whole.axis_unit)
    run(
        "separate",
        tmp_path / "cube.hdr",
        "-r",
        3,
        "-o",
        tmp_path / "out",
        "--iterations",
        5,
        "--n-init",
        1,
        "-q",
    )
    expected = ngmca.separate(np.ascontiguousarray(whole.Y), 3, n_iter=5, seed=0)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "A.npy"), expected.A)


def test_what_hyperspy_writes_stays_where_it_is(tmp_path, monkeypatch):
    plugin = pytest.importorskip("rsciio.hspy")
    monkeypatch.setattr(lazy, "UNPACKED", 1e6)  # the guard of small files, which these are
    Y, path = cube(), tmp_path / "cube.hspy"
    axes = [
        {"name": "y", "size": 18, "scale": 1.0, "offset": 0.0, "units": "um", "navigate": True},
        {"name": "x", "size": 20, "scale": 1.0, "offset": 0.0, "units": "um", "navigate": True},
        {"name": "Energy", "size": 60, "scale": 0.5, "offset": 10.0, "units": "eV", "navigate": False},
    ]
    signal = {"data": Y, "axes": axes, "metadata": {"General": {"title": "map"}}}
    more = {"original_metadata": {}, "learning_results": {}, "models": None, "tmp_parameters": {}}
    more["package_info"] = {"package": "", "package_version": ""}
    more["attributes"] = {"_lazy": False, "ragged": False, "_signal_type": "", "_dtype": "real"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plugin.file_writer(str(path), signal | more)
        data, whole = read_large(path), read(path)
    assert not isinstance(data.Y, np.ndarray)
    np.testing.assert_array_equal(data.Y[:, :], whole.Y)
    np.testing.assert_array_equal(data.axis, whole.axis)
    assert data.image_shape == whole.image_shape
    assert (data.axis_name, data.axis_unit) == (whole.axis_name, whole.axis_unit) == ("Energy", "eV")


def test_channels_in_the_rows(tmp_path):
    Y = cube().reshape(-1, 60)
    with h5py.File(tmp_path / "turned.h5", "w") as file:
        file["data"], file["energy"] = Y.T, np.arange(60.0)
    data = read_large(tmp_path / "turned.h5")
    assert data.Y.shape == (360, 60)
    np.testing.assert_array_equal(data.Y[3:9, 2:50], Y[3:9, 2:50])
    assert "transposed" in data.notes[0]


def test_rows_of_a_cube_are_those_of_its_matrix():
    Y = cube()
    pixels, flat = lazy.Pixels(Y), Y.reshape(-1, 60)
    for rows in (slice(0, 360), slice(7, 55), slice(41, 42), slice(19, 21), slice(3, 300, 7)):
        np.testing.assert_array_equal(pixels[rows, 5:50], flat[rows, 5:50])


@pytest.mark.parametrize("option", [("--posterior",), ("--robust",), ("--range", "1:20")])
def test_what_needs_all_data_at_once_is_refused(option, tmp_path):
    np.save(tmp_path / "Y.npy", cube().reshape(-1, 60))
    told = run("separate", tmp_path / "Y.npy", "-r", 3, "-o", tmp_path / "out", *option, code=2).stderr
    assert "memory" in told
    assert not (tmp_path / "out").exists()


def test_a_cube_with_channels_first_is_refused(tmp_path):
    zarr.save(str(tmp_path / "c.zarr"), np.moveaxis(cube(), -1, 0))
    with pytest.raises(ReadError, match="channels last"):
        read_large(tmp_path / "c.zarr", transpose=True)


def test_small_files_are_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(lazy, "LARGEST", 1 << 30)
    np.save(tmp_path / "Y.npy", cube().reshape(-1, 60))
    assert read_large(tmp_path / "Y.npy") is None
