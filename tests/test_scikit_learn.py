"""The estimator inside scikit-learn: pipelines, scores, searches, and metadata that follows rows."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import ngmca


@pytest.fixture(scope="module")
def data():
    return ngmca.simulate.sparse(m=30, n=150, r=3, snr=20, seed=1)


def plain(r=3, **options):
    return ngmca.NGMCA(r, n_init=1, constraints=[], domain="direct", **options)


def test_a_score_is_what_the_sources_predict_of_channels_that_were_not_fitted(data):
    model = plain().fit(data.Y)
    model.components_ = np.full((1, 150), 2.0)
    row = np.where(np.arange(150) % 2 == 0, 1.0, 3.0)[None]
    assert model.score(row) == pytest.approx(1 - 1 / 5, abs=0.01)  # predicted 2, and 1 + 9 over two
    assert model.score(np.full((3, 150), 7.0)) == 1.0
    assert model.score(-row) == 0.0  # weights are not negative
    assert model.score(0 * row) == 0.0
    both = np.vstack([np.full(150, 7.0), row])
    assert model.score(both, sample_weight=[1, 0]) == 1.0
    assert model.score(both, sample_weight=[0, 2]) == model.score(row)
    noisy = np.random.default_rng(0).standard_normal((200, 150))
    assert model.score(noisy) < 0  # what follows noise predicts worse than nothing


def test_a_score_does_not_depend_on_the_unit(data):
    model = plain().fit(data.Y)
    expected = model.score(data.Y)
    assert model.fit(1e200 * data.Y).score(1e200 * data.Y) == pytest.approx(expected, rel=1e-6)


def test_a_grid_search_finds_the_number_of_sources(data):
    """More sources fit held-out rows better if all of their channels are fitted: that is no score."""
    search = GridSearchCV(plain(), {"n_components": [2, 3, 4, 5]}, cv=5).fit(data.Y)
    assert search.best_params_ == {"n_components": 3}
    held, fitted = data.Y[::5], np.delete(data.Y, slice(0, None, 5), axis=0)
    models = [plain(r).fit(fitted) for r in (3, 5)]
    rest = [np.linalg.norm(held - model.transform(held) @ model.components_) for model in models]
    assert rest[1] < rest[0]
    assert models[1].score(held) < models[0].score(held)


def test_a_background_predicts_too():
    mixture = ngmca.simulate.spectra(m=20, n=300, r=2, snr=30, seed=0)
    bent = mixture.Y + np.outer(1 + np.arange(20) / 20, mixture.Y.max() * np.linspace(1, 2, 300) ** 2)
    model = ngmca.NGMCA(2, n_init=1, constraints=[ngmca.Baseline("splines")]).fit(bent)
    assert model.score(bent) > 0.99
    assert plain(2).fit(mixture.Y).score(bent) < 0.9


def test_of_few_channels_one_at_a_time_is_predicted():
    model = plain(1).fit(np.ones((5, 3)))
    assert model.score(np.ones((5, 3))) == pytest.approx(1)
    assert model.score([[1, 1, 4]]) == pytest.approx(1 - (1.5**2 + 1.5**2 + 3**2) / 18)
    with pytest.raises(ValueError, match="X has one channel: a score needs two or more"):
        plain(1).fit(np.ones((5, 1))).score(np.ones((5, 1)))


def test_masks_follow_their_rows_through_a_search_and_a_pipeline(data):
    mask = np.zeros(data.Y.shape, dtype=bool)
    mask[4, 20:40] = mask[17, 90:120] = True
    spoilt = np.where(mask, 1e3, data.Y)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = plain().set_fit_request(mask=True).set_score_request(mask=True)
        pipeline = make_pipeline(FunctionTransformer(), asking)
        search = GridSearchCV(pipeline, {"ngmca__n_components": [2, 3]}, cv=3)
        found = search.fit(spoilt, mask=mask)
        scores = found.cv_results_["mean_test_score"]
        assert found.score(spoilt, mask=mask) > 0.98
    assert scores[1] > 0.97
    assert found.best_params_ == {"ngmca__n_components": 3}
    wrong = cross_validate(plain(), spoilt, cv=3)["test_score"]
    assert wrong.mean() < 0.5  # without the mask


def test_a_mask_is_the_same_as_nan(data):
    mask = np.random.default_rng(0).random(data.Y.shape) < 0.05
    gaps = np.where(mask, np.nan, data.Y)
    one, other = plain(), plain()
    np.testing.assert_array_equal(one.fit_transform(data.Y, mask=mask), other.fit_transform(gaps))
    np.testing.assert_array_equal(one.transform(data.Y, mask=mask), other.transform(gaps))
    assert one.score(data.Y, mask=mask) == other.score(gaps)
    with pytest.raises(ValueError, match="mask"):
        one.score(data.Y, mask=mask[:3])


def test_noise_of_entries_follows_its_rows(data):
    """A third of the rows is ten times as noisy: known levels weigh the fit, and the score."""
    rng = np.random.default_rng(0)
    levels = np.full(data.Y.shape, 0.05)
    levels[::3, :75] = 1.0
    X = data.A @ data.S + levels * rng.standard_normal(levels.shape)
    given = clone(plain(noise=levels)).fit(X)
    np.testing.assert_array_equal(plain().fit(X, noise=levels).components_, given.components_)
    with sklearn.config_context(enable_metadata_routing=True):
        model = plain().set_fit_request(noise=True).set_score_request(noise=True)
        known = cross_validate(model, X, cv=3, params={"noise": levels})["test_score"]
    assert known.mean() > cross_validate(plain(), X, cv=3)["test_score"].mean() + 0.1


def test_names_and_labels_come_out_of_a_pipeline(data):
    table = pd.DataFrame(data.Y, index=[f"tube {i}" for i in range(30)])
    table.columns = [f"{x} nm" for x in range(150)]
    pipeline = make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), plain())
    found = pipeline.set_output(transform="pandas").fit_transform(table)
    assert list(found.index) == list(table.index)
    assert (
        list(pipeline.get_feature_names_out()) == list(found.columns) == ["ngmca0", "ngmca1", "ngmca2"]
    )


def test_a_notebook_shows_the_parameters(data):
    page = plain().set_params(constraints=[ngmca.Unimodal()])._repr_html_()
    assert "NGMCA" in page
    assert "Unimodal" in page
