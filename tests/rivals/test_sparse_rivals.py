"""Sparse rivals and the oracle: Hoyer's projection, wanted sparsity, and the exact penalised answer."""

import numpy as np
import pytest
from scipy.optimize import minimize

import ngmca
from ngmca import rivals
from ngmca.engines import mad
from ngmca.nnqp import violation
from ngmca.rivals import project_norms, sparseness


def nearest_by_slsqp(x, l1, l2, start):
    """A local solution of the projection by a general-purpose solver, or None if it did not converge."""
    found = minimize(
        lambda s: np.sum((s - x) ** 2),
        start,
        jac=lambda s: 2 * (s - x),
        bounds=[(0, None)] * x.size,
        constraints=[
            {"type": "eq", "fun": lambda s: s.sum() - l1, "jac": np.ones_like},
            {"type": "eq", "fun": lambda s: s @ s - l2**2, "jac": lambda s: 2 * s},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 200},
    )
    feasible = abs(found.x.sum() - l1) < 1e-7 and abs(found.x @ found.x - l2**2) < 1e-7
    return found.x if feasible else None


def test_projection_is_the_nearest_point():
    """200 random vectors: feasible, never farther than what the solver finds, and mostly that point."""
    rng = np.random.default_rng(0)
    compared = same = 0
    for _ in range(200):
        n = int(rng.integers(2, 9))
        x = rng.standard_normal(n) * 10 ** rng.uniform(-1, 1)
        l2 = 10 ** rng.uniform(-0.5, 0.5)
        wanted = rng.uniform(0.05, 0.95)
        l1 = l2 * (np.sqrt(n) - wanted * (np.sqrt(n) - 1))
        s = project_norms(x, l1, l2)
        assert s.min() >= 0
        assert s.sum() == pytest.approx(l1, rel=1e-12)
        assert np.linalg.norm(s) == pytest.approx(l2, rel=1e-10)
        assert abs(sparseness(s) - wanted) < 1e-10
        starts = [np.maximum(x, 0.01), rng.random(n), np.eye(n)[x.argmax()] * l2 + 0.01]
        others = [nearest_by_slsqp(x, l1, l2, start) for start in starts]
        distances = [np.linalg.norm(other - x) for other in others if other is not None]
        if not distances:
            continue
        compared += 1
        ours = np.linalg.norm(s - x)
        assert ours <= min(distances) + 1e-6
        same += ours >= min(distances) - 1e-6
    assert compared > 180
    assert same > 0.95 * compared


