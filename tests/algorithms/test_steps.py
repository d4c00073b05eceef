"""Both steps under every constraint, against cvxpy, where the constraints bind."""

import cvxpy as cp
import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.algorithms import Options
from ngmca.algorithms.first_guess import unit_columns
from ngmca.algorithms.steps import a_step, s_step
from ngmca.constraints import constraint_arrays
from ngmca.engines import Levels, open_data

M, N, R = 9, 12, 3
DOWN, UP = "decreasing", "increasing"


def problem(seed, *, missing, noise=None):
    """Data whose best fit has zeros, an engine for them, their weights, and factors to begin with."""
    rng = np.random.default_rng(seed)
    A, S = rng.random((M, R)), rng.random((R, N)) * (rng.random((R, N)) < 0.6)
    Y = A @ S + 0.3 * rng.standard_normal((M, N))
    W = np.ones((M, N))
    if missing:
        W[rng.random((M, N)) < 0.3] = 0
        Y[W == 0] = np.nan
    engine = open_data(Y)
    levels = Levels.of(noise, engine)
    A, S = unit_columns(rng.random((M, R)), rng.random((R, N)))
    return levels.applied(engine), np.nan_to_num(Y), W, A, S


def best(Y, W, fixed, shape, *, of, constraints=lambda X: [], penalty=lambda X: 0):
    """argmin of the weighted cost over S (of="S") or A (of="A"), by an interior-point method."""
    X = cp.Variable(shape, nonneg=True)
    fit = fixed @ X if of == "S" else X @ fixed
    cost = cp.sum(cp.multiply(W, cp.square(Y - fit))) / 2 + penalty(X)
    task = cp.Problem(cp.Minimize(cost), constraints(X))
    task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-8, tol_gap_rel=1e-8, tol_feas=1e-8)
    return X.value


def check_minimum(cost, found, expected):
    """The same minimum to 1e-6; the factors too, as far as a flat minimum tells them."""
    assert cost(found) == pytest.approx(cost(expected), rel=1e-6)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def mixing_cost(Y, W, S):
    return lambda A: np.sum(W * (Y - A @ S) ** 2) / 2


def constraints_of(engine, *, penalised="S", **known):
    given = records(**known).get("constraints", ())
    both = penalised == "both"
    return Options(known=constraint_arrays(given, engine, R, Levels(), penalise_both=both))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [False, True])
def test_sources(seed, missing):
    engine, Y, W, A, S = problem(seed, missing=missing)
    lam = np.array([0.1, 0.2, 0.3])
    sweep = engine.sweep(A, S, s_step(lam, Options()))
    expected = best(Y, W, A, S.shape, of="S", penalty=lambda X: lam @ cp.sum(X, axis=1))
    assert 0.1 < (sweep.S == 0).mean() < 0.9
    np.testing.assert_allclose(sweep.S, expected, atol=1e-5)
    assert sweep.violation < 1e-9
    assert sweep.cost == pytest.approx(np.sum(W * (Y - A @ sweep.S) ** 2) / 2, rel=1e-9)
    np.testing.assert_allclose(sweep.YS, (W * Y) @ sweep.S.T, atol=1e-12)


def test_thresholds_follow_the_levels_of_entries():
    rng = np.random.default_rng(5)
    sigma = 0.3 * 4.0 ** rng.uniform(-1, 1, (M, N))
    engine, Y, _, A, S = problem(0, missing=False, noise=sigma)
    level = Levels.of(sigma, open_data(Y))
    rows = level.rows
    lam = np.full(R, 0.2)
    sweep = engine.sweep(A, S, s_step(lam, Options()))
    W = level.weights
    threshold = lam[:, None] * np.sqrt((A**2).T @ W)
    expected = best(
        Y / rows[:, None], W, A, S.shape, of="S", penalty=lambda X: cp.sum(cp.multiply(threshold, X))
    )
    np.testing.assert_allclose(sweep.S, expected, atol=1e-5)
    rest = Y / rows[:, None] - A @ sweep.S
    assert sweep.cost == pytest.approx(np.sum(W * rest**2) / 2, rel=1e-9)
    np.testing.assert_allclose(level.level * rows[:, None] / np.sqrt(W), sigma, rtol=1e-9)


