"""The rivals: optimality, monotony and identities of each method, on data where the constraint binds."""

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.decomposition import NMF

import ngmca
from ngmca import nnqp, rivals
from ngmca.nnqp import violation
from ngmca.rivals import _nenmf, _projected_gradient
from ngmca.rivals._nenmf import _solve as nenmf_solve

R = 4


@pytest.fixture(scope="module")
def mixture():
    return ngmca.simulate.sparse(30, 40, R, p_S=0.4, snr=15, seed=3)


@pytest.fixture(scope="module")
def nonnegative(mixture):
    return np.maximum(mixture.Y, 0)


def positive_start(shape, r, seed):
    rng = np.random.default_rng(seed)
    return rng.random((shape[0], r)) + 0.01, rng.random((r, shape[1])) + 0.01


def kkt(Y, found, *, eta=0.0, beta=0.0):
    """The worse violation of the two sub-problems, relative."""
    r = found.A.shape[1]
    of_S = violation(found.A.T @ found.A + beta, found.A.T @ Y, found.S)
    of_A = violation(found.S @ found.S.T + eta * np.eye(r), found.S @ Y.T, found.A.T)
    return max(of_A, of_S)


def residual_cost(Y, A, S):
    return np.sum((Y - A @ S) ** 2) / 2


@pytest.mark.parametrize(
    ("name", "n_iter", "tolerance", "options"),
    [
        ("multiplicative", 20_000, 1e-3, {}),
        ("hals", 1000, 1e-12, {}),
        ("hals", 2000, 1e-12, {"alpha": 0.0}),
        ("kim_park", 1000, 1e-12, {"eta": 2.0, "beta": 0.1}),
        ("projected_gradient", 1000, 1e-9, {}),
        ("nenmf", 1000, 1e-5, {}),
    ],
)
def test_fixed_points_satisfy_the_kkt_conditions(mixture, name, n_iter, tolerance, options):
    Y = mixture.Y
    assert (Y < 0).mean() > 0.05
    found = rivals.METHODS[name](Y, R, n_iter=n_iter, seed=0, **options)
    # The constraint must bind, and not because of clipping: least squares itself is negative there.
    free = np.linalg.lstsq(found.A, Y, rcond=None)[0]
    assert (found.S < 1e-7).mean() > 0.2
    assert (free < 0).mean() > 0.2
    penalties = {key: options[key] for key in ("eta", "beta") if key in options}
    assert kkt(Y, found, **penalties) < tolerance
    if penalties:  # the penalties matter: the point is not optimal without them
        assert kkt(Y, found) > 1e-3


def test_penalties_of_kim_park_are_the_paper_s(mixture):
    """No small feasible move lowers |Y - AS|^2 + eta |A|^2 + beta sum_t |s_t|_1^2, written out."""
    Y, eta, beta = mixture.Y, 2.0, 0.1
    found = rivals.kim_park(Y, R, n_iter=1000, seed=0, eta=eta, beta=beta)

    def objective(A, S):
        return np.sum((Y - A @ S) ** 2) + eta * np.sum(A**2) + beta * np.sum(np.abs(S).sum(axis=0) ** 2)

    best = objective(found.A, found.S)
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-3):
        for _ in range(200):
            A = np.maximum(found.A + size * rng.standard_normal(found.A.shape), 0)
            S = np.maximum(found.S + size * rng.standard_normal(found.S.shape), 0)
            assert objective(A, found.S) >= best * (1 - 1e-12)
            assert objective(found.A, S) >= best * (1 - 1e-12)
    for scale in (0.99, 1.01):  # both together: the scale between the factors is optimal too
        assert objective(found.A * scale, found.S / scale) > best


@pytest.mark.parametrize("name", ["multiplicative", "hals", "nenmf", "projected_gradient"])
@pytest.mark.parametrize("snr", [15, None])
def test_the_cost_never_rises(name, snr):
    for seed in range(3):
        Y = ngmca.simulate.sparse(40, 60, 5, p_S=0.5, snr=snr, seed=seed).Y
        cost = rivals.METHODS[name](Y, 5, n_iter=200, start=positive_start(Y.shape, 5, seed)).cost
        assert np.diff(cost).max() <= 1e-14 * np.sum(Y**2)
        assert cost[-1] < 0.9 * cost[0]


