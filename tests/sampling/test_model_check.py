"""The check of the model: it fires on lines and bands, and not on sources without an order."""

from dataclasses import replace

import numpy as np
import pytest

import ngmca
from ngmca.engines import open_data
from ngmca.sampling.model_check import neighbour_correlation, overlap, residual_correlation

pytestmark = pytest.mark.filterwarnings(
    "ignore:the chains disagree", "ignore:.* went silent", "ignore:sampling"
)
SHORT = {"n_samples": 100, "seed": 0}


def bands(seed, shuffled=False):
    data = ngmca.simulate.spectra(m=30, n=300, r=3, lines=8, width=6.0, snr=25, seed=seed)
    order = np.random.default_rng(seed).permutation(300) if shuffled else np.arange(300)
    return data.Y[:, order]


def direct(Y, r):
    return ngmca.separate(Y, r, domain="direct", n_init=1)


@pytest.mark.parametrize("seed", range(2))
def test_it_fires_on_bands(seed):
    Y = bands(seed)
    with pytest.warns(UserWarning, match="domain='wavelet'"):
        found = ngmca.posterior(Y, direct(Y, 3), **SHORT)
    assert found.refuted
    assert found.warnings[0].startswith("these data contradict the posterior's model")
    assert "do not use them" in found.warnings[0]
    assert "refuted" in repr(found)


@pytest.mark.filterwarnings("error:these data")
def test_it_is_silent_where_channels_have_no_order():
    cases = [(bands(seed, shuffled=True), 3) for seed in range(2)]
    for seed in range(3):
        for p_S in (0.1, 0.3, 0.5):
            cases.append((ngmca.simulate.sparse(40, 400, 4, p_S=p_S, snr=20, seed=seed).Y, 4))
    for Y, r in cases:
        assert not ngmca.posterior(Y, direct(Y, r), **SHORT).refuted


def test_lines_with_zeros_between_them_are_refuted_mildly():
    data = ngmca.simulate.spectra(m=30, n=1200, r=4, lines=5, width=3.0, snr=20, seed=0)
    with pytest.warns(UserWarning, match="somewhat too narrow"):
        found = ngmca.posterior(data.Y, direct(data.Y, 4), **SHORT)
    assert not found.refuted
    assert "domain='wavelet'" in found.warnings[0]


def test_units_do_not_matter():
    Y = bands(0)
    separation = direct(Y, 3)
    scaled = replace(separation, S=separation.S * 2.0**300, noise=separation.noise * 2.0**300)
    with pytest.warns(UserWarning, match="posterior's model"):
        one = ngmca.posterior(Y, separation, **SHORT)
    with pytest.warns(UserWarning, match="posterior's model"):
        other = ngmca.posterior(Y * 2.0**300, scaled, **SHORT)
    assert one.warnings[0] == other.warnings[0]


def test_its_numbers():
    rising = np.tile(np.arange(50.0), (2, 1))
    everywhere = np.ones((2, 50), bool)
    correlation, pairs = neighbour_correlation(rising, everywhere)
    assert (round(correlation, 12), pairs) == (1.0, 98)
    assert neighbour_correlation(rising, np.zeros((2, 50), bool)) == (0.0, 0)
    noise = np.random.default_rng(0).standard_normal((3, 4000))
    assert abs(neighbour_correlation(noise, np.ones((3, 4000), bool))[0]) < 0.03
    assert overlap(np.array([[1, 1, 0, 0], [0, 1, 1, 1]], bool)) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert overlap(np.ones((1, 4), bool)) == 0


@pytest.mark.parametrize(("smoothed", "expected"), [(False, 0), (True, 1)])
def test_the_residual_is_correlated_if_its_noise_is(smoothed, expected):
    rng = np.random.default_rng(0)
    data = ngmca.simulate.sparse(20, 400, 2, seed=0, snr=10)
    noise = rng.standard_normal((20, 401))
    noise = (noise[:, 1:] + noise[:, :-1]) / 2**0.5 if smoothed else noise[:, 1:]
    Y = data.A @ data.S + noise
    found = ngmca.posterior(Y, direct(Y, 2), **SHORT)
    z = residual_correlation(open_data(Y), found)
    assert (z > 10) == bool(expected)
    assert z > -4
