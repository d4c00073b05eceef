"""`ngmca simulate`."""

import sys

import numpy as np
from command_line import run

import ngmca
from ngmca.io import read
from ngmca.simulate import nmr_lines as lines


def test_simulate_compounds_with_names_and_axis(tmp_path):
    path = tmp_path / "d.npz"
    options = ("--kind", "nmr", "-n", 600, "-m", 5, "--snr", 12, "--seed", 2)
    told = run("simulate", path, *options, "--compounds", "lactate, Gaba").stdout
    assert "5 x 600 mixture of 2 sources (lactate, GABA) at 12.0 dB" in told
    expected = ngmca.simulate.nmr(m=5, n=600, compounds=["lactate", "GABA"], snr=12.0, seed=2)
    with np.load(path) as stored:
        assert stored["names"].tolist() == ["lactate", "GABA"]
        np.testing.assert_array_equal(stored["S"], expected.S)
    data = read(path)
    np.testing.assert_array_equal(data.Y, expected.Y)
    np.testing.assert_array_equal(data.axis, expected.axis)
    assert data.axis_unit == "ppm"
    assert "15 x 1200 mixture of 15" in run("simulate", path, "--kind", "nmr", "--force").stdout
    peaks = tmp_path / "peaks.csv"
    peaks.write_text("compound,ppm,intensity\nmine,2,1\n")
    run("simulate", path, "--kind", "nmr", "--peaks", peaks, "--force")
    with np.load(path) as stored:
        assert stored["names"].tolist() == ["mine"]
    peaks.write_text("compound,ppm,intensity\nmine,two,1\n")
    for wrong, error in [
        (("--kind", "nmr", "--compounds", "lactat"), "did you mean lactate"),
        (("--kind", "nmr", "--peaks", peaks), "peaks.csv, line 2"),
        (("--kind", "nmr", "--peaks", tmp_path / "no.csv"), "no.csv does not exist"),
        (("--compounds", "lactate"), "--kind nmr"),
        (("--kind", "nonsense"), "sparse or spectra or bands or library or nmr"),
    ]:
        assert error in run("simulate", tmp_path / "e.npz", *wrong, code=2).stderr
    assert not (tmp_path / "e.npz").exists()


def test_simulate_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nmrsim", None)
    lines._peaks.cache_clear()
    error = run("simulate", tmp_path / "d.npz", "--kind", "nmr", code=2).stderr
    assert "pip install 'ngmca[paper]'" in error


def test_simulate_bands(tmp_path):
    path = tmp_path / "d.npz"
    told = run("simulate", path, "--kind", "bands", "-m", 6, "-r", 2, "--snr", 18, "--seed", 3).stdout
    assert "6 x 1024 mixture of 2 sources at 18.0 dB" in told
    expected = ngmca.simulate.bands(6, 1024, 2, snr=18.0, seed=3)
    np.testing.assert_array_equal(read(path).Y, expected.Y)
    assert "40 x 1024 mixture of 5" in run("simulate", path, "--kind", "bands", "--force").stdout


def test_simulate_from_a_folder_of_spectra(tmp_path):
    folder = tmp_path / "pure"
    folder.mkdir()
    axis = np.linspace(4000, 600, 300).round(3)
    places = {"acetone": 1700.0, "benzene": 3000.0, "water": 3400.0}
    for name, place in places.items():
        values = 2.0 + np.exp(-(((axis - place) / 60) ** 2))
        ngmca.io.write_table(folder / f"{name}.csv", {"wavenumber [cm-1]": axis, "absorbance": values})
    (folder / "read me.txt").write_text("spectra of mine\n")
    path = tmp_path / "d.npz"
    options = ("--kind", "library", "--spectra", folder, "-m", 8, "-n", 400, "--snr", 30)
    told = run("simulate", path, *options, "-r", 2)
    assert "8 x 400 mixture of 2 sources" in told.stdout
    assert "left out" in told.stderr
    assert "read me.txt" in told.stderr
    data = read(path)
    assert (data.axis_name, data.axis_unit) == ("wavenumber", "cm-1")
    assert data.axis[0] > data.axis[-1]
    with np.load(path) as stored:
        names = stored["names"].tolist()
        assert len(set(names)) == 2
        for name, source in zip(names, stored["S"], strict=True):
            assert abs(data.axis[source.argmax()] - places[name]) < 10
            assert source.min() < 1e-6  # the baseline is gone
    for wrong, error in [
        ((*options, "-r", 4), "-r 4 is more than the 3 spectra"),
        (("--kind", "library"), "--kind library needs --spectra FOLDER"),
        (("--kind", "bands", "--spectra", folder), "needs --spectra FOLDER, and no other kind has it"),
        (("--kind", "library", "--spectra", tmp_path / "nothing"), "nothing does not exist"),
    ]:
        assert error in run("simulate", tmp_path / "e.npz", *wrong, code=2).stderr
    assert not (tmp_path / "e.npz").exists()


def test_channels_have_a_short_name(tmp_path):
    for name in ("-n", "--channels"):
        assert "40 x 60" in run("simulate", tmp_path / "d.npz", name, 60, "--force").stdout
    assert "--force replaces it" in run("simulate", tmp_path / "d.npz", code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["d.npz"]
