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
from ngmca.cli import loop
from ngmca.io import ReadError
from ngmca.saving import checkpoints


def slow(table, out):
    """Arguments of a run that takes much longer than a test."""
    return [*NGMCA, "separate", str(table), "-r", "3", "-o", str(out), "--iterations", "2000000"]


def wait_for(path, process):
    for _ in range(600):
        if path.exists() or process.poll() is not None:
            return
        time.sleep(0.05)


def test_ctrl_c_keeps_the_last_state_and_says_how_to_go_on(table, tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(slow(table, out), stderr=subprocess.PIPE, text=True)
    wait_for(tmp_path / "out.unfinished" / "run.toml", process)
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"ngmca separate --resume {out}" in told
    assert "Traceback" not in told
    assert not out.exists()
    with pytest.raises(ReadError, match="unfinished"):
        ngmca.load(out)
    checkpoint = checkpoints.load(tmp_path / "out.unfinished")
    assert checkpoint.done == len(checkpoint.lines) > 10
    assert f"stopped at iteration {checkpoint.done} of 2000260" in told


@contextmanager
def stopping(monkeypatch, after):
    """Ctrl-C as it were, after so many iterations."""

    @contextmanager
    def stop_signal():
        calls = iter(range(1, 10**9))
        yield lambda: next(calls) == after

    with monkeypatch.context() as patched:
        patched.setattr(loop, "stop_signal", stop_signal)
        yield


@pytest.mark.parametrize("method", ["soft", "naive", "anls"])
@pytest.mark.parametrize("stops", [(1,), (7, 20, 13), (60,)])
def test_a_resumed_run_is_the_same_to_the_bit(table, tmp_path, monkeypatch, method, stops):
    options = (table, "-r", 3, "--method", method, "--iterations", 60, "--domain", "direct")
    run("separate", *options, "-o", tmp_path / "whole")
    command = ("separate", *options, "-o", tmp_path / "out")
    done = 0
    for after in stops:
        done += after
        with stopping(monkeypatch, after):
            stopped = run(*command, code=130).stderr
        assert f"stopped at iteration {done} of 60; nothing is lost" in stopped
        command = ("separate", "--resume", tmp_path / "out")
    run(*command)
    whole, found = ngmca.load(tmp_path / "whole"), ngmca.load(tmp_path / "out")
    assert (found.n_iter, found.stopped) == (whole.n_iter, whole.stopped)
    for name in ("A", "S", "lam", "noise"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    for name, column in vars(whole.history).items():
        np.testing.assert_array_equal(getattr(found.history, name), column)
    assert sorted(os.listdir(tmp_path / "out")) == FILES


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


@pytest.mark.parametrize("after", [30, 60, 90])
def test_a_run_in_wavelets_goes_on_and_ends_where_it_would_have(table, tmp_path, monkeypatch, after):
    options = (table, "-r", 3, "--iterations", 60)
    run("separate", *options, "-o", tmp_path / "whole")
    with stopping(monkeypatch, after):
        run("separate", *options, "-o", tmp_path / "out", code=130)
    state = checkpoints.load(tmp_path / "out.unfinished").state
    assert state.domain.name == ("wavelet" if after > 60 else "direct")
    run("separate", "--resume", tmp_path / "out")
    whole, found = ngmca.load(tmp_path / "whole"), ngmca.load(tmp_path / "out")
    assert found.domain == whole.domain
    assert found.domain.name == "wavelet"
    assert found.n_iter == whole.n_iter == len(found.history.cost)
    assert ngmca.evaluate(whole.S, found.S).mean_sdr > 20  # multipliers are found anew: close, not equal


def test_a_wrong_command_does_not_cost_a_checkpoint(table, tmp_path, monkeypatch):
    with stopping(monkeypatch, 5):
        run("separate", table, "-r", 3, "-o", tmp_path / "out", "--iterations", 60, code=130)
    wrong = run("separate", tmp_path / "no.csv", "-r", 3, "-o", tmp_path / "out", code=2)
    assert "does not exist" in wrong.stderr
    assert checkpoints.load(tmp_path / "out.unfinished").done == 5
    run("separate", "--resume", tmp_path / "out")


def test_resuming_needs_something_to_resume(table, out, tmp_path):
    assert "nothing to go on with" in run("separate", "--resume", out, code=2).stderr
    told = run("separate", "--resume", out, "-o", tmp_path / "b", code=2).stderr
    assert "leave out -o" in told


def test_two_runs_for_one_folder(table, tmp_path):
    process = subprocess.Popen(slow(table, tmp_path / "out"), stderr=subprocess.DEVNULL)
    try:
        wait_for(tmp_path / "out.unfinished" / "run.toml", process)
        refused = run("separate", table, "-r", 2, "-o", tmp_path / "out", code=2)
        assert "another run of ngmca is working on" in refused.stderr
    finally:
        process.kill()
        process.wait()


def test_a_full_disk_leaves_nothing(table, tmp_path):
    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # less than a report

    arguments = [
        *NGMCA,
        "separate",
        str(table),
        "-r",
        "2",
        "-o",
        str(tmp_path / "out"),
        "--iterations",
        "5",
    ]
    signal_free = {"preexec_fn": little_room, "capture_output": True, "text": True}
    done = subprocess.run(arguments, check=False, **signal_free)
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["tubes.csv"]


def test_kill_9_leaves_no_result_that_looks_whole(table, tmp_path):
    rng = np.random.default_rng(0)
    for i in range(4):
        out = tmp_path / f"out{i}"
        arguments = [*NGMCA, "separate", str(table), "-r", "3", "-o", str(out), "--iterations", "100"]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(out.with_name(out.name + ".unfinished"), process)
        time.sleep(rng.uniform(0, 2.0))
        process.kill()
        process.wait()
        if out.exists():
            assert sorted(os.listdir(out)) == FILES
            ngmca.load(out)
        else:
            with pytest.raises(ReadError, match="unfinished"):
                ngmca.load(out)
            run("separate", table, "-r", 3, "-o", out, "--iterations", 5)  # the way is free
            ngmca.load(out)
    assert sorted(os.listdir(tmp_path)) == ["out0", "out1", "out2", "out3", "tubes.csv"]
