"""Large weighted data begin with a part of the measurements, and end with all of them."""

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.engines import open_data
from ngmca.task import begin_with_part
from ngmca.task.problem import Problem

M, N, R, RARE = 3000, 128, 3, 12


@pytest.fixture(scope="module")
def map_of_counts():
    """Counts of a map: broad bands, and in a few measurements only a third compound."""
    rng = np.random.default_rng(0)
    x = np.arange(N)
    S = np.stack(
        [sum(np.exp(-(((x - c) / 6) ** 2)) for c in at) for at in ((20, 70), (40, 95), (55, 110))]
    )
    A = rng.dirichlet([0.5, 0.5], M) @ np.eye(2, 3)
    A[rng.choice(M, RARE, replace=False), 2] = 1
    return rng.poisson(60 * A @ S).astype(float), A, S


@pytest.fixture
def small(monkeypatch):
    """Parts of data that are small enough for a test."""
    monkeypatch.setattr(begin_with_part, "LARGE_ENTRIES", 1 << 17)
    monkeypatch.setattr(begin_with_part, "PART_ENTRIES", 1 << 15)


def problem(Y, **options):
    return Problem.of(ngmca.Task(R, **records(**options)), open_data(Y))


def test_a_part_holds_the_measurements_of_a_rare_compound(map_of_counts, small):
    Y, A, _ = map_of_counts
    rows = begin_with_part.rows_of_part(problem(Y, noise="poisson").engine, R)
    assert len(rows) == len(np.unique(rows)) == 100 * R  # at least so many for each source
    assert np.isin(np.flatnonzero(A[:, 2]), rows).sum() >= 0.5 * RARE  # 1.2 if all were drawn evenly


def test_small_data_have_no_part(map_of_counts, small):
    Y, _, _ = map_of_counts
    assert begin_with_part.rows_of_part(open_data(Y[:800]), R) is None  # hardly more than the part
    assert begin_with_part.rows_of_part(open_data(Y[:, :40]), R) is None


@pytest.mark.parametrize("noise", ["poisson", "levels"])
def test_the_sources_are_those_of_all_measurements(map_of_counts, small, monkeypatch, noise):
    Y, A, S = map_of_counts
    given = {"noise": noise if noise == "poisson" else np.sqrt(np.maximum(60 * A @ S, 1))}
    found = ngmca.separate(Y, R, n_init=1, **given)
    monkeypatch.setattr(begin_with_part, "LARGE_ENTRIES", 1 << 30)
    whole = ngmca.separate(Y, R, n_init=1, **given)
    assert found.A.shape == A.shape
    assert found.n_iter < 0.5 * whole.n_iter, "few iterations are left for all measurements"
    assert found.history.violation[-1] < 1e-4
    reached, before = ngmca.evaluate(S, found.S), ngmca.evaluate(S, whole.S)
    assert min(reached.sdr) > min(before.sdr) - 0.5
    reached, before = ngmca.evaluate(A.T, found.A.T), ngmca.evaluate(A.T, whole.A.T)
    assert reached.mean_sdr > before.mean_sdr - 0.5


def test_a_resumed_run_is_the_run_without_a_stop(map_of_counts, small):
    Y = map_of_counts[0]
    whole = list(problem(Y, noise="poisson").states(np.random.default_rng(0)))
    stop = 5
    rest = list(problem(Y, noise="poisson").states(np.random.default_rng(0), whole[stop - 1][1]))
    assert rest[0][0].k == stop + 1
    for name in ("A", "S", "noise", "cost"):
        np.testing.assert_array_equal(getattr(rest[-1][0], name), getattr(whole[-1][0], name))


@pytest.mark.parametrize("options", [{"robust": True}, {"n_iter": 30}, {"closure": True}], ids=str)
def test_other_runs_use_all_measurements(map_of_counts, small, options):
    asked = problem(map_of_counts[0], noise="poisson", **options)
    assert asked._sources_of_part(np.random.default_rng(0)) is None
