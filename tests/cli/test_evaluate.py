"""`ngmca evaluate`."""

import json

import numpy as np
import pytest
from command_line import run

import ngmca


def test_simulate_separate_evaluate(tmp_path):
    run("simulate", tmp_path / "d.npz", "-r", 3, "-m", 20, "-n", 200, "--seed", 2)
    assert "exists" in run("simulate", tmp_path / "d.npz", code=2).stderr
    run("separate", tmp_path / "d.npz", "-r", 3, "-o", tmp_path / "out", "--iterations", 100)
    score = json.loads(run("evaluate", tmp_path / "out", tmp_path / "d.npz", "--json").stdout)
    with np.load(tmp_path / "d.npz") as truth:
        expected = ngmca.evaluate(truth["S"], ngmca.load(tmp_path / "out").S)
    np.testing.assert_allclose(score["sdr"], expected.sdr)
    shown = run("evaluate", tmp_path / "out" / "sources.csv", tmp_path / "d.npz").stdout
    assert f"{expected.sdr[0]:.1f}" in shown
    ngmca.save(tmp_path / "saved.nc", ngmca.load(tmp_path / "out"))
    again = json.loads(run("evaluate", tmp_path / "saved.nc", tmp_path / "d.npz", "--json").stdout)
    assert again == score
    other = tmp_path / "other.csv"
    other.write_text("1,2,3\n4,1,0\n")
    assert "the channels differ" in run("evaluate", tmp_path / "out", other, code=2).stderr


def test_what_cannot_be_compared_is_refused_and_what_is_missing_is_told(tmp_path):
    S = np.random.default_rng(0).random((3, 50))
    for name, array in {
        "found": S,
        "turned": S.T,
        "more": np.vstack([S, S[:2] ** 2]),
        "complex": S + 1j,
    }.items():
        np.save(tmp_path / f"{name}.npy", array)
    found = tmp_path / "found.npy"
    told = run("evaluate", found, tmp_path / "turned.npy", code=2).stderr
    assert f"{found} has 3 x 50, {tmp_path / 'turned.npy'} 50 x 3" in told
    assert "a table of amounts" in told
    assert "complex.npy is complex" in run("evaluate", found, tmp_path / "complex.npy", code=2).stderr
    fewer = run("evaluate", found, tmp_path / "more.npy")
    assert "2 true sources have no partner" in fewer.stderr
    assert run("evaluate", tmp_path / "more.npy", found).stderr == ""


def peaks(axis):
    """Three spectra of lines, as functions of the place on the axis."""
    centres = np.linspace(800, 3200, 12).reshape(3, 4)
    return np.exp(-(((axis - centres[:, :, None]) / 40) ** 2)).sum(axis=1)


def spectra(path, axis, unit="wavenumber [1/cm]", noise=0.03):
    """A table of the three spectra on an axis, with noise of its own."""
    S = peaks(axis) + noise * np.random.default_rng(len(axis)).standard_normal((3, len(axis)))
    ngmca.io.write_table(path, {unit: axis} | {f"s{i}": row for i, row in enumerate(S)})
    return path


def sdr(*paths):
    done = run("evaluate", *paths, "--json")
    return json.loads(done.stdout)["mean_sdr"], done.stderr


def test_sources_are_compared_where_they_stand_on_the_axis(tmp_path):
    axis = np.linspace(400, 3600, 801)
    true = spectra(tmp_path / "true.csv", axis, noise=0.0)
    found = spectra(tmp_path / "found.csv", axis)
    expected, told = sdr(found, true)
    assert expected > 18
    assert told == ""
    columns = {f"s{i}": row[::-1] for i, row in enumerate(ngmca.io.read(found).Y)}
    ngmca.io.write_table(tmp_path / "turned.csv", {"wavenumber [1/cm]": axis[::-1]} | columns)
    assert sdr(tmp_path / "turned.csv", true)[0] == pytest.approx(expected)
    coarse = spectra(tmp_path / "coarse.csv", np.linspace(600, 3600, 301), noise=0.0)
    value, told = sdr(coarse, true)
    assert value > 30
    assert "compared at 301 channels from 600 to 3600" in told
    assert sdr(true, coarse)[0] > 30


def test_axes_that_hardly_meet_are_refused_with_both_ranges(tmp_path):
    axis = np.linspace(400, 3600, 801)
    true = spectra(tmp_path / "true.csv", axis)
    shifted = spectra(tmp_path / "shifted.csv", axis + 2000)
    told = run("evaluate", shifted, true, code=2).stderr
    assert "2400 to 5600" in told
    assert "400 to 3600" in told
    other = spectra(tmp_path / "nm.csv", axis, unit="wavelength [nm]")
    assert "different units" in run("evaluate", other, true, code=2).stderr


def test_without_an_axis_position_counts(tmp_path):
    axis = np.linspace(3600, 400, 801)  # falling: not turned
    true = spectra(tmp_path / "true.csv", axis, noise=0.0)
    np.save(tmp_path / "found.npy", peaks(axis))
    value, told = sdr(tmp_path / "found.npy", true)
    assert value > 100
    assert "found.npy has no axis" in told
    np.save(tmp_path / "short.npy", peaks(axis)[:, 1:])
    assert "the channels differ" in run("evaluate", tmp_path / "short.npy", true, code=2).stderr


def test_a_result_is_compared_by_its_axis(tmp_path, table, mixture, out):
    axis = np.linspace(9, 1, 300).round(6)
    columns = {f"s{i}": row[::-1] for i, row in enumerate(mixture.S)}
    ngmca.io.write_table(tmp_path / "true.csv", {"ppm": axis[::-1]} | columns)
    value, told = sdr(out, tmp_path / "true.csv")
    assert told == ""
    assert value == pytest.approx(ngmca.evaluate(mixture.S, ngmca.load(out).S).mean_sdr)
