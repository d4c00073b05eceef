"""Measurements of unequal noise count by their noise, without levels that are given."""

import numpy as np
import pytest

import ngmca
from ngmca.task import problem


def unequal(seed, clean):
    rng = np.random.default_rng(seed)
    levels = 0.12 * clean.std() * 10 ** rng.uniform(-0.5, 0.5, (len(clean), 1))
    return clean + levels * rng.standard_normal(clean.shape), levels[:, 0]


@pytest.mark.parametrize("kind", ["sparse", "bands"])
def test_levels_that_are_found_gain_nearly_what_known_ones_gain(monkeypatch, kind):
    scores = []
    for seed in range(3):
        x = getattr(ngmca.simulate, kind)(m=40, n=300, r=5, snr=None, seed=seed)
        Y, levels = unequal(seed, x.Y)
        found = ngmca.separate(Y, 5, n_init=1)
        np.testing.assert_allclose(found.noise, levels, rtol=0.25)
        known = ngmca.separate(Y, 5, noise=levels, n_init=1)
        with monkeypatch.context() as patched:
            patched.setattr(problem, "UNEQUAL_NOISE", np.inf)
            once = ngmca.separate(Y, 5, n_init=1)
        scores.append([ngmca.evaluate(x.S, one.S).mean_sdr for one in (once, found, known)])
    once, found, known = np.mean(scores, axis=0)
    assert found > once + (1 if kind == "sparse" else 0.5)
    assert found > known - 1


def test_equal_levels_of_few_channels_differ_only_by_chance(monkeypatch):
    for seed in (0, 2, 3):
        Y = ngmca.simulate.sparse(20, 16, 2, p_S=0.3, snr=20, seed=seed).Y
        found = ngmca.separate(Y, 2, n_init=1)
        with monkeypatch.context() as patched:
            patched.setattr(problem, "UNEQUAL_NOISE", np.inf)
            np.testing.assert_array_equal(ngmca.separate(Y, 2, n_init=1).S, found.S)


def test_a_residual_with_signal_in_it_says_nothing_about_the_noise(monkeypatch):
    """With too few sources, levels of the residual differ because signal is left over."""
    x = ngmca.simulate.bands(m=30, n=300, r=6, snr=40, seed=0)
    found = ngmca.separate(x.Y, 2, n_init=1)
    assert np.std(np.log(found.noise)) > problem.UNEQUAL_NOISE
    monkeypatch.setattr(problem, "UNEQUAL_NOISE", np.inf)
    np.testing.assert_array_equal(ngmca.separate(x.Y, 2, n_init=1).S, found.S)
