"""`ngmca info`."""

import json

import numpy as np
from command_line import run

import ngmca


def test_info(table):
    told = run("info", table).stdout
    assert "12 measurements x 300 channels" in told
    assert "chemical shift [ppm], 9 to 1" in told
    assert "3 singular values are above the noise" in told
    facts = json.loads(run("info", table, "--json").stdout)
    assert facts["above_noise"] == 3
    assert facts["channels"] == 300
    assert abs(facts["snr"] - 25) < 1.5


def test_info_finds_noise_and_rank(tmp_path):
    mixture = ngmca.simulate.sparse(m=40, n=500, r=5, snr=15, seed=0)
    np.save(tmp_path / "d.npy", mixture.Y)
    facts = json.loads(run("info", tmp_path / "d.npy", "--json").stdout)
    assert abs(facts["noise"] / mixture.noise.std() - 1) < 0.1
    assert facts["above_noise"] == 5
    assert abs(facts["negative"] - np.mean(mixture.Y < 0)) < 1e-12


def test_numbers_beyond_all_measure_are_the_users_to_mend(tmp_path):
    for value in (1.7e308, 1e-310):
        np.save(tmp_path / "a.npy", np.full((4, 30), value))
        assert "row 0, column 0" in run("info", tmp_path / "a.npy", code=2).stderr


def test_the_axis_is_named_and_dimensions_are_told_by_options(tmp_path):
    axis = np.linspace(4000, 400, 60)
    lines = [",".join(f"{x:g}" for x in axis)]
    lines += [",".join(map(str, row)) for row in np.random.default_rng(0).random((5, 60)).round(3)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    read = ("info", tmp_path / "t.csv", "--axis", "first-row", "--json")
    assert json.loads(run(*read).stdout)["axis"] == "wavenumber [cm-1]"  # a guess
    words = ("--axis-name", "energy", "--axis-unit", "eV", "--axis-direction", "rising")
    assert json.loads(run(*read, *words).stdout)["axis"] == "energy [eV]"
    np.savez(tmp_path / "d.npz", scan=np.random.default_rng(0).random((4, 3, 5, 32)))
    told = run("info", tmp_path / "d.npz", code=2).stderr
    assert "4 dimensions" in told
    assert "--axes" in told
    facts = json.loads(run("info", tmp_path / "d.npz", "--axes", "time,y,x,channel", "--json").stdout)
    assert (facts["measurements"], facts["channels"]) == (60, 32)
