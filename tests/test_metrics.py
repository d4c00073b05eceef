"""Metrics on signals constructed to have a known answer."""

import numpy as np
import pytest

from ngmca import metrics
from ngmca.metrics import CEILING, FLOOR, evaluate, sdr_matrix


@pytest.fixture
def basis():
    """Orthonormal rows of length 40."""
    return np.linalg.qr(np.random.default_rng(0).standard_normal((40, 40)))[0].T


def test_decomposition_of_a_constructed_estimate(basis):
    ref, noise, other = basis[:2], basis[2:4], basis[4]
    first = 3 * (ref[0] + 0.1 * ref[1] + 0.05 * noise[0] + 0.02 * other)
    result = evaluate(ref, np.stack([ref[1], first]), noise=noise)
    assert list(result.order) == [1, 0]
    assert result.sdr[0] == pytest.approx(-10 * np.log10(0.1**2 + 0.05**2 + 0.02**2))
    assert result.sir[0] == pytest.approx(-20 * np.log10(0.1))
    assert result.snr[0] == pytest.approx(10 * np.log10((1 + 0.1**2) / 0.05**2))
    assert result.sar[0] == pytest.approx(10 * np.log10((1 + 0.1**2 + 0.05**2) / 0.02**2))
    assert result.mean_sdr == pytest.approx(result.sdr.mean())


def test_without_noise_signals_its_share_counts_as_artifacts(basis):
    est = basis[0] + 0.05 * basis[2] + 0.02 * basis[4]
    result = evaluate(basis[:1], est[None])
    assert result.sar[0] == pytest.approx(-10 * np.log10(0.05**2 + 0.02**2))
    assert result.snr[0] == CEILING
    assert result.sir[0] == CEILING


def test_correlated_sources_are_projected_jointly(basis):
    ref = np.stack([basis[0], (basis[0] + basis[1]) / np.sqrt(2)])
    est = np.stack([ref[0] + 0.2 * ref[1], ref[1]])
    result = evaluate(ref, est)
    along, across = 1 + 0.2 / np.sqrt(2), 0.2 / np.sqrt(2)
    assert result.sdr[0] == pytest.approx(20 * np.log10(along / across))
    assert result.sar[0] == CEILING  # all of the distortion is interference


def test_scale_and_order_do_not_matter(basis):
    rng = np.random.default_rng(1)
    ref = rng.random((5, 60))
    est = ref + 0.1 * rng.standard_normal((5, 60))
    direct = evaluate(ref, est)
    order = rng.permutation(5)
    changed = evaluate(ref, (est * 10.0 ** rng.uniform(-9, 9, (5, 1)))[order])
    np.testing.assert_allclose(changed.sdr, direct.sdr, atol=1e-8)
    np.testing.assert_array_equal(order[changed.order], direct.order)
    np.testing.assert_allclose(changed.S, direct.S, atol=1e-8)


def test_matched_estimates_are_rescaled_to_the_reference():
    ref = np.random.default_rng(2).random((3, 30))
    np.testing.assert_allclose(evaluate(ref, 7 * ref[::-1]).S, ref)


def test_pairing_maximises_the_mean_not_each_source():
    e = np.eye(3)
    ref = np.stack([e[0], e[1]])
    est = np.stack([e[0] + 0.1 * e[1] + 0.1 * e[2], e[0] + 0.11 * e[2]])
    result = evaluate(ref, est)
    scores = sdr_matrix(ref, est)
    assert scores[0].argmax() == 1 or scores[1].argmax() == 0
    by_hand = max(scores[0, 0] + scores[1, 1], scores[0, 1] + scores[1, 0]) / 2
    assert result.mean_sdr == pytest.approx(by_hand)


def test_perfect_estimates_have_the_ceiling_and_small_errors_are_resolved():
    ref = np.eye(3)
    np.testing.assert_array_equal(evaluate(ref, ref).sdr, CEILING)
    assert evaluate(ref, ref + 1e-11 * np.eye(3)[[1, 2, 0]]).mean_sdr == pytest.approx(220, abs=0.1)


def test_nothing_found_is_never_flattering():
    ref = np.eye(4)[:3]
    silent = np.stack([ref[0], ref[1], np.zeros(4)])
    np.testing.assert_array_equal(evaluate(ref, silent).sdr, [CEILING, CEILING, FLOOR])
    fewer = evaluate(ref, ref[:2])
    np.testing.assert_array_equal(fewer.sdr, [CEILING, CEILING, FLOOR])
    assert fewer.order[2] == -1
    np.testing.assert_array_equal(fewer.S[2], 0)
    np.testing.assert_array_equal(evaluate(ref, np.zeros((3, 4))).sdr, FLOOR)
    np.testing.assert_array_equal(evaluate(ref, np.zeros((0, 4))).sdr, FLOOR)
    for values in (evaluate(ref, silent).sir, evaluate(ref, silent).sar):
        assert values[2] == FLOOR
    orthogonal = evaluate(ref[:1], np.eye(4)[3:])
    assert orthogonal.sdr[0] == FLOOR
    silent_reference = evaluate(np.stack([ref[0], np.zeros(4)]), ref[:2])
    np.testing.assert_array_equal(silent_reference.sdr, [CEILING, FLOOR])
    assert np.isfinite(silent_reference.mean_sdr)


def test_more_estimates_than_references():
    ref = np.random.default_rng(3).random((2, 20))
    est = np.vstack([np.random.default_rng(4).random((3, 20)), ref[::-1]])
    result = evaluate(ref, est)
    np.testing.assert_array_equal(result.order, [4, 3])


@pytest.mark.parametrize("unit", [1e-250, 1e-200, 1e150, 1e200])
def test_extreme_units_change_nothing(unit):
    rng = np.random.default_rng(5)
    ref = rng.random((3, 30))
    est = ref + 0.01 * rng.random((3, 30))
    expected = evaluate(ref, est, noise=rng.random((2, 30)))
    np.testing.assert_allclose(evaluate(ref * unit, est * unit).sdr, expected.sdr)
    np.testing.assert_allclose(evaluate(ref, est * unit).sdr, expected.sdr)
    np.testing.assert_array_equal(evaluate(ref * unit, ref * unit).sdr, CEILING)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="S_est has 3 channels"):
        evaluate(np.ones((2, 4)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="S_ref must be two-dimensional"):
        evaluate(np.ones(4), np.ones((2, 4)))
    with pytest.raises(ValueError, match="S_ref has no rows"):
        evaluate(np.ones((0, 4)), np.ones((2, 4)))
    with pytest.raises(TypeError, match="S_est must hold numbers"):
        evaluate(np.ones((2, 2)), [["a", "b"], ["c", "d"]])
    with pytest.raises(ValueError, match="S_est contains NaN"):
        evaluate(np.ones((2, 4)), np.full((2, 4), np.nan))


def test_public_names():
    assert set(metrics.__all__) == {"CEILING", "FLOOR", "Evaluation", "evaluate", "sdr_matrix"}
    assert all(getattr(metrics, name) is not None for name in metrics.__all__)


def test_references_whose_norm_is_beyond_the_largest_number():
    reference = np.full((1, 400), 1e308)
    found = evaluate(reference, np.ones((1, 400)))
    np.testing.assert_allclose(found.S, reference, rtol=1e-12)