@pytest.mark.parametrize("missing", [False, True])
def test_known_sources_and_zeros_of_sources(missing):
    engine, Y, W, A, S = problem(1, missing=missing)
    zero = np.random.default_rng(2).random((R, N)) < 0.4
    zero[0] = False
    options = constraints_of(engine, known_sources=S[:1], zero_sources=zero)
    lam = np.full(R, 0.1)
    A, S = options.known.imposed(A, S)
    sweep = engine.sweep(A, S, s_step(lam, options))
    expected = best(
        Y, W, A, S.shape, of="S",
        constraints=lambda X: [X[0] == S[0], cp.multiply(zero, X) == 0],
        penalty=lambda X: 0.1 * cp.sum(X),
    )  # fmt: skip
    free = best(Y, W, A, S.shape, of="S", penalty=lambda X: 0.1 * cp.sum(X))
    assert (free[zero] > 1e-3).any()
    np.testing.assert_allclose(sweep.S, expected, atol=1e-5)
    assert not sweep.S[zero].any()


def a_problem(seed, *, missing, **known):
    """An A-step under constraints: its answer, the data, and the factors before it."""
    engine, Y, W, A, S = problem(seed, missing=missing)
    options = constraints_of(engine, **known)
    A, S = options.known.imposed(A, S)
    sweep = engine.sweep(A, S, s_step(np.zeros(R), options))
    found, quality = a_step(engine, sweep, A, options, np.full(R, 0.05), bounded=False)
    assert quality < 1e-5
    return found, Y, W, sweep.S, A, options


@pytest.mark.parametrize("missing", [False, True])
def test_plain_mixing_and_zeros_of_it(missing):
    zero = np.random.default_rng(3).random((M, R)) < 0.4
    found, Y, W, S, _, _ = a_problem(2, missing=missing, zero_mixing=zero)
    expected = best(Y, W, S, (M, R), of="A", constraints=lambda X: [cp.multiply(zero, X) == 0])
    assert (best(Y, W, S, (M, R), of="A")[zero] > 1e-3).any()
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("missing", [False, True])
def test_known_mixing(missing):
    column = np.random.default_rng(4).random((M, 1))
    found, Y, W, S, A, _ = a_problem(3, missing=missing, known_mixing=column)
    np.testing.assert_allclose(A[:, 0], column[:, 0] / np.linalg.norm(column))
    expected = best(Y, W, S, (M, R), of="A", constraints=lambda X: [X[:, 0] == A[:, 0]])
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
def test_closure(missing, zeros):
    totals = np.linspace(0.5, 2, M)
    zero = np.zeros((M, R), dtype=bool)
    zero[::2, 0] = zeros
    found, Y, W, S, A, options = a_problem(
        4, missing=missing, closure=totals, zero_mixing=zero if zeros else None
    )
    size = options.known.sizes_of(A, S)
    expected = best(
        Y, W, S, (M, R), of="A", constraints=lambda X: [X @ size == totals, cp.multiply(zero, X) == 0]
    )
    free = best(Y, W, S, (M, R), of="A")
    assert np.abs(free @ size - totals).max() > 0.05
    np.testing.assert_allclose(found @ size, totals, rtol=1e-12)
    check_minimum(mixing_cost(Y, W, S), found, expected)


@pytest.mark.parametrize("missing", [False, True])
def test_closure_beside_a_baseline(missing):
    engine, Y, W, A, S = problem(6, missing=missing)
    options = constraints_of(engine, closure=1.0, baseline=np.ones((1, N)))
    A, S = np.hstack([A, np.full((M, 1), M**-0.5)]), np.vstack([S, np.ones((1, N))])
    sweep = engine.sweep(A, S, s_step(np.zeros(R + 1), options))
    found, quality = a_step(engine, sweep, A, options, bounded=False)
    size = options.known.sizes_of(A, sweep.S)
    expected = best(Y, W, sweep.S, (M, R + 1), of="A", constraints=lambda X: [X[:, :R] @ size[:R] == 1])
    assert quality < 1e-8
    assert found[:, R].max() > 0.01
    check_minimum(mixing_cost(Y, W, sweep.S), found, expected)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shape", [UP, DOWN])
