"""Known entries stay fixed in the samples; unsupported constraints are errors."""

from types import SimpleNamespace

import numpy as np
import pytest

import ngmca

BRIEF = {"n_samples": 40, "burn": 20, "seed": 0}
pytestmark = pytest.mark.filterwarnings("ignore:the chains disagree", "ignore:.* went silent")


def small(seed=0, **settings):
    return ngmca.simulate.sparse(
        **{"m": 40, "n": 150, "r": 4, "p_S": 0.2, "snr": 15, "seed": seed} | settings
    )


def test_known_sources_are_held_and_their_amounts_are_drawn_from_their_law():
    """With all sources known, and far from 0, rows of A are normal with a mean and spread we know."""
    data, rng = small(snr=None), np.random.default_rng(0)
    A, level = data.A + 2, 0.3
    Y = A @ data.S + level * rng.standard_normal(data.Y.shape)
    separation = SimpleNamespace(A=data.A, S=data.S, noise=np.full(40, level))
    found = ngmca.posterior(
        Y,
        separation,
        noise=level,
        n_samples=2000,
        burn=50,
        seed=0,
        constraints=[ngmca.KnownSources(data.S)],
    )
    np.testing.assert_allclose(found.S.mean, data.S)
    assert (found.S.sd == 0).all()
    inverse = np.linalg.inv(data.S @ data.S.T)
    spread = level * np.sqrt(np.diag(inverse))
    np.testing.assert_allclose(found.A.sd / spread, 1, atol=0.1)
    np.testing.assert_allclose((found.A.mean - Y @ data.S.T @ inverse) / spread, 0, atol=0.3)


def test_one_known_source_helps_the_others():
    data = small(snr=5)
    norm = np.linalg.norm(data.A, axis=0)
    known = np.full((1, 150), np.nan)
    known[0] = data.S[0]
    separation = ngmca.separate(data.Y, 4, constraints=[ngmca.KnownSources(known)], n_init=1)
    found = ngmca.posterior(data.Y, separation, seed=0, constraints=[ngmca.KnownSources(known)])
    np.testing.assert_allclose(found.S.mean[0], data.S[0])
    assert (found.S.sd[0] == 0).all()
    assert (found.S.sd[1:] > 0).any(axis=1).all()
    low, high = found.A.interval(0.9)
    assert 0.75 <= np.mean((low[:, 0] <= data.A[:, 0]) & (high[:, 0] >= data.A[:, 0])) <= 1
    np.testing.assert_allclose(np.linalg.norm(found.A.mean[:, 0]), norm[0], rtol=0.1)
    np.testing.assert_allclose(np.linalg.norm(found.A.mean[:, 1:], axis=0), 1, rtol=0.05)


def test_all_columns_known_are_a_known_mixing():
    data = small()
    separation = ngmca.separate(data.Y, 4, constraints=[ngmca.KnownMixing(data.A)], n_init=1)
    held = ngmca.posterior(
        data.Y, separation, n_samples=800, seed=0, constraints=[ngmca.KnownMixing(data.A)]
    )
    given = ngmca.posterior(data.Y, None, A=data.A, n_samples=800, seed=1)
    np.testing.assert_allclose(held.A.mean, data.A)
    assert (held.A.sd == 0).all()
    spread = np.sqrt(np.mean(given.S.sd**2))
    assert np.sqrt(np.mean((held.S.mean - given.S.mean) ** 2)) < 0.15 * spread
    np.testing.assert_allclose(np.mean(held.S.sd), np.mean(given.S.sd), rtol=0.05)


def test_zeros_stay():
    data = small()
    norm = np.linalg.norm(data.A, axis=0)
    A = np.where(np.random.default_rng(0).random((40, 4)) < 0.3, 0, data.A)
    Y = A @ data.S + data.noise
    zero_sources, zero_mixing = data.S == 0, A == 0
    known = [ngmca.ZeroSources(zero_sources), ngmca.ZeroMixing(zero_mixing)]
    separation = ngmca.separate(Y, 4, start=(A, data.S), constraints=known)
    found = ngmca.posterior(Y, separation, n_samples=200, seed=0, constraints=known)
    for part, zero in ((found.S, zero_sources), (found.A, zero_mixing)):
        assert (part.mean[zero] == 0).all()
        assert (part.sd[zero] == 0).all()
        assert (part.sd[~zero] > 0).all()
    norm = np.linalg.norm(A, axis=0)
    low, high = found.A.interval(0.9)
    assert 0.8 < ((low <= A / norm) & (high >= A / norm))[A > 0].mean() < 0.97


def with_baseline(seed=0):
    data, rng = small(seed, m=60, n=200), np.random.default_rng(seed)
    t = np.linspace(0, 1, 200)
    basis = np.array([1 - t, t])
    return data, data.Y + rng.uniform(0.5, 3, (60, 2)) @ basis, basis


def test_a_baseline_is_drawn_along():
    data, Y, basis = with_baseline()
    separation = ngmca.separate(Y, 4, constraints=[ngmca.Baseline(basis)], domain="direct", n_init=1)
    found = ngmca.posterior(Y, separation, seed=0)
    assert found.S.mean.shape == (4, 200)
    assert found.A.mean.shape == (60, 4)
    assert found.pi.mean.shape == found.rhat["S"].shape == found.ess["A"].shape == (4,)
    assert found.traces["beta"].shape[-1] == 4
    match, norm = ngmca.evaluate(data.S, found.S.mean), np.linalg.norm(data.A, axis=0)
    assert match.mean_sdr > ngmca.evaluate(data.S, separation.S).mean_sdr
    S, A = data.S * norm[:, None], data.A / norm
    low, high = (end[match.order] for end in found.S.interval(0.9, given_active=True))
    assert 0.83 < ((low <= S) & (high >= S))[S > 0].mean() < 0.96
    low, high = (end[:, match.order] for end in found.A.interval(0.9))
    assert 0.83 < ((low <= A) & (high >= A)).mean() < 0.96
    assert not found.refuted


def test_constraints_that_the_sampler_does_not_support_are_errors():
    data = small()
    separation = ngmca.separate(data.Y, 4, domain="direct", n_init=1)
    for constraint in (ngmca.Closure(), ngmca.Unimodal(), ngmca.Monotonic()):
        with pytest.raises(ValueError, match="the sampler does not support this constraint"):
            ngmca.posterior(data.Y, separation, constraints=[constraint], **BRIEF)
    for constraint in (ngmca.KnownSources(data.S), ngmca.ZeroSources(data.S == 0)):
        with pytest.raises(ValueError, match="error bars in the wavelet domain cannot be combined"):
            ngmca.posterior(data.Y, separation, domain="wavelet", constraints=[constraint], **BRIEF)


def test_a_baseline_among_bands_is_not_ignored():
    _, Y, basis = with_baseline()
    separation = ngmca.separate(Y, 4, constraints=[ngmca.Baseline(basis)], domain="direct", n_init=1)
    with pytest.raises(ValueError, match="wavelet domain cannot be combined with Baseline"):
        ngmca.posterior(Y, separation, domain="wavelet", **BRIEF)


def test_a_known_mixing_and_known_sources_do_not_go_together():
    data = small()
    with pytest.raises(ValueError, match="A cannot be combined with KnownSources"):
        ngmca.posterior(data.Y, None, A=data.A, constraints=[ngmca.KnownSources(data.S)], **BRIEF)
