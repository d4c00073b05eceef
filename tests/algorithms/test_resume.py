"""Going on from a state."""

from itertools import islice

import numpy as np
import pytest
from task_options import records

import ngmca


@pytest.mark.parametrize("scale", [1.0, 2.0**400])
@pytest.mark.parametrize("stop", [7, 50])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_iter": 80},
        {"method": "naive", "n_iter": 60},
        {"method": "anls"},
        {"tau": 0.0, "n_iter": 60},
    ],
    ids=["auto", "soft", "naive", "anls", "noiseless"],
)
def test_a_resumed_run_is_the_run_without_a_stop(options, stop, scale):
    Y = ngmca.simulate.sparse(30, 80, 4, snr=20, seed=0).Y * scale
    whole = list(ngmca.iterate(Y, ngmca.Task(4, **records(**options))))
    if len(whole) <= stop:
        pytest.skip("it settles before")
    state = list(islice(ngmca.iterate(Y, ngmca.Task(4, **records(**options))), stop))[-1]
    rest = list(ngmca.iterate(Y, 4, seed=1, resume=state, **options))
    assert [s.k for s in rest] == [s.k for s in whole[stop:]]
    for again, before in zip(rest, whole[stop:], strict=True):
        np.testing.assert_array_equal(again.A, before.A)
        np.testing.assert_array_equal(again.S, before.S)
        np.testing.assert_array_equal(again.lam, before.lam)


def test_a_state_of_other_data_is_refused():
    state = next(ngmca.iterate(np.random.default_rng(0).random((8, 20)), 2))
    with pytest.raises(ValueError, match="A of resume must have shape"):
        ngmca.iterate(np.random.default_rng(0).random((9, 20)), 2, resume=state)
