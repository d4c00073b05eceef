"""Frames and sub-problems: what must hold, and that planted mistakes are found."""

import cvxpy
import numpy as np
import pytest

from ngmca.domains import analysis, frame_of
from ngmca.domains.frame import analyse, frame, noise_under, synthesise

WAVELETS = ("haar", "sym4", "linear", "cubic")


def adjoint_error(W, forward, backward):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, W.n))
    c = rng.standard_normal((2, W.bands, W.period))
    return abs(np.vdot(forward(W, x), c) - np.vdot(x, backward(W, c)))


def tightness_error(W, forward, backward):
    x = np.random.default_rng(2).standard_normal((2, W.n))
    return np.abs(backward(W, forward(W, x)) - x).max()


def edge(W, forward):
    """Largest detail of a ramp from 0 to 1, which only a wrapped axis sees jump by 1."""
    return np.abs(forward(W, np.linspace(0, 1, W.n)[None])[0, :-1]).max()


@pytest.mark.parametrize("wavelet", WAVELETS)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 33, 100, 513])
def test_frame_is_tight_and_adjoint_exact(wavelet, n):
    W = frame(n, wavelet, 5)
    assert adjoint_error(W, analyse, synthesise) < 1e-12
    assert tightness_error(W, analyse, synthesise) < 1e-13


def test_planted_adjoint_is_found():
    W = frame(64, "sym4", 3)
    wrong = lambda W, c: synthesise(W, c[:, :, ::-1])  # noqa: E731
    forgotten = lambda W, c: synthesise(W, np.roll(c, 1, axis=2))  # noqa: E731
    assert adjoint_error(W, analyse, wrong) > 1e-3
    assert adjoint_error(W, analyse, forgotten) > 1e-3


def wrapped(W, x):
    """The frame on an axis that is not reflected: what belongs to the last samples meets the first."""
    spread = analyse(frame(3 * W.n, "sym4", W.levels), np.tile(x, (1, 3)))
    return spread[:, :, W.n : 2 * W.n]


def test_ends_are_reflected():
    W = frame(256, "sym4", 4)
    assert edge(W, analyse) < 0.02
    assert edge(W, wrapped) > 0.1
    assert np.abs(analyse(W, np.ones((1, 256)))[0, :-1]).max() < 1e-12


def test_norms_are_those_of_noise():
    W = frame(4096, "sym4", 4)
    found = analyse(W, np.random.default_rng(0).standard_normal((20, 4096))).std(axis=(0, 2))
    assert np.allclose(found, W.norms, rtol=0.05)


def test_single_precision_is_kept():
    W = frame(100, "sym4", 3)
    x = np.random.default_rng(0).random((2, 100)).astype(np.float32)
    assert analyse(W, x).dtype == np.float32
    assert np.abs(synthesise(W, analyse(W, x)) - x).max() < 1e-6


def problem(singular=False, n=48, wavelet="sym4", coarse=0.0):
    rng = np.random.default_rng(3)
    A = rng.random((6, 3))
    if singular:
        A[:, 2] = A[:, 0]
    t = np.arange(n)
    S = np.stack([np.exp(-0.5 * ((t - p) / 3.0) ** 2) for p in (10, 24, 30)])
    Y = A @ S + 0.15 * rng.standard_normal((6, n))
    W = frame(n, wavelet, 2)
    Lam = 0.4 * W.norms[None, :, None] * np.ones((3, W.bands, W.period))
    Lam[:, -1] *= coarse
    return A, Y, W, Lam


def reference(A, Y, W, Lam, weights=1.0):
    r, n = A.shape[1], W.n
    D = analyse(W, np.eye(n)).reshape(n, -1)  # row t: coefficients of a unit sample
    S = cvxpy.Variable((r, n), nonneg=True)
    penalty = cvxpy.sum(cvxpy.multiply(Lam.reshape(r, -1), cvxpy.abs(S @ D)))
    scale = np.diag(np.sqrt(weights) * np.ones(n))
    task = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares((Y - A @ S) @ scale) / 2 + penalty))
    task.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return task.value - np.sum(weights * Y**2) / 2, S.value


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("wavelet", ["sym4", "linear"])
def test_analysis_is_the_minimum(singular, wavelet):
    A, Y, W, Lam = problem(singular, wavelet=wavelet)
    best, S = reference(A, Y, W, Lam)
    found = analysis.solve(A.T @ A, A.T @ Y, W, Lam, tol=1e-8, max_iter=20_000)
    assert abs(found.objective - best) < 1e-6 * abs(best)
    assert found.objective - best <= found.gap + 1e-9 * abs(best)
    assert found.S.min() == 0  # the orthant binds
    c = analyse(W, found.S)[:, :-1]
    assert (np.abs(c) < 1e-6).sum() > 20 * (S < 1e-9).any()  # and so does the l1 norm


def plain_steps(project):
    """The steps of ADMM in plain NumPy, with or without the projection on the orthant."""

    def descend(G, C, W, Lam, state, steps, rho, weights):
        assert weights is None
        X, Z = state.coefficients, state.samples
        for _ in range(steps):
            kept = X - np.clip(X, -Lam / rho, Lam / rho)
            positive = np.maximum(Z, 0) if project else Z
            both = synthesise(W, 2 * kept - X) + 2 * positive - Z
            S = np.linalg.solve(G + 2 * rho * np.eye(len(G)), C + rho * both)
            X += analyse(W, S) - kept
            Z += S - positive

    return descend