@pytest.mark.parametrize("wanted", [0.0, 0.3, 0.9, 0.999999, 1.0])
def test_projection_keeps_sparseness_to_ten_digits(wanted):
    rng = np.random.default_rng(1)
    n = 300
    l1 = np.sqrt(n) - wanted * (np.sqrt(n) - 1)
    hard = [
        rng.standard_normal(n),
        1e8 + rng.random(n),  # nearly constant
        np.ones(n),  # all entries tie
        np.repeat([3.0, 1.0], n // 2),  # half of them tie
        np.r_[1.0, 1.0 - 1e-12, np.zeros(n - 2)],  # two nearly tie
        np.zeros(n),
        -rng.random(n),
        1e-150 * rng.random(n),
        1e150 * rng.random(n),
    ]
    for x in hard:
        s = project_norms(x, l1, 1.0)
        assert s.min() >= 0
        assert s.sum() == pytest.approx(l1, rel=1e-10)
        assert np.linalg.norm(s) == pytest.approx(1.0, rel=1e-10)
        assert abs(sparseness(s) - wanted) < 1e-10


def test_projection_leaves_points_of_the_set_where_they_are():
    rng = np.random.default_rng(2)
    for _ in range(50):
        x = rng.random(20) * (rng.random(20) < 0.5)
        x[0] += 0.1
        np.testing.assert_allclose(project_norms(x, x.sum(), np.linalg.norm(x)), x, atol=1e-9)


def test_projection_refuses_norms_that_no_vector_has():
    with pytest.raises(ValueError, match="l1 must lie between"):
        project_norms(np.ones(4), 3.0, 1.0)
    with pytest.raises(ValueError, match="l1 must lie between"):
        project_norms(np.ones(4), 0.5, 1.0)
    with pytest.raises(ValueError, match="x must be finite"):
        project_norms(np.array([1.0, np.nan]), 1.2, 1.0)
    with pytest.raises(ValueError, match="x must be a vector"):
        project_norms(np.ones((2, 2)), 1.2, 1.0)


def test_sparseness_of_known_vectors():
    assert sparseness([0, 0, 5.0, 0]) == pytest.approx(1)
    assert sparseness([-2.0] * 7) == pytest.approx(0)
    assert sparseness([3.0, 4.0]) == pytest.approx((np.sqrt(2) - 1.4) / (np.sqrt(2) - 1))
    assert sparseness(1e200 * np.array([3.0, 4.0])) == pytest.approx(sparseness([3.0, 4.0]))
    assert sparseness([2.0]) == 1
    assert sparseness([0.0, 0.0]) == 0


@pytest.fixture(scope="module")
def paper():
    """The paper's data at 15 dB and an activation rate of 10 %."""
    return ngmca.simulate.sparse(p_S=0.1, snr=15, seed=0)


def test_hoyer_holds_its_constraints(paper):
    found = rivals.hoyer(paper.Y, 15, n_iter=100, seed=0, sparseness_S=0.75, sparseness_A=0.3)
    for row in found.S:
        assert abs(sparseness(row) - 0.75) < 1e-10
        assert np.linalg.norm(row) == pytest.approx(1, rel=1e-10)
    for column in found.A.T:
        assert abs(sparseness(column) - 0.3) < 1e-10
    assert (np.diff(found.cost) <= 1e-13 * np.sum(paper.Y**2)).all()
    assert found.cost[-1] < 0.9 * found.cost[0]


def test_hoyer_lowers_the_cost_to_a_stationary_point():
    """A gradient step and projection, however short, do not lower the cost of S any more."""
    Y = ngmca.simulate.sparse(20, 30, 3, p_S=0.4, snr=20, seed=0).Y
    found = rivals.hoyer(Y, 3, n_iter=20_000, seed=0, sparseness_S=0.6)
    gradient = found.A.T @ (found.A @ found.S - Y)
    n = found.S.shape[1]
    l1 = np.sqrt(n) - 0.6 * (np.sqrt(n) - 1)
    for size in 10.0 ** np.arange(-8, 0):
        moved = found.S - size / np.trace(found.A.T @ found.A) * gradient
        S = np.stack([project_norms(row, l1, 1.0) for row in moved])
        assert np.sum((Y - found.A @ S) ** 2) / 2 > found.cost[-1] * (1 - 1e-6)


def test_hoyer_without_constraints_is_multiplicative(paper):
    free = rivals.hoyer(paper.Y, 15, n_iter=20, seed=0, sparseness_S=None)
    plain = rivals.multiplicative(paper.Y, 15, n_iter=20, seed=0)
    np.testing.assert_allclose(free.S, plain.S, rtol=1e-12)


@pytest.mark.parametrize("p_S", [0.1, 0.3])
def test_sparse_hals_hits_the_wanted_sparsity(p_S):
    mixture = ngmca.simulate.sparse(p_S=p_S, snr=15, seed=1)
    plain = rivals.hals(mixture.Y, 15, n_iter=500, seed=0).S
    for wanted in (float((mixture.S == 0).mean()), 0.8):
        found = rivals.sparse_hals(mixture.Y, 15, n_iter=1000, seed=0, sparsity=wanted).S
        largest = found.max(axis=1, keepdims=True)
        assert np.mean(found <= 1e-6 * largest) == pytest.approx(wanted, rel=0.01)
        np.testing.assert_allclose(largest, 1.0)
    assert np.mean(plain == 0) < wanted - 0.05  # the weights had work to do


def test_sparse_hals_without_need_is_hals(paper):
    """Where the plain method is sparser than wanted the weights vanish."""
    plain = rivals.hals(paper.Y, 15, n_iter=1000, seed=0).cost[-1]
    found = rivals.sparse_hals(paper.Y, 15, n_iter=3000, seed=0, sparsity=0.1).cost[-1]
    assert found == pytest.approx(plain, rel=1e-4)


def test_oracle_is_exact_and_its_threshold_is_that_of_soft(paper):
    sigma = np.linspace(0.05, 0.2, 200)
    for tau in (0.0, 1.0, 2.0):
        found = rivals.oracle(paper.Y, paper.A, tau=tau, noise=sigma)
        lam = tau * np.sqrt((paper.A**2).T @ sigma**2)
        C = paper.A.T @ paper.Y - lam[:, None]
        assert violation(paper.A.T @ paper.A, C, found.S) < 1e-12
        assert found.cost[0] == pytest.approx(np.sum((paper.Y - paper.A @ found.S) ** 2) / 2)
        assert (found.S == 0).mean() > 0.3


def test_oracle_agrees_with_soft_that_keeps_the_true_mixing(paper):
    A = paper.A / np.linalg.norm(paper.A, axis=0)
    sigma = float(paper.noise.std())
    soft = ngmca.separate(
        paper.Y, 15, method=ngmca.Soft(n_iter=1), start=(A, np.zeros((15, 200))), noise=sigma, n_init=1
    )
    np.testing.assert_allclose(soft.A, A)
    np.testing.assert_allclose(rivals.oracle(paper.Y, A, noise=sigma).S, soft.S, atol=1e-10)


def test_oracle_estimates_the_noise_from_its_own_residual(paper):
    found = rivals.oracle(paper.Y, paper.A)
    sigma = mad(paper.Y - paper.A @ found.S)
    assert sigma.mean() == pytest.approx(paper.noise.std(), rel=0.1)
    np.testing.assert_allclose(
        rivals.oracle(paper.Y, paper.A, noise=sigma).S, found.S, rtol=1e-6, atol=1e-8
    )


def test_oracle_does_not_depend_on_the_scale_of_the_columns(paper):
    scale = 10.0 ** np.linspace(-3, 3, 15)
    plain = rivals.oracle(paper.Y, paper.A, noise=0.1)
    scaled = rivals.oracle(paper.Y, paper.A * scale, noise=0.1)
    np.testing.assert_allclose(scaled.S * scale[:, None], plain.S, atol=1e-9)


def test_oracle_says_what_is_wrong(paper):
    with pytest.raises(ValueError, match="A_ref must have one row for each of"):
        rivals.oracle(paper.Y, paper.A[:5])
    with pytest.raises(ValueError, match="tau"):
        rivals.oracle(paper.Y, paper.A, tau=-1.0)
