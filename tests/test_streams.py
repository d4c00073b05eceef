"""Streams, data that stay where they are behind the scikit-learn face, sources on disk, some columns."""

import pickle

import numpy as np
import pytest
import zarr
from task_options import records

import ngmca
from ngmca.algorithms import Options
from ngmca.algorithms.streaming import Stream
from ngmca.engines import open_data, opening

R = 3


def stream(rows, n=80, seed=0, noise=0.05, r=R, share=0.3):
    rng = np.random.default_rng(5)
    S = rng.exponential(size=(r, n)) * (rng.random((r, n)) < share)
    rng = np.random.default_rng(seed)
    return rng.random((rows, r)) @ S + noise * rng.standard_normal((rows, n)), S


PAPER = ngmca.Soft(n_iter=300)  # without the last iterations, which a stream does not have


def sdr(S, found):
    return ngmca.evaluate(S, found).mean_sdr


def test_a_stream_comes_to_what_all_of_it_at_once_says():
    Y, S = stream(3000)
    model = ngmca.NGMCA(R, n_init=1)
    qualities = []
    for batch in np.array_split(Y, 30):
        model.partial_fit(batch)
        qualities.append(sdr(S, model.components_))
    whole = sdr(S, ngmca.NGMCA(R, method=PAPER, domain="direct", n_init=1).fit(Y).components_)
    assert model.n_iter_ == 30
    assert qualities[-1] > qualities[0] + 3  # it learns all along
    assert qualities[-1] > whole - 1
    assert 0.04 < model.stream_.noise < 0.06
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)


def test_what_the_first_batch_mixed_up_does_not_stay():
    Y, S = stream(2000, n=150, noise=0.1, r=5, share=0.2)
    whole = sdr(S, ngmca.NGMCA(5, method=PAPER, domain="direct", n_init=1).fit(Y).components_)
    model = ngmca.NGMCA(5, n_init=1)
    for batch in np.array_split(Y, 20):
        model.partial_fit(batch)
    assert sdr(S, model.components_) > whole - 2


def test_a_stream_keeps_few_numbers_and_goes_on_to_the_same_bits_after_pickling():
    Y, _ = stream(1000)
    model, sizes = ngmca.NGMCA(R, n_init=1), set()
    for batch in np.array_split(Y, 10):
        model.partial_fit(batch)
        sizes.add(len(pickle.dumps(model.stream_)))
    copy = pickle.loads(pickle.dumps(model)).partial_fit(Y[:100])
    np.testing.assert_array_equal(copy.components_, model.partial_fit(Y[:100]).components_)
    assert max(sizes) < 1.01 * min(sizes)
    assert model.stream_.counts.sum() == 1100
    np.testing.assert_allclose(model.stream_.sums.sum(axis=0), Y.sum(axis=0) + Y[:100].sum(axis=0))


def test_what_changes_is_followed_by_those_who_forget():
    before, _ = stream(600)
    rng = np.random.default_rng(9)
    S = rng.exponential(size=(R, 80)) * (rng.random((R, 80)) < 0.3)
    after = rng.random((900, R)) @ S + 0.05 * rng.standard_normal((900, 80))
    found = {}
    for forgetting in (1.0, 0.7):
        model = ngmca.NGMCA(R, forgetting=forgetting, n_init=1)
        for batch in [*np.array_split(before, 6), *np.array_split(after, 18)]:
            model.partial_fit(batch)
        found[forgetting] = sdr(S, model.components_)
    assert found[0.7] > max(found[1.0] + 3, 35)


def test_a_fit_ends_a_stream_and_the_next_batch_begins_another():
    before, _ = stream(300)
    rng = np.random.default_rng(9)
    S = rng.exponential(size=(R, 60)) * (rng.random((R, 60)) < 0.3)
    other = rng.random((300, R)) @ S + 0.05 * rng.standard_normal((300, 60))
    model = ngmca.NGMCA(R, n_init=1).partial_fit(before).fit(other[:150])
    assert not hasattr(model, "stream_")
    model.partial_fit(other[150:])
    alone = ngmca.NGMCA(R, n_init=1).partial_fit(other[150:])
    np.testing.assert_array_equal(model.components_, alone.components_)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("changed", [R + 1, "auto"])
