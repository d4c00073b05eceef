"""Checkpoints: nothing is lost on the way through the file."""

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.io import ReadError
from ngmca.saving import checkpoints
from ngmca.saving.result_folder import CHECKPOINT

Y = ngmca.simulate.spectra(m=12, n=300, r=3, lines=4, snr=25, seed=1).Y
# the naive schedule starts anew if its place in it is forgotten, the others if the momentum is
RUNS = [
    {"method": "soft"},
    {"method": "soft", "n_iter": 50},
    {"method": "naive", "n_iter": 50},
    {"method": "anls", "n_iter": 50},
]


def states(until, data=Y, **options):
    so_far = checkpoints.Checkpoint()
    for state in ngmca.iterate(data, ngmca.Task(3, **records(**options))):
        so_far.add(state)
        if state.k == until:
            break
    return so_far


@pytest.mark.parametrize("options", RUNS)
@pytest.mark.parametrize("stop", [1, 30, 47])
@pytest.mark.parametrize("scale", [1.0, 2.0**400])  # the latter in units of its own
def test_a_resumed_run_is_the_same_to_the_bit(tmp_path, options, stop, scale):
    data = Y * scale
    whole = states(None, data, **options).separation()
    checkpoints.save(tmp_path, states(stop, data, **options))
    so_far = checkpoints.load(tmp_path)
    assert so_far.done == len(so_far.lines) == min(stop, whole.n_iter)
    for state in ngmca.iterate(data, 3, seed=0, resume=so_far.state, **options):
        so_far.add(state)
    found = so_far.separation()
    for name in ("A", "S", "lam", "noise", "n_iter", "stopped"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    for name, column in vars(whole.history).items():
        np.testing.assert_array_equal(getattr(found.history, name), column)


def test_the_naive_schedule_does_not_begin_anew(tmp_path):
    options = {"method": "naive", "n_iter": 100}
    before = states(60, **options)
    checkpoints.save(tmp_path, before)
    resumed = ngmca.iterate(Y, 3, seed=0, resume=checkpoints.load(tmp_path).state, **options)
    after = next(resumed)
    assert after.k == 61
    assert after.lam.max() < 1.2 * before.state.lam.max() < 0.2 * before.lines[0][1].max()


def test_no_checkpoint_is_a_run_from_the_start(tmp_path):
    assert checkpoints.load(tmp_path).state is None
    assert checkpoints.load(tmp_path).done == 0


def test_a_file_of_something_else(tmp_path):
    np.savez(tmp_path / CHECKPOINT, A=np.ones(3))
    with pytest.raises(ReadError, match="no checkpoint of this version"):
        checkpoints.load(tmp_path)
