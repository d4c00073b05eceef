"""How far sources can be exchanged: little where they have zeros, far where they have none."""

import numpy as np
import pytest

import ngmca
from ngmca.rotations.loose_rotations import Answer, correlation_length, negative_parts
from ngmca.sampling.held_entries import Profiles

NOISE = 0.02


def answer(A, S, level=NOISE, **known):
    none = np.zeros(len(S), bool)
    given = {"known": none, "fixed": none, "kept": none} | known
    return Answer(A, S, np.full(len(A), level), **given)


def lines(rng, count, n=400, width=4.0, r=3):
    places = rng.uniform(0, n, (r, count, 1))
    return np.exp(-0.5 * ((np.arange(n) - places) / width) ** 2).sum(axis=1)


def relative(found, S):
    return np.linalg.norm(found, axis=1) / np.linalg.norm(S, axis=1)


def mixing(rng, m=30, r=3):
    A = rng.random((m, r))
    return A / np.linalg.norm(A, axis=0)


def test_zeros_of_their_own_settle_sources_and_overlap_does_not():
    rng = np.random.default_rng(0)
    A, S = mixing(rng), lines(rng, 6)
    few = relative(answer(A, S).spread()[1], S)
    assert few.max() < 0.1
    dense = lines(rng, 6) + 0.5
    assert relative(answer(A, dense).spread()[1], dense).min() > 3 * few.max()


def test_one_zero_alone_settles_nothing():
    """Both sources are 0 at one place of the other only: it may be so by chance."""
    rng = np.random.default_rng(1)
    A, S = 0.5 + rng.random((30, 2)), np.ones((2, 400)) + 0.2 * lines(rng, 6, r=2)
    S[0, 100:110], S[1, 300:310] = 0, 0
    once = relative(answer(A, S).spread()[1], S)
    for start in range(0, 400, 80):
        S[0, start : start + 10], S[1, start + 40 : start + 50] = 0, 0
    assert (relative(answer(A, S).spread()[1], S) < 0.5 * once).all()


def test_the_spread_is_that_of_answers_that_miss_the_truth():
    """An answer with an error of the size that the spread says is within it, and a larger one is not."""
    rng = np.random.default_rng(2)
    A, S = mixing(rng), lines(rng, 6)
    found_A, found_S = answer(A, S).spread()
    far = A[:, [0]] + 0.3 * A[:, [1]]
    far /= np.linalg.norm(far)
    assert np.median(np.abs(far - A[:, [0]]) / found_A[:, [0]]) > 3
    assert (found_S >= 0).all()


def test_what_is_known_stays_and_its_exchange_with_others_does_too():
    rng = np.random.default_rng(3)
    A, S = mixing(rng), lines(rng, 6) + 0.2
    first = np.array([True, False, False])
    of_A, of_S = answer(A, S, known=first, kept=first).spread()
    assert (of_S[0] == 0).all()
    assert (of_A[:, 0] > 0).any()
    of_A, of_S = answer(A, S, fixed=first, kept=first).spread()
    assert (of_A[:, 0] == 0).all()
    assert (of_S[0] > 0).any()
    of_A, of_S = answer(A, S, known=np.ones(3, bool)).spread()
    assert not of_A.any()
    assert not of_S.any()


def test_rows_with_known_sums_keep_them():
    """The columns move together: the covariance of the shears leaves the sums as they are."""
    rng = np.random.default_rng(4)
    A, S = rng.dirichlet(np.ones(3), 30), lines(rng, 6) + 0.2
    closed = answer(A, S, summed=3, kept=np.ones(3, bool))
    pairs = np.argwhere(closed._free)
    moves = np.zeros((len(pairs), 30))
    for k in range(3):
        own = np.flatnonzero((pairs == k).any(axis=1))
        moves[own] += closed._moves(k, pairs[own])[0] * closed._norm[k]
    np.testing.assert_allclose(moves, 0, atol=1e-12)


def test_a_shape_limits_the_exchange():
    rng = np.random.default_rng(5)
    time, levels = np.linspace(0, 1, 30)[:, None], np.full(30, NOISE)
    A, S = 0.5 + np.exp(-0.5 * ((time - [0.3, 0.7]) / 0.1) ** 2), lines(rng, 6, r=2) + 0.5
    profiles = Profiles.of([ngmca.Unimodal()], 2, 30, [slice(None)])
    free, shaped = (
        relative(answer(A, S, off_shape=one).spread()[1], S)
        for one in (negative_parts, lambda k, x: profiles.off_shape(k, x, levels))
    )
    assert (shaped < 0.8 * free).all()


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_and_empty_sources(unit):
    rng = np.random.default_rng(6)
    A, S = mixing(rng), lines(rng, 6)
    S[2] = 0
    one, other = answer(A, S).spread(), answer(A, S * unit, NOISE * unit).spread()
    np.testing.assert_allclose(other[0], one[0], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(other[1] / unit, one[1], rtol=1e-6, atol=1e-12)
    assert not one[1][2].any()


def test_correlation_length():
    t = np.arange(500)
    wide = np.exp(-0.5 * ((t - 250) / 10.0) ** 2)[None]
    assert 14 <= correlation_length(wide) <= 18  # 2 sqrt(ln 2) 10, less for the mean that is taken away
    assert correlation_length(np.zeros((2, 30))) == 1
    assert correlation_length(np.random.default_rng(0).random((3, 200))) == 1