@pytest.mark.parametrize("name", rivals.METHODS)
def test_the_cost_is_that_of_the_factors(mixture, name):
    at_once = name in ("spa", "vca")
    found = rivals.METHODS[name](mixture.Y, R, **({} if at_once else {"n_iter": 7}), seed=1)
    assert found.cost.shape == ((1,) if at_once else (7,))
    assert found.A.shape == (30, R)
    assert found.S.shape == (R, 40)
    assert found.cost[-1] == pytest.approx(residual_cost(mixture.Y, found.A, found.S), rel=1e-10)
    if name not in rivals.SIGNED:
        assert found.A.min() >= 0
        assert found.S.min() >= 0


def test_small_costs_are_not_lost_to_rounding():
    mixture = ngmca.simulate.sparse(20, 30, 3, p_S=0.3, seed=1)
    start = mixture.A * (1 + 1e-9 * np.random.default_rng(0).random((20, 3))), mixture.S
    found = rivals.multiplicative(mixture.Y, 3, n_iter=1, start=start)
    assert 0 < found.cost[-1] < 1e-12 * np.sum(mixture.Y**2)
    assert found.cost[-1] == pytest.approx(residual_cost(mixture.Y, found.A, found.S), rel=1e-6)


@pytest.mark.parametrize(("name", "n_iter"), [("hals", 300), ("als", 300), ("nenmf", 100)])
def test_clean_sources_are_found(name, n_iter):
    mixture = ngmca.simulate.sparse(40, 100, 4, p_S=0.2, seed=2)
    found = rivals.METHODS[name](mixture.Y, 4, n_iter=n_iter, seed=0)
    assert ngmca.evaluate(mixture.S, found.S).mean_sdr > 25


def test_multiplicative_is_the_paper_s_update(nonnegative):
    A, S = positive_start(nonnegative.shape, R, 5)
    found = rivals.multiplicative(nonnegative, R, n_iter=3, start=(A, S))
    for _ in range(3):
        A = A * (nonnegative @ S.T) / (A @ S @ S.T)
        S = S * (A.T @ nonnegative) / (A.T @ A @ S)
    np.testing.assert_allclose(found.A @ found.S, A @ S, rtol=1e-9)


def test_multiplicative_moves_zeros_of_the_start(mixture):
    """A plain product would keep them for ever."""
    A, S = positive_start(mixture.Y.shape, R, 0)
    full = rivals.multiplicative(mixture.Y, R, n_iter=5000, start=(A, S)).cost[-1]
    A[:, 0], S[1] = 0, 0
    S[2, ::2] = 0
    found = rivals.multiplicative(mixture.Y, R, n_iter=5000, start=(A, S))
    assert (found.A.max(axis=0) > 0).all()
    assert found.cost[-1] < 1.05 * full


def test_als_is_projected_least_squares(mixture):
    start = positive_start(mixture.Y.shape, R, 7)
    found = rivals.als(mixture.Y, R, n_iter=2, start=start)
    _, S = start
    for _ in range(2):
        A = np.maximum(mixture.Y @ np.linalg.pinv(S), 0)
        S = np.maximum(np.linalg.pinv(A) @ mixture.Y, 0)
    np.testing.assert_allclose(found.A @ found.S, A @ S, rtol=1e-8, atol=1e-10)


def test_plain_hals_is_coordinate_descent_of_scikit_learn(nonnegative):
    """With one sweep the iterates are the same, entry by entry."""
    A, S = positive_start(nonnegative.shape, R, 2)
    model = NMF(R, init="custom", solver="cd", tol=0.0, max_iter=6)
    W = model.fit_transform(nonnegative, W=A.copy(), H=S.copy())
    found = rivals.hals(nonnegative, R, n_iter=6, start=(A, S), alpha=0.0)
    np.testing.assert_allclose(found.A @ found.S, W @ model.components_, rtol=1e-9, atol=1e-12)


