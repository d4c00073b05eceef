"""How many sources: what was put in, whatever the noise; a range and reasons otherwise."""

import warnings

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from task_options import records

import ngmca
from ngmca.answers.how_many import choose_rank as how_many
from ngmca.answers.how_many import condensed_data
from ngmca.answers.how_many.directions import directions, number_above
from ngmca.engines import open_data


@pytest.fixture(scope="module")
def mixture():
    return ngmca.simulate.sparse(40, 60, 3, snr=20, seed=0)


@pytest.fixture(scope="module")
def choice(mixture):
    return ngmca.choose_rank(mixture.Y, seed=0)


@pytest.fixture(scope="module")
def lines():
    """Four sources of lines, without noise, of unit mean square."""
    X = ngmca.simulate.nmr(30, 240, 4, snr=None, seed=3).Y
    return X / np.sqrt(np.mean(X**2))


def noise(kind, shape, seed=0):
    white = np.random.default_rng(seed).standard_normal((shape[0], 4 * shape[1]))
    if kind == "1/f":
        F = np.fft.rfft(white, axis=1)
        white = np.fft.irfft(F / np.sqrt(np.maximum(np.arange(F.shape[1]), 1)), axis=1)
    elif kind:
        white = gaussian_filter1d(white, kind, axis=1)
    e = white[:, shape[1] : 2 * shape[1]]
    return e / e.std()


def test_three_sources_are_three(choice):
    assert choice.rank == 3
    assert choice.range == (3, 3)
    assert choice.advice == "3: all criteria agree."
    assert choice.criteria == {"directions": 3, "held_out": 3, "halves": 3}
    assert choice.left_out == {}
    assert choice.stability[3] > 0.9
    assert choice.explained[1] > choice.explained[3] > 5 * choice.explained[4] / 2
    assert [len(S) for S in choice.sources] == [2, 3, 4]


def test_the_sources_around_the_number_are_those_of_the_data(mixture, choice):
    cosines = choice.sources[1] @ mixture.S.T
    cosines /= np.linalg.norm(choice.sources[1], axis=1)[:, None] * np.linalg.norm(mixture.S, axis=1)
    assert (cosines.max(axis=0) > 0.97).all()
    np.testing.assert_array_equal(choice.channels, np.arange(60))


@pytest.mark.parametrize("r", [1, 6])
def test_other_numbers(r):
    assert ngmca.choose_rank(ngmca.simulate.sparse(40, 60, r, snr=20, seed=0).Y, seed=0).rank == r


@pytest.mark.parametrize("kind", [3.0, 6.0, "1/f"])
def test_correlated_noise_is_no_source(lines, kind):
    Y = lines + 0.06 * noise(kind, lines.shape)
    found = ngmca.choose_rank(Y, seed=0)
    assert found.rank == 4
    assert found.range == (4, 4)


def test_levels_of_measurements_differ(mixture):
    levels = np.geomspace(0.05, 1, 40)
    Y = mixture.Y - mixture.noise + levels[:, None] * np.random.default_rng(0).standard_normal((40, 60))
    found = how_many._levels(Y, 3, 20)[:, 0]
    assert np.corrcoef(np.log(found), np.log(levels))[0, 1] > 0.9
    assert found.max() > 3 * found.min()
    np.testing.assert_array_equal(how_many._levels(mixture.Y, 3, 20), 1)  # equal
    np.testing.assert_array_equal(how_many._levels(mixture.Y - mixture.noise, 3, 20), 1)  # none
    assert ngmca.choose_rank(Y, 6, noise=levels, seed=0).rank == 3


def test_few_counts(lines):
    Y = np.random.default_rng(0).poisson(lines * 2 / lines.mean())
    assert ngmca.choose_rank(Y, noise="poisson", seed=0).rank == 4


