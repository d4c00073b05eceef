"""Columns with given sums: the minimum, against a cone solver; and wrong solvers against the same."""

import cvxpy
import numpy as np
import pytest

from ngmca.nnqp import Solution, closed, objective, pivot
from ngmca.nnqp.closed_rows import solve_closed, violation_closed

EXACT = {"solver": "CLARABEL", "tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
FAMILIES = ("definite", "singular", "nothing", "own", "own singular")
COLUMNS = 25


def problem(family, rng):
    """25 columns that share a matrix, or have one each: A (columns, n, r), y, totals."""
    r = int(rng.integers(2, 8))
    n = max(1, r // 2) if "singular" in family else r + 3
    count = COLUMNS if "own" in family else 1
    A = rng.standard_normal((count, n, r)) + 0.5
    if family == "nothing":
        A[:, :, 0] = 0  # nothing is known of the first source
    A = np.broadcast_to(A, (COLUMNS, n, r))
    y = np.einsum("tnr,tr->tn", A, rng.dirichlet(np.full(r, 0.5), COLUMNS))
    return A, y + 0.5 * rng.standard_normal(y.shape), 10.0 ** rng.uniform(-1, 1, COLUMNS)


def small(A, y, family):
    """The sub-problem: G, C and which."""
    H, C = np.einsum("tnj,tnk->tjk", A, A), np.einsum("tnj,tn->jt", A, y)
    return (H, C, np.arange(COLUMNS)) if "own" in family else (H[0], C, None)


def by_cone(A, y, totals):
    X = cvxpy.Variable((A.shape[2], len(A)), nonneg=True)
    misfits = [cvxpy.sum_squares(A[t] @ X[:, t] - y[t]) / 2 for t in range(len(A))]
    task = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(misfits)), [cvxpy.sum(X, axis=0) == totals])
    task.solve(**EXACT)
    return X.value


def misfits(A, y, X):
    return np.sum((np.einsum("tnr,rt->tn", A, X) - y) ** 2, axis=1) / 2


def check(solve, family, *, warm, count=8):
    """All that is asked of a solution of 8 x 25 problems; raises AssertionError for a wrong solver."""
    rng = np.random.default_rng(FAMILIES.index(family))
    zeros, bent = [], []
    for _ in range(count):
        A, y, totals = problem(family, rng)
        G, C, which = small(A, y, family)
        X0 = np.maximum(rng.standard_normal(C.shape), 0) if warm else None
        X = solve(G, C, totals, X0, which=which).X
        assert (X >= 0).all()
        np.testing.assert_allclose(X.sum(axis=0), totals, rtol=1e-12)
        expected = by_cone(A, y, totals)
        found, least = misfits(A, y, X), misfits(A, y, expected)
        assert (found <= least + 1e-8 * (1 + least)).all()
        if family in ("definite", "own"):
            np.testing.assert_allclose(X, expected, atol=1e-6 * totals.max())
        assert violation_closed(G, C.T, totals, X.T, which) <= 1e-12
        zeros.append((X == 0).mean())
        bent.append((expected < 1e-7 * totals).mean())
    assert np.mean(zeros) > 0.2  # both constraints must bite
    assert np.mean(zeros) >= np.mean(bent) - 0.01  # and zeros are exact


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("family", FAMILIES)
def test_exact_on_two_hundred_problems(family, warm):
    check(closed, family, warm=warm)


def clipping_and_scaling(G, C, totals, X0, which):
    X = pivot(G, C).X + 1e-9
    return Solution(X * totals / X.sum(axis=0), 0.0)


def adding_the_rest(G, C, totals, X0, which):
    X = pivot(G, C).X
    X = np.maximum(X + (totals - X.sum(axis=0)) / len(X), 0) + 1e-12
    return Solution(X * totals / X.sum(axis=0), 0.0)


def without_signs(G, C, totals, X0, which):
    """The minimum for the sums alone, and then what is negative cut off."""
    r = len(G)
    border = np.block([[G, np.ones((r, 1))], [np.ones((1, r)), np.zeros((1, 1))]])
    X = np.maximum(np.linalg.lstsq(border, np.vstack([C, totals]), rcond=None)[0][:r], 0)
    return Solution(X * totals / X.sum(axis=0), 0.0)


def stiff_penalty(G, C, totals, X0, which):
    stiff = 1e4 * np.trace(G)
    return pivot(G + stiff, C + stiff * totals)


WRONG = [clipping_and_scaling, adding_the_rest, without_signs, stiff_penalty]


@pytest.mark.parametrize("wrong", WRONG)
def test_the_checks_catch_wrong_solvers(wrong):
    with pytest.raises(AssertionError):
        check(wrong, "definite", warm=False, count=2)


@pytest.mark.parametrize("wrong", WRONG)
def test_the_certificate_catches_wrong_solvers(wrong):
    A, y, totals = problem("definite", np.random.default_rng(0))
    G, C, _ = small(A, y, "definite")
    X = wrong(G, C, totals, None, None).X
    assert violation_closed(G, C.T, totals, X.T) > 1e-7
    assert closed(G, C, totals).violation <= 1e-14


def test_a_sum_that_is_met_anyway_changes_nothing():
    rng = np.random.default_rng(1)
    A = rng.random((20, 6))
    G, C = A.T @ A, A.T @ rng.standard_normal((20, 50))
    X = pivot(G, C).X
    some = X.sum(axis=0) > 0
    np.testing.assert_allclose(closed(G, C, X.sum(axis=0)).X[:, some], X[:, some], atol=1e-12)


