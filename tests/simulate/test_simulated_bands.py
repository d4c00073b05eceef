"""Mixtures of smooth bands: their shape, width and height, and how they are mixed."""

import numpy as np
import pytest

from ngmca.simulate import bands
from ngmca.simulate._bands import pseudo_voigt


def half_width(S):
    """Full width at half maximum of a single band, in channels."""
    top = S.argmax()
    left, right = S[: top + 1], S[top:]
    return (top - np.interp(S[top] / 2, left, np.arange(top + 1))) + np.interp(
        -S[top] / 2, -right, np.arange(right.size)
    )


@pytest.mark.parametrize("shape", [0, 0.4, 1.0])
def test_a_single_band_has_the_wanted_width_and_shape(shape):
    data = bands(3, 4096, 8, bands=1, fwhm=30.0, shape=shape, snr=None, seed=0)
    inside = [S for S in data.S if 500 < S.argmax() < 3500]
    assert len(inside) > 3
    for S in inside:
        assert half_width(S) == pytest.approx(30, abs=0.1)
        # three half widths from the top a Lorentzian has a tenth of its height, a Gaussian 1/512
        assert S[S.argmax() + 45] == pytest.approx(shape / 10 + (1 - shape) / 512, abs=0.01)


def test_widths_are_drawn_between_the_two_given():
    data = bands(2, 8192, 40, bands=1, fwhm=(20.0, 80.0), shape=0.0, snr=None, seed=0)
    widths = [half_width(S) for S in data.S if 500 < S.argmax() < 7500]
    assert 20 <= min(widths) < 35
    assert 65 < max(widths) <= 80.1


def test_voigt_draws_a_shape_for_every_band():
    data = bands(2, 8192, 40, bands=1, fwhm=30.0, snr=None, seed=0)
    tails = [S[S.argmax() + 45] for S in data.S if 500 < S.argmax() < 7500]
    assert min(tails) < 0.03
    assert max(tails) > 0.07


def test_a_pseudo_voigt_is_half_as_high_half_a_width_away():
    np.testing.assert_allclose(pseudo_voigt(np.array([0.0, 3.5, -3.5]), 7.0, 0.3), [1, 0.5, 0.5])


def test_mixture_and_its_defaults():
    data = bands(seed=0)
    assert data.Y.shape == (40, 1024)
    assert data.A.shape == (40, 5)
    assert data.snr == pytest.approx(25)
    np.testing.assert_array_equal(data.axis, np.arange(1024))
    np.testing.assert_allclose(data.S.max(axis=1), 1)
    assert data.S.min() >= 0
    np.testing.assert_allclose(data.Y, data.A @ data.S + data.noise)
    assert np.ptp(data.A.sum(axis=1)) > 1
    assert 0 <= data.A.min() < 0.05 < 0.95 < data.A.max() <= 1


def test_dirichlet_amounts_sum_to_one():
    A = bands(200, 30, 4, mixing="dirichlet", seed=0).A
    np.testing.assert_allclose(A.sum(axis=1), 1)
    np.testing.assert_allclose(A.mean(axis=0), 0.25, atol=0.05)
    assert A.std() == pytest.approx(np.sqrt(3 / 80), rel=0.1)  # that of a flat Dirichlet


@pytest.mark.parametrize(
    "wrong",
    [
        {"bands": 0}, {"fwhm": 0.0}, {"fwhm": (20.0, 10.0)}, {"fwhm": (1.0, 2.0, 3.0)},
        {"fwhm": "wide"}, {"shape": "gauss"}, {"shape": 1.5}, {"mixing": "random"},
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(wrong):
    with pytest.raises((ValueError, TypeError), match=f"^{next(iter(wrong))} must"):
        bands(**wrong)
