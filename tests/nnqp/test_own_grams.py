"""Rows with their own Gram matrices: against the solver for one matrix, and a cone solver."""

import cvxpy
import numpy as np
import pytest
from scipy.optimize import nnls

from ngmca.nnqp import pivot, violation
from ngmca.nnqp.per_row_grams import solve_each

EXACT = {"solver": "CLARABEL", "tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}


def missing_data(rng, m=60, r=5, n=12, *, singular=False):
    """Rows of Y with entries missing: the dictionary, data, what was observed, and the sub-problem."""
    A = rng.random((n, r))
    if singular:
        A[:, -1] = A[:, 0] + A[:, 1]
    Y = np.maximum(rng.standard_normal((m, r)), 0) @ A.T + 0.3 * rng.standard_normal((m, n))
    seen = rng.random((9, n)) < rng.uniform(0.3, 1, (9, 1))
    seen[0] = False
    which = rng.integers(0, 9, m)
    H = np.einsum("pn,nj,nk->pjk", seen, A, A)
    return A, Y, seen, H, which, (Y * seen[which]) @ A


def violation_each(H, which, C, X):
    """The largest violation of a row of X, each with its own matrix."""
    if not len(X):
        return 0.0
    return violation(H[which], C[..., None], X[..., None])


def misfit(A, Y, W, X):
    return np.sum(W * (Y - X @ A.T) ** 2) / 2


def by_cone(A, Y, W):
    """The least misfit of X >= 0 to the observed entries, by an interior-point method."""
    X = cvxpy.Variable((len(Y), A.shape[1]), nonneg=True)
    task = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(cvxpy.multiply(np.sqrt(W), Y - X @ A.T)) / 2))
    task.solve(**EXACT)
    return task.value


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("singular", [False, True], ids=["definite", "singular"])
def test_it_is_the_minimum_over_what_was_observed(singular, warm):
    rng = np.random.default_rng(0)
    for _ in range(4):  # 60 rows each
        A, Y, seen, H, which, C = missing_data(rng, singular=singular)
        X = np.where(rng.random(C.shape) < 0.5, rng.random(C.shape), 0) if warm else np.zeros(C.shape)
        reported = solve_each(H, which, C, X)
        assert (X >= 0).all()
        assert 0.2 < (X == 0).mean() < 0.9  # the constraint binds
        assert max(reported, violation_each(H, which, C, X)) <= 1e-12
        least = by_cone(A, Y, seen[which])
        assert misfit(A, Y, seen[which], X) == pytest.approx(least, rel=1e-9)
        assert misfit(A, Y, np.ones(Y.shape), X) > 1.01 * least  # the pattern matters
        assert not X[which == 0].any()  # nothing was seen there


def test_every_row_is_solved_with_its_own_matrix():
    rng = np.random.default_rng(1)
    A, y = rng.random((300, 8, 5)), rng.standard_normal((300, 8)) + 0.2
    H, C = np.einsum("mni,mnj->mij", A, A), np.einsum("mni,mn->mi", A, y)
    order = rng.permutation(300)
    X = np.zeros((300, 5))
    solve_each(H[order], np.argsort(order), C, X)  # the matrix of row i is somewhere in the stack
    np.testing.assert_allclose(X, [nnls(a, b)[0] for a, b in zip(A, y, strict=True)], atol=1e-9)
    wrong = np.zeros((300, 5))
    solve_each(H[order], order, C, wrong)
    assert violation_each(H[order], np.argsort(order), C, wrong) > 0.1


def test_one_matrix_for_all_is_the_plain_problem():
    rng = np.random.default_rng(2)
    A = rng.random((20, 8))
    G, C = A.T @ A, A.T @ rng.standard_normal((20, 100))
    X = np.zeros((100, 8))
    solve_each(G[None], np.zeros(100, dtype=int), C.T, X)
    np.testing.assert_array_equal(X, pivot(G, C).X.T)


def test_a_shift_is_taken_off_the_correlations():
    rng = np.random.default_rng(3)
    *_, H, which, C = missing_data(rng)
    shift = rng.random(5)
    shifted, moved, plain = np.zeros(C.shape), np.zeros(C.shape), np.zeros(C.shape)
    solve_each(H, which, C, shifted, shift)
    solve_each(H, which, C - shift, moved)
    solve_each(H, which, C, plain)
    np.testing.assert_array_equal(shifted, moved)
    assert np.abs(shifted - plain).max() > 0.1


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_change_nothing(unit):
    rng = np.random.default_rng(4)
    *_, H, which, C = missing_data(rng)
    H = H + np.eye(5)  # one solution only
    plain = np.zeros(C.shape)
    solve_each(H, which, C, plain)
    units = unit ** rng.random((len(H), 5))  # every unknown of every matrix in its own unit
    X = np.zeros(C.shape)
    solve_each(H * units[:, :, None] * units[:, None, :], which, C * units[which], X)
    np.testing.assert_allclose(X * units[which], plain, rtol=1e-9, atol=1e-12)


def test_single_precision_is_solved_in_double():
    rng = np.random.default_rng(5)
    *_, H, which, C = missing_data(rng)
    C32 = C.astype(np.float32)
    X, exact = np.zeros(C.shape, dtype=np.float32), np.zeros(C.shape)
    solve_each(H, which, C32.astype(np.float64), exact)
    reported = solve_each(H, which, C32, X)
    np.testing.assert_array_equal(X, exact.astype(np.float32))
    assert 1e-9 < violation_each(H, which, C32, X) <= reported <= 1e-5


def test_nothing_to_solve():
    assert (
        solve_each(np.zeros((0, 3, 3)), np.zeros(0, dtype=int), np.zeros((0, 3)), np.zeros((0, 3))) == 0
    )
    assert (
        violation_each(np.zeros((0, 3, 3)), np.zeros(0, dtype=int), np.zeros((0, 3)), np.zeros((0, 3)))
        == 0
    )
    X = np.ones((2, 3))
    assert solve_each(np.zeros((1, 3, 3)), np.zeros(2, dtype=int), np.zeros((2, 3)), X) == 0
    assert not X.any()