def test_few_measurements(lines):
    found = ngmca.choose_rank(lines[:7] + 0.05 * noise(None, (7, 240)), seed=0)
    assert found.rank == 4
    assert found.left_out["directions"] == "there are too few measurements (7) to rotate residuals"
    assert "There are too few measurements (7) to compare halves of them" in found.advice


def test_spectra_that_look_alike():
    rng = np.random.default_rng(1)
    g = gaussian_filter1d(rng.random((5, 400)), 5, axis=1)
    g = (g - g.min(axis=1, keepdims=True)) / np.ptp(g, axis=1)[:, None]
    X = rng.dirichlet(np.ones(4), 50) @ (0.7 * g[-1] + 0.3 * g[:-1])
    assert ngmca.choose_rank(X + 0.005 * rng.standard_normal(X.shape), seed=0).rank == 4


def with_background(lines):
    x, rng = np.linspace(0, 1, 240), np.random.default_rng(0)
    B = sum(rng.random((30, 1)) * np.exp(-(((x - c) / 0.35) ** 2)) for c in (0.1, 0.6, 0.9))
    return lines + 0.06 * noise(None, lines.shape) + 2 * B


def test_a_baseline_is_no_source(lines):
    found = ngmca.choose_rank(with_background(lines), baseline="splines", seed=0)
    assert found.advice.startswith("4: all criteria agree")


@pytest.mark.parametrize("gaps", [False, True])
def test_directions_without_the_baseline(lines, gaps):
    Y, rng = with_background(lines), np.random.default_rng(0)
    if gaps:
        Y[rng.random(Y.shape) < 0.1] = np.nan
    numbers = []
    for baseline in (None, ngmca.Baseline("splines")):
        found = condensed_data.condensed(open_data(Y), None, baseline, rng)
        numbers.append(number_above(directions(found.averages, 10, 0.0, rng)))
    assert numbers[0] > 5
    assert numbers[1] == 4


def test_structure_that_no_chemist_counts_is_in_the_range(lines):
    """Lines of varying width: predictable, and no source of its own that comes again."""
    rng = np.random.default_rng(0)
    X = ngmca.simulate.nmr(60, 200, 3, snr=None, seed=3)
    S = [gaussian_filter1d(X.S, width, axis=1) for width in rng.uniform(1, 3, 60)]
    Y = np.stack([a @ s for a, s in zip(X.A, S, strict=True)])
    Y = Y / Y.std() + 0.01 * noise(None, Y.shape)
    found = ngmca.choose_rank(Y, seed=0)
    assert 2 <= found.rank <= 4
    assert found.range[1] > found.rank
    assert found.advice.startswith(f"{found.rank} ({found.range[0]} to {found.range[1]}): ")
    for number in found.criteria.values():
        assert found.range[0] <= number <= found.range[1]


def test_no_empty_source_is_chosen(mixture, monkeypatch):
    monkeypatch.setattr(how_many._Search, "_number", lambda self: 3)
    clean = ngmca.simulate.sparse(40, 60, 2, seed=0).Y
    assert ngmca.choose_rank(clean, seed=0).rank <= 3
    monkeypatch.setattr(how_many, "EMPTY_AMPLITUDE", 0.2)
    assert ngmca.choose_rank(mixture.Y * 1.0, seed=0).rank < 4


def test_noise_alone_has_no_source():
    found = ngmca.choose_rank(np.random.default_rng(3).standard_normal((40, 50)), seed=0)
    assert found.rank == 0
    assert found.advice == "0: no source stands out from the noise."
    assert found.sources == ()


def test_zeros_have_no_source_either():
    assert ngmca.choose_rank(np.zeros((9, 12))).advice == "0: all entries are 0."
    Y = np.zeros((9, 12))
    Y[4, 5] = 1.0
    assert ngmca.choose_rank(Y).advice == "0: all entries are 0. 1 spike was left out."


