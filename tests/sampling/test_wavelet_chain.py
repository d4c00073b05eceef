"""Lines and bands: a basis that is one, draws whatever the threads and units, intervals that hold."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from scipy.stats import truncnorm

import ngmca
from ngmca.result import Domain
from ngmca.rotations.loose_rotations import Answer
from ngmca.sampling.posterior_from_chains import around
from ngmca.sampling.wavelet_kernels import draw_coefficients, draw_variances, from_basis, to_basis
from ngmca.simulate.mixture import mix

BRIEF = {"n_samples": 10, "burn": 10, "seed": 0}
pytestmark = pytest.mark.filterwarnings("ignore:the chains disagree", "ignore:the data hardly determine")


def bands(seed=0, m=30, n=256, r=3, snr=25.0):
    rng = np.random.default_rng([seed, 4])
    t, S = np.arange(n), np.zeros((r, n))
    for row in S:
        for _ in range(8):
            x = 2 * (t - rng.uniform(0, n)) / rng.uniform(4, 14)
            row += rng.exponential() / (1 + x**2)
    return mix(rng.random((m, r)), S, snr, rng)


def at_truth(data):
    """A separation that found the truth."""
    norm = np.linalg.norm(data.A, axis=0)
    noise = np.full(len(data.A), data.noise.std())
    return SimpleNamespace(
        A=data.A / norm, S=data.S * norm[:, None], noise=noise, domain=Domain("wavelet")
    )


def sheared(data, by=0.1):
    """A separation that fits as well as the truth, with a little of all columns in each."""
    truth = at_truth(data)
    A = truth.A + by * truth.A.mean(axis=1, keepdims=True)
    truth.A, truth.S = A, np.maximum(np.linalg.pinv(A) @ truth.A @ truth.S, 0)
    return truth


def inside(found, truth):
    low, high = found.interval(0.9)
    return np.mean((low <= truth) & (high >= truth))


def arrays(found):
    return [
        x for part in (found.S, found.A, found.noise) for x in (part.mean, part.sd, *part.interval())
    ]


@pytest.mark.parametrize("n", [2, 4, 6, 32, 96])
def test_the_basis_is_orthonormal_at_every_shift(n):
    levels = 1 if n % 4 else 2
    X, C, back = np.eye(n), np.empty((n, n)), np.empty((n, n))
    for shift in (0, 1, n - 1):
        to_basis(X, levels, shift, C)
        np.testing.assert_allclose(C @ C.T, np.eye(n), atol=1e-12)
        from_basis(C, levels, shift, back)
        np.testing.assert_allclose(back, X, atol=1e-12)


def test_smooth_rows_are_few_coefficients():
    t = np.arange(256)
    X, C = np.exp(-0.5 * ((t - 100) / 8.0) ** 2)[None], np.empty((1, 256))
    to_basis(X, 4, 3, C)
    large = np.sort((C**2).ravel())[::-1]
    assert large[:16].sum() > 0.99 * large.sum()


def test_coefficients_have_the_mean_and_covariance_of_their_law():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((5, 3))
    G, b, V = F.T @ F, rng.standard_normal(3), np.array([0.5, 2.0, 1e6])
    n = 40_000
    C = np.empty((3, n))
    draw_coefficients(G, np.repeat(b[:, None], n, 1), np.repeat(V[:, None], n, 1), np.uint64(5), C)
    covariance = np.linalg.inv(G + np.diag(1 / V))
    np.testing.assert_allclose(C.mean(axis=1), covariance @ b, atol=0.03)
    np.testing.assert_allclose(np.cov(C), covariance, atol=0.03)


def test_variances_make_the_coefficients_cauchy():
    """Coefficients and variances drawn in turn, with no data, stay Cauchy with the scale given."""
    n, squares, precision = 20_000, np.array([[4.0]]), np.empty((1, 1))
    C, V = np.ones((1, n)), np.empty((1, n))
    for key in range(60):
        draw_variances(C, squares, np.zeros(n, np.int64), np.uint64(key), V, precision)
        draw_coefficients(np.zeros((1, 1)), np.zeros((1, n)), V, np.uint64(1000 + key), C)
    np.testing.assert_allclose(np.quantile(np.abs(C), [0.25, 0.5, 0.75]), [0.83, 2.0, 4.83], rtol=0.05)
    np.testing.assert_allclose(precision[0, 0], np.sum(1 / V))


def test_same_seed_same_bits_whatever_the_threads():
    data = bands()
    start = at_truth(data)
    one, *others = (ngmca.posterior(data.Y, start, **BRIEF, n_chains=3, threads=k) for k in (1, 2, 3, 1))
    for other in others:
        for mine, its in zip(arrays(one), arrays(other), strict=True):
            np.testing.assert_array_equal(mine, its)
    different = ngmca.posterior(data.Y, start, **BRIEF | {"seed": 1}, n_chains=3)
    assert not np.array_equal(one.S.mean, different.S.mean)


@pytest.mark.parametrize("unit", [2.0**400, 2.0**-400])
def test_units_do_not_matter(unit):
    data = bands()
    one = ngmca.posterior(data.Y, at_truth(data), **BRIEF)
    start = at_truth(data)
    start.S, start.noise = start.S * unit, start.noise * unit
    other = ngmca.posterior(data.Y * unit, start, **BRIEF)
    np.testing.assert_allclose(other.S.interval()[1] / unit, one.S.interval()[1], rtol=1e-6)
    np.testing.assert_allclose(other.A.mean, one.A.mean, rtol=1e-6)
    np.testing.assert_allclose(other.traces["noise"] / unit, one.traces["noise"], rtol=1e-6)


def test_what_a_posterior_of_bands_is():
    data = bands()
    found = ngmca.posterior(data.Y, at_truth(data), **BRIEF)
    assert found.model == "bands"
    assert (found.pi, found.stay, found.beta, found.S.active) == (None, None, None, None)
    assert (found.n_chains, found.n_samples, found.burn, found.refuted) == (2, 10, 10, False)
    assert set(found.rhat) == set(found.ess) == {"S", "A", "noise"}
    assert found.rhat["S"].shape == found.ess["A"].shape == (3,)
    assert found.error > 0
    assert "3 sources of lines and bands" in repr(found)
    np.testing.assert_allclose(np.linalg.norm(found.A.mean, axis=0), 1, atol=0.05)
    np.testing.assert_allclose(found.noise.mean, data.noise.std(), rtol=0.05)
    with pytest.warns(UserWarning, match="contradict the posterior's model"):
        direct = ngmca.posterior(data.Y, at_truth(data), **BRIEF, domain="direct")
    assert (direct.model, direct.refuted) == ("sparse", True)
    with pytest.raises(ValueError, match="domain must be one of 'auto', 'direct', 'wavelet'"):
        ngmca.posterior(data.Y, at_truth(data), domain="fourier")


def test_noise_and_mixing_may_be_known():
    data = bands()
    given = ngmca.posterior(data.Y, at_truth(data), **BRIEF, noise=0.5)
    assert (given.noise.mean == 0.5).all()
    assert np.ptp(ngmca.posterior(data.Y, at_truth(data), **BRIEF, noise="rows").noise.mean) > 0
    known = ngmca.posterior(data.Y, None, A=3 * data.A, domain="wavelet", n_samples=100, burn=50, seed=0)
    np.testing.assert_allclose(known.A.mean, 3 * data.A, rtol=1e-14)
    assert known.A.sd.max() == 0
    assert ngmca.evaluate(data.S, known.S.mean).mean_sdr > 25
    assert 0.85 < inside(known.S, data.S / 3) < 1


def coverage(seeds=range(4)):
    """Share of A and of S in 90 % intervals, and the width of those of A over its root mean square."""
    shares = []
    for seed in seeds:
        data = bands(seed)
        truth = at_truth(data)
        found = ngmca.posterior(data.Y, sheared(data), n_samples=100, burn=50, seed=seed)
        low, high = found.A.interval(0.9)
        width = float(np.mean(high - low) / np.sqrt(np.mean(truth.A**2)))
        shares.append([inside(found.A, truth.A), inside(found.S, truth.S), width])
    return np.mean(shares, axis=0)


def test_intervals_hold_what_they_say_and_need_the_exchange_of_sources(monkeypatch):
    """Narrow bands that overlap, and an answer with some of all columns in each."""
    of_mixing, of_sources, width = coverage()
    assert min(of_mixing, of_sources) > 0.87
    assert width < 0.3  # bars as wide as the axis would hold everything
    monkeypatch.setattr(Answer, "spread", lambda self: (0 * self.A, 0 * self.S))
    assert coverage()[0] < 0.5


def test_correlated_noise_makes_wider_intervals():
    data = bands()
    start = at_truth(data)
    noise = gaussian_filter1d(data.noise, 3, axis=1)
    noise *= data.noise.std() / noise.std()
    white, smooth = (
        ngmca.posterior(data.A @ data.S + one, start, **BRIEF) for one in (data.noise, noise)
    )
    np.testing.assert_allclose(smooth.noise.mean, white.noise.mean, rtol=0.1)  # the noise is as large
    for one in ("A", "S"):
        low, high = getattr(white, one).interval()
        less, more = getattr(smooth, one).interval()
        assert np.mean(more - less) > 1.2 * np.mean(high - low)


@pytest.mark.filterwarnings("error")
def test_draws_where_the_answer_is_give_no_warning():
    data = bands()
    ngmca.posterior(data.Y, at_truth(data), n_samples=200, burn=100, seed=0)


def test_the_law_around_an_answer():
    """It has the moments of a normal variable cut off at 0, and holds the answer at any usual level."""
    answer = np.array([0.0, 0.0, 0.2, 1.0, 5.0, 5.0, 1e3, 7.0])
    stray = np.array([0.0, 3.0, 0.85, 2.0, 4.0, 0.1, 1e-9, 0.18])
    found = around(answer, stray)
    for level in (0.5, 0.68, 0.9, 0.99):
        low, high = found.interval(level)
        assert ((low <= answer) & (answer <= high)).all()
    low, high = found.interval(0.9)
    np.testing.assert_allclose([low[5], high[5]], [5 - 0.1645, 5 + 0.1645], rtol=1e-3)
    assert low[1] == 0
    assert high[1] > 3
    for i in range(1, 6):
        law = truncnorm(-answer[i] / stray[i], np.inf)
        np.testing.assert_allclose(found.mean[i], answer[i] + stray[i] * law.mean(), rtol=1e-9)
        np.testing.assert_allclose(found.sd[i], stray[i] * law.std(), rtol=1e-6)


DEGENERATE = {
    "odd and short": (lambda: bands(n=37).Y, 3),
    "one channel": (lambda: bands().Y[:, :1], 1),
    "three channels": (lambda: bands().Y[:, 50:53], 2),
    "one source": (lambda: bands(r=1).Y, 1),
    "one measurement": (lambda: bands().Y[:1], 1),
    "fewer measurements than sources": (lambda: bands().Y[:3], 3),
    "single precision": (lambda: bands().Y.astype(np.float32), 3),
    "no noise": (lambda: bands(snr=None).Y, 3),
    "no noise, single precision": (lambda: bands(snr=None).Y.astype(np.float32), 3),
    "more sources than there are": (lambda: bands().Y, 5),
    "zeros": (lambda: np.zeros((5, 40)), 2),
    "negative": (lambda: -np.abs(bands().Y), 2),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_give_finite_numbers(case):
    make, r = DEGENERATE[case]
    Y = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        separation = ngmca.separate(Y, r, method=ngmca.Soft(n_iter=20), domain="direct", n_init=1)
        found = ngmca.posterior(Y, separation, domain="wavelet", n_samples=40, burn=20, seed=0)
    assert all(np.isfinite(x).all() and (x >= 0).all() for x in arrays(found))
    assert inside(found.S, separation.S) > 0.99  # up to rounding


def test_a_dead_source_stays_finite():
    data = bands()
    start = at_truth(data)
    start.A[:, 1] = start.S[1] = 0
    assert all(np.isfinite(x).all() for x in arrays(ngmca.posterior(data.Y, start, **BRIEF)))


def test_the_separation_stays_the_answer():
    data = bands()
    model = ngmca.NGMCA(3, domain="wavelet", posterior=True, n_init=1).fit(data.Y)
    assert model.posterior_.model == "bands"
    np.testing.assert_array_equal(model.components_, model.separation_.S)


def test_kept_in_a_file(tmp_path):
    data = bands()
    separation = ngmca.separate(data.Y, 3, domain="wavelet", n_init=1)
    found = ngmca.posterior(data.Y, separation, **BRIEF)
    found = replace(found, warnings=("one", "two"), refuted=True)
    ngmca.save(tmp_path / "kept.nc", replace(separation, posterior=found), data.Y)
    back = ngmca.load(tmp_path / "kept.nc").posterior
    assert (back.model, back.refuted, back.warnings) == ("bands", True, ("one", "two"))
    assert (back.pi, back.S.active, back.n_chains) == (None, None, 2)
    for mine, its in zip(arrays(found), arrays(back), strict=True):
        np.testing.assert_array_equal(mine, its)
