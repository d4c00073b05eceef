"""The exact solver against enumeration and scipy, and wrong solvers against the same checks."""

import sys
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

from ngmca.nnqp import Solution, duality_gap, fista, objective, pivot, violation
from ngmca.nnqp.pivoting import pivot_rows, solve_rows

FAMILIES = ("well-conditioned", "rank-deficient", "badly scaled", "duplicated", "nearly singular")
COUNT = 1000

CIRCLING_G = np.array(
    [
        [30.0, 0.0, 24.0, -10.0, 7.0],
        [0.0, 22.0, -1.0, 0.0, 18.0],
        [24.0, -1.0, 22.0, -1.0, 1.0],
        [-10.0, 0.0, -1.0, 23.0, -12.0],
        [7.0, 18.0, 1.0, -12.0, 22.0],
    ]
)
CIRCLING_C = np.array([5.0, 0.0, 2.0, 5.0, 2.0])


@dataclass(frozen=True)
class Problem:
    G: np.ndarray
    C: np.ndarray  # (r, 1)
    least: float  # the minimum, by another method
    definite: bool


def problems(family, count=COUNT):
    """Problems with r from 1 to 60, every second one small enough to enumerate supports."""
    rng = np.random.default_rng(FAMILIES.index(family))
    for t in range(count):
        r = int(rng.integers(1, 7) if t % 2 else rng.integers(7, 61))
        A = mixture(family, r, rng)
        y = rng.standard_normal(len(A)) + 0.3
        lam = 0.3 * rng.random() if t % 4 == 1 else 0.0
        norms = np.linalg.norm(A, axis=0)
        G, C = A.T @ A, A.T @ y - lam * norms
        scale = 1 / np.where(norms > 0, norms, 1)  # references in sound units; the minimum is the same
        small = r <= 6
        least = enumerated(G * scale * scale[:, None], C * scale) if small else by_nnls(A * scale, y)
        yield Problem(G, C[:, None], least, family in ("well-conditioned", "badly scaled"))


