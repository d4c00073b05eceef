"""Thresholds that decrease where a source is clearly present: better sources, and a certificate."""

import numpy as np
import pytest

import ngmca
from ngmca.algorithms import reweighted_channels
from ngmca.engines import in_gradient
from ngmca.nnqp import violation


@pytest.fixture
def gain(monkeypatch):
    """By how many dB the sources are better than without the last stage."""

    def found(Y, S, r, **options):
        after = ngmca.separate(Y, r, n_init=1, domain="direct", **options)
        with monkeypatch.context() as patched:
            patched.setattr(reweighted_channels, "suits", lambda *given: False)
            before = ngmca.separate(Y, r, n_init=1, domain="direct", **options)
        return ngmca.evaluate(S, after.S).mean_sdr - ngmca.evaluate(S, before.S).mean_sdr

    return found


@pytest.mark.parametrize(
    ("p_S", "least"), [(0.05, 2.5), (0.1, 1.5), (0.3, 0.3), (0.5, 0.1), (1.0, -0.01)]
)
def test_sparse_sources_gain_and_dense_ones_lose_nothing(gain, p_S, least):
    gains = []
    for seed in range(3):
        x = ngmca.simulate.sparse(m=60, n=200, r=8, p_S=p_S, snr=15, seed=seed)
        gains.append(gain(x.Y, x.S, 8))
    assert np.mean(gains) > least
    assert min(gains) > -0.2


@pytest.mark.parametrize("kind", ["missing", "single", "levels", "baseline"])
def test_the_gain_is_there_in_every_form_of_the_data(gain, kind):
    x = ngmca.simulate.sparse(m=60, n=200, r=5, p_S=0.1, snr=15, seed=0)
    Y, options = x.Y, {}
    if kind == "missing":
        Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
    elif kind == "single":
        Y = Y.astype(np.float32)
    elif kind == "levels":
        options["noise"] = x.noise.std() * np.linspace(0.9, 1.1, 200)[None]
    else:
        options["constraints"] = [ngmca.Baseline("polynomial")]
    assert gain(Y, x.S, 5, **options) > 1


def test_the_sources_end_at_a_stationary_point(monkeypatch):
    """S solves the problem with the thresholds that follow from S itself."""
    monkeypatch.setattr(reweighted_channels, "ITERATIONS", 300)
    x = ngmca.simulate.sparse(m=40, n=100, r=4, p_S=0.2, snr=20, seed=0)
    found = ngmca.separate(x.Y, 4, n_init=1, domain="direct", noise=x.noise.std())
    level = in_gradient(found.A, np.full(40, x.noise.std()))[:, None]
    Lam = found.lam[:, None] / (1 + found.S / level)
    np.testing.assert_allclose(found.lam / level[:, 0], found.lam[0] / level[0, 0])
    assert violation(found.A.T @ found.A, found.A.T @ x.Y - Lam, found.S) < 1e-4 * found.S.max()
    assert found.violation < 1e-12


@pytest.mark.parametrize(
    "method", [ngmca.Soft(n_iter=50), ngmca.Hard(), ngmca.Anls(), ngmca.Soft(tau=0)]
)
def test_other_schedules_and_methods_stay_as_they_are(method, monkeypatch):
    Y = ngmca.simulate.sparse(m=20, n=60, r=3, snr=20, seed=0).Y
    found = ngmca.separate(Y, 3, method=method, n_init=1)
    monkeypatch.setattr(reweighted_channels, "suits", lambda *given: False)
    np.testing.assert_array_equal(ngmca.separate(Y, 3, method=method, n_init=1).S, found.S)
