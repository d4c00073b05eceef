"""How many sources: what was put in, and nothing of what is held out is known before."""

import warnings

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from task_options import records

import ngmca
from ngmca.answers.how_many import choose_rank as how_many
from ngmca.answers.how_many import cross_validation as held_out
from ngmca.answers.how_many import cross_validation as search_steps
from ngmca.answers.how_many import part_to_fit
from ngmca.answers.how_many.cross_validation import Fold, better_folds, most_useful, speckles
from ngmca.answers.how_many.stability import closeness
from ngmca.engines import open_data

CRITERIA = {"held_out", "singular_values", "stability"}


@pytest.fixture(scope="module")
def mixture():
    return ngmca.simulate.sparse(40, 60, 3, snr=20, seed=0)


@pytest.fixture(scope="module")
def choice(mixture):
    return ngmca.choose_rank(mixture.Y, seed=0)


def test_three_sources_are_three(choice):
    assert choice.rank == 3
    assert choice.perhaps == ()
    assert choice.advice == "3: all criteria agree."
    assert choice.criteria == dict.fromkeys(CRITERIA, 3)
    assert choice.ranks.tolist() == list(range(len(choice.ranks)))
    assert choice.held_out.shape == (5, len(choice.ranks))
    assert choice.held_out[:, 0].mean() == pytest.approx(1)
    assert choice.stability[3] > 0.95
    assert choice.stability[4] < 0.5
    assert choice.fitted_shape == (40, 60)


@pytest.mark.parametrize("r", [1, 6])
def test_other_numbers(r):
    for seed in range(2):
        Y = ngmca.simulate.sparse(40, 60, r, snr=20, seed=seed).Y
        assert ngmca.choose_rank(Y, folds=3, seed=seed).rank == r


def leaking(values, hidden):
    """What a fit would be told that is trained on what it is tested by."""
    return values


def best_by_prediction(Y):
    return ngmca.choose_rank(Y, 8, folds=3, seed=0).criteria["held_out"]


def test_a_leak_would_be_seen(mixture, monkeypatch):
    """The error of what is held out is least at the truth; that of what was shown falls on and on."""
    assert best_by_prediction(mixture.Y) == 3
    monkeypatch.setattr(held_out, "shown", leaking)
    monkeypatch.setattr(search_steps, "PATIENCE", 8)
    assert best_by_prediction(mixture.Y) > 5


@pytest.mark.parametrize("noise", [None, np.linspace(0.5, 2, 60)[None], ngmca.Counts(0.5, 0.1)])
def test_nothing_of_a_hidden_entry_enters_its_fit(mixture, noise):
    """Hidden entries of any other value lead to the same factors, to the bit."""
    hidden = speckles(np.ones(mixture.Y.shape, dtype=bool), 5, np.random.default_rng(0)) == 2
    assert 0.05 < hidden.mean() < 0.15
    others = np.where(hidden, 1000 - 50 * mixture.Y, mixture.Y)
    folds = [Fold.of(Y, hidden, noise) for Y in (mixture.Y, others)]
    fits = [fold.with_one_more(fold.with_one_more(fold.nothing())) for fold in folds]
    np.testing.assert_array_equal(fits[0].A, fits[1].A)
    np.testing.assert_array_equal(fits[0].S, fits[1].S)
    np.testing.assert_array_equal(folds[0].scale, folds[1].scale)
    assert folds[1].error(fits[1]) > 100 * folds[0].error(fits[0])


def test_errors_are_those_of_hidden_entries_in_units_of_their_noise(mixture):
    hidden = speckles(np.ones(mixture.Y.shape, dtype=bool), 5, np.random.default_rng(0)) == 0
    levels = np.linspace(1, 4, 40)[:, None]
    fold = Fold.of(mixture.Y, hidden, levels)
    found = fold.with_one_more(fold.nothing())
    relative = levels / np.exp(np.log(levels).mean())
    rest = (mixture.Y - found.A @ found.S * fold.back) / relative
    assert fold.error(found) == pytest.approx(np.mean(rest[hidden] ** 2))
    assert fold.error(fold.nothing()) == pytest.approx(np.mean((mixture.Y / relative)[hidden] ** 2))


def test_every_fold_hides_a_tenth_and_none_twice():
    observed = np.random.default_rng(1).random((50, 200)) < 0.7
    labels = speckles(observed, 5, np.random.default_rng(0))
    assert (labels[~observed] == -1).all()
    for fold in range(5):
        assert 0.08 < np.mean(labels[observed] == fold) < 0.12
    many = speckles(np.ones((50, 200), dtype=bool), 20, np.random.default_rng(0))
    assert set(np.unique(many)) == set(range(20))


