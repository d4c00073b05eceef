"""Bands whose channels have unequal noise: weights and thresholds follow the noise of each channel."""

import numpy as np
import pytest

import ngmca


def bands(seed, levels):
    x = ngmca.simulate.bands(m=30, n=400, r=4, snr=None, seed=seed)
    levels = levels * np.sqrt(np.mean(x.Y**2)) * 10 ** (-25 / 20)
    return x, x.Y + levels * np.random.default_rng(seed).standard_normal(x.Y.shape), levels


@pytest.mark.parametrize(
    "levels",
    [10 ** (0.5 * np.sin(np.linspace(0, 6.28, 400))), np.where(np.arange(400) < 200, 0.32, 3.2)],
    ids=["smooth", "halves"],
)
def test_known_levels_of_channels_gain(levels):
    gains = []
    for seed in range(3):
        x, Y, sigma = bands(seed, levels)
        plain, known = (ngmca.separate(Y, 4, noise=noise, n_init=1) for noise in (None, sigma[None]))
        assert known.domain.name == "wavelet"
        assert known.violation < 1e-4
        gains.append([ngmca.evaluate(x.S, one.S).mean_sdr for one in (plain, known)])
    plain, known = np.mean(gains, axis=0)
    assert known > plain + 2.5


def test_counts_gain():
    """Wide bands, five counts on average: noise differs between bands and gaps."""
    gains = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        place, width = rng.uniform(0, 400, (4, 6, 1)), rng.uniform(6, 20, (4, 6, 1))
        S = np.exp(-0.5 * ((np.arange(400) - place) / width) ** 2).sum(axis=1)
        clean = rng.random((30, 4)) @ S
        Y = rng.poisson(clean * 5 / clean.mean()).astype(float)
        runs = (ngmca.separate(Y, 4, noise=noise, n_init=1) for noise in (None, "poisson"))
        gains.append([ngmca.evaluate(S, one.S).mean_sdr for one in runs])
    plain, counted = np.mean(gains, axis=0)
    assert counted > plain + 1
