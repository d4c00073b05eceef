"""`ngmca posterior`: error bars for a result that is there, as if they had been asked for at once."""

import json
import os
import shutil
import tomllib

import numpy as np
import pytest
from command_line import FILES, run

import ngmca
from ngmca import sampling
from ngmca.saving.result_file import read_result


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Data, their result, and the result with error bars from the first."""
    folder = tmp_path_factory.mktemp("later")
    Y = ngmca.simulate.sparse(m=20, n=80, r=3, p_S=0.2, snr=15, seed=0).Y
    np.save(folder / "Y.npy", Y)
    command = ("separate", folder / "Y.npy", "-r", 3, "--seed", 7, "-o")
    run(*command, folder / "out")
    run(*command, folder / "at_once", "--posterior", "--samples", 60)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A copy to work on, whose data are its own."""
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    record = copy / "out" / "run.toml"
    record.write_text(record.read_text().replace(str(made), str(copy)))
    return copy


def variables(out):
    stored = read_result(out)[0]
    return vars(stored) | {f"posterior {k}": v for k, v in vars(stored.posterior).items()}


@pytest.mark.draws
def test_the_result_is_that_of_one_go(folder, monkeypatch):
    monkeypatch.setattr("ngmca.cli.pipeline._found", None)  # it is not separated again
    told = run("posterior", folder / "out", "--samples", 60).stdout
    assert "Error bars come from 2 chains" in told
    assert f"report: {folder / 'out' / 'report.html'}" in told
    for name in ("sources.csv", "mixing.csv"):
        later, at_once = ((folder / out / name).read_bytes() for out in ("out", "at_once"))
        assert later == at_once
    found, expected = (variables(folder / out) for out in ("out", "at_once"))
    for part in ("posterior S", "posterior A", "posterior noise"):
        np.testing.assert_array_equal(found[part].sd, expected[part].sd)
        np.testing.assert_array_equal(found[part].mean, expected[part].mean)
    assert found["restarts"] == expected["restarts"]
    assert sorted(os.listdir(folder / "out")) == FILES
    assert sorted(os.listdir(folder)) == ["Y.npy", "at_once", "out"]
    assert "The answer is the mean of the posterior" in (folder / "out" / "report.html").read_text()
    later, at_once = (
        tomllib.loads((folder / out / "run.toml").read_text()) for out in ("out", "at_once")
    )
    assert later["record"]["sha256"] == at_once["record"]["sha256"]
    data = {"data": [str(folder / "Y.npy")]}
    assert later["separate"] == at_once["separate"] | data


def test_error_bars_are_sampled_again_only_if_asked(folder):
    before = ngmca.load(folder / "at_once").posterior
    told = run("posterior", folder / "at_once", code=2).stderr
    assert "has error bars already: use --force to compute them again" in told
    told = run("posterior", folder / "at_once", "--samples", 80, "--force", "--json").stdout
    assert json.loads(told)["posterior"]["n_samples"] == 80
    after = ngmca.load(folder / "at_once").posterior
    assert after.n_samples == 80 != before.n_samples


def untouched(out, before):
    return {file.name: file.read_bytes() for file in out.iterdir()} == before


@pytest.fixture
def before(folder):
    return {file.name: file.read_bytes() for file in (folder / "out").iterdir()}


def test_data_that_were_moved_are_asked_for(folder, before):
    (folder / "Y.npy").rename(folder / "elsewhere.npy")
    told = run("posterior", folder / "out", code=2).stderr
    assert f"{folder / 'Y.npy'} does not exist" in told
    assert f"ngmca posterior {folder / 'out'} DATA" in told
    assert untouched(folder / "out", before)
    run("posterior", folder / "out", folder / "elsewhere.npy", "--samples", 10)
    assert ngmca.load(folder / "out").posterior.n_samples == 10
    record = tomllib.loads((folder / "out" / "run.toml").read_text())
    assert record["separate"]["data"] == [str(folder / "elsewhere.npy")]


def test_other_data_are_refused(folder, before):
    np.save(folder / "Y.npy", 1.01 * np.load(folder / "Y.npy"))
    assert "the data have changed" in run("posterior", folder / "out", code=2).stderr
    assert untouched(folder / "out", before)


def test_data_that_are_read_otherwise_are_refused(folder, before):
    """By another version of ngmca, or by a run.toml that somebody changed."""
    record = folder / "out" / "run.toml"
    record.write_text(record.read_text().replace("[separate]", "[separate]\ntranspose = true", 1))
    told = run("posterior", folder / "out", code=2).stderr
    assert "80" in told
    assert "20" in told
    assert untouched(folder / "out", before | {"run.toml": record.read_bytes()})
    assert sorted(os.listdir(folder)) == ["Y.npy", "at_once", "out"]


def test_a_method_without_a_posterior_is_named(folder):
    out = folder / "signed"
    run("separate", folder / "Y.npy", "-r", 3, "-o", out, "--method", "gmca")
    assert "--method gmca: gmca can give negative spectra" in run("posterior", out, code=2).stderr
    assert ngmca.load(out).posterior is None


def test_what_is_no_folder_of_a_run_is_named(folder, tmp_path):
    separation = ngmca.load(folder / "out")
    ngmca.save(tmp_path / "saved.nc", separation)
    assert "is a file" in run("posterior", tmp_path / "saved.nc", code=2).stderr
    assert "does not exist" in run("posterior", tmp_path / "nothing", code=2).stderr


def press_ctrl_c(*arguments, **options):
    raise KeyboardInterrupt


def test_a_stop_leaves_the_result_as_it_was(folder, before, monkeypatch):
    monkeypatch.setattr(sampling, "posterior", press_ctrl_c)
    assert "out has not changed" in run("posterior", folder / "out", code=130).stderr
    assert untouched(folder / "out", before)
    assert sorted(os.listdir(folder)) == ["Y.npy", "at_once", "out"]


def test_a_run_that_was_stopped_is_not_discarded_unasked(folder):
    """And the way to go on with it is told as it works."""
    command = ("separate", folder / "Y.npy", "-r", 3, "-o", folder / "out", "--posterior", "--force")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sampling, "posterior", press_ctrl_c)
        told = run(*command, "--samples", 10, code=130).stderr
    onward = f"ngmca separate --resume {folder / 'out'} --force"
    assert f"Continue with: {onward}" in told
    assert f"Continue it with `{onward}`" in run("posterior", folder / "out", code=2).stderr
    run(*onward.split()[1:])
    assert ngmca.load(folder / "out").posterior.n_samples == 10
