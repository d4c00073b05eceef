"""`ngmca simulate`."""

import sys

import numpy as np
from command_line import run

import ngmca
from ngmca.io import read
from ngmca.simulate import lines


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
        (("--kind", "nonsense"), "sparse or spectra or nmr"),
    ]:
        assert error in run("simulate", tmp_path / "e.npz", *wrong, code=2).stderr
    assert not (tmp_path / "e.npz").exists()


def test_simulate_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nmrsim", None)
    lines._peaks.cache_clear()
    error = run("simulate", tmp_path / "d.npz", "--kind", "nmr", code=2).stderr
    assert 'pip install "ngmca[paper]"' in error


def test_channels_have_an_older_name(tmp_path):
    for name in ("-n", "--channels", "--samples"):
        assert "40 x 60" in run("simulate", tmp_path / "d.npz", name, 60, "--force").stdout
    assert "--force replaces it" in run("simulate", tmp_path / "d.npz", code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["d.npz"]
