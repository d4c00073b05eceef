"""Spectra of lines, and what all simulators have in common: their arguments, seeds and errors."""

import inspect

import numpy as np
import pytest

from ngmca import simulate
from ngmca.simulate import bands, nmr, sparse, spectra

ALL = [sparse, spectra, nmr, bands]


def test_lines_are_lorentzians_of_the_wanted_width():
    S = spectra(1, 4001, 1, lines=1, width=6.0, snr=None, seed=0).S[0]
    place = np.arange(4001)
    top = S.argmax()
    centre = np.average(place[top - 3 : top + 4], weights=S[top - 3 : top + 4] - S[top + 4])
    height = S[top] * (1 + ((top - centre) / 6) ** 2)
    np.testing.assert_allclose(S, height / (1 + ((place - centre) / 6) ** 2), rtol=0.05)


def test_a_spectrum_is_noisy_unless_told_otherwise():
    assert spectra(seed=0).Y.shape == (40, 500)
    assert spectra(seed=0).snr == pytest.approx(20)
    assert spectra(seed=0, snr=None).snr == np.inf


@pytest.mark.parametrize("simulator", ALL)
def test_sizes_come_first_and_options_by_name(simulator):
    kinds = [p.kind for p in inspect.signature(simulator).parameters.values()]
    assert list(inspect.signature(simulator).parameters)[:3] == ["m", "n", "r"]
    assert set(kinds[:3]) == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert set(kinds[3:]) == {inspect.Parameter.KEYWORD_ONLY}
    data = simulator(6, 300, 3, snr=10, seed=1)
    assert (data.A.shape, data.S.shape) == ((6, 3), (3, 300))
    np.testing.assert_array_equal(data.Y, simulator(m=6, n=300, r=3, snr=10, seed=1).Y)


@pytest.mark.parametrize("simulator", ALL)
def test_seeds_of_every_kind(simulator):
    expected = simulator(4, 300, 2, snr=10, seed=7).Y
    sequence = np.random.SeedSequence(7)
    for seed in (np.random.default_rng(7), sequence, sequence, np.int64(7)):
        np.testing.assert_array_equal(simulator(4, 300, 2, snr=10, seed=seed).Y, expected)
    with pytest.raises(TypeError, match="seed must be"):
        simulator(4, 300, 2, seed="seven")
    with pytest.raises(TypeError, match="seed must be"):
        simulator(4, 300, 2, seed=-1)


@pytest.mark.parametrize("simulator", ALL)
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"m": 0}, ValueError), ({"n": 0}, ValueError), ({"r": 0}, ValueError),
        ({"m": 2.5}, TypeError), ({"n": "many"}, TypeError), ({"r": True}, TypeError),
        ({"snr": "high"}, TypeError), ({"snr": np.inf}, ValueError),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named_in_one_way(simulator, wrong, error):
    with pytest.raises(error, match=f"^{next(iter(wrong))} must be"):
        simulator(**wrong)


@pytest.mark.parametrize("wrong", [{"lines": 0}, {"width": 0}, {"width": -1.0}, {"lines": 1.5}])
def test_wrong_lines(wrong):
    with pytest.raises((ValueError, TypeError), match=f"^{next(iter(wrong))} must be"):
        spectra(**wrong)


def test_functions_hide_no_modules():
    for name in simulate.__all__:
        assert not inspect.ismodule(getattr(simulate, name))
