"""A run that continues from a snapshot is the run without a stop, to the bit."""

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.engines import open_data
from ngmca.task.checkpoints import Recording
from ngmca.task.problem import Problem

SPARSE = ngmca.simulate.sparse(30, 80, 4, snr=20, seed=0)
BANDS = ngmca.simulate.bands(m=20, n=128, r=3, bands=3, snr=25, seed=2)


def states(Y, r, snapshot=None, **options):
    """Every state with its snapshot, from the beginning or from a snapshot on."""
    problem = Problem.of(ngmca.Task(r, **records(**options)), open_data(Y))
    return list(problem.states(np.random.default_rng(0), snapshot))


def assert_same(rest, whole):
    assert [state.k for state, _, _ in rest] == [state.k for state, _, _ in whole]
    assert [last for _, _, last in rest] == [last for _, _, last in whole]
    for (again, _, _), (before, _, _) in zip(rest, whole, strict=True):
        for name in ("A", "S", "lam", "noise", "outliers", "settled", "domain", "cost"):
            np.testing.assert_array_equal(getattr(again, name), getattr(before, name), err_msg=name)


def assert_continues(Y, r, stop, **options):
    """Continue from the snapshot of iteration `stop`, which may be repeated."""
    whole = states(Y, r, **options)
    state, snapshot, _ = whole[stop - 1]
    assert state.k == snapshot.k == stop
    rest = states(Y, r, snapshot, **options)
    assert_same(rest, whole[stop if rest[0][0].k > stop else stop - 1 :])


@pytest.mark.parametrize("scale", [1.0, 2.0**400])
@pytest.mark.parametrize("stop", [7, 50])
@pytest.mark.parametrize(
    "options",
    [
        {"domain": "direct"},
        {"n_iter": 80},
        {"method": "hard", "n_iter": 60},
        {"method": "naive", "n_iter": 60},
        {"method": "anls"},
        {"tau": 0.0, "n_iter": 60},
        {"n_iter": 60, "closure": True},
        {"n_iter": 60, "penalised": "A"},
    ],
    ids=["auto", "soft", "hard", "naive", "anls", "noiseless", "closure", "sparse mixing"],
)
def test_a_resumed_run_is_the_run_without_a_stop(options, stop, scale):
    assert_continues(SPARSE.Y * scale, 4, stop, **options)


def counts():
    return np.random.default_rng(0).poisson(50 * np.maximum(SPARSE.A @ SPARSE.S, 0)).astype(float)


def spiked():
    Y = SPARSE.Y.copy()
    Y[[3, 20], [40, 11]] += 50 * np.std(Y - SPARSE.A @ SPARSE.S)
    return Y


ROUNDS = {
    "spikes": (spiked, {"robust": True, "domain": "direct"}),
    "spikes of shaped profiles": (
        spiked,
        {"robust": True, "domain": "direct", "profiles": ["unimodal", None, None, None], "tol": 1e-3},
    ),
    "counts": (counts, {"noise": "poisson", "n_iter": 20}),
    "counts without thresholds": (counts, {"noise": ngmca.Counts(gain=2.0), "method": "anls"}),
    "spikes among counts": (counts, {"noise": "poisson", "robust": True, "n_iter": 20}),
}


@pytest.mark.parametrize("name", ROUNDS)
@pytest.mark.parametrize("scale", [1.0, 2.0**400])
def test_rounds_of_weights_continue_from_any_iteration(name, scale):
    """In the first round, in a later one, and at both ends of each."""
    made, options = ROUNDS[name]
    Y = made() * scale
    if "noise" in options and scale != 1.0:
        options = options | {"noise": ngmca.Counts(gain=scale)}
    whole = states(Y, 4, **options)
    rounds = [0 if one.round is None else one.round.index for _, one, _ in whole if one is not None]
    assert max(rounds) >= 1
    ends = [k for k in range(1, len(rounds)) if rounds[k] != rounds[k - 1]]
    for stop in {3, *ends, *(end + 1 for end in ends), *(end + 4 for end in ends), len(rounds)}:
        rest = states(Y, 4, whole[stop - 1][1], **options)
        assert_same(rest, whole[stop if rest[0][0].k > stop else stop - 1 :])


@pytest.mark.parametrize("options", [{}, {"robust": True}, {"noise": 0.01}, {"missing": True}], ids=str)
def test_iterations_in_wavelets_are_repeated_to_the_same_bits(options):
    """They have no snapshots: the last one before them leads to all of them again."""
    Y, options = BANDS.Y.copy(), {"domain": "wavelet", "n_iter": 20} | options
    Y[3, 40] += 10 if options.get("robust") else 0
    if options.pop("missing", False):
        Y[np.random.default_rng(1).random(Y.shape) < 0.1] = np.nan
    whole = states(Y, 3, **options)
    at = max(i for i, (_, snapshot, _) in enumerate(whole) if snapshot is not None)
    assert len(whole) > at + 5
    assert {state.domain.name for state, _, _ in whole[at + 1 :]} == {"wavelet"}
    assert all(last for _, _, last in whole[at:])
    assert_same(states(Y, 3, whole[at][1], **options), whole[at:])
    assert_same(states(Y, 3, whole[5][1], **options), whole[6:])


def test_a_repeated_state_has_one_line_of_history():
    recording = Recording()
    found = states(SPARSE.Y, 4, n_iter=12, domain="direct")
    for state, _, _ in [*found[:9], *found[7:]]:
        recording.add(state)
    assert [one[0] for one in recording.lines] == [state.cost for state, _, _ in found]
