"""The synthesis sub-problem against a general convex solver."""

import cvxpy
import numpy as np
import pytest

from ngmca.domains.frame import analyse, frame, synthesise
from ngmca.paper import wavelet_forms as synthesis


def problem(*, singular=False, n=48, coarse=0.0):
    rng = np.random.default_rng(3)
    A = rng.random((6, 3))
    if singular:
        A[:, 2] = A[:, 0]
    t = np.arange(n)
    S = np.stack([np.exp(-0.5 * ((t - p) / 3.0) ** 2) for p in (10, 24, 30)])
    Y = A @ S + 0.15 * rng.standard_normal((6, n))
    W = frame(n, "sym4", 2)
    Lam = 0.4 * W.norms[None, :, None] * np.ones((3, W.bands, W.period))
    Lam[:, -1] *= coarse
    return A, Y, W, Lam


def reference(A, Y, W, Lam):
    r, n = A.shape[1], W.n
    D = analyse(W, np.eye(n)).reshape(n, -1)  # row t: coefficients of a unit sample
    a = cvxpy.Variable((r, D.shape[1]))
    S = a @ D.T
    penalty = cvxpy.sum(cvxpy.multiply(Lam.reshape(r, -1), cvxpy.abs(a)))
    task = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(Y - A @ S) / 2 + penalty), [S >= 0])
    task.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return task.value - np.sum(Y**2) / 2


@pytest.mark.parametrize("singular", [False, True])
def test_synthesis_is_the_minimum(singular):
    A, Y, W, Lam = problem(singular=singular, n=32, coarse=0.2)
    best = reference(A, Y, W, Lam)
    found = synthesis.solve(A.T @ A, A.T @ Y, W, Lam, tol=1e-7, max_iter=50_000)
    assert abs(found.objective - best) < 1e-6 * abs(best)
    assert np.abs(synthesise(W, found.coefficients) - found.S).max() < 1e-10
    assert found.S.min() >= 0


def test_a_band_without_threshold_is_an_error():
    A, Y, W, Lam = problem()
    with pytest.raises(ValueError, match="every band"):
        synthesis.solve(A.T @ A, A.T @ Y, W, Lam)
