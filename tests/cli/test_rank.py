"""`ngmca rank`."""

import json
import os

import numpy as np
import pytest
from command_line import run

import ngmca
from ngmca.cli.commands import rank as command
from ngmca.saving import rank_search as counting


@pytest.fixture
def wide(tmp_path):
    np.save(tmp_path / "d.npy", ngmca.simulate.sparse(20, 40, 2, snr=20, seed=0).Y)
    return tmp_path / "d.npy"


def test_every_witness_is_shown(table):
    told = run("rank", table).stdout.splitlines()
    assert " ".join(told[0].split()) == "sources prediction error improved in singular value stability"
    (chosen,) = [line for line in told if line.endswith("<-")]
    assert chosen.split()[0] == "3"
    assert chosen.split()[2:5] == ["5", "of", "5"]
    assert told[-2] == "held-out entries 3, singular values 3, stability 3"
    assert told[-1] == "3: all criteria agree."


def test_json_is_what_python_finds(table, mixture):
    facts = json.loads(run("rank", table, "--json", "--max-rank", 4, "--folds", 3, "--seed", 7).stdout)
    expected = ngmca.choose_rank(ngmca.io.read(table).Y, 4, folds=3, seed=7)
    assert (facts["rank"], facts["advice"]) == (expected.rank, expected.advice)
    assert facts["criteria"] == expected.criteria
    np.testing.assert_array_equal(facts["table"]["held_out"], expected.held_out.mean(axis=0))
    assert facts["table"]["stability"][0] is None  # JSON knows no NaN


def test_tables_and_pictures_are_written(wide, tmp_path):
    out = [tmp_path / name for name in ("a.csv", "a.PNG", "a.svg")]
    options = [part for path in out for part in ("-o", path)]
    run("rank", wide, "--max-rank", 3, *options)
    assert out[0].read_text().startswith("sources,held_out,better_folds,stability,singular_value")
    assert len(out[0].read_text().splitlines()) == 5
    assert out[1].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in out[2].read_text()
    assert "exists" in run("rank", wide, "-o", out[0], code=2).stderr
    run("rank", wide, "--max-rank", 2, "-o", out[0], "--force")
    assert len(out[0].read_text().splitlines()) == 4
    assert sorted(os.listdir(tmp_path)) == ["a.PNG", "a.csv", "a.svg", "d.npy"]


def stopped(monkeypatch, after):
    """Ctrl-C as it were, once so many numbers of sources have been kept."""

    def keep(self, search):
        kept(self, search)
        if search.rank == after:
            raise KeyboardInterrupt

    kept = command.UnfinishedSearch.keep
    monkeypatch.setattr(command.UnfinishedSearch, "keep", keep)


def test_a_run_that_was_stopped_goes_on_and_ends_alike(wide, tmp_path, monkeypatch):
    run("rank", wide, "--max-rank", 4, "-o", tmp_path / "whole.csv")
    options = ("rank", wide, "--max-rank", 4, "-o", tmp_path / "out.csv")
    with monkeypatch.context() as patched:
        stopped(patched, 2)
        assert "give the same command again to continue" in run(*options, code=130).stderr
    assert not (tmp_path / "out.csv").exists()
    with monkeypatch.context() as patched:  # what is kept is not done again
        stopped(patched, 2)
        assert "continues after 2 sources" in run(*options).stderr
    assert (tmp_path / "out.csv").read_text() == (tmp_path / "whole.csv").read_text()
    assert sorted(os.listdir(tmp_path)) == ["d.npy", "out.csv", "whole.csv"]


@pytest.mark.parametrize("change", ["damaged", "options", "data"])
def test_what_does_not_belong_to_a_run_is_not_taken(wide, tmp_path, monkeypatch, change):
    options = ["rank", wide, "--max-rank", 2, "-o", tmp_path / "out.csv"]
    with monkeypatch.context() as patched:
        stopped(patched, 1)
        run(*options, code=130)
    (kept,) = tmp_path.glob("out.csv.ngmca-*")
    if change == "damaged":
        kept.write_bytes(kept.read_bytes()[:-300])
    elif change == "options":
        options += ["--seed", 1]
    else:
        np.save(wide, np.load(wide) + 1e-9)
    told = run(*options).stderr
    assert ("is damaged" if change == "damaged" else "belongs to other data or options") in told
    assert "continues" not in told
    assert not kept.exists()


def test_noise_is_heeded(wide):
    white, given = (
        json.loads(run("rank", wide, "--json", "--max-rank", 2, *more).stdout)
        for more in ((), ("--noise", "50"))
    )
    assert white["criteria"]["singular_values"] == 2
    assert given["edge"] == pytest.approx(50 * (20**0.5 + 40**0.5))
    assert given["criteria"]["singular_values"] < 2


def test_what_is_wrong_is_said_in_one_line(wide, tmp_path):
    for arguments, words in (
        (("--max-rank", 20), "use at most 16"),
        (("-o", tmp_path / "a.txt"), "give the name of a table (.csv) or of a picture"),
        (("-o", tmp_path / "none" / "a.csv"), "no such folder"),
        (("--noise", tmp_path / "no.csv"), "does not exist"),
    ):
        code = 1 if "none" in str(arguments[1]) else 2
        told = run("rank", wide, *arguments, code=code).stderr
        assert words in told
        assert len(told.strip().splitlines()) == 1


def test_a_part_of_the_data_may_be_asked_for(wide):
    facts = json.loads(run("rank", wide, "--json", "--max-rank", 1, "--entries", 400).stdout)
    assert facts["fitted_shape"] == [20, 20]


def test_an_automatic_number_does_not_go_with_what_is_not_heeded(wide, tmp_path):
    np.savetxt(tmp_path / "pure.csv", np.ones((1, 40)), delimiter=",")
    np.savetxt(tmp_path / "amounts.csv", np.ones((20, 1)), delimiter=",")
    out = tmp_path / "out"
    for option, value in (
        ("--baseline", "polynomial"),
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


def test_what_is_masked_belongs_to_a_search():
    options = {"folds": 5, "entries": None, "seed": 0, "noise": None}
    Y = np.arange(12.0).reshape(3, 4)
    masks = [np.zeros((3, 4), bool), np.eye(3, 4, dtype=bool)]
    first, second = (counting.fingerprint(np.ma.array(Y, mask=mask), options) for mask in masks)
    assert first != second
