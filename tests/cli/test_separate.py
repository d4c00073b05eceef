"""`ngmca separate`, as a user meets it."""

import hashlib
import json
import os
import tomllib

import numpy as np
import pytest
import xarray as xr
from command_line import FILES, run

import ngmca
from ngmca._support import atomic_files
from ngmca.answers import run as runs
from ngmca.cli import pipeline
from ngmca.io import read
from ngmca.saving import folder_claim as claim
from ngmca.task import driver
from ngmca.task.methods import METHOD_NAMES
from ngmca.task.task import CHEAP_SIZE


def press_ctrl_c(*arguments, **options):
    raise KeyboardInterrupt


@pytest.mark.draws
def test_one_command_from_a_file_to_the_sources(out, table, mixture):
    assert sorted(os.listdir(out)) == FILES
    assert not out.with_name("out.ngmca-unfinished").exists()
    found = ngmca.load(out)
    expected = ngmca.separate(read(table).Y, 3, method=ngmca.Soft(n_iter=60), seed=4)
    for name in ("A", "S", "lam", "noise"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("cost", "threshold", "active", "violation", "mixing_violation"):
        np.testing.assert_array_equal(getattr(found.history, name), getattr(expected.history, name))
    assert (found.n_iter, found.stopped) == (expected.n_iter, expected.stopped)
    assert ngmca.evaluate(mixture.S, found.S).mean_sdr > 15


@pytest.mark.parametrize("unit", [1.0, 2.0**400])
def test_starts_are_those_of_the_library(tmp_path, unit):
    Y = ngmca.simulate.sparse(m=10, n=200, r=10, p_S=0.2, snr=30, seed=1).Y
    np.save(tmp_path / "d.npy", Y * unit)
    command = ("separate", tmp_path / "d.npy", "-r", 10, "--iterations", 40, "--seed", 7)
    run(*command, "--n-init", 3, "-o", tmp_path / "three")
    run(*command, "--n-init", 1, "-o", tmp_path / "one")
    expected = ngmca.separate(Y, 10, method=ngmca.Soft(n_iter=40), seed=7, n_init=3)
    found, alone = (ngmca.load(tmp_path / name) for name in ("three", "one"))
    np.testing.assert_array_equal(found.S, expected.S * unit)
    assert [one.agreement for one in found.restarts] == [one.agreement for one in expected.restarts]
    assert alone.restarts == ()
    assert (alone.S != found.S).any()  # another start was better
    content = tomllib.loads((tmp_path / "three" / "run.toml").read_text())
    assert content["separate"]["n_init"] == 3
    run("separate", "--config", tmp_path / "three" / "run.toml", "-o", tmp_path / "again")
    np.testing.assert_array_equal(ngmca.load(tmp_path / "again").S, found.S)
    assert "--n-init" in run(*command, "--n-init", 0, "-o", tmp_path / "no", code=2).stderr


@pytest.mark.starts
def test_several_starts_unasked_only_where_they_cost_little():
    task = ngmca.Task(10)
    assert task.starts((100, CHEAP_SIZE // 1000)) == 5
    assert task.starts((100, CHEAP_SIZE // 1000 + 1)) == 1
    assert ngmca.Task(10, method="hals").starts((10, 10)) == 1
    assert ngmca.Task(10, n_init=7).starts((10**5, 10**5)) == 7


@pytest.mark.draws
@pytest.mark.starts
def test_equally_good_answers_are_told_drawn_and_tabled(tmp_path, out):
    Y = ngmca.simulate.sparse(m=4, n=60, r=3, p_S=1.0, seed=0).Y  # without zeros many rotations fit
    np.save(tmp_path / "d.npy", Y)
    told = run("separate", tmp_path / "d.npy", "-r", 3, "--method", "anls", "-o", tmp_path / "several")
    assert "! Other starts give other sources. 5 of 5 starts fit equally well" in told.stdout
    assert "source 1 lowest,source 1 highest" in (tmp_path / "several" / "sources.csv").read_text()
    page = (tmp_path / "several" / "report.html").read_text()
    assert "in 4 starts that fit equally well" in page
    found = ngmca.load(tmp_path / "several")
    expected = ngmca.separate(Y, 3, method="anls")
    np.testing.assert_array_equal(found.others.S_high, expected.others.S_high)
    assert "lowest" not in (out / "sources.csv").read_text()  # where there is one answer
    assert "Between dotted lines" not in (out / "report.html").read_text()


@pytest.mark.draws
def test_what_all_starts_would_warn_of_is_told_once(tmp_path, mixture):
    mixture.Y[3] = np.nan
    np.save(tmp_path / "d.npy", mixture.Y)
    told = run("separate", tmp_path / "d.npy", "-r", 3, "--iterations", 5, "-o", tmp_path / "out").stderr
    assert told.count("measurement 3 has no observed entries") == 1


def test_a_run_stopped_at_another_start_keeps_the_first(tmp_path, table, monkeypatch):
    out = tmp_path / "out"

    with monkeypatch.context() as patched:
        patched.setattr(driver, "at_once", press_ctrl_c)  # the other starts
        told = run("separate", table, "-r", 3, "-o", out, "--n-init", 2, code=130).stderr
    assert f"is kept. Continue with: ngmca separate --resume {out}" in told
    refused = run("separate", "--resume", out, "--n-init", 4, code=2).stderr
    assert "leave out --n-init" in refused
    with monkeypatch.context() as patched:
        patched.setattr(driver._Starts, "_first", None)  # the first is not made again
        run("separate", "--resume", out)
    expected = ngmca.separate(read(table).Y, 3, n_init=2)
    np.testing.assert_array_equal(ngmca.load(out).S, expected.S)


def test_what_fails_after_all_starts_costs_none_of_them(tmp_path, table, monkeypatch):
    out = tmp_path / "out"

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "diagnose", press_ctrl_c)
        run("separate", table, "-r", 3, "-o", out, "--n-init", 2, code=130)
    with monkeypatch.context() as patched:
        patched.setattr(driver.Prepared, "find", None)  # nothing is computed again
        run("separate", "--resume", out)
    assert len(ngmca.load(out).restarts) == 2


def test_tables_hold_axis_and_names_and_every_digit(out):
    separation = ngmca.load(out)
    sources = read(out / "sources.csv")
    np.testing.assert_array_equal(sources.Y, separation.S)
    assert sources.row_names == ("source 1", "source 2", "source 3")
    assert (sources.axis_unit, sources.axis[0], sources.axis[-1]) == ("ppm", 9, 1)
    first = (out / "mixing.csv").read_text().splitlines()[:2]
    named = [f"source {i}{kind}" for kind in ("", " share (%)") for i in (1, 2, 3)]
    assert first[0].split(",") == ["measurement", *named]
    assert first[1].split(",")[0] == "tube 0"
    assert float(first[1].split(",")[2]) == separation.A[0, 1]


def test_the_result_file_is_open_to_xarray(out):
    with xr.open_dataset(out / "result.nc") as stored:
        assert stored["A"].dims == ("measurement", "source")
        assert stored["axis"].attrs["units"] == "ppm"
        assert stored["name"].values[3] == "tube 3"


def test_run_toml_repeats_the_run(out, table, tmp_path):
    content = tomllib.loads((out / "run.toml").read_text())
    assert content["separate"]["seed"] == 4
    assert content["record"]["ngmca"] == ngmca.__version__
    assert content["record"]["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    again = run("separate", "--config", out / "run.toml", "-o", tmp_path / "again")
    np.testing.assert_array_equal(ngmca.load(tmp_path / "again").S, ngmca.load(out).S)
    assert "changed" not in again.stderr
    table.write_text(table.read_text().replace("\n9.0,", "\n9.0,1"))
    changed = run("separate", "--config", out / "run.toml", "-o", tmp_path / "third", "--tau", 2)
    assert "the data have changed" in changed.stderr
    assert tomllib.loads((tmp_path / "third" / "run.toml").read_text())["separate"]["tau"] == 2


def test_json_is_json_and_quiet_is_quiet(table, tmp_path):
    separate = ("separate", table, "-r", 3, "--iterations", 20, "-o")
    spoken = json.loads(run(*separate, tmp_path / "a", "--json").stdout)
    assert spoken["sources"] == 3
    assert spoken["channels"] == 300
    assert spoken["explained"] > 0.9
    assert spoken["warnings"] == []
    silent = run(*separate, tmp_path / "b", "--quiet")
    assert silent.stdout == ""
    assert silent.stderr == ""


@pytest.mark.tries
def test_warnings_reach_the_terminal(table, tmp_path):
    told = run("separate", table, "-r", 2, "--iterations", 60, "-o", tmp_path / "a").stdout
    assert "residual has structure: maybe more sources" in told
    assert "Next step: -r 3, which fits 3 sources. Tried: it lowers the residual" in told


def test_a_run_reads_hashes_and_claims_once(table, tmp_path, monkeypatch):
    calls = []

    def counted(place, name):
        whole = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *a, **k: calls.append(name) or whole(*a, **k))

    counted(ngmca.io, "read")
    counted(ngmca.io, "fingerprint")
    counted(claim, "check_replaceable")
    counted(runs, "findings")
    counted(atomic_files, "sync")
    run("separate", table, "-r", 3, "--iterations", 5, "-o", tmp_path / "out")
    assert {name: calls.count(name) for name in set(calls)} == {
        "read": 1,
        "fingerprint": 1,
        "check_replaceable": 1,
        "findings": 1,
        # each file and its name; before them the checkpoint, the first start and the best one
        "sync": 2 * (len(FILES) + 3),
    }


def test_range_and_transpose(table, tmp_path):
    run("separate", table, "-r", 2, "--iterations", 5, "--range", "2:5", "-o", tmp_path / "a")
    axis = read(tmp_path / "a" / "sources.csv").axis
    assert axis.min() >= 2
    assert axis.max() <= 5
    np.save(tmp_path / "d.npy", np.random.default_rng(0).random((50, 7)))
    run("separate", tmp_path / "d.npy", "-r", 2, "--iterations", 5, "--transpose", "-o", tmp_path / "b")
    assert ngmca.load(tmp_path / "b").A.shape == (7, 2)


def test_an_existing_result_is_not_overwritten(out, table):
    before = (out / "result.nc").read_bytes()
    refused = run("separate", table, "-r", 2, "-o", out, code=2)
    assert "--force replaces it" in refused.stderr
    assert (out / "result.nc").read_bytes() == before
    run("separate", table, "-r", 2, "-o", out, "--iterations", 5, "--force")
    assert len(ngmca.load(out).S) == 2
    assert sorted(os.listdir(out)) == FILES


def test_force_never_removes_what_ngmca_did_not_write(out, table, tmp_path):
    (out / "notes.txt").write_text("mine")
    refused = run("separate", table, "-r", 2, "-o", out, "--force", code=2)
    assert "notes.txt, which ngmca did not write" in refused.stderr
    assert (out / "notes.txt").read_text() == "mine"
    refused = run("separate", table, "-r", 2, "-o", tmp_path, "--force", code=2)
    assert "did not write" in refused.stderr
    refused = run("separate", table, "-r", 2, "-o", table, "--force", code=2)
    assert "is not a folder" in refused.stderr
    assert table.exists()


@pytest.mark.draws
def test_single_precision_stays_single(tmp_path):
    Y = ngmca.simulate.sparse(m=10, n=60, r=2, snr=20, seed=0).Y.astype("float32")
    np.save(tmp_path / "d.npy", Y)
    run("separate", tmp_path / "d.npy", "-r", 2, "-o", tmp_path / "out")
    found, expected = ngmca.load(tmp_path / "out"), ngmca.separate(Y, 2)
    assert found.S.dtype == expected.S.dtype == np.float32
    np.testing.assert_array_equal(found.S, expected.S)


@pytest.mark.draws
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_every_method_has_a_report(table, tmp_path, method):
    some = () if method in ("spa", "vca") else ("--iterations", 8)  # which have none
    run("separate", table, "-r", 2, "--method", method, *some, "-o", tmp_path / "out")
    assert tomllib.loads((tmp_path / "out" / "run.toml").read_text())["separate"]["method"] == method
    assert ngmca.load(tmp_path / "out").n_iter <= (16 if method == "soft" else 8)  # in each domain
