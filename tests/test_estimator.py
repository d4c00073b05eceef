"""The scikit-learn face."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import ngmca
from ngmca import sampling

CHECKS = """
import json, warnings
from sklearn.utils.estimator_checks import check_estimator
from ngmca import NGMCA
from ngmca.task import task
task.AUTOMATIC_STARTS = 2  # of all that is checked, starts take longest
warnings.simplefilter("ignore")
results = check_estimator(NGMCA(), on_fail=None, on_skip=None)
print(json.dumps([[r["check_name"], r["status"], repr(r["exception"])] for r in results]))
"""


@pytest.fixture(scope="module")
def data():
    return ngmca.simulate.sparse(m=30, n=60, r=3, p_S=0.2, snr=20, seed=0)


def test_all_estimator_checks_pass_and_none_is_skipped():
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}  # without it one check skips itself
    run = subprocess.run(
        [sys.executable, "-c", CHECKS], env=environment, capture_output=True, text=True, check=True
    )
    results = json.loads(run.stdout)
    assert len(results) > 40
    assert [result for result in results if result[1] != "passed"] == []


def test_roles_of_the_factors(data):
    model = ngmca.NGMCA(3, n_init=1)
    W = model.fit_transform(data.Y)
    assert W.shape == (30, 3)
    assert model.components_.shape == (3, 60)
    assert ngmca.evaluate(data.S, model.components_).mean_sdr > 20
    np.testing.assert_array_equal(model.components_, ngmca.separate(data.Y, 3, n_init=1).S)
    np.testing.assert_allclose(model.inverse_transform(W), W @ model.components_)
    error = np.linalg.norm(data.Y - W @ model.components_)
    assert model.reconstruction_err_ == pytest.approx(error)
    assert error < 1.1 * np.linalg.norm(data.noise)
    assert model.n_iter_ == model.separation_.n_iter


def test_fit_transform_is_fit_then_transform(data):
    model = ngmca.NGMCA(3, n_init=1)
    W = model.fit_transform(data.Y)
    np.testing.assert_allclose(model.fit(data.Y).transform(data.Y), W, rtol=1e-8, atol=1e-8)


def test_new_measurements_are_solved_exactly_under_the_learnt_sources(data):
    model = ngmca.NGMCA(3, n_init=1).fit(data.Y)
    S = model.components_
    X = np.vstack([2.5 * S[1], S[0] + S[2], -S[0]])
    np.testing.assert_allclose(model.transform(X), [[0, 2.5, 0], [1, 0, 1], [0, 0, 0]], atol=1e-10)
    noisy = np.random.default_rng(1).standard_normal((50, 60))
    W = model.transform(noisy)
    assert ngmca.nnqp.violation(S @ S.T, S @ noisy.T, W.T) < 1e-12
    assert (W == 0).mean() > 0.2


def test_float32_stays_float32(data):
    model = ngmca.NGMCA(3, n_init=1)
    W = model.fit_transform(data.Y.astype(np.float32))
    assert W.dtype == model.components_.dtype == np.float32
    np.testing.assert_allclose(W @ model.components_, data.Y, atol=5 * data.noise.std())


@pytest.mark.parametrize("unit", [1e-200, 1e-100, 1e100, 1e200])
def test_extreme_units(data, unit):
    plain = ngmca.NGMCA(3, n_init=1)
    W = plain.fit_transform(data.Y)
    scaled = ngmca.NGMCA(3, n_init=1)
    W_scaled = scaled.fit_transform(data.Y * unit)
    np.testing.assert_allclose(W_scaled, W, rtol=1e-3, atol=1e-3 * W.max())
    np.testing.assert_allclose(scaled.transform(data.Y * unit), W_scaled)
    assert scaled.reconstruction_err_ / unit == pytest.approx(plain.reconstruction_err_, rel=1e-3)


def test_inverse_transform_explains_wrong_weights(data):
    model = ngmca.NGMCA(3, method=ngmca.Soft(n_iter=5), n_init=1).fit(data.Y)
    with pytest.raises(ValueError, match="X has 2 columns, but there are 3 components"):
        model.inverse_transform(np.ones((4, 2)))
    with pytest.raises(ValueError, match="NaN"):
        model.inverse_transform(np.full((4, 3), np.nan))


def test_pandas_in_and_out(data):
    frame = pd.DataFrame(data.Y, columns=[f"{x:.1f} ppm" for x in range(60)], index=range(100, 130))
    model = ngmca.NGMCA(3, n_init=1).set_output(transform="pandas")
    W = model.fit_transform(frame)
    assert list(W.columns) == ["ngmca0", "ngmca1", "ngmca2"]
    assert list(W.index) == list(range(100, 130))
    assert list(model.get_feature_names_out()) == list(W.columns)
    assert model.feature_names_in_[0] == "0.0 ppm"
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.rename(columns={"0.0 ppm": "other"}))


def test_random_state_and_clone(data):
    first = ngmca.NGMCA(3, method=ngmca.Soft(n_iter=20), n_init=1).fit(data.Y).components_
    np.testing.assert_array_equal(
        clone(ngmca.NGMCA(3, method=ngmca.Soft(n_iter=20), n_init=1)).fit(data.Y).components_, first
    )
    state = np.random.RandomState(0)
    assert np.isfinite(
        ngmca.NGMCA(3, method=ngmca.Soft(n_iter=20), random_state=state, n_init=1)
        .fit(data.Y)
        .components_
    ).all()
    other = (
        ngmca.NGMCA(3, method=ngmca.Soft(n_iter=20), random_state=5, n_init=1).fit(data.Y).components_
    )
    assert not np.array_equal(other, first)


def test_parameters_reach_the_separation(data):
    model = ngmca.NGMCA(3, method=ngmca.Hard(tau=2.0, n_iter=30), noise=0.1, n_init=2)
    result = model.fit(data.Y).separation_
    np.testing.assert_array_equal(result.noise, 0.1)
    assert len(result.restarts) == 2
    assert result.n_iter <= 30
    assert ngmca.NGMCA(3, method="naive", n_init=1).fit(data.Y).n_iter_ == 500


def test_components_are_posterior_means_unless_the_data_refute_them(data, monkeypatch):
    model = ngmca.NGMCA(3, posterior=True, domain="direct", n_init=1).fit(data.Y)
    np.testing.assert_array_equal(model.components_, model.posterior_.S.mean)
    whole = sampling.posterior
    monkeypatch.setattr(sampling, "posterior", lambda *a, **b: replace(whole(*a, **b), refuted=True))
    refuted = clone(model).fit(data.Y)
    assert refuted.posterior_.refuted
    np.testing.assert_array_equal(refuted.components_, refuted.separation_.S)
    W = ngmca.NGMCA(3, domain="direct", n_init=1).fit_transform(data.Y)
    np.testing.assert_array_equal(refuted.transform(data.Y), W)


def test_it_works_in_a_pipeline(data):
    pipeline = make_pipeline(
        FunctionTransformer(lambda X: X - X.min()),
        ngmca.NGMCA(3, method=ngmca.Soft(n_iter=20), n_init=1),
    )
    assert pipeline.fit_transform(data.Y).shape == (30, 3)


def test_more_components_than_samples_warn_once(data):
    with pytest.warns(UserWarning, match="r=3 sources are more than the 2 measurements") as record:
        ngmca.NGMCA(3, method=ngmca.Soft(n_iter=5), n_init=1).fit(data.Y[:2])
    assert len(record) == 1


def test_too_many_components_are_explained(data):
    with pytest.raises(ValueError, match=r"n_components=61 .* use at most 60"):
        ngmca.NGMCA(61, n_init=1).fit(data.Y)
    with pytest.raises(ValueError, match="tau"):
        ngmca.NGMCA(3, method=ngmca.Soft(tau=-1), n_init=1).fit(data.Y)


def holed(Y, share=0.2, seed=3):
    return np.where(np.random.default_rng(seed).random(Y.shape) < share, np.nan, Y)


def test_rows_with_gaps_are_solved_on_what_was_observed(data):
    X = holed(data.Y)
    X[4] = np.nan  # nothing is known of it
    model = ngmca.NGMCA(3, n_init=1)
    with pytest.warns(UserWarning, match="measurement 4 has no observed entries"):
        W = model.fit_transform(X)
    assert ngmca.evaluate(data.S, model.components_).mean_sdr > 15
    np.testing.assert_array_equal(W[4], 0)
    np.testing.assert_allclose(model.transform(X), W, rtol=1e-8, atol=1e-8)
    for row, weights in zip(X, W, strict=True):
        seen = ~np.isnan(row)
        S = model.components_[:, seen]
        expected = nnls(S.T, row[seen])[0] if seen.any() else np.zeros(3)
        np.testing.assert_allclose(weights, expected, rtol=1e-6, atol=1e-8)
    rest = np.nansum((X - W @ model.components_) ** 2)
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(rest))
    masked = np.ma.masked_invalid(X)
    np.testing.assert_array_equal(model.transform(masked), model.transform(X))


def test_infinity_is_refused_still(data):
    with pytest.raises(ValueError, match="infinity"):
        ngmca.NGMCA(3, n_init=1).fit(np.where(data.Y.max() == data.Y, np.inf, data.Y))


def test_levels_of_channels_weigh_the_fit_of_new_rows(data):
    levels = np.where(np.arange(60) < 30, 0.01, 1.0)
    model = ngmca.NGMCA(3, noise=levels, n_init=1).fit(data.Y)
    rng = np.random.default_rng(1)
    new = rng.random((5, 3)) @ model.components_ + levels * rng.standard_normal((5, 60))
    for row, weights in zip(new, model.transform(new), strict=True):
        expected = nnls(model.components_.T / levels[:, None], row / levels)[0]
        np.testing.assert_allclose(weights, expected, rtol=1e-6, atol=1e-9)


def test_a_closure_holds_for_new_rows(data):
    A = data.A / data.A.sum(axis=1, keepdims=True)
    model = ngmca.NGMCA(3, constraints=[ngmca.Closure()], n_init=1)
    W = model.fit_transform(A @ data.S + data.noise / 30)
    np.testing.assert_allclose(W.sum(axis=1), 1)
    np.testing.assert_allclose(model.transform(data.Y[:4]).sum(axis=1), 1)
    totals = ngmca.NGMCA(
        3, method=ngmca.Soft(n_iter=20), constraints=[ngmca.Closure(np.full(30, 2.0))], n_init=1
    ).fit(data.Y)
    with pytest.raises(ValueError, match=r"Closure needs one total, or one for each measurement \(4\)"):
        totals.transform(data.Y[:4])


@pytest.mark.parametrize("closure", [[], [ngmca.Closure()]], ids=["free", "closed"])
def test_a_background_is_fitted_and_dropped(data, closure):
    A = data.A / data.A.sum(axis=1, keepdims=True)
    hills = np.outer(np.linspace(1, 3, 30), ngmca.backgrounds.polynomial(60)[1]) * data.S.max()
    model = ngmca.NGMCA(3, constraints=[*closure, ngmca.Baseline("polynomial")], n_init=1).fit(
        A @ data.S + hills
    )
    assert ngmca.evaluate(data.S, model.components_).mean_sdr > 10
    W = np.array([[0.2, 0.3, 0.5], [1, 0, 0]])
    X = W @ model.components_ + hills[:2]
    np.testing.assert_allclose(model.transform(X), W, atol=1e-4)


def test_spikes_of_new_rows_have_no_weight_if_robust(data):
    model = ngmca.NGMCA(3, robust=True, n_init=1).fit(data.Y)
    rng = np.random.default_rng(0)
    W = rng.random((6, 3))
    X = W @ model.components_ + data.noise.std() * rng.standard_normal((6, 60))
    spiked = X.copy()
    spiked[np.arange(6), rng.integers(0, 60, 6)] += 100 * data.noise.std()
    plain = clone(model).set_params(robust=False).fit(data.Y).transform(X)
    error = np.abs(model.transform(spiked) - plain).max()
    assert error < 0.1
    assert (
        np.abs(clone(model).set_params(robust=False).fit(data.Y).transform(spiked) - plain).max()
        > 4 * error
    )


def test_known_sources_are_components_as_they_were_given(data):
    model = ngmca.NGMCA(3, constraints=[ngmca.KnownSources(data.S[:1])], n_init=1)
    W = model.fit_transform(data.Y)
    np.testing.assert_allclose(model.components_[0], data.S[0], rtol=1e-6, atol=1e-9 * data.S.max())
    np.testing.assert_allclose(W[:, 0], data.A[:, 0], atol=0.1 * data.A[:, 0].max())


def test_counts_have_their_own_noise():
    truth = ngmca.simulate.sparse(m=30, n=60, r=3, p_S=0.3, snr=20, seed=0)
    expected = truth.A @ truth.S
    expected *= 20 / expected.mean()
    counts = np.random.default_rng(0).poisson(expected).astype(float)
    error = {}
    for noise in (None, ngmca.Counts()):
        model = ngmca.NGMCA(3, noise=noise, n_init=1)
        fit = model.fit_transform(counts) @ model.components_
        error[noise] = np.linalg.norm((fit - expected) / np.sqrt(expected + 1))
    assert error[ngmca.Counts()] < 0.9 * error[None]


def test_the_number_of_components_may_be_found_out(data):
    model = ngmca.NGMCA("auto", n_init=1).fit(data.Y)
    assert model.n_components_ == model.rank_choice_.rank == len(model.components_) == 3
    assert model.rank_choice_.advice == ngmca.choose_rank(data.Y, seed=0).advice
    np.testing.assert_array_equal(model.components_, ngmca.NGMCA(3, n_init=1).fit(data.Y).components_)
    assert model.get_params()["n_components"] == clone(model).n_components == "auto"
    given = ngmca.NGMCA(2, method=ngmca.Soft(n_iter=3), n_init=1).fit(data.Y)
    assert (given.n_components_, given.rank_choice_) == (2, None)


def test_where_there_is_no_component_it_is_said(data):
    noise = np.random.default_rng(3).standard_normal((40, 50))
    with pytest.raises(ValueError, match=r"finds no source in X \(0: "):
        ngmca.NGMCA("auto", n_init=1).fit(noise)
    with pytest.raises(ValueError, match="n_components must be"):
        ngmca.NGMCA("many", n_init=1).fit(data.Y)
