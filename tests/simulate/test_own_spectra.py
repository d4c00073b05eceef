"""Mixtures of given spectra: what is done to each of them, and what cannot be mixed."""

from types import SimpleNamespace

import numpy as np
import pytest

from ngmca.simulate import library


def band(axis, place, width=20.0, floor=0.0):
    return floor + np.exp(-(((np.asarray(axis) - place) / width) ** 2))


def pairs(k=4):
    """Spectra on axes that differ in their ends and in their number of channels."""
    axes = [np.linspace(400 - 10 * i, 2000 + 20 * i, 900 + 70 * i) for i in range(k)]
    return [(axis, 3.0 * band(axis, 600 + 250 * i, floor=0.2 * i)) for i, axis in enumerate(axes)]


def test_spectra_are_interpolated_on_their_common_range():
    data = library(pairs(), 6, 801, 4, snr=None, seed=0)
    np.testing.assert_allclose(data.axis, np.linspace(400, 2000, 801))
    assert sorted(data.names) == [f"spectrum {i}" for i in range(1, 5)]
    for name, S in zip(data.names, data.S, strict=True):
        expected = band(data.axis, 600 + 250 * (int(name[-1]) - 1))
        np.testing.assert_allclose(S, expected, atol=0.02)  # floor gone, largest value 1
        assert S.min() == 0
        assert S.max() == 1
    np.testing.assert_allclose(data.Y, data.A @ data.S)


def test_fwhm_widens_the_bands():
    narrow = library(pairs(1), 2, 1601, 1, snr=None, seed=0)
    wide = library(pairs(1), 2, 1601, 1, fwhm=60.0, snr=None, seed=0)
    above = [np.count_nonzero(data.S[0] > 0.5) for data in (narrow, wide)]
    own = 2 * 20 * np.sqrt(np.log(2))  # channels are 1 apart
    np.testing.assert_allclose(above, [own, np.hypot(own, 60)], atol=2)
    assert wide.S.max() == 1


def test_seeds_draw_different_spectra_without_repetition():
    drawn = {frozenset(library(pairs(), 3, 50, 2, seed=seed).names) for seed in range(30)}
    assert len(drawn) == 6
    assert all(len(names) == 2 for names in drawn)


def test_data_sets_with_names_and_falling_axes():
    axis = np.linspace(3000, 500, 400)
    Y = np.stack([band(axis, 900), band(axis, 2000)])
    one = SimpleNamespace(Y=Y, positions=axis, names=("water", "oil"), axis_label="wavenumber [1/cm]")
    data = library([one], 3, 300, 2, snr=None, seed=0)
    assert set(data.names) == {"water", "oil"}
    assert data.axis_name == "wavenumber [1/cm]"
    assert data.axis[0] == 3000
    assert data.axis[-1] == 500
    assert data.axis[data.S[data.names.index("oil")].argmax()] == pytest.approx(2000, abs=10)
    np.testing.assert_array_equal(library(one, 3, 300, 2, snr=None, seed=0).Y, data.Y)
    twice = library([one, one], 3, 300, 4, seed=0)
    assert set(twice.names) == {"water (1)", "water (2)", "oil (1)", "oil (2)"}
    named = library({"a": (axis, Y[0]), "b": (axis, Y[1])}, 3, 300, 2, seed=0)
    assert set(named.names) == {"a", "b"}


def test_what_the_package_reads_can_be_mixed(tmp_path):
    from ngmca import io

    for i, (axis, values) in enumerate(pairs(3)):
        np.savetxt(tmp_path / f"{i}.csv", np.column_stack([axis, values]), delimiter=",")
    data = library([io.read(path) for path in sorted(tmp_path.iterdir())], 4, 200, 3, seed=0)
    assert data.S.shape == (3, 200)
    tops = sorted(data.axis[data.S.argmax(axis=1)])
    np.testing.assert_allclose(tops, [600, 850, 1100], atol=10)


def test_channels_without_a_number_are_bridged():
    axis, values = pairs(1)[0]
    holes = values.copy()
    holes[3::7] = np.nan
    whole = library([(axis, values)], 2, 300, 1, snr=None, seed=0)
    np.testing.assert_allclose(
        library([(axis, holes)], 2, 300, 1, snr=None, seed=0).S, whole.S, atol=0.02
    )


def test_wrong_spectra_are_named_with_what_to_do():
    axis = np.arange(50.0)
    with pytest.raises(ValueError, match=r"r=5 is more than the 4 spectra .* smaller r"):
        library(pairs())
    apart = {"low": (axis, band(axis, 20)), "high": (axis + 100, band(axis, 30))}
    with pytest.raises(ValueError, match=r"high \(100 to 149\) and low \(0 to 49\) .* Leave out one"):
        library(apart, r=2)
    with pytest.raises(ValueError, match=r"level is flat .* leave it out"):
        library({"level": (axis, np.ones(50))}, r=1)
    with pytest.raises(ValueError, match="spectrum 1 has 49 values and an axis of 50"):
        library([(axis, np.ones(49))], r=1)
    with pytest.raises(ValueError, match="fewer than two channels"):
        library([(axis, np.full(50, np.nan))], r=1)
    with pytest.raises(TypeError, match=r"is the name of a file, .*ngmca\.io\.read"):
        library("folder")
    with pytest.raises(TypeError, match="list of data sets or of pairs"):
        library([1.0, 2.0])
    for wrong in ({"m": 0}, {"n": 1}, {"r": 0}, {"fwhm": -1.0}, {"mixing": "even"}, {"snr": "high"}):
        with pytest.raises((ValueError, TypeError), match=f"^{next(iter(wrong))} must be"):
            library(pairs(), **{"r": 2} | wrong)
