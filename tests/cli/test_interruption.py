"""Runs that are stopped, killed, or short of room."""

import os
import resource
import signal
import subprocess
import time
from contextlib import contextmanager

import numpy as np
import pytest
from command_line import FILES, NGMCA, run

import ngmca
from ngmca import sampling
from ngmca.cli import pipeline
from ngmca.cli.watchers import StopOnInterrupt
from ngmca.io import ReadError
from ngmca.saving.result_folder import CHECKPOINT
from ngmca.task import checkpoints, driver


def slow(table, out):
    """Arguments of a run that takes much longer than a test."""
    return [*NGMCA, "separate", str(table), "-r", "3", "-o", str(out), "--iterations", "2000000"]


def wait_for(path, process):
    for _ in range(600):
        if path.exists() or process.poll() is not None:
            return
        time.sleep(0.05)


def kept_in(folder):
    """What the checkpoint of a stopped run holds."""
    return checkpoints.read(folder / CHECKPOINT)


def test_ctrl_c_keeps_the_last_state_and_says_how_to_go_on(table, tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(slow(table, out), stderr=subprocess.PIPE, text=True)
    wait_for(tmp_path / "out.ngmca-unfinished" / "run.toml", process)
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"ngmca separate --resume {out}" in told
    assert "Traceback" not in told
    assert not out.exists()
    with pytest.raises(ReadError, match="unfinished"):
        ngmca.load(out)
    kept = kept_in(tmp_path / "out.ngmca-unfinished")
    assert kept.snapshot.k == len(kept.lines) > 10
    assert f"stopped at iteration {kept.snapshot.k} of 4000000" in told


@contextmanager
def stopping(monkeypatch, after):
    """Simulate Ctrl-C after so many iterations."""
    calls = iter(range(1, 10**9))
    with monkeypatch.context() as patched:
        patched.setattr(StopOnInterrupt, "wants_stop", lambda self: next(calls) == after)
        yield


@pytest.mark.parametrize("method", ["soft", "naive", "anls"])
def test_a_resumed_run_is_the_same_to_the_bit(table, tmp_path, monkeypatch, method):
    options = (table, "-r", 3, "--method", method, "--iterations", 60, "--domain", "direct")
    run("separate", *options, "-o", tmp_path / "whole")
    whole = ngmca.load(tmp_path / "whole")
    for stops in ((1,), (7, 20, 13), (60,)):
        out, done = tmp_path / f"stopped {stops}", 0
        command = ("separate", *options, "-o", out)
        for after in stops:
            done += after
            with stopping(monkeypatch, after):
                stopped = run(*command, code=130).stderr
            assert f"stopped at iteration {done} of 60; nothing is lost" in stopped
            command = ("separate", "--resume", out)
        run(*command)
        found = ngmca.load(out)
        assert (found.n_iter, found.stopped) == (whole.n_iter, whole.stopped)
        for name in ("A", "S", "lam", "noise"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
        for name, column in vars(whole.history).items():
            np.testing.assert_array_equal(getattr(found.history, name), column)
        assert sorted(os.listdir(out)) == FILES


def test_an_automatic_run_goes_on_too(table, tmp_path, monkeypatch):
    run("separate", table, "-r", 3, "-o", tmp_path / "whole")
    with stopping(monkeypatch, 30):
        run("separate", table, "-r", 3, "-o", tmp_path / "out", code=130)
    run("separate", "--resume", tmp_path / "out")
    whole, found = ngmca.load(tmp_path / "whole"), ngmca.load(tmp_path / "out")
    assert whole.stopped == "settled"
    np.testing.assert_array_equal(found.S, whole.S)


def test_a_run_goes_on_as_it_was_begun(table, tmp_path, monkeypatch):
    with stopping(monkeypatch, 5):
        run("separate", table, "-r", 3, "-o", tmp_path / "out", "--iterations", 60, code=130)
    again = ("separate", "--resume", tmp_path / "out")
    assert "leave out --iterations" in run(*again, "--iterations", 90, code=2).stderr
    assert "leave out --sources" in run(*again, "-r", 4, code=2).stderr
    assert "leave out --tau" in run(*again, "--tau", 2, code=2).stderr
    run(*again, "--iterations", 60)  # as it was
    assert ngmca.load(tmp_path / "out").n_iter == 120  # 60 in each domain


def test_a_run_in_wavelets_goes_on_and_ends_where_it_would_have(table, tmp_path, monkeypatch):
    options = (table, "-r", 3, "--iterations", 60)
    run("separate", *options, "-o", tmp_path / "whole")
    whole = ngmca.load(tmp_path / "whole")
    for after in (30, 60, 90):
        out = tmp_path / f"out{after}"
        with stopping(monkeypatch, after):
            run("separate", *options, "-o", out, code=130)
        state = kept_in(tmp_path / f"out{after}.ngmca-unfinished").snapshot
        assert (state.k, state.domain.name) == (min(after, 60), "direct")  # wavelets are repeated
        run("separate", "--resume", out)
        found = ngmca.load(out)
        assert found.domain == whole.domain
        assert found.domain.name == "wavelet"
        assert found.n_iter == whole.n_iter == len(found.history.cost)
        np.testing.assert_array_equal(found.S, whole.S)
        np.testing.assert_array_equal(found.A, whole.A)


def test_a_wrong_command_does_not_cost_a_checkpoint(table, tmp_path, monkeypatch):
    with stopping(monkeypatch, 5):
        run("separate", table, "-r", 3, "-o", tmp_path / "out", "--iterations", 60, code=130)
    wrong = run("separate", tmp_path / "no.csv", "-r", 3, "-o", tmp_path / "out", code=2)
    assert "does not exist" in wrong.stderr
    for options in (("-r", 3000), ("-r", 3, "--noise", -1), ("-r", 3, "--tau", "-1")):
        run("separate", table, *options, "-o", tmp_path / "out", code=2)
    assert kept_in(tmp_path / "out.ngmca-unfinished").snapshot.k == 5
    run("separate", "--resume", tmp_path / "out")


def test_resuming_needs_something_to_resume(table, out, tmp_path):
    assert "nothing to continue" in run("separate", "--resume", out, code=2).stderr
    told = run("separate", "--resume", out, "-o", tmp_path / "b", code=2).stderr
    assert "leave out -o" in told


def test_two_runs_for_one_folder(table, tmp_path):
    process = subprocess.Popen(slow(table, tmp_path / "out"), stderr=subprocess.DEVNULL)
    try:
        wait_for(tmp_path / "out.ngmca-unfinished" / "run.toml", process)
        refused = run("separate", table, "-r", 2, "-o", tmp_path / "out", code=2)
        assert "another run of ngmca is working on" in refused.stderr
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("room", "left"),
    [(2_000, ["tubes.csv"]), (200_000, ["out", "tubes.csv"])],  # less than a result, than a report
)
def test_a_full_disk_costs_no_more_than_it_must(table, tmp_path, room, left):
    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    arguments = [
        *NGMCA,
        "separate",
        table,
        "-r",
        "2",
        "-o",
        tmp_path / "out",
        "--iterations",
        "5",
        "--n-init",
        "1",
    ]
    done = subprocess.run(
        [str(argument) for argument in arguments],
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=little_room,
    )
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == left
    if "out" in left:
        assert f"`ngmca report {tmp_path / 'out'}` tries again" in done.stderr
        assert sorted(os.listdir(tmp_path / "out")) == [name for name in FILES if name != "report.html"]
        run("report", tmp_path / "out")
        assert sorted(os.listdir(tmp_path / "out")) == FILES


@pytest.mark.parametrize("error", [MemoryError(), OSError(5, "Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["diagnose", "sampling"])
def test_what_fails_after_the_separation_does_not_cost_it(table, tmp_path, monkeypatch, error, where):
    def broken(*arguments, **options):
        raise error

    options = ("-r", 3, "--iterations", 20, "-o", tmp_path / "out")
    with monkeypatch.context() as patched:
        if where == "diagnose":
            patched.setattr(pipeline, "diagnose", broken)
        else:
            options = (*options, "--posterior")
            patched.setattr(sampling, "posterior", broken)
        code = {KeyboardInterrupt: 130, MemoryError: 2, OSError: 1}[type(error)]
        told = run("separate", table, *options, code=code).stderr
    assert f"is kept. Continue with: ngmca separate --resume {tmp_path / 'out'}" in told
    assert os.listdir(tmp_path / "out.ngmca-unfinished")
    with monkeypatch.context() as patched:
        patched.setattr(driver.Prepared, "find", None)  # nothing is computed again
        run("separate", "--resume", tmp_path / "out", "--no-posterior")
    assert sorted(os.listdir(tmp_path / "out")) == FILES


def test_a_report_that_cannot_be_drawn_does_not_cost_the_result(table, tmp_path, monkeypatch):
    def broken(run, show):
        raise MemoryError

    monkeypatch.setattr(ngmca.report, "html", broken)
    options = ("separate", table, "-r", 3, "--iterations", 20, "-o", tmp_path / "out")
    assert "its report could not be drawn: MemoryError()" in run(*options, code=1).stderr
    assert len(ngmca.load(tmp_path / "out").S) == 3
    assert (tmp_path / "out" / "sources.csv").is_file()


def test_an_out_that_comes_into_being_meanwhile_is_kept(table, tmp_path, monkeypatch):
    def busy(*arguments):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis.txt").write_text("years of work")
        return diagnose(*arguments)

    diagnose = pipeline.diagnose
    monkeypatch.setattr(pipeline, "diagnose", busy)
    done = run("separate", table, "-r", 3, "--iterations", 20, "-o", tmp_path / "out")
    assert f"the result is in {tmp_path / 'out-2'}" in done.stderr
    assert f"report: {tmp_path / 'out-2' / 'report.html'}" in done.stdout
    assert os.listdir(tmp_path / "out") == ["thesis.txt"]
    assert sorted(os.listdir(tmp_path / "out-2")) == FILES


def test_a_result_inside_the_folder_of_the_data_is_not_a_change(table, tmp_path, monkeypatch):
    folder = tmp_path / "spectra"
    folder.mkdir()
    table.rename(folder / "tubes.csv")
    with stopping(monkeypatch, 5):
        run("separate", folder, "-r", 3, "-o", folder / "out", "--iterations", 60, code=130)
    run("separate", "--resume", folder / "out")
    assert sorted(os.listdir(folder / "out")) == FILES


def test_data_that_have_changed_are_not_gone_on_with(table, tmp_path, monkeypatch):
    with stopping(monkeypatch, 5):
        run("separate", table, "-r", 3, "-o", tmp_path / "out", "--iterations", 60, code=130)
    table.write_text(table.read_text().replace("9.0,", "9.01,", 1))
    told = run("separate", "--resume", tmp_path / "out", code=2).stderr
    assert "the data have changed since the run began" in told
    assert kept_in(tmp_path / "out.ngmca-unfinished").snapshot.k == 5


def test_kill_9_leaves_no_result_that_looks_whole(table, tmp_path):
    rng = np.random.default_rng(0)
    for i in range(2):
        out = tmp_path / f"out{i}"
        arguments = [*NGMCA, "separate", str(table), "-r", "3", "-o", str(out), "--iterations", "100"]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(out.with_name(out.name + ".ngmca-unfinished"), process)
        time.sleep(rng.uniform(0, 2.0))
        process.kill()
        process.wait()
        if out.exists():
            assert sorted(os.listdir(out)) == FILES
            ngmca.load(out)
        else:
            with pytest.raises(ReadError, match="unfinished"):
                ngmca.load(out)
            run("separate", table, "-r", 3, "-o", out, "--iterations", 5, "--force")  # the way is free
            ngmca.load(out)
    assert sorted(os.listdir(tmp_path)) == ["out0", "out1", "tubes.csv"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(5, "Input/output error")])
def test_nothing_is_offered_to_go_on_from_before_there_is_a_checkpoint(
    table, tmp_path, monkeypatch, error
):
    def broken(*arguments, **options):
        raise error

    monkeypatch.setattr(pipeline, "_found", broken)
    code = 130 if isinstance(error, KeyboardInterrupt) else 1
    told = run("separate", table, "-r", 3, "-o", tmp_path / "out", code=code).stderr
    assert "--resume" not in told
    assert "kept" not in told or "stopped before there was any result to keep" in told