def test_a_stream_keeps_its_number_of_components_and_its_width(changed):
    Y, _ = stream(200)
    model = ngmca.NGMCA(R, n_init=1).partial_fit(Y[:100])
    learnt = model.components_
    with pytest.raises(ValueError, match="is expecting 80 features"):
        model.partial_fit(Y[100:, :79])
    with pytest.raises(ValueError, match="the stream has 3 components"):
        model.set_params(n_components=changed).partial_fit(Y[100:])
    assert model.components_ is learnt
    model.set_params(n_components=R).partial_fit(Y[100:])


def test_a_stream_whose_components_were_counted_goes_on():
    Y, _ = stream(400)
    model = ngmca.NGMCA("auto", n_init=1).partial_fit(Y[:200]).partial_fit(Y[200:])
    assert model.n_components_ == len(model.components_) == R


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        (stream(R - 1)[0], "2 rows for 3 components"),
        (np.zeros((50, 80)), "the first batch contains no signal"),
        (-stream(50, noise=0)[0], "the first batch contains no signal"),
        (np.where(np.arange(80) == 5, np.nan, stream(50)[0]), "NaN|missing"),
    ],
    ids=["few rows", "zeros", "negative", "missing"],
)
def test_a_first_batch_that_no_stream_can_begin_with_is_refused_and_another_begins_it(batch, told):
    model = ngmca.NGMCA(R, n_init=1)
    with pytest.raises(ValueError, match=told):
        model.partial_fit(batch)
    assert not hasattr(model, "separation_")
    Y, _ = stream(100)
    expected = ngmca.NGMCA(R, n_init=1).partial_fit(Y).components_
    np.testing.assert_array_equal(model.partial_fit(Y).components_, expected)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units_of_a_stream_do_not_matter(unit):
    Y, _ = stream(300)
    plain, scaled = (ngmca.NGMCA(R, n_init=1) for _ in range(2))
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
        ngmca.NGMCA(R, **records(**options)).partial_fit(stream(50)[0])


def test_methods_without_streams_have_no_partial_fit():
    assert not hasattr(ngmca.NGMCA(R, method="hard", n_init=1), "partial_fit")
    assert not hasattr(ngmca.NGMCA(R, method="hals", n_init=1), "partial_fit")
    assert hasattr(ngmca.NGMCA(R, method="anls", n_init=1), "partial_fit")


def test_transform_of_a_stream_is_that_of_its_rows():
    Y, _ = stream(400)
    model = ngmca.NGMCA(R, domain="direct", n_init=1).fit(Y[:200])
    parts = model.transform_blocks(Y[i : i + 90] for i in range(0, 400, 90))
    np.testing.assert_allclose(np.concatenate(list(parts)), model.transform(Y), rtol=1e-9, atol=1e-12)


def test_data_on_disk_are_not_brought_into_memory(monkeypatch, tmp_path):
    Y, _ = stream(400)
    stored = zarr.create_array(tmp_path / "Y.zarr", shape=Y.shape, dtype=float, chunks=(50, 80))
    stored[...] = Y
    expected = ngmca.NGMCA(R, domain="direct", n_init=1)
    weights = expected.fit_transform(Y)
    monkeypatch.setattr(opening, "memory_left", lambda: 4000)
    monkeypatch.setattr(type(stored), "__array__", lambda *_: pytest.fail("read whole"))
    model = ngmca.NGMCA(R, domain="direct", n_init=1)
    np.testing.assert_allclose(model.fit_transform(stored), weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.transform(stored), weights, rtol=1e-9, atol=1e-12)
    assert model.n_features_in_ == 80
    np.testing.assert_allclose(model.reconstruction_err_, expected.reconstruction_err_)
    with pytest.raises(ValueError, match="features"):
        model.transform(zarr.array(Y[:, :-1]))


def test_sources_are_put_on_disk(tmp_path):
    Y = stream(30, n=5000)[0]
    expected = ngmca.separate(Y, R, method=ngmca.Soft(n_iter=10), domain="direct", n_init=1)
    found = ngmca.separate(
        Y, R, method=ngmca.Soft(n_iter=10), domain="direct", out=tmp_path / "S.zarr", n_init=1
    )
    assert isinstance(found.S, zarr.Array)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "S.zarr")[...], expected.S)
    assert [path.name for path in tmp_path.iterdir()] == ["S.zarr"]
    target = np.zeros((R, 5000))
    assert (
        ngmca.separate(Y, R, method=ngmca.Soft(n_iter=10), domain="direct", out=target, n_init=1).S
        is target
    )
    np.testing.assert_array_equal(target, expected.S)


