"""Means that beat the oracle, intervals that hold what they say."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import ngmca
from ngmca.engines import open_data
from ngmca.result import Marginals
from ngmca.sampling.sparse_chain import SparseSums
from ngmca.sampling.target import Target


def small(seed=0, **settings):
    return ngmca.simulate.sparse(
        **{"m": 40, "n": 100, "r": 4, "p_S": 0.2, "snr": 15, "seed": seed} | settings
    )


def test_sources_beat_the_oracle():
    gains = []
    for seed in range(3):
        data = ngmca.simulate.sparse(p_S=0.1, snr=15, seed=seed)
        found = ngmca.separate(data.Y, 15, seed=seed, posterior=True, n_init=1).posterior
        known = ngmca.posterior(data.Y, None, A=data.A, seed=seed)
        oracle = ngmca.evaluate(data.S, ngmca.rivals.oracle(data.Y, data.A).S).mean_sdr
        gains.append([ngmca.evaluate(data.S, x.S.mean).mean_sdr - oracle for x in (found, known)])
    found, known = np.mean(gains, axis=0)
    assert found > 1.0
    assert known > found
    np.testing.assert_allclose(known, 3.4, atol=0.7)


def test_intervals_cover_and_activities_are_calibrated():
    covered, covered_A, chance, truth = [], [], [], []
    for seed in range(6):
        data = ngmca.simulate.sparse(60, 300, 5, p_S=0.2, snr=15, seed=seed)
        found = ngmca.separate(data.Y, 5, seed=seed, posterior=True, n_init=1).posterior
        order = ngmca.evaluate(data.S, found.S.mean).order
        norm = np.linalg.norm(data.A, axis=0)
        S, A = data.S * norm[:, None], data.A / norm
        low, high = (end[order] for end in found.S.interval(0.9, given_active=True))
        covered.append(((low <= S) & (high >= S))[S > 0])
        low, high = (end[:, order] for end in found.A.interval(0.9))
        covered_A.append((low <= A) & (high >= A))
        chance.append(found.S.active[order].ravel())
        truth.append((S > 0).ravel())
    assert 0.87 < np.concatenate(covered).mean() < 0.93
    assert 0.87 < np.mean(covered_A) < 0.93
    chance, truth = np.concatenate(chance), np.concatenate(truth)
    sure = (chance > 0.9) | (chance < 0.1)
    assert np.abs(chance[sure].mean() - truth[sure].mean()) < 0.01
    assert np.abs(chance[~sure].mean() - truth[~sure].mean()) < 0.05


def test_moments_and_quantiles_are_those_of_stored_draws():
    data = small(snr=5)
    separation = ngmca.separate(data.Y, 4, n_init=1)
    problem = Target.of(open_data(data.Y), separation, None, None)
    chain = problem.chains(np.random.default_rng(0), 2, 1).tracks[0].chain
    sums, stored, mixing = SparseSums(data.Y.shape, 4), [], []
    for k in range(6000):
        chain.sweep(sums if k >= 100 else None)
        if k >= 100:
            mixing.append(chain.A.copy())
            # the scale that the last rescaling gave to S belongs to the A that is drawn by now
            stored.append(chain.X.T.copy())
    active, mean, second = sums.sources.transpose(0, 2, 1) / sums.count
    found = Marginals(mean, np.sqrt(second - mean**2), active)
    stored = np.array(stored)
    spread = np.sqrt(np.mean(found.sd**2))
    np.testing.assert_allclose(found.mean, stored.mean(axis=0), atol=0.15 * spread)
    np.testing.assert_allclose(found.active, (stored > 0).mean(axis=0), atol=0.05)
    for q in (0.05, 0.5, 0.95):
        difference = np.abs(found.quantile(q) - np.quantile(stored, q, axis=0))
        assert np.sqrt(np.mean(difference**2)) < 0.1 * spread
    mean, second = sums.mixing / sums.count
    A = Marginals(mean, np.sqrt(second - mean**2))
    np.testing.assert_allclose(A.sd, np.std(mixing, axis=0), rtol=1e-6)
    difference = A.quantile(0.95) - np.quantile(mixing, 0.95, axis=0)
    assert np.abs(difference / A.sd).max() < 0.2


def test_entries_that_dominate_their_column_have_the_spread_of_the_draws():
    rng = np.random.default_rng(0)
    A = np.array([[1.0, 0.02], [0.03, 1.0], [0.02, 0.01]])
    S = rng.exponential(size=(2, 200)) * (rng.random((2, 200)) < 0.3)
    Y = A @ S + 0.05 * rng.standard_normal((3, 200))
    start = SimpleNamespace(A=A, S=S, noise=np.full(3, 0.05))
    found = ngmca.posterior(Y, start, n_samples=3000, burn=100, seed=0)
    chain = Target.of(open_data(Y), start, None, None).chains(np.random.default_rng(1), 2, 1)
    draws = []
    for k in range(6100):
        chain.tracks[0].chain.sweep()
        if k >= 100:
            draws.append(chain.tracks[0].chain.A.copy())
    np.testing.assert_allclose(found.A.sd, np.std(draws, axis=0), rtol=0.1)
    assert found.A.sd[0, 0] < 0.1 * found.A.sd[1, 0]  # at norm 1 hardly anything is left to it


def test_weak_sources_of_small_data_do_not_die_unnoticed():
    lost = 0
    for seed in range(4):
        data = ngmca.simulate.sparse(8, 80, 3, p_S=0.2, snr=3, seed=seed)
        separation = ngmca.separate(data.Y, 3, seed=seed, n_init=1)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            found = ngmca.posterior(data.Y, separation, seed=seed)
        silent = (found.S.mean.max(axis=1) < found.noise.mean.mean()).sum()
        lost += silent
        assert any("went silent" in words for words in found.warnings) == (silent > 0)
        assert (found.beta.mean <= 1.1 / separation.noise.min()).all()
    assert lost <= 1


def test_a_source_that_the_data_do_not_have_is_said_to_be_silent():
    rng = np.random.default_rng(0)
    data = small()
    separation = ngmca.separate(data.Y, 4, n_init=1)
    level = separation.noise.mean()
    A = np.column_stack([separation.A, np.abs(rng.standard_normal(40)) / np.sqrt(40)])
    extra = 3 * level * (rng.random(100) < 0.1)
    start = SimpleNamespace(A=A, S=np.vstack([separation.S, extra]), noise=separation.noise)
    with pytest.warns(UserWarning, match="source 5 went silent"):
        ngmca.posterior(data.Y, start, n_samples=200, seed=0)