def test_the_fewest_sources_within_one_standard_error():
    errors = np.array(
        [[1.0, 0.5, 0.40, 0.39, 0.5], [1.0, 0.5, 0.40, 0.41, 0.5], [1.0, 0.5, 0.40, 0.39, 0.5]]
    )
    assert most_useful(errors) == 2  # the third is better on average, by less than its error
    assert better_folds(errors).tolist() == [0, 3, 3, 2, 0]
    errors[1, 3] = 0.39
    assert most_useful(errors) == 3
    tiny = np.array([[1.0, 1e-12, 1e-13], [1.0, 1e-12, 1e-13]])  # rounding errors are no source
    assert most_useful(tiny) == 1
    assert better_folds(tiny).tolist() == [0, 2, 0]


def test_closeness_is_to_itself_against_the_others():
    S = np.eye(3, 6)
    np.testing.assert_allclose(closeness(S, 5 * S[[2, 0, 1]]), 1)
    np.testing.assert_allclose(closeness(S, np.eye(3, 6, k=3)), 0)  # other sources altogether
    alike = np.array([[1.0, 0.01, 0.0], [1.0, 0.0, 0.01]])  # one as close as the other
    assert closeness(alike, alike + 0.01 * np.eye(3)[[2, 1]]).max() < 0.6
    assert closeness(S[:1], S[:1] + S[1:2]) == pytest.approx(np.sqrt(0.5))
    assert closeness(np.zeros((2, 4)), np.eye(2, 4)).max() <= 0


def test_noise_alone_has_no_source():
    found = ngmca.choose_rank(np.random.default_rng(3).standard_normal((40, 50)), seed=0)
    assert found.rank == 0
    assert found.advice.startswith("0: ")


def test_zeros_have_no_source_either():
    assert ngmca.choose_rank(np.zeros((9, 12))).advice == "0: all entries are 0."


def test_data_without_noise():
    for r in (1, 4):
        found = ngmca.choose_rank(ngmca.simulate.sparse(20, 40, r, seed=0).Y, 5, folds=3, seed=0)
        assert found.rank == r
    assert ngmca.choose_rank(np.ones((20, 30)), 3, seed=0).rank == 1
    assert ngmca.choose_rank(np.arange(600).reshape(20, 30) % 7 == 0, 3, seed=0).rank >= 1  # booleans


def test_noise_that_is_not_white_is_told_and_fools_one_witness_at_most():
    mixture = ngmca.simulate.sparse(40, 80, 3, snr=30, seed=0)
    unequal = mixture.noise * np.geomspace(1, 30, 40)[:, None] / 10
    smooth = gaussian_filter1d(mixture.noise, 2.0, axis=1) * 3
    for noise in (unequal, smooth):
        found = ngmca.choose_rank(mixture.Y - mixture.noise + noise, 6, seed=0)
        assert found.rank == 3
        assert found.criteria["singular_values"] > 6
        cause = "more than the 6 that were tried: the noise may not be white"
        assert f"singular values suggest {found.criteria['singular_values']} ({cause})" in found.advice


def test_levels_that_are_known_make_it_white(mixture):
    levels = np.geomspace(0.1, 3, 40)
    Y = mixture.Y - mixture.noise + levels[:, None] * np.random.default_rng(0).standard_normal((40, 60))
    assert ngmca.choose_rank(Y, 6, seed=0).criteria["singular_values"] > 3
    found = ngmca.choose_rank(Y, 6, noise=levels, seed=0)
    assert found.advice == "3: all criteria agree."


def test_counts():
    clean = ngmca.simulate.sparse(30, 80, 3, seed=2).Y * 20
    Y = np.random.default_rng(0).poisson(clean)
    assert ngmca.choose_rank(Y, 6, noise="poisson", seed=0).rank == 3


def test_missing_entries(mixture):
    gone = np.random.default_rng(0).random(mixture.Y.shape) < 0.2
    gone[7], gone[:, 9] = True, True  # a measurement and a channel, altogether
    as_nan = ngmca.choose_rank(np.where(gone, np.nan, mixture.Y), 4, folds=3, seed=0)
    assert as_nan.rank == 3
    assert as_nan.fitted_shape == (39, 60)
    for given in ({"Y": mixture.Y, "mask": gone}, {"Y": np.ma.array(mixture.Y, mask=gone)}):
        found = ngmca.choose_rank(max_rank=1, folds=3, seed=0, **given)
        np.testing.assert_array_equal(found.held_out, as_nan.held_out[:, :2])


def test_the_search_that_ended_early_is_not_laid_on_the_noise():
    Y = ngmca.simulate.sparse(40, 80, 6, snr=30, seed=0).Y
    found = ngmca.choose_rank(Y, 2, folds=3, seed=0)
    assert found.advice.startswith("2 or more: ")
    assert "singular values suggest 6 (more than the 2 that were tried)" in found.advice
    gone = np.random.default_rng(0).random(Y.shape) < 0.2
    found = ngmca.choose_rank(np.where(gone, np.nan, Y), 7, folds=3, seed=0)
    assert found.rank == 6
    assert found.criteria["singular_values"] > 7
    assert (
        f"suggest {found.criteria['singular_values']} (missing entries may make this number too large)"
        in found.advice
    )