def test_a_place_that_is_taken_is_told_before_anything_is_computed(tmp_path):
    Y = stream(30, n=500)[0]
    (tmp_path / "S.zarr").mkdir()
    with pytest.raises(FileExistsError, match="choose another name"):
        ngmca.separate(Y, R, out=tmp_path / "S.zarr", n_init=1)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        ngmca.separate(Y, R, out=tmp_path / "none" / "S.zarr", n_init=1)
    with pytest.raises(ValueError, match=r"shape \(3, 500\)"):
        ngmca.separate(Y, R, out=np.zeros((2, 2)), n_init=1)


def test_the_posterior_of_some_columns():
    Y, S = stream(40, n=4000, noise=0.1)
    found = ngmca.separate(Y, R, domain="direct", n_init=1)
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


@pytest.mark.parametrize("n", [600, 4000])
def test_a_few_named_columns_have_the_means_and_spreads_that_all_of_them_give(n):
    Y, _ = stream(40, n=n, noise=0.1)
    found = ngmca.separate(Y, R, domain="direct", n_init=1)
    named = np.array([0, 1, n // 2, n - 1])
    whole = ngmca.posterior(Y, found, n_samples=200, seed=0)
    few = ngmca.posterior(Y, found, columns=named, n_samples=200, seed=0)
    np.testing.assert_array_equal(few.columns, named)
    assert few.S.mean.shape == few.S.active.shape == (R, 4)
    spread = whole.S.sd[:, named]
    assert 0.8 < np.median(few.S.sd / spread) < 1.25
    assert (np.abs(few.S.mean - whole.S.mean[:, named]) < 0.3 * spread).all()
    wider = max(1, n / 1024) ** 0.5  # as so many columns tell of the mixing
    assert 0.8 < np.median(few.A.sd / whole.A.sd) / wider < 1.25


def test_noise_of_samples_and_of_entries_is_that_of_the_columns():
    n = 1500
    levels = np.where(np.arange(n) < n // 2, 0.02, 0.4)
    rng = np.random.default_rng(5)
    S = rng.exponential(size=(R, n)) * (rng.random((R, n)) < 0.5)
    S[:, n // 4 : n // 4 + 2] = S[:, 3 * n // 4 : 3 * n // 4 + 2] = 3.0
    Y = rng.random((40, R)) @ S + levels * rng.standard_normal((40, n))
    found = ngmca.separate(Y, R, domain="direct", noise=levels, n_init=1)
    named = np.array([n // 4, n // 4 + 1, 3 * n // 4, 3 * n // 4 + 1])
    quiet, entries = (
        ngmca.posterior(Y, found, columns=named, noise=given, n_samples=40, seed=0).S.sd
        for given in (levels, np.tile(levels, (40, 1)))
    )
    np.testing.assert_allclose(quiet, entries, rtol=0.3)
    assert quiet[:, 2:].min() > 3 * quiet[:, :2].max()


@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_as_many_columns_as_measurements_keep_their_own_noise():
    Y, _ = stream(64, n=2000, noise=0.1)
    levels = np.where(np.arange(2000) < 1000, 0.05, 0.2)
    found = ngmca.separate(Y, R, domain="direct", n_init=1)
    samples, entries = (
        ngmca.posterior(Y, found, columns=64, noise=given, n_samples=20, seed=0).S.sd
        for given in (levels, np.tile(levels, (64, 1)))
    )
    assert samples.shape == (R, 64)
    np.testing.assert_allclose(samples, entries, rtol=1e-6)


def test_some_columns_of_data_with_gaps_are_refused():
    Y, _ = stream(40, n=300)
    found = ngmca.separate(Y, R, domain="direct", n_init=1)
    Y[3, 7] = np.nan
    with pytest.raises(ValueError, match="missing entries"):
        ngmca.posterior(Y, found, columns=64)


def test_earlier_rows_count_less_when_the_threshold_is_to_fall_again():
    """Half of 4 rows, and 4: less than half of the 16 that count."""
    Y, S = stream(48)
    known = Stream.begun(S)
    for batch in (Y[:40], Y[40:44], Y[44:]):
        known = known.after(open_data(batch), Options(), 0.5)
    assert known.counts.sum() == pytest.approx(16)
    assert known.new == 6
