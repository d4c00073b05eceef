"""Frames for images: what must hold, and that planted mistakes are found."""

from dataclasses import replace

import cvxpy
import numpy as np
import pytest

from ngmca.domains import analysis, frame_of
from ngmca.domains.frame import analyse, frame, synthesise

WAVELETS = ("haar", "sym4", "linear", "cubic")
SHAPES = [(1, 1), (1, 9), (7, 1), (2, 3), (13, 40), (40, 13), (32, 32)]


def adjoint_error(W, forward, backward):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, W.n))
    c = rng.standard_normal((2, W.bands, W.period))
    return abs(np.vdot(forward(W, x), c) - np.vdot(x, backward(W, c)))


def of(shape, wavelet="cubic", levels=3):
    return frame(shape[0] * shape[1], wavelet, levels, shape)


@pytest.mark.parametrize("wavelet", WAVELETS)
@pytest.mark.parametrize("shape", SHAPES)
def test_frame_is_tight_and_adjoint_exact(wavelet, shape):
    W = of(shape, wavelet, 4)
    x = np.random.default_rng(2).standard_normal((2, W.n))
    assert adjoint_error(W, analyse, synthesise) < 1e-12
    assert np.abs(synthesise(W, analyse(W, x)) - x).max() < 1e-13


def test_planted_adjoints_are_found():
    """Bands across and down changed over, and the sign of what is continued at the ends forgotten."""
    W = of((24, 24))
    channels = len(W.filters)
    order = np.arange(channels**2 - 1)
    order = (order % channels) * channels + order // channels
    swapped = np.concatenate([level * (channels**2 - 1) + order for level in range(W.levels)])
    assert adjoint_error(W, analyse, lambda W, c: synthesise(W, c[:, [*swapped, W.bands - 1]])) > 1e-3
    even = replace(W, parity=np.abs(W.parity))
    assert adjoint_error(W, analyse, lambda W, c: synthesise(even, c)) > 1e-3


def test_turned_images_have_turned_coefficients():
    """Nothing but the names of the bands tells rows from columns."""
    x = np.random.default_rng(0).standard_normal((1, 12, 30))
    W, turned = of((12, 30)), of((30, 12))
    first = analyse(W, x.reshape(1, -1)).reshape(W.bands, 12, 30)
    second = analyse(turned, x.transpose(0, 2, 1).reshape(1, -1)).reshape(W.bands, 30, 12)
    np.testing.assert_allclose(first[1], second[len(W.filters)].T, atol=1e-14)
    np.testing.assert_allclose(first[-1], second[-1].T, atol=1e-14)


def wrapped(W, x, shape):
    """The frame on axes that are not reflected: the last pixels meet the first."""
    h, w = shape
    tiled = np.tile(x.reshape(shape), (3, 3))
    found = analyse(frame(9 * h * w, "cubic", W.levels, (3 * h, 3 * w)), tiled.reshape(1, -1))
    return found.reshape(W.bands, 3 * h, 3 * w)[:, h : 2 * h, w : 2 * w].reshape(1, W.bands, -1)


def test_ends_are_reflected():
    shape = (48, 64)
    W = of(shape, levels=2)
    ramp = np.add.outer(np.linspace(0, 1, 48), np.linspace(0, 1, 64)).reshape(1, -1)
    assert np.abs(analyse(W, ramp)[0, :-1]).max() < 0.05
    assert np.abs(wrapped(W, ramp, shape)[0, :-1]).max() > 0.2
    assert np.abs(analyse(W, np.ones((1, W.n)))[0, :-1]).max() < 1e-12


@pytest.mark.parametrize("wavelet", ["sym4", "cubic"])
def test_norms_are_those_of_noise(wavelet):
    W = of((128, 128), wavelet, 2)
    found = analyse(W, np.random.default_rng(0).standard_normal((12, W.n))).std(axis=(0, 2))
    np.testing.assert_allclose(found, W.norms, rtol=0.05)
    assert W.shares.sum() * W.period == pytest.approx(W.n)


def test_single_precision_is_kept():
    W = of((20, 30))
    x = np.random.default_rng(0).random((2, 600)).astype(np.float32)
    assert analyse(W, x).dtype == np.float32
    assert np.abs(synthesise(W, analyse(W, x)) - x).max() < 1e-6


def test_wrong_shapes():
    with pytest.raises(ValueError, match="4 x 5 pixels do not have 21"):
        frame(21, "cubic", 2, (4, 5))


def problem(shape=(9, 8)):
    rng = np.random.default_rng(3)
    A = rng.random((6, 3))
    y, x = np.mgrid[: shape[0], : shape[1]]
    S = np.stack(
        [np.exp(-((y - p) ** 2 + (x - q) ** 2) / 6.0).ravel() for p, q in ((2, 2), (5, 6), (8, 1))]
    )
    Y = A @ S + 0.15 * rng.standard_normal((6, S.shape[1]))
    W = frame(S.shape[1], "cubic", 2, shape)
    Lam = 0.4 * W.norms[None, :, None] * np.ones((3, W.bands, W.period))
    Lam[:, -1] = 0
    return A, Y, W, Lam


def test_the_solver_finds_the_minimum():
    A, Y, W, Lam = problem()
    D = analyse(W, np.eye(W.n)).reshape(W.n, -1)  # row t: coefficients of a unit pixel
    S = cvxpy.Variable((3, W.n), nonneg=True)
    penalty = cvxpy.sum(cvxpy.multiply(Lam.reshape(3, -1), cvxpy.abs(S @ D)))
    task = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(Y - A @ S) / 2 + penalty))
    task.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    best = task.value - np.sum(Y**2) / 2
    found = analysis.solve(A.T @ A, A.T @ Y, W, Lam, tol=1e-8, max_iter=20_000)
    assert abs(found.objective - best) < 1e-6 * abs(best)
    assert found.objective - best <= found.gap + 1e-9 * abs(best)
    assert found.S.min() == 0  # the orthant binds
    early = analysis.solve(A.T @ A, A.T @ Y, W, Lam, tol=0, max_iter=20)
    assert -1e-9 * abs(best) <= early.objective - best <= early.gap


def test_the_same_bits_whatever_the_threads():
    A, Y, W, Lam = problem((16, 20))
    states = [analysis.start(W, np.zeros((3, W.n))) for _ in range(2)]
    for threads, state in enumerate(states, 1):
        analysis.descend(A.T @ A, A.T @ Y, W, Lam, state, 7, 0.2, threads)
    np.testing.assert_array_equal(states[0].coefficients, states[1].coefficients)
    np.testing.assert_array_equal(states[0].samples, states[1].samples)


def test_images_have_their_own_frame():
    assert frame_of(600).height == 0
    assert frame_of(600, (20, 30)).height == 20
