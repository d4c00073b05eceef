"""A baseline is found where there is one, of the right kind, and nowhere else."""

import warnings

import numpy as np
import pytest

import ngmca
from ngmca.constraints import found_baseline, smooth_part
from ngmca.domains.backgrounds import basis
from ngmca.engines import open_data

MIXTURE = ngmca.simulate.spectra(m=30, n=300, r=3, snr=30, seed=0)
SIZE = float(np.sqrt(np.mean(MIXTURE.Y**2)))


def with_background(kind, seed=0):
    curves = basis(kind, MIXTURE.Y.shape[1])
    return MIXTURE.Y + SIZE * np.random.default_rng(seed).random((len(MIXTURE.Y), len(curves))) @ curves


@pytest.mark.parametrize("kind", ["constant", "linear", "quadratic", "polynomial", "splines"])
def test_each_kind_is_found(kind):
    found = found_baseline(open_data(with_background(kind)), 3)
    assert found.kind == kind
    assert found.found


@pytest.mark.parametrize("strength", [0.2, 1.0, 4.0])
def test_one_shape_of_different_height_is_found(strength):
    # one source more would fit as well
    t, rng = np.linspace(0, 1, MIXTURE.Y.shape[1]), np.random.default_rng(0)
    Y = MIXTURE.Y + strength * SIZE * np.outer(0.2 + rng.random(len(MIXTURE.Y)), 1.2 - t**2)
    assert smooth_part(Y, 3).kind == "quadratic"
    assert smooth_part(Y, 4) is None  # the fourth source is the background


def test_the_stiffest_kind_that_fits_bands_is_taken():
    # bands half as wide as splines: these would take them
    x, rng = np.linspace(0, 1, 100), np.random.default_rng(0)
    S = np.exp(-(((x - np.array([[0.25], [0.5], [0.8]])) / 0.1) ** 2))
    Y = rng.dirichlet(np.ones(3), 60) @ S + rng.random((60, 3)) @ basis("quadratic", 100)
    Y += 0.002 * rng.standard_normal(Y.shape)
    assert smooth_part(Y, 3).kind == "quadratic"


@pytest.mark.parametrize("r", [2, 3, 4])
@pytest.mark.parametrize("kind", ["spectra", "bands", "nmr", "sparse"])
def test_nothing_is_found_where_there_is_nothing(kind, r):
    Y = getattr(ngmca.simulate, kind)(m=40, n=400, r=3, snr=30, seed=1).Y
    assert found_baseline(open_data(Y), r) is None


@pytest.mark.parametrize("r", [1, 2, 3])
def test_broad_bands_are_no_background(r):
    x, rng = np.linspace(0, 1, 400), np.random.default_rng(0)
    S = np.exp(-4 * np.log(2) * ((x - np.array([[0.2], [0.45], [0.6], [0.9]])) / 0.2) ** 2)
    Y = rng.dirichlet(np.ones(4), 40) @ S
    assert found_baseline(open_data(Y + 0.01 * rng.standard_normal(Y.shape)), r) is None


def test_noise_along_the_axis_is_no_background():
    rng = np.random.default_rng(0)
    e = np.cumsum(rng.standard_normal((30, 310)), axis=1)
    smooth = e[:, 10:] - e[:, :-10]  # means over 10 channels
    noise = 0.05 * SIZE * smooth / smooth.std()
    assert found_baseline(open_data(MIXTURE.A @ MIXTURE.S + noise), 3) is None


def test_an_axis_among_the_measurements_is_no_background():
    Y = np.vstack([np.linspace(400, 700, MIXTURE.Y.shape[1]), MIXTURE.Y])
    assert found_baseline(open_data(Y), 3) is None


def test_data_without_noise_have_no_background():
    assert found_baseline(open_data(MIXTURE.A @ MIXTURE.S), 3) is None


def test_the_default_is_better_with_a_background_and_the_same_without():
    Y = with_background("splines")
    plain, found = ngmca.separate(Y, 3, constraints=(), n_init=1), ngmca.separate(Y, 3, n_init=1)
    before, after = (ngmca.evaluate(MIXTURE.S, one.S).mean_sdr for one in (plain, found))
    assert after > before + 5
    assert (plain.background, found.background.found) == (None, "splines")
    same = [ngmca.separate(MIXTURE.Y, 3, n_init=1, **known) for known in ({}, {"constraints": ()})]
    assert same[0].background is None
    np.testing.assert_array_equal(same[0].S, same[1].S)


@pytest.mark.parametrize(
    "options",
    [
        {"method": ngmca.Soft(n_iter=20)},
        {"method": "anls"},
        {"method": "hals"},
        {"method": "naive"},
        {"sample_shape": (15, 20)},
        {"method": ngmca.Soft(penalised="A")},
        {"constraints": [ngmca.Closure()]},
    ],
    ids=str,
)
def test_other_methods_have_none(options):
    found = ngmca.separate(with_background("splines"), 3, n_init=1, **options)
    assert found.background is None


def test_missing_entries_and_few_measurements_decide_nothing():
    Y = with_background("splines")
    assert found_baseline(open_data(Y[:12]), 3) is None
    Y[3, 4] = np.nan
    assert found_baseline(open_data(Y), 3) is None


def test_counting_and_the_estimator():
    Y = with_background("splines")
    choice = ngmca.choose_rank(Y, 5, seed=0)
    assert (choice.rank, choice.background) == (3, "splines")
    assert "A smooth background was found" in choice.advice
    assert ngmca.choose_rank(Y, 4, baseline=None, seed=0).background == ""
    model = ngmca.NGMCA("auto", n_init=1).fit(Y)
    assert model.separation_.background.found == "splines"
    np.testing.assert_array_equal(model.components_, ngmca.separate(Y, 3, n_init=1).S)


def test_error_bars_beside_a_background_in_wavelets():
    Y = with_background("linear")
    with warnings.catch_warnings(action="ignore"):  # of so few samples
        found = ngmca.separate(Y, 3, n_init=1, domain="wavelet", posterior=ngmca.Sampling(20, 20))
    assert found.background.found == "linear"
    low, high = found.posterior.S.interval(0.9)
    inside = (low <= found.S) & (high >= found.S)
    assert inside.mean() > 0.5  # the intervals are around the sources beside the background


def test_a_saved_result_says_what_was_found(tmp_path):
    found = ngmca.separate(with_background("linear"), 3, n_init=1)
    ngmca.save(tmp_path / "found.nc", found)
    assert ngmca.load(tmp_path / "found.nc").background.found == "linear"