@pytest.mark.parametrize("project", [True, False])
def test_forgotten_projection_is_found(monkeypatch, project):
    """The certificate closes for steps that project, however plain, and never for steps that do not."""
    A, Y, W, Lam = problem()
    monkeypatch.setattr(analysis, "descend", plain_steps(project))
    found = analysis.solve(A.T @ A, A.T @ Y, W, Lam, tol=1e-6, max_iter=3_000)
    closed = found.gap <= 1e-4 * abs(found.objective)
    assert closed == project


def test_weights_of_channels_are_those_of_the_minimum():
    A, Y, W, Lam = problem()
    weights = 10 ** np.random.default_rng(1).uniform(-1.5, 0, Y.shape[1])
    best, S = reference(A, Y, W, Lam, weights)
    found = analysis.solve(
        A.T @ A, A.T @ Y * weights, W, Lam, tol=1e-8, max_iter=20_000, weights=weights
    )
    assert abs(found.objective - best) < 1e-6 * abs(best)
    assert found.objective - best <= found.gap + 1e-9 * abs(best)
    np.testing.assert_allclose(found.S, S, atol=1e-3 * S.max())
    even = analysis.solve(A.T @ A, A.T @ Y, W, Lam, tol=1e-8, max_iter=20_000)
    assert np.abs(even.S - S).max() > 1e-2 * S.max()  # they matter


@pytest.mark.parametrize("W", [frame(200), frame(1200, "cubic", 2, (30, 40))])
def test_noise_under_each_wavelet(W):
    """Exact where a wavelet does not reach over an end of the axis, and nearly so elsewhere."""
    variance = np.exp(np.random.default_rng(0).standard_normal((2, W.n)))
    exact = np.sqrt(np.einsum("kj,jbt->kbt", variance, analyse(W, np.eye(W.n)) ** 2))
    found = noise_under(W, variance)
    near = np.abs(found - exact) / exact
    assert np.median(near[:, 0]) < 1e-7
    assert np.median(near) < 0.1
    np.testing.assert_allclose(noise_under(W, np.ones((1, W.n)))[0], np.tile(W.norms[:, None], W.period))


def test_gap_bounds_every_state():
    A, Y, W, Lam = problem()
    G, C = A.T @ A, A.T @ Y
    best = analysis.solve(G, C, W, Lam, tol=1e-9, max_iter=30_000).objective
    for steps in (10, 30, 100):
        found = analysis.solve(G, C, W, Lam, max_iter=steps, tol=0)
        assert -1e-9 * abs(best) <= found.objective - best <= found.gap * (1 + 1e-9)


def test_duals_warm_start():
    A, Y, W, Lam = problem()
    G, C = A.T @ A, A.T @ Y
    cold = analysis.solve(G, C, W, Lam, tol=1e-7, max_iter=20_000)
    warm = analysis.solve(G, C * 1.001, W, Lam, duals=cold.duals, tol=1e-5, max_iter=20_000)
    again = analysis.solve(G, C * 1.001, W, Lam, tol=1e-5, max_iter=20_000)
    assert warm.n_iter <= again.n_iter


def test_source_without_mixing_stays_empty():
    A, Y, W, Lam = problem()
    A[:, 1] = 0
    found = analysis.solve(A.T @ A, A.T @ Y, W, Lam, tol=1e-6, max_iter=20_000)
    assert np.isfinite(found.gap)
    assert not found.S[1].any()


def test_blocks_of_channels_have_frames_of_their_own():
    """Each is as if it were alone, also a short one with fewer levels; W'W = 1, and W' is adjoint."""
    sizes, rng = (100, 9, 37), np.random.default_rng(0)
    W = frame(sum(sizes), "sym4", 4, None, (100, 109))
    assert W.depths.tolist() == [4, 1, 3]
    x, c = rng.standard_normal((2, W.n)), rng.standard_normal((2, W.bands, W.period))
    found, variance = analyse(W, x), rng.random((2, W.n))
    noise = noise_under(W, variance)
    for first, size, depth in zip((0, 100, 109), sizes, W.depths, strict=True):
        own = frame(size, "sym4", 4)
        place = slice(2 * first, 2 * (first + size))
        kept = [*range(depth), W.bands - 1]
        inside = slice(first, first + size)
        np.testing.assert_array_equal(found[:, kept, place], analyse(own, x[:, inside]))
        assert not found[:, depth:-1, place].any()
        np.testing.assert_allclose(noise[:, kept, place], noise_under(own, variance[:, inside]))
    np.testing.assert_allclose(synthesise(W, found), x, atol=1e-13)
    assert np.vdot(found, c) == pytest.approx(np.vdot(x, synthesise(W, c)))
    assert np.isfinite(noise).all()


def test_a_jump_between_blocks_costs_nothing():
    """Two constants need no details; in one frame the border between them needs many."""
    x = np.repeat([[1.0, 5.0]], 64, axis=1)
    assert np.abs(analyse(frame_of(128, None, (64,)), x)[:, :-1]).max() < 1e-10
    assert np.abs(analyse(frame_of(128), x)[:, :-1]).max() > 0.1