def test_monotonic_profiles(missing, shape):
    found, Y, W, S, _, _ = a_problem(5, missing=missing, profiles=[shape, None, shape])
    sign = 1 if shape == UP else -1
    held = [0, 2]
    expected = best(
        Y, W, S, (M, R), of="A", constraints=lambda X: [sign * cp.diff(X[:, k]) >= 0 for k in held]
    )
    assert (sign * np.diff(best(Y, W, S, (M, R), of="A")[:, held], axis=0) < -1e-2).any()
    assert (sign * np.diff(found[:, held], axis=0) >= 0).all()
    assert mixing_cost(Y, W, S)(found) == pytest.approx(mixing_cost(Y, W, S)(expected), rel=1e-6)


def test_unimodal_profiles_are_best_column_by_column():
    found, Y, W, S, _, _ = a_problem(6, missing=True, profiles="unimodal")
    for k in range(R):
        others = [j for j in range(R) if j != k]
        rest = Y - found[:, others] @ S[others]
        costs = []
        for peak in range(M):

            def one_peak(X, p=peak):
                return [X[i] <= X[i + 1] for i in range(p)] + [X[i] >= X[i + 1] for i in range(p, M - 1)]

            a = best(rest, W, S[k : k + 1], (M, 1), of="A", constraints=one_peak)
            costs.append(np.sum(W * (rest - a @ S[k : k + 1]) ** 2))
        assert np.sum(W * (Y - found @ S) ** 2) == pytest.approx(min(costs), rel=1e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_a_penalty_on_both(missing):
    found, Y, W, S, _, _ = a_problem(2, missing=missing, penalised="both")
    mu = 0.05 * np.sqrt(W @ (S**2).T)
    expected = best(Y, W, S, (M, R), of="A", penalty=lambda X: cp.sum(cp.multiply(mu, X)))
    free = best(Y, W, S, (M, R), of="A")
    assert (expected < 1e-5).sum() > (free < 1e-5).sum()  # it takes entries to 0 that were not there
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("missing", [False, True])
def test_bounded_norms(missing):
    engine, Y, W, A, S = problem(8, missing=missing)
    options = Options()
    sweep = engine.sweep(A, S, s_step(np.full(R, 0.3), options))
    found, quality = a_step(engine, sweep, A, options, bounded=True)
    expected = best(
        Y, W, sweep.S, (M, R), of="A", constraints=lambda X: [cp.norm(X[:, k]) <= 1 for k in range(R)]
    )
    assert np.linalg.norm(best(Y, W, sweep.S, (M, R), of="A"), axis=0).max() > 1.05
    assert quality < 1e-5
    check_minimum(mixing_cost(Y, W, sweep.S), found, expected)


def test_a_last_step_that_has_not_arrived_is_told_once(monkeypatch):
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 12)[:, None]
    A, S = np.hstack([1 - t, 1 - t**2, t]), rng.random((3, 60))
    S[1] = S[0] + 0.1 * rng.random(60)
    given = {"method": ngmca.Anls(n_iter=10), "constraints": [ngmca.Monotonic("decreasing", [0, 1])]}
    given |= {"start": (rng.random(A.shape), S + 0.1 * rng.random(S.shape)), "n_init": 1}
    found = ngmca.separate(A @ S, 3, **given)  # a warning would be an error
    assert found.history.mixing_violation[-1] < 1e-3
    monkeypatch.setattr("ngmca.algorithms.steps.SHAPED_ROUNDS", 1)
    with pytest.warns(UserWarning, match="Some sources are almost equal. Use fewer sources") as seen:
        found = ngmca.separate(A @ S, 3, **given)
    assert len(seen) == 1
    assert found.history.mixing_violation[-1] > 0.01