@pytest.fixture(scope="module")
def bands():
    return ngmca.simulate.spectra(30, 200, 4, snr=30, seed=0)


@pytest.mark.parametrize("places", [[(7, 150)], [(3, 0), (7, 150), (20, 199)]])
def test_spikes_do_not_count(bands, places):
    plain = ngmca.choose_rank(bands.Y, 4, folds=3, seed=0)
    assert "spike" not in plain.advice
    Y = bands.Y.copy()
    Y[tuple(np.transpose(places))] += 5 * bands.Y.max()
    gone = np.arange(200) % 50 - 3 == np.zeros((30, 1))
    told = ". 1 spike was left out." if len(places) == 1 else ". 3 spikes were left out."
    for unit, mask in ((1.0, None), (2.0**-600, gone)):
        found = ngmca.choose_rank(Y * unit, 5, mask=mask, folds=3, seed=0)
        assert found.rank == 4
        assert found.advice.endswith(told)
        if mask is None:
            assert found.criteria["singular_values"] <= 5  # straight lines take their place
            assert found.singular_values[0] == pytest.approx(plain.singular_values[0], rel=0.01)


def test_spikes_in_zeros():
    Y = np.zeros((9, 12))
    Y[4, 5] = 1.0
    assert ngmca.choose_rank(Y).advice == "0: all entries are 0. 1 spike was left out."


def test_units_threads_and_precision_do_not_matter(mixture, choice):
    for unit in (2.0**600, 2.0**-600):
        found = ngmca.choose_rank(mixture.Y * unit, 2, seed=0)
        np.testing.assert_array_equal(found.held_out, choice.held_out[:, :3])
        assert found.edge == pytest.approx(choice.edge * unit)
    for other in (mixture.Y.astype(np.float32), mixture.Y.tolist(), open_data(mixture.Y)):
        found = ngmca.choose_rank(other, 2, seed=0)
        np.testing.assert_allclose(found.held_out, choice.held_out[:, :3], rtol=1e-3)
    one = ngmca.choose_rank(mixture.Y, seed=np.random.SeedSequence(0), threads=1)
    np.testing.assert_array_equal(one.held_out, choice.held_out)
    np.testing.assert_array_equal(one.stability, choice.stability)


def test_of_large_data_a_part_is_predicted(monkeypatch):
    Y = ngmca.simulate.sparse(60, 900, 3, snr=20, seed=0).Y
    found = ngmca.choose_rank(Y, 5, entries=6000, seed=0)
    assert found.fitted_shape == (60, 100)
    assert found.rank == 3
    assert ngmca.choose_rank(Y.T, 4, entries=2500, noise=np.ones(900), seed=0).fitted_shape == (50, 50)
    assert ngmca.choose_rank(Y[:, :300], 1, seed=0).fitted_shape == (60, 300)
    monkeypatch.setattr(part_to_fit, "FITTED_ENTRIES", 500)
    assert ngmca.choose_rank(Y, 1, seed=0).fitted_shape == (58, 58)  # a sixteenth


def test_the_search_may_end_too_early(mixture):
    found = ngmca.choose_rank(mixture.Y, 2, seed=0)
    assert found.rank == 2
    assert found.advice.startswith(
        "2 or more: the search stopped there, the second source improves the prediction in 5 of 5 folds"
    )


def test_what_is_wrong_is_said(mixture):
    with pytest.raises(
        ValueError,
        match="max_rank=40 is too large for 40 measurements x 60 channels: use at most 31",
    ):
        ngmca.choose_rank(mixture.Y, 40)
    with pytest.raises(ValueError, match="too small to choose"):
        ngmca.choose_rank(mixture.Y[:1])
    with pytest.raises(ValueError, match=r"too small to choose .* or a smaller folds than 5"):
        ngmca.choose_rank(np.ones((2, 3)))
    with pytest.raises(
        ValueError, match=r"2 measurements x 2 channels, and 4 observed .* channels, or a smaller"
    ):
        ngmca.choose_rank(np.eye(2))
    with pytest.raises(ValueError, match=r"too small to choose .* Use more measurements or channels\.$"):
        ngmca.choose_rank(np.eye(2), folds=2, seed=0)
    with pytest.raises(TypeError, match=r"Y is a Dataset: .* data\.Y"):
        ngmca.choose_rank(ngmca.io.Dataset(mixture.Y))
    with pytest.raises(ValueError, match="folds must be at least 2"):
        ngmca.choose_rank(mixture.Y, folds=1)
    with pytest.raises(ValueError, match="all entries of Y are missing"):
        ngmca.choose_rank(np.full((5, 6), np.nan))
    with pytest.raises(ValueError, match="noise must be"):
        ngmca.choose_rank(mixture.Y, noise=np.ones(7))
    with pytest.raises(TypeError, match="max_rank must be an integer"):
        ngmca.choose_rank(mixture.Y, 3.5)


