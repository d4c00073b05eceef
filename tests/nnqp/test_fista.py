"""The paper's solver: it reaches the exact solution, and does what only it can."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ngmca.nnqp import bounded, fista, objective, pivot, prox, violation


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = rng.random((30, 6))
    return A.T @ A, A.T @ (rng.standard_normal((30, 40)) + 0.2)


@pytest.mark.parametrize("kind", ["number", "row", "column vector", "entry"])
def test_with_enough_steps_it_is_the_exact_solution(problem, kind):
    G, C = problem
    rng = np.random.default_rng(1)
    threshold = {
        "number": 0.3,
        "row": rng.random(6),
        "column vector": rng.random((6, 1)),
        "entry": rng.random((6, 40)),
    }[kind]
    shift = threshold[:, None] if kind == "row" else threshold
    exact = pivot(G, C - shift).X
    found = fista(G, C, threshold=threshold, max_iter=20_000, tol=1e-14)
    assert violation(G, C - shift, found.X) <= 1e-9
    np.testing.assert_allclose(found.X, exact, atol=1e-8)
    assert (exact == 0).mean() > 0.2


def test_default_steps_stop_at_eighty_or_when_nothing_moves(problem):
    G, C = problem
    assert fista(G, C).n_iter <= 80
    assert fista(G, C, tol=0).n_iter == 80
    exact = pivot(G, C).X
    again = fista(G, C, exact)
    assert again.n_iter <= 2
    np.testing.assert_allclose(again.X, exact, atol=1e-12)


def test_first_step_is_the_forward_backward_step_of_the_appendix(problem):
    G, C = problem
    rng = np.random.default_rng(2)
    S0, lam = rng.random(C.shape), 0.2
    L = np.linalg.eigvalsh(G).max()
    expected = np.maximum(S0 - (G @ S0 - C) / L - lam / L, 0)
    np.testing.assert_allclose(fista(G, C, S0, threshold=lam, max_iter=1).X, expected, atol=1e-14)


def test_hard_thresholds_at_threshold_over_lipschitz(problem):
    G, C = problem
    L = np.linalg.eigvalsh(G).max()
    lam = 0.15 * np.abs(C).max()
    found = fista(G, C, threshold=lam, hard=True, max_iter=5000, tol=1e-13)
    active = found.X > 0
    gradient = G @ found.X - C
    assert active.any()
    assert not active.all()
    assert found.X[active].min() >= lam / L  # no small entry survives
    assert np.abs(gradient[active]).max() <= 1e-6 * np.abs(C).max()  # and none is shrunk
    assert (-gradient[~active]).max() <= lam * (1 + 1e-9)
    assert found.violation <= 1e-6


@pytest.mark.parametrize("solve", ["fista", "bounded"])
def test_rows_stay_within_their_bound_and_are_optimal_there(solve):
    rng = np.random.default_rng(3)
    A = rng.random((10, 2))
    G, C = A.T @ A, A.T @ rng.random((10, 4))
    bound = np.array([0.4, 0.1])
    if solve == "fista":
        found = fista(G, C, bound=bound, max_iter=20_000, tol=1e-14)
    else:
        found = bounded(G, C, bound, max_iter=20_000, tol=1e-14)
    norms = np.linalg.norm(found.X, axis=1)
    assert (norms <= bound * (1 + 1e-12)).all()
    assert (norms > 0.999 * bound).any()  # the bound binds

    reference = minimize(
        lambda x: objective(G, C, x.reshape(2, 4)).sum(),
        np.full(8, 0.01),
        bounds=[(0, None)] * 8,
        constraints={"type": "ineq", "fun": lambda x: bound**2 - np.sum(x.reshape(2, 4) ** 2, axis=1)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    np.testing.assert_allclose(objective(G, C, found.X).sum(), reference.fun, rtol=1e-6)


def test_a_bound_that_does_not_bind_leaves_the_exact_solution(problem):
    G, C = problem
    found = bounded(G, C, 1e6, max_iter=20_000, tol=1e-15)
    np.testing.assert_allclose(found.X, pivot(G, C).X, atol=1e-10)
    assert found.violation <= 1e-9
    early = bounded(G, C, 1e6, max_iter=1)
    assert early.n_iter == 1
    assert early.violation > 1e-3


def test_every_round_over_bounded_rows_lowers_the_objective(problem):
    G, C = problem
    X, values = None, []
    for _ in range(6):
        X = bounded(G, C, 0.5, X, max_iter=1).X
        values.append(objective(G, C, X).sum())
    assert (np.diff(values) < 0).all()


def test_bad_arguments_are_refused(problem):
    G, C = problem
    with pytest.raises(ValueError, match="not be negative"):
        fista(G, C, threshold=-1)
    with pytest.raises(ValueError, match="not be negative"):
        fista(G, C, bound=-1)
    with pytest.raises(ValueError, match="threshold must be a number, one a row"):
        fista(G, C, threshold=np.ones(3))
    with pytest.raises(ValueError, match="X0 must be finite"):
        fista(G, C, np.full(C.shape, np.nan))
    with pytest.raises(ValueError, match="G is complex"):
        fista(G + 1j, C)


@pytest.mark.parametrize("unit", [1e-170, 1e160])
def test_units_do_not_end_the_steps_early(problem, unit):
    G, C = problem
    np.testing.assert_allclose(fista(G, C * unit).X, fista(G, C).X * unit, rtol=1e-9)


def test_degenerate_problems_give_finite_numbers():
    assert np.isfinite(fista(np.zeros((2, 2)), np.ones((2, 3))).X).all()
    assert fista(np.eye(2), np.ones((2, 0))).X.shape == (2, 0)
    assert np.isfinite(bounded(np.zeros((2, 2)), np.ones((2, 3)), 1.0).X).all()
    assert not bounded(np.eye(2), np.ones((2, 3)), 0.0).X.any()


def test_proximal_operators_solve_their_problems():
    rng = np.random.default_rng(4)
    grid = np.linspace(0, 3, 300_001)
    for z in rng.normal(0, 1.5, 20):
        soft = grid[np.argmin((grid - z) ** 2 / 2 + 0.4 * grid)]
        assert prox.nonnegative_soft(np.array([z]), 0.4)[0] == pytest.approx(soft, abs=1e-5)
        assert prox.nonnegative(np.array([z]))[0] == max(z, 0)
        assert prox.nonnegative_hard(np.array([z]), 0.4)[0] == (z if z >= 0.4 else 0)
    Z = rng.random((3, 5))
    ball = prox.rows_in_ball(Z, [0.5, 10.0, 0.0])
    np.testing.assert_allclose(np.linalg.norm(ball, axis=1), [0.5, np.linalg.norm(Z[1]), 0])
    np.testing.assert_allclose(ball[0] / 0.5, Z[0] / np.linalg.norm(Z[0]))
