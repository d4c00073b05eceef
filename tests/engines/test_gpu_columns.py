"""The kernels of a GPU, compiled for the CPU from the same source: one lane a column."""

import numpy as np
import pytest
from host_device import HostDevice, needs_compiler, problem

from ngmca import nnqp
from ngmca.engines.degrees_of_freedom import corrected
from ngmca.engines.gpu import Columns, GpuError
from ngmca.engines.gpu import device as on_device
from ngmca.engines.gpu.cuda_sources import quick, thorough
from ngmca.engines.robust_noise import GAUSSIAN
from ngmca.nnqp.bounded_rows import descend_rows
from ngmca.nnqp.pivoting import solve_rows

pytestmark = needs_compiler


@pytest.fixture
def device():
    return HostDevice()


def solved(device, G, C, X, shift=None):
    """X (n, r) as the GPU has it, and the violation that it reports."""
    X = X.copy()
    shift = np.zeros(len(G)) if shift is None else shift
    return device.solve(G, C.T, X.T, shift), X


@pytest.mark.parametrize("r", [1, 2, 5, 8, 11, 16, 33])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_are_solved_to_a_certificate_that_is_true(device, r, dtype):
    G, C, X = problem(r, 300, dtype)
    shift = np.linspace(0, 1, r)
    told, X = solved(device, G, C, X, shift)
    exact = np.zeros(C.shape)
    solve_rows(G, C.astype(np.float64), exact, shift)
    if r > 1:
        assert 0.1 < np.mean(exact == 0) < 0.9  # the constraint must bite
    limit = 1e-12 if dtype == np.float64 else 1e-5
    assert nnqp.violation(G, (C - shift).T, X.T) <= limit
    assert told <= limit
    np.testing.assert_allclose(X, exact, atol=limit * 100 * exact.max())


@pytest.mark.parametrize("r", [3, 8, 16, 33])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pivoting_alone_is_exact(device, r, dtype, monkeypatch):
    """Descent and the CPU would mend what it leaves: here they may not."""
    monkeypatch.setattr(on_device, "MOVES", 0)
    monkeypatch.setattr(HostDevice, "_finish", None)
    G, C, X = problem(r, 300, dtype)
    told, X = solved(device, G, C, X)
    assert told <= (1e-13 if dtype == np.float64 else 5e-6)
    assert nnqp.violation(G, C.T, X.T) <= (1e-13 if dtype == np.float64 else 1e-5)


def test_scales_of_sources_do_not_matter(device):
    G, C, X = problem(6, 100)
    scale = 10.0 ** np.arange(-6, 6, 2)
    _, plain = solved(device, G, C, X)
    _, found = solved(device, G * np.outer(scale, scale), C * scale, X / scale)
    np.testing.assert_allclose(found * scale, plain, rtol=1e-9, atol=1e-12)


def test_supports_that_are_too_large_are_found_by_descent(device):
    r = 80
    G, C, X = problem(r, 20, m=200)
    C = np.abs(C) + G.sum(axis=1) * 5  # everything is active, more than the kernel factors
    told, X = solved(device, G, C, X)
    assert (np.count_nonzero(X, axis=1) > thorough(r).most).any()
    assert nnqp.violation(G, C.T, X.T) <= 1e-11
    assert told <= 1e-11


def test_sources_that_are_alike_go_to_the_cpu_and_stay_exact(device, monkeypatch):
    G, C, X = problem(5, 50)
    G[4], G[:, 4], C[:, 4] = G[3], G[:, 3], C[:, 3] + 1e-3  # a direction twice
    G[4, 4] = G[3, 3]
    monkeypatch.setattr(on_device, "MOVES", 1)  # descent is cut off: nothing else can have done it
    told, X = solved(device, G, C, X)
    exact = np.zeros(C.shape)
    solve_rows(G, C, exact)
    assert told <= 1e-9
    assert exact[:, 4].any()
    np.testing.assert_allclose(nnqp.objective(G, C.T, X.T), nnqp.objective(G, C.T, exact.T), rtol=1e-9)