def test_inner_repeats_of_hals_go_towards_the_exact_sub_problem(mixture):
    """Many sweeps that never stop early solve the S-step for the A they end with."""
    start = positive_start(mixture.Y.shape, R, 0)
    few = rivals.hals(mixture.Y, R, n_iter=1, start=start, alpha=0.0)
    many = rivals.hals(mixture.Y, R, n_iter=1, start=start, alpha=1000.0, epsilon=0.0)
    exact = np.stack([nnls(many.A, y)[0] for y in mixture.Y.T], axis=1)
    np.testing.assert_allclose(many.S, exact, atol=1e-8 * exact.max())
    assert many.cost[0] < few.cost[0]


def test_kim_park_without_penalties_is_exact_alternating_least_squares(mixture):
    Y = mixture.Y
    start = positive_start(Y.shape, R, 1)
    found = rivals.kim_park(Y, R, n_iter=60, start=start, eta=0.0, beta=0.0)
    A, _ = start
    S = np.stack([nnls(A, y)[0] for y in Y.T], axis=1)
    cost = []
    for _ in range(60):
        A = np.stack([nnls(S.T, y)[0] for y in Y])
        S = np.stack([nnls(A, y)[0] for y in Y.T], axis=1)
        cost.append(residual_cost(Y, A, S))
    np.testing.assert_allclose(found.cost, cost, rtol=1e-9)
    assert np.diff(found.cost).max() <= 1e-13 * np.sum(Y**2)


def test_first_order_methods_reach_the_cost_of_hals(mixture):
    start = positive_start(mixture.Y.shape, R, 1)
    exact = rivals.hals(mixture.Y, R, n_iter=2000, start=start).cost[-1]
    for name in ("projected_gradient", "nenmf"):
        cost = rivals.METHODS[name](mixture.Y, R, n_iter=500, start=start).cost[-1]
        assert cost == pytest.approx(exact, rel=1e-6)


def test_zdunek_cichocki_starts_apart_and_ends_as_als(mixture):
    Y = mixture.Y
    start = positive_start(Y.shape, R, 1)
    first = rivals.zdunek_cichocki(Y, R, n_iter=1, start=start, beta=3.0)
    A = np.maximum(Y @ np.linalg.pinv(start[1]), 0)
    A /= np.linalg.norm(A, axis=0)
    expected = np.maximum(np.linalg.solve(A.T @ A + 3.0, A.T @ Y), 0)
    np.testing.assert_allclose(first.S, expected, rtol=1e-8, atol=1e-10)
    plain = rivals.als(Y, R, n_iter=50, start=start)
    unpenalised = rivals.zdunek_cichocki(Y, R, n_iter=50, start=start, beta=0.0)
    np.testing.assert_allclose(unpenalised.S, plain.S, rtol=1e-8, atol=1e-10)


def test_the_penalty_of_zdunek_and_cichocki_fades(mixture):
    Y = mixture.Y
    start = positive_start(Y.shape, R, 1)
    found = rivals.zdunek_cichocki(Y, R, n_iter=3, start=start, beta=3.0, decay=2.0)
    S = start[1]
    for k in range(3):
        A = np.maximum(Y @ np.linalg.pinv(S), 0)
        A /= np.linalg.norm(A, axis=0)
        S = np.maximum(np.linalg.solve(A.T @ A + 3.0 * np.exp(-k / 2.0), A.T @ Y), 0)
    np.testing.assert_allclose(found.S, S, rtol=1e-7, atol=1e-9)


def test_momentum_never_raises_the_cost_of_a_sub_problem():
    """Nesterov's method overshoots on ill-conditioned problems unless its momentum is dropped."""
    rng = np.random.default_rng(0)
    A = rng.random((30, 6)) * 10.0 ** np.linspace(0, -2, 6)
    G = A.T @ A
    G /= np.linalg.norm(G, 2)
    C = (rng.random((20, 6)) * 2) @ G
    costs = []
    for steps in range(1, 400, 7):
        X, _ = nenmf_solve(G, C, np.zeros((20, 6)), 0.0, steps)
        costs.append(np.vdot(X @ G / 2 - C, X))
    assert np.diff(costs).max() <= 1e-12 * abs(costs[0])
    exact = nnqp.pivot(G, C.T).X.T
    assert costs[-1] == pytest.approx(np.vdot(exact @ G / 2 - C, exact), rel=1e-4)


