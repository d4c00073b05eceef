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
]


class StopError(Exception):
    pass


def stopped(monkeypatch, data, path, at, **options):
    """Run until the checkpoint at an iteration is written, and no farther."""
    write = checkpoints.write

    def stopping(path, checkpoint):
        write(path, checkpoint)
        if checkpoint.done >= at:
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


@pytest.mark.parametrize("options", RUNS, ids=str)
@pytest.mark.parametrize("at", [1, 11])
def test_a_resumed_run_is_the_same_to_the_bit(monkeypatch, tmp_path, options, at):
    path = tmp_path / "kept.npz"
    stopped(monkeypatch, Y, path, at, **options)
    assert checkpoints.read(path).done == at
    assert_same(
        ngmca.separate(Y, 3, **records(resume=path, **options)),
        ngmca.separate(Y, 3, **records(**options)),
    )


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
        (Y[:, :-1], {}, "data was 12 x 300 of float64, and is 12 x 299"),
        (Y, {"tau": 2.0}, "tau was 1.0, and is 2.0 now"),
        (Y, {"n_iter": 40}, "n_iter was 30, and is 40 now"),
        (Y, {"method": "hard"}, "method was 'soft', and is 'hard' now"),
        (Y, {"noise": np.full(12, 2.0)}, "noise was None, and is an array with digest"),
        (Y, {"seed": 1}, "seed was 0, and is 1 now"),
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
        ({"method": "hals"}, "no meaning for method='hals'"),
        ({"n_init": 2}, "leave n_init at 1"),
        ({"robust": True}, "robust"),
        ({"checkpoint_every": 0}, "checkpoint_every must be at least 1"),
        ({"checkpoint_minutes": -1.0}, "checkpoint_minutes must be at least 0"),
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
options = {"domain": "direct"} if method == "soft" else {}
kept = dict(resume=path) if path.exists() else {}
print("begun", flush=True)
found = ngmca.separate(Y, 3, seed=0, method=method, n_iter=150, checkpoint=path, checkpoint_every=1,
                       **options, **kept)
np.savez(sys.argv[3], A=found.A, S=found.S, cost=found.history.cost)
"""
KILLS = 30 if os.environ.get("NGMCA_EVERY_CRASH") else 4  # `make crash` does all


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