def test_data_without_noise():
    for r in (1, 4):
        assert ngmca.choose_rank(ngmca.simulate.sparse(20, 40, r, seed=0).Y, seed=0).rank == r
    assert ngmca.choose_rank(np.ones((20, 30)), 3, seed=0).rank == 1
    assert ngmca.choose_rank(np.arange(600).reshape(20, 30) % 7 == 0, 3, seed=0).rank >= 1  # booleans


def test_missing_entries(mixture):
    gone = np.random.default_rng(0).random(mixture.Y.shape) < 0.2
    gone[7], gone[:, 9] = True, True  # a measurement and a channel, altogether
    as_nan = ngmca.choose_rank(np.where(gone, np.nan, mixture.Y), 4, seed=0)
    assert as_nan.advice == "3: all criteria agree."
    for given in ({"Y": mixture.Y, "mask": gone}, {"Y": np.ma.array(mixture.Y, mask=gone)}):
        found = ngmca.choose_rank(max_rank=4, seed=0, **given)
        np.testing.assert_array_equal(found.held_out, as_nan.held_out)


@pytest.fixture(scope="module")
def bands():
    return ngmca.simulate.spectra(30, 200, 4, snr=30, seed=0)


@pytest.mark.parametrize("places", [[(7, 150)], [(3, 0), (7, 150), (20, 199)]])
def test_spikes_do_not_count(bands, places):
    Y = bands.Y.copy()
    Y[tuple(np.transpose(places))] += 5 * bands.Y.max()
    told = ". 1 spike was left out." if len(places) == 1 else ". 3 spikes were left out."
    found = ngmca.choose_rank(Y * 2.0**-600, 6, seed=0)
    assert found.rank == 4
    assert found.advice.endswith(told)


def test_units_threads_and_precision_do_not_matter(mixture, choice):
    for unit in (2.0**600, 2.0**-600):
        found = ngmca.choose_rank(mixture.Y * unit, seed=0)
        np.testing.assert_array_equal(found.held_out, choice.held_out)
        np.testing.assert_allclose(found.sources[0], choice.sources[0] * unit)
    for other in (mixture.Y.astype(np.float32), mixture.Y.tolist(), open_data(mixture.Y)):
        found = ngmca.choose_rank(other, seed=0)
        np.testing.assert_allclose(found.held_out, choice.held_out, rtol=1e-3)
    one = ngmca.choose_rank(mixture.Y, seed=np.random.SeedSequence(0), threads=1)
    np.testing.assert_array_equal(one.halves, choice.halves)


def test_large_data_are_condensed(monkeypatch):
    Y = ngmca.simulate.nmr(60, 900, 3, snr=10, seed=0).Y
    monkeypatch.setattr(condensed_data, "ENTRIES", 6000)
    for data, shape in ((Y, (60, 100)), (Y.T, (100, 60))):
        levels = np.full(data.shape[0], 0.5)
        engine = open_data(data)
        found = condensed_data.condensed(engine, levels, None, np.random.default_rng(0))
        assert found.averages.shape == found.chosen.shape == shape
        assert found.noise * engine.unit == pytest.approx(0.5 / 3)
    small = np.add.reduceat(Y, np.arange(0, 900, 9), axis=1) / 9
    engine = open_data(Y)
    found = condensed_data.condensed(engine, None, None, np.random.default_rng(0))
    np.testing.assert_allclose(found.averages * engine.unit, small)
    assert found.channels[:2].tolist() == [4, 13]
    assert ngmca.choose_rank(Y, 8, seed=0).rank == 3


def test_more_may_be_found_than_was_allowed():
    found = ngmca.choose_rank(ngmca.simulate.sparse(40, 80, 6, snr=30, seed=0).Y, 3, seed=0)
    assert (found.rank, found.range) == (3, (3, 6))
    assert found.advice == (
        "3 (3 to 6): singular values suggest 6. The prediction of held-out blocks suggests 6."
    )


