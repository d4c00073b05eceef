"""Robust noise levels and the way thresholds come down."""

import numpy as np
import pytest

from ngmca.algorithms.schedule import falling, multiple_for_count
from ngmca.engines.robust_noise import deviations, in_gradient, mad


def test_mad_is_the_standard_deviation_of_gaussian_rows_and_ignores_outliers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 200_000)) * np.array([[1.0], [5.0], [0.01]]) + 3
    np.testing.assert_allclose(mad(X), [1, 5, 0.01], rtol=0.02)
    X[:, : 20_000 // 2] = 1e9
    np.testing.assert_allclose(mad(X), [1, 5, 0.01], rtol=0.1)


def reference(X):
    centre = np.median(X, axis=1)
    return np.stack([centre, np.median(np.abs(X - centre[:, None]), axis=1)])


@pytest.mark.parametrize("n", [1, 2, 3, 10, 11, 500])
@pytest.mark.parametrize("kind", ["gaussian", "ties", "zeros", "heavy tails", "float32"])
def test_medians_are_exact_whatever_the_guess(n, kind):
    rng = np.random.default_rng(n)
    X = {
        "gaussian": rng.standard_normal((20, n)),
        "ties": rng.integers(0, 3, (20, n)).astype(float),
        "zeros": np.zeros((20, n)),
        "heavy tails": 1e7 + 1e5 * rng.standard_cauchy((20, n)),
        "float32": rng.standard_normal((20, n)).astype(np.float32),
    }[kind]
    model = rng.random(X.shape).astype(X.dtype)
    expected = reference((X - model).astype(float))
    for guess in (
        None,
        expected,
        1.03 * expected,
        0.5 * expected,
        100 * expected,
        -expected,
        0 * expected,
    ):
        np.testing.assert_allclose(deviations(X, model, guess), expected, rtol=1e-12)


def test_mad_leaves_its_argument_alone():
    X = np.random.default_rng(1).standard_normal((4, 11))
    before = X.copy()
    mad(X)
    np.testing.assert_array_equal(X, before)


def test_noise_in_the_gradient_is_what_simulation_gives():
    rng = np.random.default_rng(2)
    A, sigma = rng.random((20, 3)), rng.random(20) + 0.1
    Z = sigma[:, None] * rng.standard_normal((20, 100_000))
    np.testing.assert_allclose(in_gradient(A, sigma), (A.T @ Z).std(axis=1), rtol=0.02)


def test_linear_decrease_is_a_straight_line_that_arrives():
    lam, target = np.array([10.0, 4.0]), np.array([1.0, 2.0])
    values = [lam]
    for left in range(9, 0, -1):
        values.append(falling(values[-1], target, left))
    np.testing.assert_allclose(np.diff(values, axis=0), np.full((9, 2), -1) * [1, 2 / 9])
    np.testing.assert_array_equal(values[-1], target)


def test_higher_powers_stay_low_for_longer_and_arrive_too():
    lam, values = np.array([1.0]), []
    for left in range(10, 0, -1):
        lam = falling(lam, np.array([0.0]), left, power=2.0)
        values.append(lam[0])
    np.testing.assert_allclose(values, (np.arange(9, -1, -1) / 10) ** 2)


def test_linear_decrease_meets_a_target_that_moves():
    lam = np.array([10.0])
    for left in range(50, 0, -1):
        target = np.array([1 + 0.1 * left])
        lam = falling(lam, target, left)
    assert lam == target


@pytest.mark.parametrize("share", [0.0, 0.1, 0.37, 0.9, 1.0])
def test_the_share_of_active_entries_is_the_wanted_one(share):
    ratios = np.random.default_rng(3).normal(0, 2, (5, 1000))
    multiple = multiple_for_count(ratios, 1.0, share)
    wanted = share * (ratios > 1).sum()
    assert abs((ratios >= multiple).sum() - wanted) <= 1
    assert multiple >= 1


def test_without_a_final_threshold_all_positive_entries_end_up_active():
    ratios = np.array([[-1.0, 0.0, 0.5, 2.0]])
    assert multiple_for_count(ratios, 0.0, 1.0) == 0
    assert multiple_for_count(ratios, 0.0, 0.5) == 2
    assert multiple_for_count(-ratios, 5.0, 0.5) == 5
