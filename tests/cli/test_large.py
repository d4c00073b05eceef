"""Files that are too large for the memory: it is read in blocks, said so, and the same answer."""

import json
import warnings
from dataclasses import replace

import h5py
import numpy as np
import pytest
import zarr
from command_line import run

import ngmca
from ngmca.answers.wording import percent
from ngmca.cli import pipeline as performing
from ngmca.engines import opening
from ngmca.io import ReadError, read
from ngmca.io import large_files as lazy
from ngmca.io.axis_names import with_axis_words
from ngmca.io.large_files import read_large
from ngmca.result import Others
from ngmca.saving import large_results as large
from ngmca.saving.result_folder import unfinished
from ngmca.task.problem import Problem

SHAPE = (18, 20, 60)  # rows, columns, channels


@pytest.fixture(autouse=True)
def _little_memory(monkeypatch):
    for room in (lazy, opening):
        monkeypatch.setattr(room, "memory_left", lambda: 4000.0)
    monkeypatch.setattr(large, "MAX_SHOWN_MEASUREMENTS", 100)


def cube():
    rng = np.random.default_rng(0)
    S = rng.exponential(size=(3, SHAPE[2])) * (rng.random((3, SHAPE[2])) < 0.3)
    maps = rng.random((SHAPE[0], SHAPE[1], 3))
    return maps @ S + 0.02 * rng.standard_normal(SHAPE)


def table(tmp_path):
    np.save(tmp_path / "Y.npy", cube().reshape(-1, 60))
    return tmp_path / "Y.npy"


def told(result):
    return " ".join((result.stdout + result.stderr).split())


@pytest.mark.draws
def test_a_cube_in_zarr_ends_as_maps_in_the_report(tmp_path):
    Y = cube()
    store = zarr.create_group(tmp_path / "cube.zarr")
    store.create_array("data", shape=SHAPE, dtype=float, chunks=(5, 20, 60))[...] = Y
    store.create_array("wavelength", shape=60, dtype=float)[...] = np.linspace(400, 700, 60)
    said = told(run("separate", tmp_path / "cube.zarr", "-r", 3, "-o", tmp_path / "out"))
    assert "cube.zarr, 173 kB, is too large for the memory: it is read in blocks" in said
    assert "the report and the tables show 90 of 360 measurements and 60 of 60 channels" in said
    expected = ngmca.separate(Y.reshape(-1, 60), 3)
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
    expected = ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=5), n_init=1)
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
    expected = ngmca.separate(np.ascontiguousarray(whole.Y), 3, method=ngmca.Soft(n_iter=5), n_init=1)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "A.npy"), expected.A)


def test_what_hyperspy_writes_stays_where_it_is(tmp_path, monkeypatch):
    plugin = pytest.importorskip("rsciio.hspy")
    monkeypatch.setattr(lazy, "MAX_EXPANSION", {})  # these files are small, and no guess is made
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
        data, whole = with_axis_words(read_large(path), {}), read(path)
    assert not isinstance(data.Y, np.ndarray)
    np.testing.assert_array_equal(data.Y[:, :], whole.Y)
    np.testing.assert_array_equal(data.axis, whole.axis)
    assert data.image_shape == whole.image_shape
    assert (data.axis_name, data.axis_unit) == (whole.axis_name, whole.axis_unit) == ("energy", "eV")


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


def test_a_background_is_thinned_with_the_rest(tmp_path):
    options = ("--baseline", "polynomial", "--iterations", 5, "--n-init", 1)
    run("separate", table(tmp_path), "-r", 3, "-o", tmp_path / "out", *options)
    expected = ngmca.separate(
        cube().reshape(-1, 60),
        3,
        method=ngmca.Soft(n_iter=5),
        constraints=[ngmca.Baseline("polynomial")],
        n_init=1,
    )
    found = ngmca.load(tmp_path / "out").background
    np.testing.assert_array_equal(found.weights, expected.background.weights[::4])
    np.testing.assert_array_equal(found.basis, expected.background.basis)


def test_answers_that_fit_as_well_are_thinned_with_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "MAX_SHOWN_CHANNELS", 30)

    def several(*arguments, **options):
        first = found(*arguments, **options)
        ends = (first.S, first.S + 1, first.A, first.A + 2)
        return replace(first, others=Others(2, *ends))

    found = performing._found
    monkeypatch.setattr(performing, "_found", several)
    options = ("--iterations", 5, "--n-init", 5)
    run("separate", table(tmp_path), "-r", 3, "-o", tmp_path / "out", *options)
    A, S = (np.load(tmp_path / "out" / name) for name in ("A.npy", "S.npy"))
    found = ngmca.load(tmp_path / "out").others
    np.testing.assert_array_equal(found.A_low, A[::4])
    np.testing.assert_array_equal(found.A_high, A[::4] + 2)
    np.testing.assert_array_equal(found.S_low, S[:, ::2])
    np.testing.assert_array_equal(found.S_high, S[:, ::2] + 1)


