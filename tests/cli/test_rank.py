"""`ngmca rank`."""

import json
import os

import numpy as np
import pytest
from command_line import run

import ngmca


@pytest.fixture
def wide(tmp_path):
    np.save(tmp_path / "d.npy", ngmca.simulate.sparse(20, 40, 2, snr=20, seed=0).Y)
    return tmp_path / "d.npy"


def test_every_criterion_is_shown(table):
    told = run("rank", table).stdout.splitlines()
    assert told[0].split()[:3] == ["sources", "over", "rotated"]
    (chosen,) = [line for line in told if line.endswith("<-")]
    assert chosen.split()[0] == "3"
    assert told[-2] == "directions 3, held-out blocks 3, halves 3"
    assert told[-1] == "3: all criteria agree."


def test_json_is_what_python_finds(table, mixture):
    facts = json.loads(run("rank", table, "--json", "--max-rank", 4, "--seed", 7).stdout)
    expected = ngmca.choose_rank(ngmca.io.read(table).Y, 4, seed=7)
    assert (facts["rank"], facts["advice"]) == (expected.rank, expected.advice)
    assert (facts["criteria"], facts["range"]) == (expected.criteria, list(expected.range))
    np.testing.assert_array_equal(facts["table"]["held_out_error"], expected.held_out)
    assert facts["table"]["closeness_of_halves"][0] is None  # JSON knows no NaN


def test_tables_and_pictures_are_written(wide, tmp_path):
    out = [tmp_path / name for name in ("a.csv", "a.PNG", "a.svg")]
    options = [part for path in out for part in ("-o", path)]
    run("rank", wide, "--max-rank", 3, *options)
    assert out[0].read_text().startswith("sources,singular_value_over_rotated,held_out_error")
    assert len(out[0].read_text().splitlines()) == 6
    assert out[1].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in out[2].read_text()
    assert "exists" in run("rank", wide, "-o", out[0], code=2).stderr
    run("rank", wide, "--max-rank", 2, "-o", out[0], "--force")
    assert len(out[0].read_text().splitlines()) == 6
    assert sorted(os.listdir(tmp_path)) == ["a.PNG", "a.csv", "a.svg", "d.npy"]


def test_noise_is_heeded(wide):
    told = [json.loads(run("rank", wide, "--json", *more).stdout) for more in ((), ("--noise", "50"))]
    assert [one["criteria"].get("directions") for one in told] == [2, 1]


def test_a_baseline_does_not_count(wide, tmp_path):
    curves = np.random.default_rng(0).random((20, 3)) @ ngmca.Baseline("polynomial").basis(40)[1:4]
    np.save(wide, np.load(wide) + 3 * curves)
    assert json.loads(run("rank", wide, "--json", "--baseline", "polynomial").stdout)["rank"] == 2
    out = ("-o", tmp_path / "out", "--json", "--iterations", 5)
    told = run("separate", wide, "-r", "auto", "--baseline", "polynomial", *out)
    assert json.loads(told.stdout)["sources"] == 2


def test_what_is_wrong_is_said_in_one_line(wide, tmp_path):
    for arguments, words in (
        (("--max-rank", 20), "use at most 18"),
        (("-o", tmp_path / "a.txt"), "give the name of a table (.csv) or of a picture"),
        (("-o", tmp_path / "none" / "a.csv"), "no such folder"),
        (("--noise", tmp_path / "no.csv"), "does not exist"),
    ):
        code = 1 if "none" in str(arguments[1]) else 2
        told = run("rank", wide, *arguments, code=code).stderr
        assert words in told
        assert len(told.strip().splitlines()) == 1


def test_an_automatic_number_does_not_go_with_what_is_not_heeded(wide, tmp_path):
    np.savetxt(tmp_path / "pure.csv", np.ones((1, 40)), delimiter=",")
    np.savetxt(tmp_path / "amounts.csv", np.ones((20, 1)), delimiter=",")
    out = tmp_path / "out"
    for option, value in (
        ("--known-sources", tmp_path / "pure.csv"),
        ("--known-mixing", tmp_path / "amounts.csv"),
    ):
        told = run("separate", wide, "-r", "auto", option, value, "-o", out, code=2).stderr
        assert f"-r auto cannot be combined with {option}: " in told
        assert "Give a number of sources" in told
        assert not out.exists()


@pytest.mark.draws
def test_an_automatic_number_of_robust_runs_leaves_spikes_out(wide, tmp_path):
    Y = np.load(wide)
    Y[3, 20] = 50 * Y.max()
    np.save(wide, Y)
    (advice,) = run("rank", wide).stdout.splitlines()[-1:]
    assert advice.startswith("2")
    assert advice.endswith(". 1 spike was left out.")
    told = run("separate", wide, "-r", "auto", "--robust", "-o", tmp_path / "out", "--json")
    assert json.loads(told.stdout)["sources"] == 2
    assert advice in (tmp_path / "out" / "report.html").read_text()
