"""Spikes that are found without a separation, and lines that are none."""

import numpy as np
import pytest

import ngmca
from ngmca.answers.how_many.spikes import _three_highest, spikes, with_sides
from ngmca.engines import open_data


def found_in(Y):
    return sorted(map(tuple, spikes(open_data(Y)).tolist()))


@pytest.fixture
def bands():
    return ngmca.simulate.spectra(40, 500, 4, snr=30, seed=0).Y


@pytest.mark.parametrize("height", [1.5, 5.0, 1e6, -5.0])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_every_spike_is_found_wherever_it_is(bands, height, kind):
    rng = np.random.default_rng(0)
    places = [(i, 12 * i + int(rng.integers(5))) for i in range(0, 40, 2)] + [
        (1, 0),
        (3, 499),
        (5, 20),
        (5, 90),
    ]
    Y = bands.copy()
    Y[tuple(np.transpose(places))] += height * bands.max()
    assert found_in(Y.astype(kind)) == sorted(places)
    assert found_in(Y * 2.0**-500) == sorted(places)


def test_a_spike_of_three_channels_is_one(bands):
    bands[9, 100:103] += bands.max() * np.array([2.0, 4.0, 2.0])
    assert found_in(bands) == [(9, 101)]
    bands[9, 300] = np.nan  # a gap is no spike, and hides none
    assert found_in(bands) == [(9, 101)]


def test_what_is_beside_a_spike_goes_with_it():
    assert sorted(map(tuple, with_sides(np.array([[2, 0], [3, 7]]), 8).tolist())) == [
        (2, 0), (2, 1), (3, 6), (3, 7),
    ]  # fmt: skip
    assert len(with_sides(np.zeros((0, 2), dtype=int), 8)) == 0


@pytest.mark.parametrize("fwhm", [0.5, 1.5, 3.0])
@pytest.mark.parametrize("m", [6, 60])
def test_lines_are_no_spikes(fwhm, m):
    for seed in range(2):
        assert found_in(ngmca.simulate.nmr(m=m, r=5, fwhm=fwhm, snr=20, seed=seed).Y) == []
        assert found_in(ngmca.simulate.sparse(m, 100, 3, snr=20, seed=seed).Y) == []


def test_one_sharp_line_that_three_measurements_share_is_a_source(bands):
    bands[[3, 11, 30], [100, 101, 100]] += 5 * bands.max()  # it moves a little
    assert found_in(bands) == []


def test_too_little_to_tell():
    Y = np.zeros((4, 50))
    Y[1, 20] = 9
    assert found_in(Y) == []
    assert found_in(np.eye(9, 8)) == []
    assert found_in(np.zeros((9, 30))) == []


@pytest.mark.parametrize("n", [30, 2500])
def test_the_three_highest_of_each_channel(n):
    rng = np.random.default_rng(0)
    every = rng.random((9, n)).round(1)  # with ties
    found = np.zeros((3, n))
    for part in (every[:4], every[4:5], every[5:]):
        found = _three_highest(found, part)
    np.testing.assert_array_equal(found[0], np.sort(every, axis=0)[-3])
