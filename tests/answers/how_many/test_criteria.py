"""Each criterion by itself, on data that were made for it."""

import numpy as np
import pytest

from ngmca.answers.how_many.directions import CLEARLY, directions, filled, number_above
from ngmca.answers.how_many.halves import closeness, come_again
from ngmca.answers.how_many.held_out_blocks import _blocks, held_out, number_that_predicts

RNG = np.random.default_rng


@pytest.fixture
def three():
    """Three directions of equal strength in white noise."""
    rng = RNG(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, 3)))[0] for size in (30, 200))
    return 60 * U @ V.T + rng.standard_normal((30, 200))


@pytest.mark.parametrize("shape", [(30, 200), (200, 30), (9, 300)])
def test_noise_has_no_direction_above_rotated_noise(shape):
    for seed in range(5):
        ratios = directions(RNG(seed).standard_normal(shape), 5, 0.0, RNG(0))
        assert (ratios > 0.8).all()
        assert (ratios <= CLEARLY).all()


def test_directions_are_counted(three):
    ratios = directions(three, 8, 0.0, RNG(0))
    assert (ratios[:3] > 1.5).all()
    assert number_above(ratios) == 3
    assert number_above(directions(three, 8, 5.0, RNG(0))) == 1  # a level that is known to be higher


def test_fits_of_missing_entries_are_those_of_the_others(three):
    clean = np.outer(np.arange(1.0, 31), np.linspace(1, 2, 200))
    gone = RNG(1).random((30, 200)) < 0.3
    np.testing.assert_allclose(filled(np.where(gone, np.nan, clean), 1), clean, rtol=0.02)
    assert number_above(directions(np.where(gone, np.nan, three), 8, 0.0, RNG(0))) == 3


def test_nothing_of_a_hidden_block_enters_its_prediction(three):
    """A direction in one block alone is never predicted; one that all blocks share is."""
    everywhere = np.ones(three.shape, dtype=bool)
    errors = held_out(three, everywhere, 6, RNG(0))
    assert number_that_predicts(errors) == 3
    assert errors[4] > errors[3]
    alone = RNG(0).standard_normal((30, 200))
    alone[:4, :6] += 50.0
    assert held_out(alone, everywhere, 6, RNG(0))[1:].min() > 0.9


def test_neighbours_predict_nothing():
    """Noise that is the same in three neighbouring channels: the guard leaves them out."""
    noise = np.repeat(RNG(0).standard_normal((30, 100)), 3, axis=1)
    assert held_out(noise, np.ones(noise.shape, dtype=bool), 5, RNG(0)).min() > 0.9


def test_only_observed_entries_count(three):
    seen = RNG(0).random(three.shape) < 0.7
    wrong = np.where(seen, three, 3 * three)
    right = held_out(three, seen, 5, RNG(0))
    assert number_that_predicts(right) == 3
    assert right[3] < held_out(wrong, np.ones_like(seen), 5, RNG(0))[3]


def test_a_source_must_lower_the_error_by_a_fifth():
    assert number_that_predicts(np.array([1, 0.5, 0.45, 0.3, 0.25])) == 3
    assert number_that_predicts(np.array([1, 0.5, 0.6, 0.45])) == 1
    assert number_that_predicts(np.array([1, 0.9, 0.95])) == 0


def test_closeness_is_to_itself_against_the_others():
    S = np.eye(3, 6)
    np.testing.assert_allclose(closeness(S, 5 * S[[2, 0, 1]]), 1)
    np.testing.assert_allclose(closeness(S, np.eye(3, 6, k=3)), 0)  # other sources altogether
    alike = np.array([[1.0, 0.01, 0.0], [1.0, 0.0, 0.01]])  # one as close as the other
    assert closeness(alike, alike + 0.01 * np.eye(3)[[2, 1]]).max() < 0.6
    assert closeness(S[:1], S[:1] + S[1:2]) == pytest.approx(np.sqrt(0.5))
    assert closeness(np.zeros((2, 4)), np.eye(2, 4)).max() <= 0


def test_the_median_of_what_was_tried_decides():
    assert come_again(np.array([0.9, 0.85, -1.0, 0.95]))
    assert not come_again(np.array([0.9, 0.3, 0.2, 0.95]))
    assert not come_again(np.array([0.3, np.nan, np.nan, np.nan]))
    assert not come_again(np.full(4, np.nan))


def test_channels_beside_a_held_out_stretch_are_left_out_too():
    for _, hidden, guarded in _blocks((8, 120), np.random.default_rng(0)):
        beside = {j + step for j in hidden for step in (-2, 2) if 0 <= j + step < 120}
        assert beside <= set(guarded)


def test_closeness_does_not_depend_on_which_half_comes_first():
    S, T = np.array([[1.0, 0.0], [0.9, 0.3]]), np.eye(2)
    np.testing.assert_allclose(closeness(S, T), closeness(T, S))
