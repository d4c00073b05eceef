"""Bands whose channels have unequal noise: weights and thresholds follow the noise of each channel."""

import numpy as np
import pytest

import ngmca
from ngmca.algorithms import Options
from ngmca.engines import Levels
from ngmca.engines.weighted import WeightedEngine
from ngmca.result import State
from ngmca.task.units_of_noise import in_channels


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
    for seed in range(2):
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


def test_in_wavelets_weights_are_kept_close_and_their_noise_is_known():
    """The noise of a clipped entry is still its own: w^2 times its variance, in units of weight 1."""
    rng = np.random.default_rng(0)
    true = 10.0 ** rng.uniform(-3, 0, (6, 40))
    columns = np.exp(rng.normal(size=40))
    levels = Levels(rows=None, columns=columns / np.exp(np.log(columns).mean()))
    engine = WeightedEngine(rng.random((6, 40)), true * levels.columns**2)
    state = State(0, np.ones((6, 1)), np.ones((1, 40)), *4 * [np.zeros(1)], 0.0, 0.0)
    found = in_channels(engine, state, levels, Options())[0]
    kept = found.weights.max(axis=0) / found.weights
    assert kept.max() == pytest.approx(4)
    clipped = np.isclose(kept, 4) & (true < true.max(axis=0) / 4)
    assert 0.2 < clipped.mean() < 0.8
    np.testing.assert_allclose(found.noise_weights, found.weights**2 / (true / true.max()))
    np.testing.assert_allclose(found.noise_weights[~clipped], found.weights[~clipped])
