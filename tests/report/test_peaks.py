import numpy as np
import pytest
from scipy.signal import find_peaks, peak_prominences

from ngmca.report.peaks import _far_apart, _maxima, _prominences


@pytest.mark.parametrize("seed", range(20))
def test_peaks_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    y = np.convolve(rng.random(400), np.ones(1 + seed % 7), "same").round(1)  # rounded: flat tops
    np.testing.assert_array_equal(_maxima(y), find_peaks(y)[0])
    y += 1e-6 * rng.random(400)  # of equally high maxima either may stay
    found = _far_apart(_maxima(y), y, 4.0)
    np.testing.assert_array_equal(found, find_peaks(y, distance=4.0)[0])
    np.testing.assert_array_equal(_prominences(y, found), peak_prominences(y, found)[0])


@pytest.mark.parametrize("y", [np.zeros(5), np.arange(5.0), np.zeros(1), np.zeros(0)])
def test_flat_and_rising_spectra_have_no_peaks(y):
    assert not _maxima(y).size