def test_warnings_come_once_and_filters_stay(mixture):
    before = list(warnings.filters)
    with pytest.warns(UserWarning, match="less than 5 events") as told:
        ngmca.choose_rank(
            np.abs(mixture.Y) / np.abs(mixture.Y).max(), 1, folds=2, noise="poisson", seed=0
        )
    assert len(told) == 1
    assert warnings.filters == before


def test_the_table_and_the_picture_have_every_witness(choice):
    columns = dict(choice.table())
    assert len({len(column) for column in columns.values()}) == 1
    np.testing.assert_allclose(columns["held_out"], choice.held_out.mean(axis=0))
    assert columns["singular_value"][3] > choice.edge > columns["singular_value"][4]
    np.testing.assert_array_equal(columns["held_out_5"], choice.held_out[4])
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = choice.plot()
    titles = [panel.get_title() for panel in figure.axes]
    assert titles == ["held-out entries: 3", "singular values: 3", "stability: 3"]
    pyplot.close(figure)
    pyplot.close(ngmca.choose_rank(np.zeros((9, 12))).plot())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("baseline", "polynomial"),
        ("known_sources", np.ones((1, 60))),
        ("known_mixing", np.ones((40, 1))),
        ("zero_sources", np.zeros((3, 60), dtype=bool)),
        ("zero_mixing", np.zeros((40, 3), dtype=bool)),
        ("profiles", ["unimodal", None, None]),
    ],
)
def test_the_estimator_does_not_count_with_constraints_that_it_ignores(mixture, name, value):
    with pytest.raises(ValueError, match="sources are counted without this constraint"):
        ngmca.NGMCA("auto", **records(**{name: value})).fit(mixture.Y)


@pytest.mark.parametrize(
    "given", [{"closure": True}, {"profiles": "unimodal"}, {"penalised": "both"}, {"robust": True}]
)
def test_what_changes_no_count_may_be_given(mixture, choice, given):
    model = ngmca.NGMCA("auto", **records(n_iter=2, **given)).fit(mixture.Y)
    assert model.rank_choice_.advice == choice.advice


def test_a_robust_estimator_counts_without_spikes(bands):
    Y = bands.Y.copy()
    Y[7, 150] += 5 * bands.Y.max()
    model = ngmca.NGMCA("auto", method=ngmca.Soft(n_iter=2), robust=True, n_init=1).fit(Y)
    assert model.n_components_ == 4
    assert model.rank_choice_.advice.endswith(". 1 spike was left out.")


def test_words_for_a_number_are_refused(mixture):
    with pytest.raises(ValueError, match="must be a number of sources or 'auto', got 'many'"):
        ngmca.NGMCA("many", n_init=1).fit(mixture.Y)


def test_a_kept_search_that_went_further_than_asked_is_not_gone_on_from():
    class Memory:
        search = None

        def last(self):
            return self.search

        def keep(self, search):
            self.search = search

    Y, memory = ngmca.simulate.sparse(30, 60, 3, snr=25, seed=0).Y, Memory()
    assert ngmca.choose_rank(Y, 5, seed=0, kept=memory).rank == 3
    assert ngmca.choose_rank(Y, 2, seed=0, kept=memory).ranks.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(3))
def test_hidden_entries_that_are_all_0_give_no_nan(seed):
    Y = np.zeros((8, 20))
    Y[2, 5] = 1.0
    assert np.isfinite(ngmca.choose_rank(Y, seed=seed).held_out).all()


@pytest.mark.parametrize(
    ("edge", "stable", "expected"), [(3, 3, 3), (3, 1, 2), (2, 3, 2), (4, 4, 4), (2, 2, 2)]
)
def test_two_witnesses_that_agree_outvote_held_out_entries(edge, stable, expected):
    fall = np.array([1.0, 0.5, 0.1, 0.11, 0.12])  # held-out entries say 2
    errors = fall + 1e-4 * np.random.default_rng(0).random((5, 5))
    stability = np.array([np.nan, *(1.0 if k <= stable else 0.0 for k in range(1, 5))])
    values = np.where(np.arange(10) < edge, 2.0, 0.5)
    search = search_steps.Search(errors, stability, ())
    found = how_many._chosen(
        search, how_many.Spectrum(values, 0.1, 1.0), 20, (9, 9), missing=False, spikes=0
    )
    assert found.criteria == {"held_out": 2, "singular_values": edge, "stability": stable}
    assert found.rank == expected