def test_a_dead_source_stays_zero(device):
    G, C, X = problem(4, 30)
    G[2] = G[:, 2] = 0
    C[:, 2] = 0
    told, X = solved(device, G, C, X)
    assert told < 1e-12
    assert not X[:, 2].any()


def test_not_a_number_is_not_called_solved(device):
    G, C, X = problem(4, 30)
    C[7, 1] = np.nan
    with np.errstate(invalid="ignore"):
        told, X = solved(device, G, C, X)
    assert not told <= 1e-5 or np.isnan(X[7]).any()
    assert nnqp.violation(G, np.delete(C, 7, axis=0).T, np.delete(X, 7, axis=0).T) < 1e-12


def test_a_stack_of_problems_is_one_after_the_other(device):
    parts = [problem(6, 40, seed=seed) for seed in range(3)]
    G, C, X = (np.stack(part) for part in zip(*parts, strict=True))
    device.solve(G, C.swapaxes(1, 2), X.swapaxes(1, 2), np.zeros((3, 6)))
    for k, part in enumerate(parts):
        np.testing.assert_array_equal(X[k], solved(device, *part)[1])


@pytest.mark.parametrize(("a", "c", "b"), [(7, 5000, 3), (3, 2048, 3), (4, 10, 6), (1, 9000, 1)])
def test_long_products_are_sums_of_tiles(device, a, c, b):
    rng = np.random.default_rng(0)
    P, Q = rng.random((a, c)), rng.random((c, b))
    tiles = device.tiles(P, Q)
    assert len(tiles) == -(-c // on_device.TILE)
    np.testing.assert_allclose(device.added([tiles]), P @ Q, rtol=1e-12)
    out = np.empty((b, a)).T  # in the other order
    device.product(P, Q, out)
    np.testing.assert_allclose(out, P @ Q, rtol=1e-12)


def test_single_sums_do_not_lose_digits(device):
    X = np.full((100_000, 1), 0.1, dtype=np.float32)
    X[0] = 1e4  # in single precision, 0.1 added to it many times goes astray
    total = X.astype(np.float64).sum()
    assert abs(np.cumsum(X)[-1] / total - 1) > 1e-3  # one sum in single precision
    np.testing.assert_allclose(
        device.added([device.tiles(np.ones_like(X).T, X)])[0, 0], total, rtol=1e-5
    )


@pytest.mark.parametrize(("r", "n"), [(1, 1), (3, 1000), (130, 7), (8, 600_000)])
def test_sums_and_counts(device, r, n):
    X = np.maximum(np.random.default_rng(0).standard_normal((n, r)), 0).astype(np.float32)
    sums, count = device.tally(X.T)
    np.testing.assert_allclose(sums, X.sum(axis=0, dtype=np.float64), rtol=1e-12)
    assert count == np.count_nonzero(X)


@pytest.mark.parametrize("n", [1, 2, 101, 200, 2049, 3000])
@pytest.mark.parametrize("digits", [1, 12])  # with ties, and without
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_medians(device, n, digits, dtype):
    X = np.random.default_rng(0).standard_normal((9, n)).round(digits).astype(dtype)
    X[0, : n // 2], X[1] = 1e-30, np.sign(X[1]) * 1e30
    found = device.deviations(X)
    centre = np.median(X.astype(np.float64), axis=1)
    np.testing.assert_allclose(found[0], centre, rtol=1e-12, atol=1e-40)
    expected = np.median(np.abs(X - centre[:, None]), axis=1)
    np.testing.assert_allclose(found[1], expected, rtol=1e-12, atol=1e-40)


def test_bounded_rows_as_on_the_cpu(device):
    rng = np.random.default_rng(0)
    S = np.maximum(rng.standard_normal((2, 6, 80)), 0)
    S[0, 3] = 0  # a dead source
    G = S @ S.swapaxes(1, 2)
    C = np.ascontiguousarray(
        S @ (S.swapaxes(1, 2) @ rng.random((2, 6, 40)) + rng.standard_normal((2, 80, 40)))
    )
    bound = np.full((2, 6), 0.9 * 40**0.5 / 2)
    X = rng.random((2, 6, 40))
    expected = X.copy()
    rounds = [descend_rows(G[k], C[k], bound[k], expected[k], 100, 1e-9) for k in range(2)]
    told = device.bounded(G, C, bound, X, 100, 1e-9)
    assert any(np.isclose(np.linalg.norm(expected, axis=2), bound).ravel())  # the bound bites
    np.testing.assert_allclose(X, expected, atol=1e-10)
    assert [round(one) for one in told[:, 0]] == [one for one, _ in rounds]


@pytest.mark.parametrize("p_S", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_levels_are_corrected_as_on_the_cpu(device, p_S, dtype):
    rng = np.random.default_rng(0)
    k, m, r, n, every = 4, 30, 6, 50, 3
    A = np.maximum(rng.standard_normal((k, m, r)), 0).astype(dtype)
    A[1, :, 5] = A[1, :, 4]  # a direction twice
    A[2, :, 0] = 0
    X = (rng.random((k, n, r)) * (rng.random((k, n, r)) < p_S)).astype(dtype)
    X[0, :, 3] = 0.1 + rng.random(n)  # everywhere
    Y = np.matmul(X, A.swapaxes(1, 2)) + 0.3 * rng.standard_normal((k, n, m)) + 0.05
    C, exact = np.matmul(Y, A).astype(dtype), A.astype(np.float64)
    G, spread = np.matmul(exact.swapaxes(1, 2), exact), 0.2 + rng.random((k, m)) / 10
    spread[3] = 0
    found = device.levels(spread, A, G, C, X, every)
    for i in range(k):
        expected = corrected(GAUSSIAN * spread[i], A[i], C[i, ::every], X[i, ::every], n)
        np.testing.assert_allclose(found[i], expected, rtol=1e-9)
    if p_S:
        assert np.abs(found[:3] / (GAUSSIAN * spread[:3]) - 1).mean() > 0.01


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_stack_on_the_gpu_is_one_after_the_other(device, dtype):
    parts = [problem(6, 40, dtype, seed=seed) for seed in range(3)]
    parts[1][0][2] = parts[1][0][:, 2] = parts[1][1][:, 2] = 0  # a dead source
    G, C, X = (np.stack(part) for part in zip(*parts, strict=True))
    shift = np.linspace(0, 1, 18).reshape(3, 6)
    found, told = device.solve_each(G, C, X, shift)
    for k, part in enumerate(parts):
        alone, there = solved(device, *part, shift[k])
        np.testing.assert_array_equal(found[k], there)
        assert told[k] == alone


def test_problems_of_a_stack_that_need_the_cpu_go_there(device, monkeypatch):
    parts = [problem(5, 50, seed=seed) for seed in range(3)]
    G, C, X = (np.stack(part) for part in zip(*parts, strict=True))
    G[1, 4], G[1, :, 4], C[1, :, 4] = G[1, 3], G[1, :, 3], C[1, :, 3] + 1e-3  # a direction twice
    G[1, 4, 4] = G[1, 3, 3]
    monkeypatch.setattr(on_device, "MOVES", 1)  # descent is cut off: nothing else can have done it
    shift = np.linspace(0, 1, 15).reshape(3, 5)
    found, told = device.solve_each(G, C, X, shift)
    assert told.max() <= 1e-9
    for k in range(3):
        exact, wanted = np.zeros((50, 5)), (C[k] - shift[k]).T
        solve_rows(G[k], C[k], exact, shift[k])
        objectives = (nnqp.objective(G[k], wanted, one.T) for one in (found[k], exact))
        np.testing.assert_allclose(*objectives, rtol=1e-9)


def test_scales_of_sources_in_a_stack_do_not_matter(device, monkeypatch):
    monkeypatch.setattr(HostDevice, "_finish", None)  # neither the CPU nor descent may mend it
    monkeypatch.setattr(on_device, "MOVES", 0)
    G, C, X = problem(6, 100)
    scale = 10.0 ** np.arange(-12, 12, 4)
    stack = (
        np.stack([G, G * np.outer(scale, scale)]),
        np.stack([C, C * scale]),
        np.stack([X, X / scale]),
    )
    (plain, found), _ = device.solve_each(*stack)
    np.testing.assert_allclose(found * scale, plain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_mixing_matrices_are_moved_on(device, dtype):
    rng = np.random.default_rng(0)
    A, last = rng.random((2, 3, 20, 4)).astype(dtype)
    A[1, :, 2] = 0
    exact = 1e-12 if dtype == np.float64 else 1e-6
    found, norms = device.moved(A)
    np.testing.assert_allclose(norms, np.linalg.norm(A, axis=1), rtol=exact)
    np.testing.assert_allclose(found * norms[:, None], A, atol=exact)
    share = np.array([0.7, 0.2, 0.0])
    found, _ = device.moved(A, last, share)
    moved = np.maximum(A + share[:, None, None] * (A - last), 0)
    norm = np.linalg.norm(moved, axis=1, keepdims=True)
    expected = moved / np.where(norm > 0, norm, 1)
    np.testing.assert_allclose(found[:2], expected[:2], atol=exact)
    np.testing.assert_array_equal(found[2], A[2])


def test_what_columns_answer_is_what_an_array_would(device):
    X = np.random.default_rng(0).random((50, 3))
    columns = Columns(device, X.T.copy(order="K"))
    np.testing.assert_array_equal(np.asarray(columns), X.T)
    np.testing.assert_array_equal(columns[:, [4, 2]], X.T[:, [4, 2]])
    np.testing.assert_allclose(columns.sum(axis=1), X.sum(axis=0))
    np.testing.assert_allclose(columns.sum(), X.sum())
    product = columns * np.array([[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(np.asarray(product * 2), 2 * X.T * np.arange(3)[:, None])
    assert product.array.T.flags.c_contiguous


@pytest.mark.parametrize("room", [99, 163])  # KB, of other GPUs
def test_a_gpu_with_less_shared_memory_takes_fewer_threads(device, room):
    device.most_shared = room << 10
    for r in (33, 64):
        shape = quick(r).within(r, device.most_shared // 4)
        assert 32 <= shape.threads <= quick(r).threads
        G, C, X = problem(r, 20, np.float32, m=100)
        assert solved(device, G, C, X)[0] <= 1e-5
    if room == 99:
        with pytest.raises(GpuError, match="too little shared memory for r=128"):
            thorough(128).within(128, device.most_shared // 8)


def test_every_number_of_sources_has_a_shape_that_fits():
    for r in range(1, on_device.MOST_SOURCES + 1):
        for shape, item in ((quick(r), 4), (thorough(r), 8)):
            assert shape.lanes in (4, 8, 16)
            assert 1 <= shape.most <= r
            assert shape.at_once * (shape.shared(r) * item + 1024) <= 228 << 10


@pytest.mark.parametrize("r", [1, 5, 8, 16, 32])
@pytest.mark.parametrize(("m", "n"), [(7, 5000), (64, 2048), (3, 1), (200, 4099)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_with_the_data(device, r, m, n, dtype):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((m, n + 3)).astype(dtype)[:, :n]  # part of something wider
    A, X = rng.random((m, r)).astype(dtype), rng.random((n, r)).astype(dtype)
    C = np.full((n, r), np.nan, dtype=dtype)
    device.correlate(A, Y, C.T)
    tolerance = 1e-12 if dtype == np.float64 else 3e-6
    exact = Y.T.astype(np.float64) @ A
    np.testing.assert_allclose(C, exact, atol=tolerance * np.abs(exact).max())
    YS, SS = np.split(device.added([device.moments(Y, X.T)]), [m])
    exact = Y.astype(np.float64) @ X
    np.testing.assert_allclose(YS, exact, atol=tolerance * n**0.5 * np.abs(exact).max())
    np.testing.assert_allclose(SS, X.T.astype(np.float64) @ X, rtol=tolerance * 10)
