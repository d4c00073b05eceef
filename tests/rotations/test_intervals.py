"""Intervals of sources that their zeros hardly determine: other mixtures that fit as well count too."""

import warnings

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

import ngmca
from ngmca.sampling import sampler


def nowhere_zero(seed):
    """15 measurements of two spectra that are nowhere 0, with noise at 30 dB."""
    rng = np.random.default_rng(seed)
    S = gaussian_filter1d(rng.exponential(size=(2, 128)) ** 2, 5, axis=1)
    S -= 0.5 * S.min(axis=1, keepdims=True)
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    A = rng.random((15, 2)) + 0.2
    noise = rng.standard_normal((15, 128))
    noise *= np.linalg.norm(A @ S) / np.linalg.norm(noise) * 10 ** (-30 / 20)
    return A @ S + noise, A / np.linalg.norm(A, axis=0), S * np.linalg.norm(A, axis=0)[:, None]


def shares_inside(posterior, separation, A, S):
    """Share of the true entries inside 90 % intervals, of every column of A and every source."""
    order = np.argsort(ngmca.evaluate(S, separation.S).order)
    shares = []
    for law, truth in ((posterior.A, A[:, order].T), (posterior.S, S[order])):
        low, high = law.interval(0.9) if law is posterior.S else (x.T for x in law.interval(0.9))
        shares += [*((low <= truth) & (truth <= high)).mean(axis=1)]
    return np.array(shares)


@pytest.mark.parametrize("seed", [2, 6])
def test_they_hold_the_truth_where_zeros_alone_are_too_narrow(seed, monkeypatch):
    Y, A, S = nowhere_zero(seed)
    with warnings.catch_warnings(action="ignore"):
        separation = ngmca.separate(Y, 2, n_init=1, seed=0)
        wide = ngmca.posterior(Y, separation, n_samples=60, seed=0)
        monkeypatch.setattr(sampler, "ends_that_fit", lambda *_, **__: ())
        narrow = ngmca.posterior(Y, separation, n_samples=60, seed=0)
    assert shares_inside(wide, separation, A, S).min() > 0.85
    assert shares_inside(narrow, separation, A, S).min() < 0.6


def test_units_change_nothing_and_a_closure_keeps_its_scale():
    Y, A, _ = nowhere_zero(2)
    totals = A.sum(axis=1)
    with warnings.catch_warnings(action="ignore"):
        known = [ngmca.Closure(totals)]
        one, other = (
            ngmca.posterior(scale * Y, found, constraints=known, n_samples=60, seed=0)
            for scale in (1.0, 1024.0)
            for found in [ngmca.separate(scale * Y, 2, n_init=1, seed=0, constraints=known)]
        )
    np.testing.assert_allclose(other.S.sd, 1024 * one.S.sd, rtol=1e-6)
    np.testing.assert_allclose(other.A.sd, one.A.sd, rtol=1e-6)
    assert (one.A.sd < A.max()).all()


def test_a_closure_that_leaves_hardly_any_amount_has_no_boundless_spectrum():
    x = ngmca.simulate.bands(m=16, n=96, r=3, snr=25, seed=0)  # whose sums are not 1
    with warnings.catch_warnings(action="ignore"):
        known = {"constraints": [ngmca.Closure()], "seed": 0}
        found = ngmca.separate(x.Y, 3, n_init=1, method=ngmca.Soft(n_iter=10), **known)
        wide = ngmca.posterior(x.Y, found, n_samples=4, burn=2, **known)
    assert (wide.S.sd.max(axis=1) < 10 * found.S.max(axis=1)).all()
    assert (wide.S.mean.max(axis=1) < 10 * found.S.max(axis=1)).all()


@pytest.mark.parametrize("zeros", [False, True])
def test_another_scale_of_a_source_is_no_other_mixture(monkeypatch, zeros):
    Y, A, S = nowhere_zero(2)
    absent = np.zeros(A.shape, dtype=bool)
    absent[0, 0] = zeros
    known = {"constraints": [ngmca.ZeroMixing(absent)] if zeros else [], "seed": 0}
    Y = Y - np.where(absent, A, 0) @ S
    with warnings.catch_warnings(action="ignore"):
        found = ngmca.separate(Y, 2, n_init=1, **known)
        laws = []
        for ends in ((), [(2 * found.A, found.S / 2)]):
            monkeypatch.setattr(sampler, "ends_that_fit", lambda *_, ends=ends, **__: ends)
            laws.append(ngmca.posterior(Y, found, n_samples=4, burn=2, **known))
    assert laws[0].warnings[0].startswith("the data hardly determine")
    for name in "AS":
        one, other = (getattr(law, name).sd for law in laws)
        np.testing.assert_allclose(one, other, rtol=1e-6)
