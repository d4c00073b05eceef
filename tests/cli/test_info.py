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