def test_gmca_finds_signed_sources_that_the_others_cannot():
    rng = np.random.default_rng(0)
    S = rng.laplace(size=(3, 400)) * (rng.random((3, 400)) < 0.1)
    A = rng.standard_normal((20, 3))
    Y = A @ S + 0.01 * rng.standard_normal((20, 400))
    found = rivals.gmca(Y, 3, n_iter=200, seed=0, tau=3.0)
    assert ngmca.evaluate(S, found.S).mean_sdr > 25
    assert found.A.min() < -0.1
    assert found.S.min() < -0.1
    assert (found.A.sum(axis=0) >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(found.A, axis=0), 1, rtol=1e-12)
    assert ngmca.evaluate(S, rivals.hals(Y, 3, n_iter=200, seed=0).S).mean_sdr < 15


def test_gmca_thresholds_at_a_multiple_of_the_noise(mixture):
    """In the end no entry of S is below tau times the noise of its least squares estimate."""
    for tau in (1.0, 3.0):
        found = rivals.gmca(mixture.Y, R, n_iter=100, seed=0, tau=tau)
        free = np.linalg.pinv(found.A) @ mixture.Y
        sigma = 1.4826 * np.median(np.abs(free - np.median(free, axis=1, keepdims=True)), axis=1)
        expected = np.where(np.abs(free) >= tau * sigma[:, None], free, 0)
        np.testing.assert_allclose(found.S, expected, atol=1e-10)


def test_tol_ends_the_iterations_once_nothing_moves(mixture):
    """Not at once either, where the first step on A has nothing to do."""
    for name in ("hals", "multiplicative", "gmca", "kim_park"):
        method = rivals.METHODS[name]
        stopped = method(mixture.Y, R, n_iter=3000, seed=0, tol=1e-4)
        assert 1 < len(stopped.cost) < 3000
        longer = method(mixture.Y, R, n_iter=3000, seed=0, tol=1e-6)
        assert len(longer.cost) >= len(stopped.cost)


def rank_deficient():
    """Data with fewer dimensions than sources, in which sub-problems have no single answer."""
    found = {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        found[f"rank 2, {seed}"] = rng.random((6, 2)) @ rng.random((2, 9)), 5
        found[f"single precision, {seed}"] = (rng.random((6, 2)) @ rng.random((2, 9))).astype("f4"), 4
        found[f"equal columns, {seed}"] = np.repeat(rng.random((5, 2)), 4, axis=1), 3
    return found | {
        "zero": (np.zeros((5, 8)), 2),
        "constant": (np.ones((4, 6)), 3),
        "rank 1": (np.outer(np.arange(1.0, 6), np.arange(8.0)), 3),
        "one column": (np.arange(1.0, 9)[:, None], 1),
        "one row": (np.arange(1.0, 9)[None], 1),
    }


@pytest.mark.parametrize("name", ["projected_gradient", "nenmf"])
def test_degenerate_data_do_not_take_all_steps_of_all_sub_problems(monkeypatch, name):
    steps, norm = 0, _projected_gradient.projected_norm

    def counted(gradient, X):
        nonlocal steps
        steps += 1
        return norm(gradient, X)

    for module in (_projected_gradient, _nenmf):
        monkeypatch.setattr(module, "projected_norm", counted)
    for kind, (Y, r) in rank_deficient().items():
        steps = 0
        found = rivals.METHODS[name](Y, r, n_iter=150, seed=0)
        assert steps < 100_000, kind  # of 2 x 150 x 1,000
        assert found.cost[-1] <= 1e-6 * max(np.sum(Y**2), 1e-300), kind


def test_a_tolerance_that_is_never_reached_is_raised():
    tolerance = _projected_gradient.Tolerance()
    tolerance.begin(1.0)
    for _ in range(_projected_gradient.MAX_MISSES):
        tolerance.miss(tolerance.value, 10)
    assert tolerance.value == 1e-3
    tolerance.lower()
    lowered = tolerance.value
    assert lowered == pytest.approx(1e-4)
    for _ in range(_projected_gradient.MAX_MISSES):
        tolerance.miss(tolerance.value, 1000)
    raised = tolerance.value
    assert raised == pytest.approx(1e-3)
    tolerance.lower()
    assert tolerance.value == raised
