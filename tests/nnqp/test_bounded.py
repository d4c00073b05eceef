"""Bounded rows, and certificates that nothing can fool."""

import cvxpy
import numpy as np
import pytest

from ngmca import nnqp
from ngmca.nnqp.gram import Gram


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


def nearly_equal(*, own):
    """Two of four sources are almost equal: their Gram, C, and a start for columns of norm 1."""
    rng = np.random.default_rng(1)
    S = rng.random((4, 300))
    S[1] = S[0] + 0.03 * rng.random(300)
    A, start = (X / np.linalg.norm(X, axis=0) for X in rng.random((2, 40, 4)))
    Y = A @ (S * np.array([[0.8], [0.9], [1.3], [1.1]])) + 0.01 * rng.standard_normal((40, 300))
    if not own:
        return Gram(S @ S.T), Y @ S.T, start
    W = rng.uniform(0.2, 1, Y.shape) * (rng.random(Y.shape) > 0.1)
    return Gram(np.einsum("in,kn,ln->ikl", W, S, S), np.arange(40)), (W * Y) @ S.T, start


def by_cone(gram, C):
    """The minimum by a cone solver."""
    X, m = cvxpy.Variable(C.shape), len(C)
    which = np.zeros(m, int) if gram.which is None else gram.which
    roots = np.linalg.cholesky(gram.stack)[which]
    costs = [cvxpy.sum_squares(roots[i].T @ X[i]) / 2 - C[i] @ X[i] for i in range(m)]
    bounds = [X >= 0, cvxpy.norm(X, 2, axis=0) <= 1]
    precise = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    cvxpy.Problem(cvxpy.Minimize(sum(costs)), bounds).solve(solver="CLARABEL", **precise)
    return X.value


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("own", [False, True])
def test_nearly_equal_sources_reach_their_minimum_and_it_is_said_how_far_they_are(own, monkeypatch):
    gram, C, start = nearly_equal(own=own)
    best, bounded = by_cone(gram, C), np.ones(4, bool)
    found, far = gram.solve_bounded(C, start, bounded)
    assert (np.linalg.norm(found, axis=0) <= 1 + 1e-12).all()
    assert np.isclose(np.linalg.norm(found, axis=0), 1).any()
    np.testing.assert_allclose(found, best, atol=1e-4)
    assert far < 1e-4
    monkeypatch.setattr("ngmca.nnqp.gram.FAR_FROM_MINIMUM", np.inf)  # descent alone
    early, far = gram.solve_bounded(C, start, bounded)
    distance = np.abs(early - best).max() / early.max()
    assert distance > 0.1
    assert distance / 3 < far < 30 * distance


@pytest.mark.parametrize("own", [False, True])
def test_equal_sources_end_within_their_bounds(own):
    rng = np.random.default_rng(0)
    S = rng.random((3, 100))
    S[1] = S[0]
    A = rng.random((20, 3))
    gram = Gram(np.tile(S @ S.T, (20, 1, 1)), np.arange(20)) if own else Gram(S @ S.T)
    found, far = gram.solve_bounded(A @ S @ S.T, np.full((20, 3), 0.1), np.ones(3, bool))
    assert (np.linalg.norm(found, axis=0) <= 1 + 1e-12).all()
    assert far < 1e-2


def test_a_source_that_is_0_does_not_make_the_others_uncertain():
    rng = np.random.default_rng(0)
    S = np.vstack([rng.random((2, 50)) * (rng.random((2, 50)) < 0.5), np.zeros((1, 50))])
    gram = Gram(S @ S.T)
    found, far = gram.solve_bounded(
        rng.random((10, 3)) @ S @ S.T, np.full((10, 3), 0.3), np.ones(3, bool)
    )
    assert not found[:, 2].any()
    assert far < 1e-5
    assert gram.least_eigenvalue == pytest.approx(Gram((S @ S.T)[:2, :2]).least_eigenvalue)
