"""Frames on a GPU, with kernels compiled for the CPU: coefficients, steps and certificates."""

from dataclasses import replace

import numpy as np
import pytest
from host_device import HostDevice, needs_compiler
from scipy.ndimage import maximum_filter

from ngmca.domains import analyse, analysis, frame_of, synthesise
from ngmca.engines.gpu import frames
from ngmca.engines.gpu.frames import GpuFrame

pytestmark = needs_compiler

# channels and borders: one channel, axes shorter than the filters, around a tile, several blocks
AXES = [(1, ()), (3, ()), (5, ()), (37, ()), (512, ()), (700, ()), (1500, ()), (400, (7, 9, 300))]
AXES += [
    (4 * 5, (4, 5)),
    (9 * 2, (2, 9)),
    (33 * 64, (33, 64)),
    (70 * 31, (70, 31)),
    (40, (1, 40)),
]  # images
TYPES = [(np.float64, 1e-12), (np.float32, 2e-5)]


def both(n, borders=()):
    """A frame on the CPU and on the GPU; the borders of two numbers are the shape of an image."""
    image = len(borders) == 2
    W = frame_of(n, borders if image else None, () if image else borders)
    return W, replace(W, on=GpuFrame(HostDevice(), W))


def numbers(W, r=3, seed=0, dtype=np.float64):
    """Sources of some channels, and any coefficients and thresholds."""
    rng = np.random.default_rng(seed)
    shape = r, W.bands, W.period
    X, Lam = rng.standard_normal(shape), rng.random(shape)
    return rng.standard_normal((r, W.n)).astype(dtype), X.astype(dtype), Lam.astype(dtype)


def near(found, expected, tolerance):
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize(("n", "borders"), AXES)
@pytest.mark.parametrize(("dtype", "tolerance"), TYPES)
def test_coefficients_and_signals_are_those_of_the_cpu(n, borders, dtype, tolerance):
    here, there = both(n, borders)
    S, X, _ = numbers(here, dtype=dtype)
    near(analyse(there, S), analyse(here, S), tolerance)
    near(synthesise(there, X), synthesise(here, X), tolerance)
    near(synthesise(there, analyse(there, S)), S, tolerance)


@pytest.mark.parametrize(("n", "borders"), AXES)
@pytest.mark.parametrize(("dtype", "tolerance"), TYPES)
def test_thresholds_are_those_of_the_cpu(n, borders, dtype, tolerance):
    here, there = both(n, borders)
    S, _, _ = numbers(here, dtype=dtype)
    noise = np.linspace(0.1, 2, 3 * here.bands).reshape(3, -1)
    noise[1, 0] = 0
    S[1] = 0
    found, expected = (analysis.weigh(W, S, noise, 3.0, 0.5) for W in (there, here))
    near(found, expected, tolerance)
    assert not found[:, -1].any()


@pytest.mark.parametrize(("n", "borders"), AXES)
@pytest.mark.parametrize(("dtype", "tolerance"), TYPES)
@pytest.mark.parametrize("r", [1, 3, 17])
def test_steps_are_those_of_the_cpu(n, borders, dtype, tolerance, r):
    here, there = both(n, borders)
    S, X, Lam = numbers(here, r, dtype=dtype)
    A = np.random.default_rng(1).random((40, r))
    G, C = A.T @ A / 10, (3 * S).astype(dtype)
    states = [analysis.Duals(X.copy(), S.copy()) for _ in range(2)]
    for W, state in zip((there, here), states, strict=True):
        analysis.descend(G, C, W, Lam, state, 3, 0.2)
        analysis.rescale(state, Lam / 0.2, 0.9)
    near(states[0].coefficients, states[1].coefficients, 5 * tolerance)
    near(states[0].samples, states[1].samples, 5 * tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize(
    ("axis", "empty"), [((300, (100,)), False), ((300,), True), ((391, (17, 23)), True)]
)
def test_the_certificate_is_that_of_the_cpu(dtype, tolerance, axis, empty):
    here, there = both(*axis)
    S, _, Lam = numbers(here, 4, dtype=dtype)
    A = np.random.default_rng(1).random((40, 4))
    if empty:
        A[:, 2] = 0
    G, C = A.T @ A / 10, (3 * S).astype(dtype)
    found, expected = (
        analysis.solve(G, C, W, Lam.astype(np.float32), tol=1e-6, max_iter=300, rho=0.3)
        for W in (there, here)
    )
    assert found.S.dtype == dtype
    assert found.gap <= (1e-2 if here.height else 1e-4) * abs(found.objective)
    assert abs(found.objective - expected.objective) <= tolerance * abs(expected.objective)
    assert abs(found.gap - expected.gap) <= 10 * tolerance * abs(expected.objective)
    assert found.n_iter == expected.n_iter
    near(found.S, expected.S, 10 * tolerance)
    # the gap is a true bound: no S is lower by more than that
    least = analysis.solve(*(G, C.astype(np.float64), here, Lam), tol=1e-9, max_iter=4000).objective
    assert found.objective - least <= found.gap + 1e-7 * abs(least)


@pytest.mark.parametrize("n", [1, 3, 50])
def test_the_neighbourhood_is_that_of_the_cpu(n):
    S = np.random.default_rng(0).random((3, n))
    found = both(n)[1].on.largest_near(S, 9)
    np.testing.assert_array_equal(found, maximum_filter(S, (1, 9), mode="reflect"))


def test_the_neighbourhood_of_pixels_is_that_of_the_cpu():
    S = np.random.default_rng(0).random((3, 12 * 17))
    expected = maximum_filter(S.reshape(3, 12, 17), (1, 9, 9), mode="reflect").reshape(S.shape)
    np.testing.assert_array_equal(both(12 * 17, (12, 17))[1].on.largest_near(S, 9), expected)


def test_a_frame_that_has_no_room_stays_in_memory():
    class Engine:
        place, dtype, device = "gpu", np.dtype(np.float32), HostDevice()

    W = frame_of(500)
    assert frames.placed(Engine, W, 3).on is not None
    Engine.device = HostDevice(room=100_000)
    assert frames.placed(Engine, W, 3) is W
    Engine.device, Engine.place = HostDevice(), "memory"
    assert frames.placed(Engine, W, 3) is W
