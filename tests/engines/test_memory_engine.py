"""The in-memory engine answers as plain algebra would, for every shape, layout and thread count."""

import numpy as np
import pytest

from ngmca.algorithms.first_guess import unit_columns
from ngmca.engines import by_residual, everything, open_data
from ngmca.engines import robust_noise as noise
from ngmca.engines.blocks import largest
from ngmca.engines.memory import MemoryEngine
from ngmca.nnqp import pivot, violation
from ngmca.nnqp.gram import Gram

SHAPES = [(6, 5), (5, 40), (40, 5), (30, 5000), (5000, 30), (1, 50), (50, 1)]


def setting(shape, r=3, seed=0, dtype=np.float64, order="C"):
    m, n = shape
    rng = np.random.default_rng(seed)
    A, S = unit_columns(rng.random((m, r)), rng.random((r, n)) * (rng.random((r, n)) < 0.5))
    Y = np.asarray(A @ S + 0.05 * rng.standard_normal(shape), dtype=dtype, order=order)
    return Y, A.astype(dtype), S.astype(dtype)


def plain(G, C, X, columns):
    return G.solve(C, X, np.full(C.shape[1], 0.1), unit=True)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_sweep_is_the_exact_step_and_its_moments(shape, order):
    Y, A, S = setting(shape, order=order)
    sweep = MemoryEngine(Y).sweep(A, S, plain)
    G, C = A.T @ A, A.T @ Y - 0.1
    assert violation(G, C, sweep.S) <= 1e-12
    assert sweep.violation <= 1e-12
    if shape[0] > 3:
        np.testing.assert_allclose(sweep.S, pivot(G, C).X, atol=1e-10)
    np.testing.assert_allclose(sweep.SS.matrix, sweep.S @ sweep.S.T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sweep.YS, Y @ sweep.S.T, rtol=1e-10, atol=1e-10)
    assert sweep.cost == pytest.approx(np.sum((Y - A @ sweep.S) ** 2) / 2, rel=1e-8, abs=1e-10)
    assert sweep.active == (sweep.S > 0).mean()


@pytest.mark.parametrize("shape", SHAPES)
def test_other_questions(shape):
    Y, A, S = setting(shape)
    engine = MemoryEngine(Y)
    assert engine.peak(A, S) == pytest.approx(np.abs(A.T @ (A @ S - Y)).max())
    np.testing.assert_allclose(engine.correlate(A), A.T @ Y)
    np.testing.assert_allclose(by_residual(engine).noise(A, S, final=True), noise.mad(Y - A @ S))
    X, _ = engine.solve_mixing(Gram(S @ S.T), Y @ S.T, np.zeros_like(A))
    assert violation(S @ S.T, S @ Y.T, X.T) <= 1e-12


@pytest.mark.parametrize("shape", [(30, 60_000), (60_000, 30), (400, 400)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bit_identical_with_any_number_of_threads(shape, dtype):
    Y, A, S = setting(shape, r=8, dtype=dtype)
    sweeps = [MemoryEngine(Y, threads=threads).sweep(A, S, plain) for threads in (1, 2, 3, 5)]
    for sweep in sweeps[1:]:
        np.testing.assert_array_equal(sweep.S, sweeps[0].S)
        np.testing.assert_array_equal(sweep.SS.matrix, sweeps[0].SS.matrix)
        np.testing.assert_array_equal(sweep.YS, sweeps[0].YS)
        assert sweep.cost == sweeps[0].cost


@pytest.mark.parametrize("shape", [(20, 100_000), (200, 20_000), (5000, 500), (60_000, 40)])
def test_noise_from_a_bounded_set_is_right_to_one_per_cent(shape):
    m, n = shape
    rng = np.random.default_rng(1)
    sigma = rng.uniform(0.5, 1.5, m)
    Y = sigma[:, None] * rng.standard_normal(shape)
    A, _ = unit_columns(rng.random((m, 4)), np.zeros((4, n)))
    engine, S = MemoryEngine(Y), np.zeros((4, n))
    expected = noise.in_gradient(A, noise.mad(Y))
    np.testing.assert_allclose(noise.in_gradient(A, engine.noise(A, S)), expected, rtol=0.01)
    np.testing.assert_array_equal(engine.noise(A, S), MemoryEngine(Y, threads=2).noise(A, S))


def test_float32_is_kept_throughout():
    Y, A, S = setting((30, 500), dtype=np.float32)
    sweep = MemoryEngine(Y).sweep(A, S, plain)
    assert sweep.S.dtype == np.float32
    exact = MemoryEngine(Y.astype(np.float64)).sweep(A.astype(float), S.astype(float), plain)
    np.testing.assert_allclose(sweep.S, exact.S, atol=1e-5)


def test_the_data_are_not_copied():
    Y = setting((50, 4000))[0]
    for same in (Y, Y[:, :2000], Y[::2], Y.astype(np.float32)):
        assert np.shares_memory(everything(open_data(same)), same)
    engine = open_data(Y)
    assert open_data(engine) is engine


@pytest.mark.parametrize("n", [60, 700])
def test_every_measurement_has_its_own_noise_level_however_many_there_are(n):
    """Also those beyond the rows that are looked at in every iteration."""
    m = 5000
    rng = np.random.default_rng(0)
    sigma = np.exp(rng.uniform(-2, 2, m))
    A, S = rng.random((m, 3)), np.where(rng.random((3, n)) < 0.2, rng.random((3, n)), 0)
    engine = MemoryEngine(A @ S + sigma[:, None] * rng.standard_normal((m, n)))
    for _ in range(5):
        levels = engine.noise(A, S)
    assert np.abs(np.log(levels / sigma)).mean() < (0.2 if n < 100 else 0.12)
    assert np.corrcoef(np.log(levels), np.log(sigma))[0, 1] > 0.95
    quiet = engine.noise(A, S / 2)  # another residual: the levels follow it
    assert np.median(quiet / levels) == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("count", [1, 3, 7, 20, 30])
def test_the_largest_are_those_of_a_full_sort(count):
    rng = np.random.default_rng(count)
    for values in (rng.integers(0, 4, 20).astype(float), rng.random(20), np.zeros(20)):
        expected = np.sort(np.argsort(values, kind="stable")[::-1][:count])
        np.testing.assert_array_equal(largest(values, count), expected)
