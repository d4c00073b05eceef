"""`ngmca evaluate`."""

import json

import numpy as np
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
    assert "do not fit" in run("evaluate", tmp_path / "out", other, code=2).stderr


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
    assert "mixing table" in told
    assert "complex.npy is complex" in run("evaluate", found, tmp_path / "complex.npy", code=2).stderr
    fewer = run("evaluate", found, tmp_path / "more.npy")
    assert "2 true sources have none to stand for them" in fewer.stderr
    assert run("evaluate", tmp_path / "more.npy", found).stderr == ""