def test_what_is_wrong_is_said(mixture):
    with pytest.raises(
        ValueError, match="max_rank=40 is too large for 40 measurements x 60 channels: use at most 38"
    ):
        ngmca.choose_rank(mixture.Y, 40)
    with pytest.raises(ValueError, match=r"too small to choose .* Use at least 3 of both\.$"):
        ngmca.choose_rank(mixture.Y[:2])
    with pytest.raises(ValueError, match="all entries of Y are missing"):
        ngmca.choose_rank(np.full((5, 6), np.nan))
    with pytest.raises(ValueError, match="noise must be"):
        ngmca.choose_rank(mixture.Y, noise=np.ones(7))
    with pytest.raises(TypeError, match="max_rank must be an integer"):
        ngmca.choose_rank(mixture.Y, 3.5)
    with pytest.raises(ValueError, match="Baseline"):
        ngmca.choose_rank(mixture.Y, baseline="cubic")


def test_small_data_have_an_answer():
    rng = np.random.default_rng(0)
    for shape in ((3, 3), (3, 40), (40, 3), (4, 10), (5, 9), (9, 5)):
        found = ngmca.choose_rank(rng.random((shape[0], 1)) @ rng.random((1, shape[1])), seed=0)
        assert found.rank == 1, shape


def test_warnings_come_once_and_filters_stay(mixture):
    before = list(warnings.filters)
    with pytest.warns(UserWarning, match="less than 5 events") as told:
        ngmca.choose_rank(np.abs(mixture.Y) / np.abs(mixture.Y).max(), 1, noise="poisson", seed=0)
    assert len(told) == 1
    assert warnings.filters == before


def test_the_table_and_the_picture_have_every_criterion(choice):
    columns = dict(choice.table())
    assert len({len(column) for column in columns.values()}) == 1
    np.testing.assert_array_equal(columns["held_out_error"], choice.held_out)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = choice.plot()
    titles = [panel.get_title() for panel in figure.axes]
    assert [title[-2:] for title in titles[:3]] == [" 3"] * 3
    assert titles[3:] == ["2 sources", "3 sources", "4 sources"]
    assert [len(panel.lines) for panel in figure.axes[3:]] == [2, 3, 4]
    pyplot.close(figure)
    pyplot.close(ngmca.choose_rank(np.zeros((9, 12))).plot())


@pytest.mark.parametrize(
    ("name", "value"),
    [
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


def test_the_estimator_counts_without_the_baseline(bands):
    Y = bands.Y + bands.Y.max() * np.random.default_rng(0).random((30, 1)) * np.linspace(1, 0, 200)
    given = {"constraints": [ngmca.Baseline("polynomial")], "method": ngmca.Soft(n_iter=2), "n_init": 1}
    assert ngmca.NGMCA("auto", **given).fit(Y).n_components_ == 4


def test_words_for_a_number_are_refused(mixture):
    with pytest.raises(ValueError, match="must be a number of sources or 'auto', got 'many'"):
        ngmca.NGMCA("many", n_init=1).fit(mixture.Y)


def test_few_measurements_whose_sources_do_not_come_again_give_a_careful_number(monkeypatch):
    """28 real spectra got 7 sources, none of which came again from halves of them."""
    monkeypatch.setattr(how_many._Search, "_come_again", lambda self, number: False)
    for name, said in (("directions", 18), ("predicted", 7)):
        own = "held_out" if name == "predicted" else name
        count = lambda self, own=own, said=said: self.criteria.update({own: said})  # noqa: E731
        monkeypatch.setattr(how_many._Search, f"_count_{name}", count)
    Y = ngmca.simulate.spectra(m=28, n=100, r=7, snr=40, seed=0).Y
    found = ngmca.choose_rank(Y, seed=0, baseline=None)
    assert found.rank == 4  # 14 measurements in a half, three for each source
    assert found.range[1] == 18
    assert (
        "There are too few measurements (28) to compare halves of them for more than 4 sources"
        in found.advice
    )
