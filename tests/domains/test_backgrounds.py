import numpy as np
import pytest
from scipy.interpolate import BSpline

from ngmca.domains.backgrounds import splines


@pytest.mark.parametrize(("n", "count"), [(1, 4), (2, 4), (7, 11), (50, 5), (1351, 20)])
def test_splines_are_those_of_scipy(n, count):
    knots = np.concatenate([[0.0] * 3, np.linspace(0, 1, count - 2), [1.0] * 3])
    expected = BSpline.design_matrix(np.linspace(0, 1, n), knots, 3).toarray().T
    expected /= np.maximum(expected.max(axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(splines(n, count), expected, rtol=0, atol=1e-14)
