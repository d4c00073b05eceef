"""Data without noise: they are recognised, and the default finds their sources exactly."""

import numpy as np
import pytest
from host_device import HostDevice, needs_compiler

import ngmca
from ngmca.algorithms.first_guess import first_guess
from ngmca.algorithms.noiseless_data import least_noise
from ngmca.algorithms.options import Options
from ngmca.algorithms.soft_and_hard import iterate_thresholded
from ngmca.engines import open_data, opening
from ngmca.task.problem import Problem

EXACT = 100.0  # dB; more is rounding


def sdr(S, found):
    return ngmca.evaluate(S, found.S).mean_sdr


def noiseless(Y, r, **given):
    return Problem.of(ngmca.Task(r, **given), open_data(Y)).options.noiseless


@pytest.mark.parametrize(("r", "p_S"), [(5, 0.3), (5, 0.8), (15, 0.5)])
def test_the_default_is_exact_where_naive_is_and_better_where_it_is_not(r, p_S):
    for seed in (0, 1):
        x = ngmca.simulate.sparse(r=r, p_S=p_S, seed=seed)
        found = sdr(x.S, ngmca.separate(x.Y, r, n_init=1))
        naive = (ngmca.separate(x.Y, r, method=ngmca.Naive(tau=tau), n_init=1) for tau in (0, 1))
        assert found > min(EXACT, max(sdr(x.S, one) for one in naive) - 1)
        assert found > EXACT


def test_single_precision_ends_where_rounding_begins():
    x = ngmca.simulate.sparse(r=5, p_S=0.8, seed=0)
    assert sdr(x.S, ngmca.separate(x.Y.astype("f4"), 5, n_init=1)) > 85


def test_few_measurements_and_several_starts():
    x = ngmca.simulate.sparse(6, 30, 2, p_S=0.5, seed=1003)
    found = ngmca.separate(x.Y, 2)
    assert sdr(x.S, found) > EXACT
    assert found.noise.max() < 1e-9 * np.abs(x.Y).max()


def test_sources_that_are_nowhere_0_are_found_in_wavelets():
    rng = np.random.default_rng(0)
    t, S = np.arange(512), np.zeros((4, 512))
    for row in S:
        for _ in range(8):
            row += rng.uniform(0.2, 1) / (1 + ((t - rng.uniform(0, 512)) / rng.uniform(1.5, 4)) ** 2)
    found = ngmca.separate(rng.random((40, 4)) @ S, 4, n_init=1)
    assert found.domain.name == "wavelet"
    assert sdr(S, found) > 40
    assert found.noise.max() < 1e-4  # not the level of the thresholds in wavelets


@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_only_data_without_noise_are_taken_for_such(kind):
    clean = ngmca.simulate.sparse(40, 300, 4, seed=0)
    Y = clean.Y.astype(kind)
    assert noiseless(Y, 4) == np.finfo(kind).eps
    assert not noiseless(Y, 3)  # what a missing source leaves is no rounding
    level = {"f8": 1e-10, "f4": 1e-4}[kind] * Y.std()
    noise = level * np.random.default_rng(0).standard_normal(Y.shape)
    assert not noiseless((clean.Y + noise).astype(kind), 4)
    assert not noiseless(Y[:4], 4)  # 4 measurements are always those of 4 sources
    assert not noiseless(np.zeros_like(Y), 4)
    assert not noiseless(Y, 4, noise=0.1)
    assert not noiseless(Y, 4, method=ngmca.Soft(n_iter=500))
    assert not noiseless(np.where(np.eye(40, 300), np.nan, Y), 4)


def test_a_run_goes_on_to_the_same_bits():
    x = ngmca.simulate.sparse(30, 80, 3, seed=0)
    engine, options = open_data(x.Y), Options(noiseless=np.finfo(float).eps)
    A, S = first_guess(engine, 3, np.random.default_rng(0))
    states = list(iterate_thresholded(engine, A, S, options))
    resumed = list(iterate_thresholded(engine, A, S, options, states[99]))
    assert (resumed[0].k, resumed[-1].k) == (101, states[-1].k)
    np.testing.assert_array_equal(resumed[-1].S, states[-1].S)
    assert states[-1].lam.max() < 1e-8 * states[0].lam.max()


def outer(m, n):
    rng = np.random.default_rng(0)
    return np.outer(rng.random(m), rng.random(n))


@pytest.mark.parametrize(
    ("Y", "r"),
    [
        (np.ones((6, 20)), 1),
        (outer(8, 30), 1),
        (outer(8, 30), 2),
        (np.kron(np.eye(2), np.ones((4, 9))), 2),
    ],
)
def test_a_mixing_that_is_right_at_once_does_not_end_the_run_at_a_high_threshold(Y, r):
    found = ngmca.separate(Y, r, n_init=1)
    np.testing.assert_allclose(found.A @ found.S, Y, atol=1e-8)


@needs_compiler
def test_one_source_in_a_batch_has_all_of_its_height(monkeypatch):
    monkeypatch.setattr(opening, "open_device", HostDevice)
    found = ngmca.separate(outer(8, 30), 1, n_init=2, device="cuda")
    np.testing.assert_allclose(found.A @ found.S, outer(8, 30), atol=1e-8)


@needs_compiler
def test_several_starts_in_a_batch_find_the_same(monkeypatch):
    monkeypatch.setattr(opening, "open_device", HostDevice)
    x = ngmca.simulate.sparse(20, 60, 3, seed=0)
    one, other = (ngmca.separate(x.Y, 3, n_init=2, device=device) for device in ("cpu", "cuda"))
    assert other.n_iter > 200
    assert min(sdr(x.S, one), sdr(x.S, other)) > EXACT


def test_answers_without_noise_are_compared_at_a_level_above_0():
    engine = open_data(ngmca.simulate.sparse(m=20, n=50, r=3, seed=0).Y)
    rms = np.sqrt(engine.energy / (20 * 50))
    assert least_noise(engine, Options(noiseless=1e-16)) == pytest.approx(0.005 * rms)
    assert least_noise(engine, Options()) == 0