def test_what_sums_up_to_nothing_is_nothing():
    rng = np.random.default_rng(2)
    A = rng.random((9, 4))
    G, C = A.T @ A, A.T @ rng.random((9, 3))
    found = closed(G, C, [0.0, 2.0, 0.0], np.ones((4, 3)))
    np.testing.assert_array_equal(found.X[:, [0, 2]], 0)
    assert found.X[:, 1].sum() == pytest.approx(2, rel=1e-14)
    assert found.violation <= 1e-14
    assert violation_closed(G, C.T, np.zeros(3), np.ones((3, 4))) == np.inf


def test_a_column_of_which_nothing_is_known_still_has_its_sum():
    H = np.stack([np.eye(3), np.zeros((3, 3))])
    found = closed(H, np.zeros((3, 4)), 5.0, which=np.array([0, 1, 1, 0]))
    np.testing.assert_allclose(found.X.sum(axis=0), 5, rtol=1e-14)
    np.testing.assert_allclose(found.X[:, [0, 3]], 5 / 3, rtol=1e-14)
    assert found.violation <= 1e-14


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_change_nothing(unit):
    rng = np.random.default_rng(3)
    A = rng.random((9, 6))
    G, C, totals = A.T @ A, A.T @ rng.standard_normal((9, 40)), rng.random(40)
    X = closed(G, C, totals).X
    np.testing.assert_allclose(closed(G * unit, C * unit, totals).X, X, atol=1e-13)
    np.testing.assert_allclose(closed(G, C * unit, totals * unit).X / unit, X, atol=1e-13)
    np.testing.assert_allclose(closed(G / unit, C, totals * unit).X / unit, X, atol=1e-13)
    corner = closed(
        G, C * 1e100, totals
    ).X  # the linear term is all: everything goes to its largest entry
    np.testing.assert_array_equal(corner.argmax(axis=0), C.argmax(axis=0))
    assert (np.count_nonzero(corner, axis=0) == 1).all()
    far = closed(G * 1e-150, C * 1e100, totals * 1e-100).X  # no float64 holds the ratio of the terms
    np.testing.assert_allclose(far * 1e100, corner, rtol=1e-12)


def test_hardly_definite_problems_keep_their_sums():
    rng = np.random.default_rng(7)
    for r in (3, 6, 40):
        A = rng.standard_normal((r + 3, r)) + 0.5
        A[:, -1] = A[:, 0] + 1e-9 * rng.standard_normal(r + 3)
        found = closed(A.T @ A, A.T @ rng.standard_normal((r + 3, 200)), 3.0)
        np.testing.assert_allclose(found.X.sum(axis=0), 3, rtol=1e-12)
        assert found.violation <= 1e-12


def test_sources_of_very_different_sizes():
    """Minor ones are as exact as the objective can tell."""
    rng = np.random.default_rng(4)
    A = rng.random((12, 6)) * 10.0 ** -np.arange(6)
    G, C, totals = A.T @ A, A.T @ (A @ rng.dirichlet(np.ones(6), 40).T), np.full(40, 1.2)
    found = closed(G, C, totals)
    assert found.violation <= 1e-13
    reference = closed(G * 2.0**40, C * 2.0**40, totals, found.X).X
    np.testing.assert_allclose(objective(G, C, found.X), objective(G, C, reference), rtol=1e-12)


def test_single_precision_and_a_start_that_stays():
    rng = np.random.default_rng(5)
    A = rng.random((9, 4))
    G, C = A.T @ A, (A.T @ rng.random((9, 30))).astype(np.float32)
    X0 = rng.random((4, 30)).astype(np.float32)
    before = X0.copy()
    found = closed(G, C, 2.0, X0)
    np.testing.assert_array_equal(X0, before)
    assert found.X.dtype == np.float32
    assert 1e-10 < found.violation < 1e-5
    np.testing.assert_allclose(found.X, closed(G, C.astype(float), 2.0).X, atol=1e-6)


def test_rows_are_solved_in_place():
    rng = np.random.default_rng(6)
    A = rng.random((9, 4))
    G, C, totals = A.T @ A, A.T @ rng.standard_normal((9, 30)), rng.random(30)
    X = np.zeros((30, 4))
    assert solve_closed(G, C.T, totals, X) <= 1e-14
    np.testing.assert_allclose(X, closed(G, C, totals).X.T, atol=1e-15)
    assert closed(np.eye(3), np.zeros((3, 0)), 1.0).X.shape == (3, 0)
    assert closed(np.zeros((0, 0)), np.zeros((0, 4)), 0.0).X.shape == (0, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"totals": -1.0}, "totals must not be negative"),
        ({"totals": np.nan}, "totals must not be negative, nor NaN"),
        ({"totals": np.inf}, "totals must be finite"),
        ({"G": np.zeros((0, 0)), "C": np.zeros((0, 3))}, "totals must be 0"),
        ({"which": np.zeros(3, dtype=int)}, r"G must be square \(p, r, r\)"),
        (
            {"G": np.eye(2)[None], "which": np.ones(3, dtype=int)},
            "which must name a matrix of G, 0 to 0",
        ),
        ({"G": np.eye(2)[None], "which": np.zeros(2, dtype=int)}, "which must name a matrix"),
        ({"G": np.eye(2)[None], "which": np.zeros(3)}, "which must name a matrix"),
        ({"G": -np.eye(2)[None], "which": np.zeros(3, dtype=int)}, "positive semi-definite"),
    ],
)
def test_bad_problems_are_refused(options, message):
    task = {"G": np.eye(2), "C": np.ones((2, 3)), "totals": 1.0} | options
    with pytest.raises(ValueError, match=message):
        closed(**task)
