"""Wavelets with few measurements for each source, with few channels, and for narrow lines."""

import numpy as np
import pytest

import ngmca
from ngmca.algorithms.wavelets import domain_choice, wavelet_start
from ngmca.engines import neighbouring_channels, open_data


def bands(m, r, n=512, snr=25.0, seed=0, missing=0.0):
    x = ngmca.simulate.bands(m, n, r, bands=6, fwhm=(6.0, 25.0), snr=snr, seed=seed)
    hidden = np.random.default_rng(seed).random(x.Y.shape) < missing
    return np.where(hidden, np.nan, x.Y), x


@pytest.mark.parametrize(("m", "r", "missing"), [(4, 4, 0.0), (8, 8, 0.0), (12, 8, 0.3), (8, 4, 0.0)])
def test_as_many_sources_as_measurements(m, r, missing):
    """Better than channel by channel, and with the noise that is there."""
    for seed in range(2):
        Y, x = bands(m, r, missing=missing, seed=seed)
        direct = ngmca.separate(Y, r, domain="direct", n_init=1)
        found = ngmca.separate(Y, r, n_init=1)
        assert found.domain.name == "wavelet"
        assert ngmca.evaluate(x.S, found.S).mean_sdr > ngmca.evaluate(x.S, direct.S).mean_sdr + 1
        assert 0.8 < np.sqrt(np.mean(found.noise**2)) / x.noise.std() < 1.2


def test_noise_of_differences():
    """It is that of the noise under smooth bands, also with missing entries."""
    Y, x = bands(6, 3, n=2000)
    hidden = np.random.default_rng(1).random(Y.shape) < 0.3
    for data in (Y, np.where(hidden, np.nan, Y)):
        engine = open_data(data)
        found, is_white = neighbouring_channels.noise_of_differences(engine)
        found = found * engine.unit
        np.testing.assert_allclose(found, x.noise.std(), rtol=0.15)
        assert is_white
    assert not neighbouring_channels.noise_of_differences(open_data(x.A @ x.S))[
        1
    ]  # a curve is not noise


def test_nmr_with_as_many_measurements_as_compounds():
    x = ngmca.simulate.nmr(m=15, snr=15, seed=0)
    assert ngmca.evaluate(x.S, ngmca.separate(x.Y, 15, n_init=1).S).mean_sdr > 22


def test_noise_that_vanishes_is_reported(monkeypatch):
    """The user is warned if the fit is made to follow the noise."""
    monkeypatch.setattr(wavelet_start, "MIN_MEASUREMENTS_FOR_FREE", 0.0)
    with pytest.warns(UserWarning, match="the fit in wavelets follows the noise in 4 of 4 measurements"):
        ngmca.separate(bands(4, 4, seed=2)[0], 4, n_init=1)


@pytest.mark.parametrize("n", [16, 24, 40])
def test_few_channels_are_enough_for_bands(n):
    names, gains = [], []
    for seed in range(4):
        x = ngmca.simulate.bands(30, n, 3, bands=2, fwhm=(4.0, 12.0), snr=20, seed=seed)
        found = ngmca.separate(x.Y, 3, n_init=1)
        direct = ngmca.separate(x.Y, 3, domain="direct", n_init=1)
        names.append(found.domain.name)
        order = np.random.default_rng(seed).permutation(n)
        assert ngmca.separate(x.Y[:, order], 3, n_init=1).domain.name == "direct"
        gain = ngmca.evaluate(x.S, found.S).mean_sdr - ngmca.evaluate(x.S, direct.S).mean_sdr
        gains.append(gain)
    assert names.count("wavelet") >= 3
    assert min(gains) > -2
    assert np.mean(gains) > 1


@pytest.mark.parametrize("width", [0.5, 1.0, 2.0])
def test_narrow_lines_are_found_in_wavelets(width):
    for seed in range(3):
        rng, t, S = np.random.default_rng(seed), np.arange(512), np.zeros((4, 512))
        for row in S:
            for _ in range(8):
                row += rng.uniform(0.2, 1) / (1 + (2 * (t - rng.uniform(0, 512)) / width) ** 2)
        clean = rng.random((30, 4)) @ S
        Y = clean + 0.1 * np.sqrt(np.mean(clean**2)) * rng.standard_normal(clean.shape)
        found = ngmca.separate(Y, 4, n_init=1)
        direct = ngmca.separate(Y, 4, domain="direct", n_init=1)
        assert found.domain.name == "wavelet"
        assert ngmca.evaluate(S, found.S).mean_sdr > ngmca.evaluate(S, direct.S).mean_sdr + 2
        shuffled = Y[:, rng.permutation(512)]
        assert ngmca.separate(shuffled, 4, n_init=1).domain.name == "direct"


def test_peaks_are_local_maxima_above_the_noise():
    S = np.zeros((1, 100))
    S[0, [10, 50]] = 5.0
    S[0, 70:73] = 4.0  # one peak, not three
    S[0, 90] = 0.1
    assert domain_choice.peaks(S, np.ones(1)) == pytest.approx(3 / 98)
