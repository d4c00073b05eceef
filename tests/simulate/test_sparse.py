"""Simulated data have the statistics that the paper gives them."""

import numpy as np
import pytest
from scipy.stats import gennorm, kstest

from ngmca.simulate import sparse


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 4.0])
def test_entries_are_moduli_of_unit_variance_generalised_gaussians(alpha):
    S = sparse(m=2, n=20_000, r=1, p_S=1.0, alpha_S=alpha, seed=0).S.ravel()
    reference = gennorm(alpha)
    unit = reference.std()
    assert kstest(S, lambda x: reference.cdf(x * unit) - reference.cdf(-x * unit)).pvalue > 1e-3
    assert np.mean(S**2) == pytest.approx(1, rel=0.1)


def test_activation_rates():
    data = sparse(m=300, n=3000, r=4, p_S=0.3, p_A=0.6, seed=1)
    assert (data.S > 0).mean() == pytest.approx(0.3, abs=0.02)
    assert (data.A > 0).mean() == pytest.approx(0.6, abs=0.05)
    assert data.S.min() == 0
    assert data.A.min() == 0


@pytest.mark.parametrize("snr", [-5.0, 15.0, 60.0])
def test_noise_has_exactly_the_wanted_level(snr):
    data = sparse(snr=snr, seed=2)
    np.testing.assert_allclose(data.Y, data.A @ data.S + data.noise)
    signal = data.A @ data.S
    assert 10 * np.log10(np.sum(signal**2) / np.sum((data.Y - signal) ** 2)) == pytest.approx(snr)
    assert data.snr == pytest.approx(snr)
    assert abs(data.noise.mean()) < 0.02 * data.noise.std()


def test_standard_settings_and_seeds():
    data = sparse(seed=3)
    assert data.Y.shape == (200, 200)
    assert data.S.shape == (15, 200)
    assert not data.noise.any()
    assert data.snr == np.inf
    np.testing.assert_array_equal(data.Y, sparse(seed=3).Y)
    assert (data.Y != sparse(seed=4).Y).any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"m": 0},
        {"n": 0},
        {"r": 0},
        {"p_S": 0},
        {"p_A": 1.5},
        {"alpha_S": 0},
        {"alpha_A": -1},
        {"alpha_S": np.inf},
        {"snr": np.nan},
        {"snr": -np.inf},
    ],
)
def test_bad_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        sparse(**wrong)
