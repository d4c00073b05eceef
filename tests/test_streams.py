"""Streams, data that stay where they are behind the scikit-learn face, sources on disk, some columns."""

import numpy as np
import pytest
import zarr

import ngmca
from ngmca.data import opening

R = 3


def stream(rows, n=80, seed=0, noise=0.05):
    rng = np.random.default_rng(5)
    S = rng.exponential(size=(R, n)) * (rng.random((R, n)) < 0.3)
    rng = np.random.default_rng(seed)
    return rng.random((rows, R)) @ S + noise * rng.standard_normal((rows, n)), S


def sdr(S, found):
    return ngmca.evaluate(S, found).mean_sdr


def test_a_stream_comes_to_what_all_of_it_at_once_says():
    Y, S = stream(3000)
    model = ngmca.NGMCA(R, random_state=0)
    qualities = []
    for batch in np.array_split(Y, 30):
        model.partial_fit(batch)
        qualities.append(sdr(S, model.components_))
    whole = sdr(S, ngmca.NGMCA(R, domain="direct", random_state=0).fit(Y).components_)
    assert model.n_iter_ == 30
    assert qualities[-1] > qualities[0] + 3  # it learns all along
    assert qualities[-1] > whole - 2.5
    assert 0.04 < model.stream_.noise < 0.06
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)


def test_what_changes_is_followed_by_those_who_forget():
    before, _ = stream(600)
    rng = np.random.default_rng(9)
    S = rng.exponential(size=(R, 80)) * (rng.random((R, 80)) < 0.3)
    after = rng.random((900, R)) @ S + 0.05 * rng.standard_normal((900, 80))
    found = {}
    for forgetting in (1.0, 0.7):
        model = ngmca.NGMCA(R, forgetting=forgetting, random_state=0)
        for batch in [*np.array_split(before, 6), *np.array_split(after, 18)]:
            model.partial_fit(batch)
        found[forgetting] = sdr(S, model.components_)
    assert found[0.7] > found[1.0] + 3


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units_of_a_stream_do_not_matter(unit):
    Y, _ = stream(300)
    plain, scaled = (ngmca.NGMCA(R, random_state=0) for _ in range(2))
    for batch in np.array_split(Y, 3):
        plain.partial_fit(batch)
        scaled.partial_fit(batch * unit)
    np.testing.assert_allclose(scaled.components_, plain.components_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(scaled.transform(Y[:5] * unit), plain.transform(Y[:5]) * unit, rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [{"domain": "wavelet"}, {"noise": 1.0}, {"robust": True}, {"forgetting": 0.0}, {"penalised": "A"}],
    ids=str,
)
def test_what_a_stream_would_not_heed_is_refused(options):
    with pytest.raises(ValueError, match=r"partial_fit|forgetting"):
        ngmca.NGMCA(R, **options).partial_fit(stream(50)[0])


def test_methods_without_streams_have_no_partial_fit():
    assert not hasattr(ngmca.NGMCA(R, method="hard"), "partial_fit")
    assert not hasattr(ngmca.NGMCA(R, method="hals"), "partial_fit")
    assert hasattr(ngmca.NGMCA(R, method="anls"), "partial_fit")


def test_transform_of_a_stream_is_that_of_its_rows():
    Y, _ = stream(400)
    model = ngmca.NGMCA(R, domain="direct", random_state=0).fit(Y[:200])
    parts = model.transform_blocks(Y[i : i + 90] for i in range(0, 400, 90))
    np.testing.assert_allclose(np.concatenate(list(parts)), model.transform(Y), rtol=1e-9, atol=1e-12)


def test_data_on_disk_are_not_brought_into_memory(monkeypatch, tmp_path):
    Y, _ = stream(400)
    stored = zarr.create_array(tmp_path / "Y.zarr", shape=Y.shape, dtype=float, chunks=(50, 80))
    stored[...] = Y
    expected = ngmca.NGMCA(R, domain="direct", random_state=0)
    weights = expected.fit_transform(Y)
    monkeypatch.setattr(opening, "WHOLE", 1000)
    monkeypatch.setattr(type(stored), "__array__", lambda *_: pytest.fail("read whole"))
    model = ngmca.NGMCA(R, domain="direct", random_state=0)
    np.testing.assert_allclose(model.fit_transform(stored), weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.transform(stored), weights, rtol=1e-9, atol=1e-12)
    assert model.n_features_in_ == 80
    np.testing.assert_allclose(model.reconstruction_err_, expected.reconstruction_err_)
    with pytest.raises(ValueError, match="features"):
        model.transform(zarr.array(Y[:, :-1]))


def test_sources_are_put_on_disk(tmp_path):
    Y = stream(30, n=5000)[0]
    expected = ngmca.separate(Y, R, seed=0, domain="direct", n_iter=10)
    found = ngmca.separate(Y, R, seed=0, domain="direct", n_iter=10, out=tmp_path / "S.zarr")
    assert isinstance(found.S, zarr.Array)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "S.zarr")[...], expected.S)
    assert [path.name for path in tmp_path.iterdir()] == ["S.zarr"]
    target = np.zeros((R, 5000))
    assert ngmca.separate(Y, R, seed=0, domain="direct", n_iter=10, out=target).S is target
    np.testing.assert_array_equal(target, expected.S)


def test_a_place_that_is_taken_is_told_before_anything_is_computed(tmp_path):
    Y = stream(30, n=500)[0]
    (tmp_path / "S.zarr").mkdir()
    with pytest.raises(FileExistsError, match="choose another name"):
        ngmca.separate(Y, R, out=tmp_path / "S.zarr")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        ngmca.separate(Y, R, out=tmp_path / "none" / "S.zarr")
    with pytest.raises(ValueError, match=r"shape \(3, 500\)"):
        ngmca.separate(Y, R, out=np.zeros((2, 2)))


def test_the_posterior_of_some_columns():
    Y, S = stream(40, n=4000, noise=0.1)
    found = ngmca.separate(Y, R, seed=0, domain="direct")
    some = ngmca.posterior(Y, found, columns=256, n_samples=60, seed=0)
    assert some.S.mean.shape == (R, 256)
    pairs = ngmca.evaluate(S, found.S)
    assert pairs.mean_sdr > 10
    given = ngmca.posterior(Y, found, columns=np.arange(100, 300), n_samples=60, seed=0)
    np.testing.assert_array_equal(given.columns, np.arange(100, 300))
    low, high = given.S.interval(0.9)
    near = np.abs(given.S.mean - found.S[:, 100:300]) < 5 * given.S.sd + 0.2
    assert near.mean() > 0.95
    assert (low <= high).all()
    whole = ngmca.posterior(Y, found, n_samples=60, seed=0)
    assert np.median(given.A.sd) > np.median(whole.A.sd)  # it knows less of the mixing
    with pytest.raises(ValueError, match="rising order"):
        ngmca.posterior(Y, found, columns=[3, 1])
