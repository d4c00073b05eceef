"""Wavelets where few measurements stand behind each source, and the search for shears."""

import numpy as np
import pytest

import ngmca
from ngmca.algorithms.options import Options
from ngmca.algorithms.wavelets import domain_choice, shears, wavelet_data, wavelet_stage, wavelet_start
from ngmca.domains import analysis, frame_of
from ngmca.engines import in_gradient, open_data


def bands(m, r, n=512, snr=25.0, seed=0, missing=0.0):
    x = ngmca.simulate.bands(m, n, r, bands=6, fwhm=(6.0, 25.0), snr=snr, seed=seed)
    hidden = np.random.default_rng(seed).random(x.Y.shape) < missing
    return np.where(hidden, np.nan, x.Y), x


@pytest.mark.parametrize(("m", "r", "missing"), [(4, 4, 0.0), (8, 8, 0.0), (12, 8, 0.3), (8, 4, 0.0)])
def test_as_many_sources_as_measurements(m, r, missing):
    """Better than channel by channel, and with the noise that is there."""
    for seed in range(3):
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
        found, is_white = wavelet_data.noise_of_differences(engine)
        found = found * engine.unit
        np.testing.assert_allclose(found, x.noise.std(), rtol=0.15)
        assert is_white
    assert not wavelet_data.noise_of_differences(open_data(x.A @ x.S))[1]  # a curve is not noise


def test_nmr_with_as_many_measurements_as_compounds():
    x = ngmca.simulate.nmr(m=15, snr=15, seed=0)
    assert ngmca.evaluate(x.S, ngmca.separate(x.Y, 15).S).mean_sdr > 22


def test_noise_that_vanishes_is_reported(monkeypatch):
    """The user is warned if the fit is made to follow the noise."""
    monkeypatch.setattr(wavelet_start, "MIN_MEASUREMENTS_FOR_FREE", 0.0)
    with pytest.warns(UserWarning, match="the fit in wavelets follows the noise in 4 of 4 measurements"):
        ngmca.separate(bands(4, 4, seed=2)[0], 4, n_init=1)


def mixed(seed=0, e=0.2):
    """A state of two sources, one of which contains a part of the other, and its thresholds."""
    Y, x = bands(30, 3, seed=seed, snr=30)
    A = x.A / np.linalg.norm(x.A, axis=0)
    S = x.S * np.linalg.norm(x.A, axis=0)[:, None]
    A, S = A.copy(), S.copy()
    A[:, 1] -= e * A[:, 0]  # the inverse of a shear
    S[0] += e * S[1]
    norm = np.linalg.norm(A[:, 1])
    A[:, 1] /= norm
    S[1] *= norm
    engine = open_data(Y)
    S = (S / engine.unit).astype(np.float32)
    sigma = np.full(30, x.noise.std() / engine.unit)
    W = frame_of(S.shape[1])
    weights = wavelet_stage.weighted(W, A, S, sigma, Options())
    return engine, W, A, S, sigma, weights, x


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_shear_is_found_and_lowers_the_cost(seed):
    engine, W, A, S, sigma, weights, x = mixed(seed)
    duals = analysis.start(W, S)
    before = wavelet_stage.log_cost(engine, np.maximum(A, 0), S, sigma, Options())
    found = shears.sheared(
        engine, W, np.maximum(A, 0), duals, weights.Lam, weights.direct, weights.noise, weights.tau, 0.15
    )
    assert found is not None
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1, rtol=1e-6)
    after = np.maximum(duals.samples, 0)
    assert wavelet_stage.log_cost(engine, found, after, sigma, Options()) < before
    earlier, later = (ngmca.evaluate(x.S, sources).sdr[0] for sources in (S, after))
    assert later > earlier + 3


def test_the_change_of_the_cost_is_that_of_the_cost():
    """What the kernel adds up is the difference of two costs that are computed from scratch."""
    engine, W, A, S, sigma, weights, _ = mixed()
    A, S = np.maximum(A, 0), np.ascontiguousarray(S)
    SS, YS = engine.moments(S)
    direct = np.zeros(S.shape, dtype=S.dtype)
    coefficients = wavelet_stage.analyse(W, S)
    residual_A = (engine.correlate(A.astype(np.float32)) - (A.T @ A) @ S).astype(np.float32)
    residual_S = np.ascontiguousarray(YS - A @ SS.matrix, dtype=np.float64)
    energy = np.diagonal(SS.matrix).astype(np.float64)
    noise = in_gradient(A, sigma)[:, None] * W.norms
    for i, j, e in ((0, 1, 0.1), (1, 0, -0.1), (2, 0, 0.3), (0, 2, -0.4)):
        told, norm = shears.change(
            i, j, e, A, S, coefficients, residual_A, residual_S, energy, noise, weights.tau, direct
        )
        B, T = A.copy(), S.copy()
        B[:, j] = np.maximum(A[:, j] + e * A[:, i], 0)
        T[i] = np.maximum(S[i] - e * S[j], 0)
        assert norm == pytest.approx(np.linalg.norm(B[:, j]))
        B[:, j] /= norm
        T[j] *= norm
        costs = [_log_cost(engine, W, a, s, noise, weights.tau) for a, s in ((A, S), (B, T))]
        clipped = float(np.abs(np.minimum(S[i] - e * S[j], 0)).sum())
        assert told == pytest.approx(costs[1] - costs[0], rel=0.02 if clipped == 0 else 0.5)


def _log_cost(engine, W, A, S, noise, tau):
    """The cost for noise levels that stay as they are."""
    found = np.abs(wavelet_stage.analyse(W, S.astype(np.float64)))[:, :-1]
    penalty = tau * np.sum(noise[:, :-1, None] ** 2 * np.log1p(found / noise[:, :-1, None]))
    return wavelet_stage.residual_energy(engine, A, S) / 2 + float(penalty)


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