def mixture(family, r, rng):
    m = r + int(rng.integers(0, 10))
    A = rng.standard_normal((m, r)) if rng.random() < 0.5 else rng.random((m, r))
    if family == "rank-deficient":
        k = max(1, r // 2)
        A = A[:, :k] @ rng.random((k, r))
    elif family == "badly scaled":
        A = A * 10.0 ** rng.uniform(-60, 60, r)
    elif family == "duplicated":
        A[:, rng.integers(r)] = A[:, 0]
        A[:, rng.integers(r)] = 2 * A[:, -1]
        if r > 2:
            A[:, rng.integers(r)] = 0
    elif family == "nearly singular":
        A[:, -1] = A[:, 0] + 1e-7 * rng.standard_normal(m)
    return A


def enumerated(G, c):
    """The least objective over the solutions on every support."""
    best = 0.0
    for k in range(1, len(c) + 1):
        for F in map(list, combinations(range(len(c)), k)):
            x = np.linalg.lstsq(G[np.ix_(F, F)], c[F], rcond=1e-13)[0]
            if (x >= 0).all():
                best = min(best, x @ G[np.ix_(F, F)] @ x / 2 - c[F] @ x)
    return best


def by_nnls(A, y):
    x = nnls(A, y, maxiter=50 * A.shape[1])[0]
    return x @ (A.T @ A) @ x / 2 - (A.T @ y) @ x


def check(solve, family, *, warm, count=COUNT):
    """All that is asked of a solution; raises AssertionError for a wrong solver."""
    rng = np.random.default_rng(99)
    zeros = []
    for problem in problems(family, count):
        r = len(problem.G)
        X0 = rng.random((r, 1)) * (rng.random((r, 1)) < 0.5) if warm else None
        X = solve(problem.G, problem.C, X0).X
        assert np.isfinite(X).all()
        assert (X >= 0).all()
        zeros.append((X == 0).mean())
        found = objective(problem.G, problem.C, X)[0]
        tolerance = 1e-9 if family != "nearly singular" else 1e-6  # Gram loses half the digits there
        assert abs(found - problem.least) <= tolerance * abs(problem.least) + 1e-300
        if problem.definite:
            assert violation(problem.G, problem.C, X) <= 1e-9
    assert np.mean(zeros) > 0.2  # the constraint must bite, or clipping would pass too


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("family", FAMILIES)
def test_exact_on_a_thousand_problems(family, warm):
    check(pivot, family, warm=warm)


def clipping(G, C, X0):
    return Solution(np.maximum(np.linalg.lstsq(G, C, rcond=None)[0], 0), 0.0)


def stopping_early(G, C, X0):
    return fista(G, C, X0, max_iter=200, tol=0)


def one_exchange(G, C, X0):
    """Positive on the support of the clipped solution only: pivoting that stops after one round."""
    X = np.zeros_like(C)
    F = clipping(G, C, X0).X[:, 0] > 0
    X[F] = np.maximum(np.linalg.lstsq(G[np.ix_(F, F)], C[F], rcond=None)[0], 0)
    return Solution(X, 0.0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("wrong", [clipping, stopping_early, one_exchange])
def test_the_checks_catch_wrong_solvers(wrong, family):
    with pytest.raises(AssertionError):
        check(wrong, family, warm=False, count=100)


def test_many_columns_at_once_are_the_columns_one_by_one():
    rng = np.random.default_rng(3)
    A = rng.random((20, 8))
    G, C = A.T @ A, A.T @ rng.standard_normal((20, 300))
    together = pivot(G, C)
    alone = np.hstack([pivot(G, C[:, [t]]).X for t in range(300)])
    np.testing.assert_array_equal(together.X, alone)
    assert together.violation <= 1e-14


def test_the_violation_tells_right_from_wrong():
    rng = np.random.default_rng(4)
    A = rng.random((30, 12))
    G, C = A.T @ A, A.T @ rng.standard_normal((30, 50))
    solution = pivot(G, C)
    assert 0 < solution.violation <= 1e-14
    assert solution.violation == violation(G, C, solution.X)
    assert violation(G, C, solution.X + 1e-3) > 1e-5
    assert violation(G, C, np.zeros_like(C)) > 0.1
    assert violation(G, C, -solution.X) > 0.1


def test_the_violation_that_the_kernel_reports_is_that_of_what_it_returns():
    """In single precision and for hardly definite G there is something to report."""
    rng = np.random.default_rng(8)
    A = rng.random((30, 6))
    G, C = A.T @ A, A.T @ rng.standard_normal((30, 200))
    X = np.zeros((200, 6), dtype=np.float32)
    reported = solve_rows(G, np.ascontiguousarray(C.T), X)
    assert violation(G, C, X.T) <= reported <= 1e-5
    assert violation(G, C, X.T) > 1e-9
    A[:, 1] = A[:, 0] + 1e-8 * rng.standard_normal(30)
    G, C = A.T @ A, A.T @ rng.standard_normal((30, 200))
    X = np.zeros((200, 6))
    reported = solve_rows(G, np.ascontiguousarray(C.T), X)
    assert reported == pytest.approx(violation(G, C, X.T), rel=2, abs=1e-15)


def test_hardly_definite_problems_are_refined():
    """Digits that elimination loses are won back: with G of condition 1e13 the minimum is still met."""
    rng = np.random.default_rng(9)
    for _ in range(200):
        U = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        G = (U * [1.0, 1e-6, 1e-13]) @ U.T
        G = (G + G.T) / 2
        C = (U * np.sqrt([1.0, 1e-6, 1e-13])) @ rng.standard_normal((3, 1))
        g = [[Fraction(float(v)) for v in row] for row in G]
        c = [Fraction(float(v)) for v in C[:, 0]]
        x = [Fraction(float(v)) for v in pivot(G, C).X[:, 0]]
        least = min(
            (rational(g, c, solution) for solution in rational_candidates(g, c)), default=Fraction(0)
        )
        assert rational(g, c, x) - min(least, 0) <= abs(least) / 10**7


def rational(g, c, x):
    """1/2 x'gx - c'x without rounding."""
    n = range(len(c))
    return sum(x[i] * (sum(g[i][j] * x[j] for j in n) / 2 - c[i]) for i in n)


def rational_candidates(g, c):
    """Non-negative solutions on every support, without rounding."""
    for k in range(1, len(c) + 1):
        for F in combinations(range(len(c)), k):
            rows = [[g[i][j] for j in F] + [c[i]] for i in F]
            for a in range(k):
                for b in range(k):
                    if b != a:
                        share = rows[b][a] / rows[a][a]
                        rows[b] = [v - share * w for v, w in zip(rows[b], rows[a], strict=True)]
            solution = {i: row[-1] / row[a] for a, (i, row) in enumerate(zip(F, rows, strict=True))}
            if min(solution.values()) >= 0:
                yield [solution.get(i, Fraction(0)) for i in range(len(c))]


def test_the_one_at_a_time_rule_ends_what_full_exchanges_would_not():
    """Exchanging every broken sign goes in circles on this problem; the backup rule does not."""
    kernel = sys.modules["ngmca.nnqp.pivoting"]
    G, c = CIRCLING_G, CIRCLING_C
    seen, passive = set(), np.zeros(len(c), dtype=bool)
    while tuple(passive) not in seen:  # full exchanges only
        seen.add(tuple(passive))
        x = np.zeros(len(c))
        x[passive] = np.linalg.solve(G[np.ix_(passive, passive)], c[passive])
        y = G @ x - c
        broken = np.where(passive, x < 0, y < -1e-12)
        assert broken.any()
        passive ^= broken
    r = len(c)
    F, z, y = np.zeros(r + 1, dtype=np.uintp), np.zeros(r + 1), np.zeros(r)
    known = np.full(r + 1, r + 1, dtype=np.uintp)
    k = kernel._block_pivoting(
        G, c, F, 0, z, y, np.zeros((r, r)), np.zeros(r + 1), known, np.zeros(r, dtype=bool), 0, 0.0
    )
    assert k >= 0
    X = np.zeros((r, 1))
    X[F[:k].astype(int), 0] = z[:k]
    assert violation(G, c[:, None], X) <= 1e-12


@pytest.mark.parametrize("r", [1, 2, 40, 200])
def test_all_sizes(r):
    rng = np.random.default_rng(r)
    A = rng.random((2 * r, r))
    G, C = A.T @ A, A.T @ rng.standard_normal((2 * r, 5))
    X = pivot(G, C).X
    expected = np.stack([nnls(A, y)[0] for y in np.linalg.lstsq(A.T, C, rcond=None)[0].T], axis=1)
    assert violation(G, C, X) <= 1e-12
    np.testing.assert_allclose(X, expected, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-150, 1e-75, 1e75, 1e150])
def test_extreme_units_change_nothing(unit):
    rng = np.random.default_rng(5)
    A = rng.random((9, 6))
    G, C = A.T @ A, A.T @ rng.standard_normal((9, 40))
    expected = pivot(G, C).X
    np.testing.assert_allclose(pivot(G * unit, C * unit).X, expected, rtol=1e-12)
    np.testing.assert_allclose(pivot(G, C * unit).X, expected * unit, rtol=1e-12)
    np.testing.assert_allclose(pivot(G * unit, C).X * unit, expected, rtol=1e-12)


def test_no_columns_and_no_rows():
    assert pivot(np.eye(3), np.zeros((3, 0))).X.shape == (3, 0)
    assert pivot(np.zeros((0, 0)), np.zeros((0, 4))).X.shape == (0, 4)


def test_zero_gram_gives_zero():
    solution = pivot(np.zeros((3, 3)), -np.ones((3, 2)))
    np.testing.assert_array_equal(solution.X, 0)
    assert solution.violation == 0


def test_a_problem_without_minimum_stays_finite_and_is_certified_as_unsolved():
    G, C = np.diag([1.0, 0.0]), np.array([[1.0], [1.0]])
    X = pivot(G, C).X
    assert np.isfinite(X).all()
    assert X[0, 0] == 1
    assert violation(G, C, X) == pivot(G, C).violation == np.inf
    flat = np.array([[1.0, -1.0], [-1.0, 1.0]])  # flat along (1, 1), where C is positive
    assert np.isfinite(pivot(flat, np.ones((2, 1))).X).all()
    assert pivot(flat, np.ones((2, 1))).violation > 0.1


def test_a_starting_support_does_not_change_the_answer():
    rng = np.random.default_rng(6)
    A = rng.random((20, 9))
    G, C = A.T @ A, A.T @ rng.standard_normal((20, 60))
    X0 = (rng.random((9, 60)) < 0.5).astype(float)
    before = X0.copy()
    np.testing.assert_allclose(pivot(G, C, X0).X, pivot(G, C).X, atol=1e-13)
    np.testing.assert_array_equal(X0, before)


@pytest.mark.parametrize("definite", [True, False])
def test_duality_gap_bounds_the_distance_to_the_minimum(definite):
    rng = np.random.default_rng(7)
    A = rng.random((12, 6)) if definite else rng.random((12, 3)) @ rng.random((3, 6))
    G, C = A.T @ A, A.T @ rng.standard_normal((12, 50))
    exact = pivot(G, C).X
    least = objective(G, C, exact)
    assert np.abs(duality_gap(G, C, exact)).max() <= 1e-12
    for X in (np.zeros_like(C), exact + 0.1 * rng.random(C.shape), 2 * exact):
        above = objective(G, C, X) - least
        assert (duality_gap(G, C, X) >= above - 1e-12).all()
        assert above.max() > 1e-3


@pytest.mark.parametrize(
    ("G", "C", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 1)), "square"),
        (np.eye(2), np.ones((3, 1)), "shape"),
        (np.array([[1.0, np.nan], [0, 1]]), np.ones((2, 1)), "finite"),
        (np.array([[1.0, 0.5], [0, 1]]), np.ones((2, 1)), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones((2, 1)), "negative eigenvalue"),
        (np.array([[-1.0, 0.0], [0.0, 1.0]]), np.ones((2, 1)), "positive semi-definite"),
    ],
)
def test_bad_problems_are_refused(G, C, message):
    with pytest.raises(ValueError, match=message):
        pivot(G, C)


def test_the_kernel_is_compiled_once_whatever_the_layout_of_arrays():
    """Each further version would take seconds to compile."""
    rng = np.random.default_rng(0)
    A = rng.random((20, 4))
    G, C = A.T @ A, rng.standard_normal((50, 4))
    expected = np.zeros((50, 4))
    solve_rows(G, C, expected)
    for layout in (np.asfortranarray, lambda array: np.repeat(array, 2, axis=1)[:, ::2]):
        for which in range(3):
            given = [
                layout(one) if i == which else one for i, one in enumerate((G, C, np.zeros((50, 4))))
            ]
            solve_rows(*given)
            np.testing.assert_allclose(given[2], expected, rtol=1e-12)
    assert len(pivot_rows.signatures) == 1
