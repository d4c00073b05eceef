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
