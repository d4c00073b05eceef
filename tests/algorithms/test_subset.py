"""A start on a part of huge data: few passes over all, and an answer as good."""

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.algorithms import start_on_part as subset
from ngmca.engines import open_data, stretches

OPTIONS = {"domain": "direct", "seed": 0}


def mixture(m, n, r=4):
    rng = np.random.default_rng(0)
    S = rng.exponential(size=(r, n)) * (rng.random((r, n)) < 0.15)
    A = rng.random((m, r))
    return A @ S + 0.1 * rng.standard_normal((m, n)), A, S


@pytest.fixture
def _small_is_huge(monkeypatch):
    monkeypatch.setattr(subset, "HUGE_ENTRIES", 1 << 18)
    monkeypatch.setattr(subset, "PART_ENTRIES", 1 << 17)


def sdr(found, S):
    return ngmca.evaluate(S, found.S).mean_sdr


@pytest.mark.parametrize("shape", [(20, 40_000), (20_000, 40)])
def test_few_passes_over_all_and_an_answer_as_good(shape, request):
    Y, _, S = mixture(*shape)
    whole = ngmca.separate(Y, 4, **records(**OPTIONS))
    request.getfixturevalue("_small_is_huge")
    found = ngmca.separate(Y, 4, **records(**OPTIONS))
    assert found.n_iter <= whole.n_iter / 3
    assert found.stopped == "settled"
    assert sdr(found, S) > sdr(whole, S) - 0.1
    np.testing.assert_allclose(found.lam, whole.lam, rtol=0.02)  # the threshold arrived


def test_what_the_part_has_not_seen_is_found_in_the_end(monkeypatch):
    rng = np.random.default_rng(0)
    S = rng.exponential(size=(4, 60)) * (rng.random((4, 60)) < 0.25)
    A = rng.random((12_000, 4))
    A[:, 3] = 0
    A[2000:2100, 3] = 1 + rng.random(100)
    A[stretches(len(A), 120), 3] = 0
    Y = A @ S + 0.05 * rng.standard_normal((12_000, 60))
    whole = ngmca.separate(Y, 4, **records(**OPTIONS))
    monkeypatch.setattr(subset, "HUGE_ENTRIES", 1)
    monkeypatch.setattr(subset, "PART_ENTRIES", 120 * 60)
    found = ngmca.separate(Y, 4, **records(**OPTIONS))
    assert ngmca.evaluate(S, whole.S).sdr.min() > 25
    assert ngmca.evaluate(S, found.S).sdr.min() > ngmca.evaluate(S, whole.S).sdr.min() - 1


@pytest.mark.usefixtures("_small_is_huge")
def test_the_same_bits_on_disk():
    Y = mixture(20, 40_000)[0]
    expected = ngmca.separate(Y, 4, **records(**OPTIONS))
    found = ngmca.separate(open_data(Y, lazily=True), 4, **records(**OPTIONS))
    np.testing.assert_array_equal(found.S, expected.S)
    np.testing.assert_array_equal(found.A, expected.A)


@pytest.mark.usefixtures("_small_is_huge")
def test_a_given_number_of_iterations_and_a_given_start_stay_the_paper_s(monkeypatch):
    monkeypatch.setattr(subset, "start_on_part", lambda *_: pytest.fail("it began on a part"))
    Y, A, S = mixture(20, 40_000)
    ngmca.separate(Y, 4, **records(n_iter=3, **OPTIONS))
    ngmca.separate(Y, 4, method=ngmca.Anls(n_iter=3), n_init=1)
    ngmca.separate(Y, 4, **records(start=(A, S), tol=1.0, **OPTIONS))


@pytest.mark.usefixtures("_small_is_huge")
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    Y, path = mixture(20, 40_000)[0], tmp_path / "kept.npz"
    expected = ngmca.separate(Y, 4, **records(checkpoint=path, checkpoint_every=3, **OPTIONS))
    found = ngmca.separate(Y, 4, **records(resume=path, **OPTIONS))
    np.testing.assert_array_equal(found.S, expected.S)
    assert found.n_iter == expected.n_iter


def test_what_is_chosen_is_sorted_and_everywhere():
    which = stretches(1_000_000, 64_000)
    assert len(which) == 64_000
    assert (np.diff(which) > 0).all()
    assert np.histogram(which, 8)[0].min() > 6000
    assert len(stretches(10, 1000)) <= 10
