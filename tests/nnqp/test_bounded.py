"""Bounded rows, and certificates that nothing can fool."""

import numpy as np
import pytest

from ngmca import nnqp


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = rng.random((30, 4))
    return A.T @ A, A.T @ rng.random((30, 12))


def test_bounded_is_what_fista_finds(problem):
    G, C = problem
    bound = np.array([0.2, 10.0, 0.1, 0.5])
    found = nnqp.bounded(G, C, bound, max_iter=5000, tol=1e-12)
    other = nnqp.fista(G, C, bound=bound, max_iter=20000, tol=1e-14)
    assert found.violation < 1e-9
    assert (np.linalg.norm(found.X, axis=1) <= bound + 1e-12).all()
    assert np.isclose(np.linalg.norm(found.X, axis=1), bound).any()  # the bound must bite
    np.testing.assert_allclose(found.X, other.X, atol=1e-6)


def test_without_a_round_nothing_is_certified(problem):
    G, C = problem
    found = nnqp.bounded(G, C, 1.0, max_iter=0)
    assert found.violation > 0.5
    assert nnqp.bounded(G, C, 1.0, max_iter=1).violation > 1e-6


@pytest.mark.parametrize("bad", [-1.0, np.nan, [1.0, 1.0, -1.0, 1.0]])
def test_bounds_and_thresholds_that_are_none_are_refused(problem, bad):
    G, C = problem
    with pytest.raises(ValueError, match="bound must not be negative, nor NaN"):
        nnqp.bounded(G, C, bad)
    with pytest.raises(ValueError, match="bound must not be negative, nor NaN"):
        nnqp.fista(G, C, bound=bad)
    with pytest.raises(ValueError, match="threshold must not be negative, nor NaN"):
        nnqp.fista(G, C, threshold=bad)