def test_what_is_shown_finds_room_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "MAX_SHOWN_ENTRIES", 40 * 60)
    options = ("--iterations", 2, "--n-init", 1)
    said = told(run("separate", table(tmp_path), "-r", 3, "-o", tmp_path / "out", *options))
    assert "40 of 360 measurements and 60 of 60 channels" in said


def test_totals_of_all_measurements_are_those_of_what_is_shown(tmp_path):
    totals = np.linspace(1, 2, 360)
    np.savetxt(tmp_path / "totals.csv", totals)
    options = ("--closure", tmp_path / "totals.csv", "--iterations", 5, "--n-init", 1, "-q")
    run("separate", table(tmp_path), "-r", 3, "-o", tmp_path / "out", *options)
    rows = (tmp_path / "out" / "amounts.csv").read_text().splitlines()
    assert len(rows) == 1 + 90


@pytest.mark.parametrize("starts", [1, 2])
def test_what_fails_after_the_separation_costs_nothing(starts, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    options = ("--iterations", 5, "--n-init", starts)
    with monkeypatch.context() as broken:
        broken.setattr(performing, "diagnose", full)
        result = run("separate", table(tmp_path), "-r", 3, "-o", tmp_path / "out", *options, code=1)
    work = unfinished(tmp_path / "out")
    assert f"kept; all of A and S is in {work / 'A.npy'} and {work / 'S.npy'}. Continue with" in told(
        result
    )
    kept = [np.load(work / name) for name in ("A.npy", "S.npy")]
    expected = ngmca.separate(cube().reshape(-1, 60), 3, method=ngmca.Soft(n_iter=5), n_init=starts)
    np.testing.assert_array_equal(kept[0], expected.A)

    def few(*arguments, **options):  # nothing is computed again, but for the last state
        found = list(states(*arguments, **options))
        assert len(found) <= 1
        return iter(found)

    states = Problem.states
    monkeypatch.setattr(Problem, "states", few)
    run("separate", "--resume", tmp_path / "out")
    for name, factor in zip(("A.npy", "S.npy"), kept, strict=True):
        np.testing.assert_array_equal(np.load(tmp_path / "out" / name), factor)
    assert not work.exists()


@pytest.mark.draws
def test_numbers_are_those_of_all_data(tmp_path):
    Y = cube().reshape(-1, 60)
    Y[1::4] += 3 * np.random.default_rng(1).random((90, 60))  # none of which is shown
    np.save(tmp_path / "Y.npy", Y)
    arguments = (tmp_path / "Y.npy", "-r", 3, "--iterations", 5, "--n-init", 1, "-o")
    found = json.loads(run("separate", *arguments, tmp_path / "one", "--json").stdout)
    A, S = (np.load(tmp_path / "one" / name) for name in ("A.npy", "S.npy"))
    explained = 1 - np.sum((Y - A @ S) ** 2) / np.sum(Y**2)
    assert found["explained"] == pytest.approx(explained, rel=1e-9)
    assert (found["measurements"], found["channels"]) == (360, 60)
    assert found["shown"] == "90 of 360 measurements and 60 of 60 channels"
    said = told(run("separate", *arguments, tmp_path / "two"))
    assert f"{percent(explained)} of the energy of 360 measurements with 60 channels each" in said
    assert "report.html, which shows 90 of 360 measurements" in said
    report = (tmp_path / "two" / "report.html").read_text()
    assert "of the energy of 360 measurements" in report


def test_what_a_background_explains_counts(tmp_path):
    Y = cube().reshape(-1, 60) + np.linspace(50, 60, 60)
    np.save(tmp_path / "Y.npy", Y)
    options = ("--baseline", "polynomial", "--iterations", 5, "--n-init", 1, "--json")
    found = run("separate", tmp_path / "Y.npy", "-r", 3, "-o", tmp_path / "out", *options).stdout
    assert json.loads(found)["explained"] > 0.9999


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (("--posterior",), "--posterior cannot be combined with data that are read in blocks: "),
        (("--robust",), "--robust cannot be combined with data that are read in blocks: "),
        (("--method", "hals"), "--method hals cannot be combined with data that are read in blocks: "),
        (("-r", "auto"), "-r auto cannot be combined with data that are read in blocks: "),
        (("--range", "1:20"), "{} is too large for the memory, and --range, --leave-out and "),
        (("--columns", "2-5"), "{} is not a table: leave out --columns."),
        (("--header", 1), "{} is not a table: leave out --header."),
        (("--skip", 2), "{} is not a table: leave out --skip."),
        (("--nucleus", "1H"), "{} has no experiments of several nuclei: leave out --nucleus."),
    ],
)
def test_what_large_files_do_not_bear_is_refused(option, sentence, tmp_path, monkeypatch):
    path = table(tmp_path)
    told = run("separate", path, "-r", 3, "-o", tmp_path / "out", *option, code=2).stderr
    assert sentence.format(path) in " ".join(told.split())
    assert "as an array" not in told
    if "blocks" in sentence:  # the note names the file
        assert f"{path.name}, 173 kB, is too large for the memory" in told
    assert not (tmp_path / "out").exists()
    if "leave out" in sentence:  # a small one says the same
        monkeypatch.setattr(lazy, "memory_left", lambda: 1e12)
        small = run("separate", path, "-r", 3, "-o", tmp_path / "out", *option, code=2).stderr
        assert small == told


