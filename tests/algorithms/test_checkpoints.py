"""Checkpoints of `separate`: to the same bits as without a stop, and never a wrong one."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.engines import open_data
from ngmca.io import ReadError
from ngmca.task import checkpoints
from ngmca.task.driver import Prepared, StoppedRunError, Watcher
from ngmca.task.problem import Problem

Y = ngmca.simulate.spectra(m=12, n=300, r=3, lines=4, snr=25, seed=1).Y
RUNS = [
    {},
    {"n_iter": 30},
    {"n_iter": 30, "domain": "direct", "noise": np.linspace(1, 2, 12)},
    {"n_iter": 30, "solver": "fista", "domain": "direct"},
    {"n_iter": 30, "domain": "direct", "closure": 1.0},
    {"n_iter": 30, "domain": "direct", "baseline": "polynomial"},
    {"n_iter": 30, "domain": "direct", "penalised": "A"},
    {"method": "hard", "n_iter": 30},
    {"method": "naive", "n_iter": 30},
    {"method": "anls", "n_iter": 30},
    {"n_iter": 12, "domain": "wavelet"},
    {"n_iter": 12, "robust": True},
    {"n_iter": 12, "noise": ngmca.Counts(gain=1e-3)},
    {"n_iter": 12, "mask": np.eye(12, 300, k=20, dtype=bool)},
    {"n_iter": 12, "n_init": 3, "domain": "direct"},
]


def label(options):
    """A short name of a run."""
    return ", ".join(f"{k}={v if np.ndim(v) == 0 else 'array'}" for k, v in options.items()) or "auto"


class StopError(Exception):
    pass


def stopped(monkeypatch, data, path, at, **options):
    """Run until the checkpoint of an iteration is written, and stop there."""
    write = checkpoints.write

    def stopping(path, saved):
        write(path, saved)
        if saved.snapshot.k >= at:
            raise StopError

    monkeypatch.setattr(checkpoints, "write", stopping)
    with pytest.raises(StopError):
        ngmca.separate(data, 3, **records(checkpoint=path, checkpoint_every=1, **options))
    monkeypatch.setattr(checkpoints, "write", write)


def assert_same(found, expected):
    for name in ("A", "S", "lam", "noise", "n_iter", "stopped", "domain"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name, column in vars(expected.history).items():
        np.testing.assert_array_equal(getattr(found.history, name), column, err_msg=name)
    assert found.restarts == expected.restarts


@pytest.mark.parametrize("options", RUNS, ids=label)
@pytest.mark.parametrize("at", [1, 11])
def test_a_resumed_run_is_the_same_to_the_bit(monkeypatch, tmp_path, options, at):
    path = tmp_path / "kept.npz"
    stopped(monkeypatch, Y, path, at, **options)
    assert checkpoints.read(path).snapshot.k == at
    assert_same(
        ngmca.separate(Y, 3, **records(resume=path, **options)),
        ngmca.separate(Y, 3, **records(**options)),
    )


@pytest.mark.parametrize("at", [11, 12, 13, 18, 24])
@pytest.mark.parametrize("options", [{"robust": True}, {"noise": ngmca.Counts(gain=1e-3)}], ids=label)
def test_every_round_of_weights_is_resumed(monkeypatch, tmp_path, options, at):
    """Each has 12 iterations: within one, at its end, and at the beginning of the next."""
    data, path = Y.copy(), tmp_path / "kept.npz"
    data[3, 40] += 50
    options = {"n_iter": 12, "domain": "direct"} | options
    stopped(monkeypatch, data, path, at, **options)
    kept = checkpoints.read(path).snapshot
    assert (kept.k, 0 if kept.round is None else kept.round.index) == (at, (at - 1) // 12)
    assert_same(
        ngmca.separate(data, 3, **records(resume=path, **options)),
        ngmca.separate(data, 3, **records(**options)),
    )


def test_of_several_starts_the_first_is_kept_and_the_others_are_repeated(tmp_path):
    path, options = tmp_path / "kept.npz", {"n_iter": 12, "n_init": 3}
    expected = ngmca.separate(Y, 3, **records(**options))
    assert_same(ngmca.separate(Y, 3, **records(checkpoint=path, **options)), expected)
    first = checkpoints.read(path).snapshot.k
    assert_same(ngmca.separate(Y, 3, **records(resume=path, **options)), expected)
    assert checkpoints.read(path).snapshot.k == first == 12
    assert len(expected.restarts) == 3


@pytest.mark.parametrize(
    ("given", "written"),
    [({"every": 3}, [3, 6, 9, 10]), ({"minutes": 2.0}, [3, 6, 9, 10]), ({}, [2, 4, 6, 8, 10])],
    ids=str,
)
def test_checkpoints_are_written_when_they_are_due(monkeypatch, tmp_path, given, written):
    """At every so many iterations, after so many minutes, and at the last snapshot."""
    clock, path, found = [0.0], tmp_path / "kept.npz", []
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(checkpoints, "write", lambda _, saved: found.append(saved.snapshot.k))
    keeper = checkpoints.Keeper(ngmca.Checkpoint(path, **given), {})
    problem = Problem.of(ngmca.Task(3, **records(n_iter=10, domain="direct")), open_data(Y))
    for _, snapshot, last in problem.states(np.random.default_rng(0)):
        clock[0] += 45.0 if given != {"every": 3} else 0.0
        keeper.keep(snapshot, [], last=last)
    assert found == written
    keeper.write()  # it is written already
    assert found == written


def test_a_stop_writes_the_snapshot_that_is_not_written_yet(tmp_path):
    path, task = tmp_path / "kept.npz", ngmca.Task(3, **records(n_iter=30, domain="direct"))

    class Stop(Watcher):
        seen = 0

        def sees(self, state, start):
            self.seen = state.k

        def wants_stop(self):
            return self.seen == 7

    prepared = Prepared(task, open_data(Y))
    with pytest.raises(StoppedRunError, match="stopped at iteration 7 of 30"):
        prepared.find(watchers=[Stop()], checkpoint=ngmca.Checkpoint(path))
    assert checkpoints.read(path).snapshot.k == 7
    found = prepared.find(checkpoint=ngmca.Checkpoint(path, resume=True))
    assert_same(found, ngmca.separate(Y, 3, **records(n_iter=30, domain="direct")))


@pytest.mark.parametrize("shape", [(60, 4000), (2500, 30)])  # beyond 2,048 noise on the way has a memory
@pytest.mark.parametrize("lazily", [False, True])
def test_large_data_in_memory_and_on_disk(monkeypatch, tmp_path, shape, lazily):
    rng = np.random.default_rng(0)
    data = rng.random((shape[0], 3)) @ rng.exponential(size=(3, shape[1])) + 0.1 * rng.random(shape)
    path, options = tmp_path / "kept.npz", {"domain": "direct", "n_iter": 20}
    stopped(monkeypatch, open_data(data, lazily=lazily), path, 7, **options)
    found = ngmca.separate(open_data(data, lazily=lazily), 3, **records(resume=path, **options))
    assert_same(found, ngmca.separate(data, 3, **records(**options)))


def test_units_do_not_matter(monkeypatch, tmp_path):
    data, path = Y * 1e250, tmp_path / "kept.npz"
    stopped(monkeypatch, data, path, 5, n_iter=10, domain="direct")
    found = ngmca.separate(
        data,
        3,
        method=ngmca.Soft(n_iter=10),
        checkpoint=ngmca.Checkpoint(path, resume=True),
        domain="direct",
        n_init=1,
    )
    assert_same(found, ngmca.separate(data, 3, method=ngmca.Soft(n_iter=10), domain="direct", n_init=1))


@pytest.mark.parametrize(
    ("data", "options", "told"),
    [
        (Y + 1e-9, {}, "numbers in the data was"),
        (Y[:, ::-1], {}, "numbers in the data was"),
        (np.where(np.arange(300) == 17, -Y, Y), {}, "numbers in the data was"),
        (Y[:, :-1], {}, "data was 12 x 300 of float64 and is 12 x 299"),
        (Y, {"tau": 2.0}, r"method was Soft\(tau=1.0.* and is Soft\(tau=2.0.* now"),
        (Y, {"n_iter": 40}, r"method was Soft\(.*n_iter=30.* and is Soft\(.*n_iter=40.* now"),
        (Y, {"method": "hard"}, r"method was Soft\(.* and is Hard\(.* now"),
        (Y, {"noise": np.full(12, 2.0)}, "noise was None and is an array with digest"),
        (Y, {"seed": 1}, "seed was 0 and is 1 now"),
        (Y, {"robust": True}, "robust was False and is True now"),
        (Y, {"closure": True}, r"constraints was \[\] and is \[Closure\(totals=1.0, .*\)\] now"),
    ],
)
def test_other_data_or_options_are_refused_by_name(monkeypatch, tmp_path, data, options, told):
    path = tmp_path / "kept.npz"
    stopped(monkeypatch, Y, path, 5, n_iter=30, domain="auto")
    given = {"n_iter": 30, "seed": 0} | options
    with pytest.raises(ValueError, match=told):
        ngmca.separate(data, 3, **records(resume=path, **given))


def test_the_same_options_in_other_types_are_the_same(monkeypatch, tmp_path):
    path, level = tmp_path / "kept.npz", [0.1] * 12
    stopped(monkeypatch, Y, path, 5, n_iter=30, tau=2.0, noise=level, domain="auto")
    given = {"n_iter": 30, "seed": 0, "tau": np.float64(2), "noise": np.array(level)}
    assert_same(
        ngmca.separate(Y, 3, **records(resume=path, **given)),
        ngmca.separate(Y, 3, method=ngmca.Soft(tau=2.0, n_iter=30), noise=level, n_init=1),
    )


def test_the_last_state_goes_on_to_itself(tmp_path):
    path = tmp_path / "kept.npz"
    options = {"profiles": "unimodal", "seed": 0, "domain": "direct", "tol": 1e-3}
    found = ngmca.separate(Y, 3, **records(checkpoint=path, checkpoint_every=1, **options))
    assert_same(ngmca.separate(Y, 3, **records(resume=path, **options)), found)


def test_a_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(ReadError, match="is a folder"):
        ngmca.separate(
            Y,
            3,
            method=ngmca.Soft(n_iter=30),
            checkpoint=ngmca.Checkpoint(tmp_path, resume=True),
            n_init=1,
        )


def test_half_of_one_is_none(monkeypatch, tmp_path):
    path = tmp_path / "kept.npz"
    stopped(monkeypatch, Y, path, 5, n_iter=30)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ReadError, match="damaged"):
        ngmca.separate(
            Y, 3, method=ngmca.Soft(n_iter=30), checkpoint=ngmca.Checkpoint(path, resume=True), n_init=1
        )
    with pytest.raises(ReadError, match="does not exist"):
        ngmca.separate(
            Y,
            3,
            method=ngmca.Soft(n_iter=30),
            checkpoint=ngmca.Checkpoint(tmp_path / "none.npz", resume=True),
            n_init=1,
        )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "hals"}, "method='hals' cannot be combined with checkpoint: .*Leave out checkpoint"),
        ({"checkpoint_every": 0}, "every must be at least 1"),
        ({"checkpoint_minutes": -1.0}, "minutes must be at least 0"),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path, options, told):
    with pytest.raises(ValueError, match=told):
        ngmca.separate(Y, 3, **records(checkpoint=tmp_path / "kept.npz", **options))


def test_a_folder_that_is_not_there_is_told_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        ngmca.separate(Y, 3, checkpoint=tmp_path / "none" / "kept.npz", n_init=1)


RUN = """
import sys, numpy as np, ngmca
from pathlib import Path
path, method = Path(sys.argv[1]), sys.argv[2]
Y = ngmca.simulate.spectra(m=40, n=3000, r=3, lines=40, snr=25, seed=1).Y
kind, options = (ngmca.Soft, {"domain": "direct"}) if method == "soft" else (ngmca.Hard, {})
kept = ngmca.Checkpoint(path, every=1, resume=path.exists())
print("begun", flush=True)
found = ngmca.separate(Y, 3, method=kind(n_iter=150), checkpoint=kept, n_init=1, **options)
np.savez(sys.argv[3], A=found.A, S=found.S, cost=found.history.cost)
"""
KILLS = 30 if os.environ.get("NGMCA_STUDIES") else 2  # `make studies` does all


@pytest.mark.parametrize("method", ["soft", "hard"] if KILLS > 4 else ["soft"])
def test_killed_at_random_moments_it_ends_with_the_same_bits(tmp_path, method):
    command = [sys.executable, "-c", RUN, str(tmp_path / "kept.npz"), method]
    subprocess.run([*command[:3], str(tmp_path / "other.npz"), method, str(tmp_path / "whole.npz")],
                   check=True, capture_output=True)  # fmt: skip
    draw = random.Random(0)
    for _ in range(KILLS):
        run = subprocess.Popen([*command, str(tmp_path / "found.npz")], stdout=subprocess.PIPE)
        assert run.stdout.readline() == b"begun\n"
        time.sleep(draw.uniform(0.0, 0.4))
        run.send_signal(signal.SIGKILL)
        run.wait()
        run.stdout.close()
    subprocess.run([*command, str(tmp_path / "found.npz")], check=True, capture_output=True)
    with np.load(tmp_path / "whole.npz") as whole, np.load(tmp_path / "found.npz") as found:
        for name in whole:
            np.testing.assert_array_equal(found[name], whole[name])


def test_a_file_of_something_else_is_not_a_checkpoint(tmp_path):
    np.savez(tmp_path / "run.npz", A=np.ones(3))
    with pytest.raises(ReadError, match="not a checkpoint of this version"):
        ngmca.separate(Y, 3, checkpoint=ngmca.Checkpoint(tmp_path / "run.npz", resume=True))