def test_the_number_of_sources_is_not_counted(tmp_path):
    said = told(run("rank", table(tmp_path), code=2))
    assert "`ngmca rank` needs all data in memory at once" in said
    assert "`ngmca separate -r`, or cut out a part of the file" in said


def test_nothing_is_added_to_a_result_that_shows_a_part(tmp_path):
    run("separate", table(tmp_path), "-r", 3, "-o", tmp_path / "out", "--iterations", 5, "-q")
    (tmp_path / "standards.csv").write_text("measurement,x\n1,1\n5,2\n")
    result = run("answer", tmp_path / "out", "--standards", tmp_path / "standards.csv", code=2)
    assert "Y.npy is too large for that: give these options to `ngmca separate`" in told(result)
    assert (tmp_path / "out" / "A.npy").is_file()


def test_info_tells_what_is_known_without_a_look_at_the_numbers(tmp_path):
    with h5py.File(tmp_path / "cube.h5", "w") as file:
        file["data"], file["energy"] = cube().astype(np.float32), np.linspace(400, 700, 60)
    result = run("info", tmp_path / "cube.h5")
    assert "360 measurements x 60 channels (HDF5, float32), an image of 18 x 20 pixels" in told(result)
    assert "400 to 700" in result.stdout
    assert "noise and singular values are left out" in result.stdout
    assert "too large for the memory: it is read in blocks" in told(result)
    facts = json.loads(run("info", tmp_path / "cube.h5", "--json").stdout)
    assert (facts["measurements"], facts["channels"], facts["type"]) == (360, 60, "float32")
    assert "noise" not in facts
    assert "left out" in facts["left_out"]


def test_memory_that_comes_free_meanwhile_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "memory_left", lambda: 1e12)
    run("separate", table(tmp_path), "-r", 3, "-o", tmp_path / "out", "--iterations", 5, "--n-init", 1)
    assert (tmp_path / "out" / "A.npy").is_file()


def test_an_entry_that_is_no_number_is_named_as_in_the_file(tmp_path):
    Y = cube()
    Y[11, 13, 5] = np.nan
    store = zarr.create_array(tmp_path / "c.zarr", shape=SHAPE, dtype=float, chunks=(5, 6, 60))
    store[...] = Y
    said = told(run("separate", tmp_path / "c.zarr", "-r", 3, "-o", tmp_path / "out", code=2))
    assert "NaN, first at row 233, that is pixel 11, 13, column 5 (chunk 2.2.0)" in said
    assert (tmp_path / "c.zarr" / "c" / "2" / "2" / "0").is_file()


def test_a_cube_with_channels_first_is_refused(tmp_path):
    zarr.save(str(tmp_path / "c.zarr"), np.moveaxis(cube(), -1, 0))
    with pytest.raises(ReadError, match="channels last"):
        read_large(tmp_path / "c.zarr", transpose=True)


def test_a_quarter_of_the_memory_is_the_limit(tmp_path, monkeypatch):
    path = table(tmp_path)
    monkeypatch.setattr(lazy, "memory_left", lambda: 4.0 * 360 * 60 * 8)
    assert read_large(path) is None
    monkeypatch.setattr(lazy, "memory_left", lambda: 4.0 * 360 * 60 * 8 - 1)
    assert read_large(path) is not None


def test_with_much_memory_no_size_is_large(monkeypatch, tmp_path):
    monkeypatch.setattr(lazy, "memory_left", lambda: 1e15)
    size = {"shape": (1 << 15, 1 << 15), "dtype": float}  # 8 GB, of which nothing is written
    zarr.create_array(tmp_path / "Y.zarr", **size)
    assert read_large(tmp_path / "Y.zarr") is None


def test_places_are_named_as_in_the_store(tmp_path):
    turned = zarr.create_array(tmp_path / "t.zarr", shape=(60, 360), dtype=float, chunks=(60, 80))
    told = lazy.Transposed(turned).place_in_words(350, 7)
    assert told == "row 350, column 7, that is row 7, column 350 of the file (chunk 0.4)"
    pixels = zarr.create_array(tmp_path / "p.zarr", shape=SHAPE, dtype=float, chunks=(5, 6, 20))
    told = lazy.Pixels(pixels).place_in_words(233, 45)
    assert told == "row 233, that is pixel 11, 13, column 45 (chunk 2.2.2)"
    assert lazy.Pixels(cube()).place_in_words(233, 5) == "row 233, that is pixel 11, 13, column 5"
    turned = lazy.Transposed(cube()[0])
    assert turned.place_in_words(2, 5) == "row 2, column 5, that is row 5, column 2 of the file"


def test_rows_longer_than_a_piece_are_written_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "NUMBERS_PER_WRITE", 7)
    for array in (np.arange(60.0).reshape(3, 20), np.arange(60.0).reshape(20, 3).T, np.ones((9, 2))):
        with (tmp_path / "a.npy").open("wb") as file:
            large._write_npy(array, file)
        np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array)
