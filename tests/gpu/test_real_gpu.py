"""On a real GPU; skipped without one. `make test-gpu` runs these and does not skip them."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from host_device import problem
from task_options import records

import ngmca
from ngmca import nnqp, simulate
from ngmca.answers.how_many.condensed_data import condensed
from ngmca.answers.how_many.spikes import spikes
from ngmca.domains import analysis, frame_of
from ngmca.engines import derived, magnitude
from ngmca.engines.degrees_of_freedom import corrected
from ngmca.engines.gpu import GpuError, open_device
from ngmca.engines.gpu import engine as on_gpu
from ngmca.engines.gpu.engine import GpuEngine
from ngmca.engines.gpu.frames import GpuFrame
from ngmca.engines.memory import MemoryEngine
from ngmca.engines.neighbouring_channels import noise_of_differences
from ngmca.engines.robust_noise import GAUSSIAN
from ngmca.nnqp.bounded_rows import descend_rows
from ngmca.nnqp.pivoting import solve_rows
from ngmca.sampling import chain_on_gpu


def device_or_reason():
    try:
        return open_device(), ""
    except GpuError as error:
        if os.environ.get("NGMCA_NEEDS_GPU"):
            raise
        return None, str(error)


DEVICE, REASON = device_or_reason()
pytestmark = pytest.mark.skipif(DEVICE is None, reason=REASON)


@pytest.fixture(scope="module")
def mixture():
    return simulate.sparse(60, 20_000, 6, snr=15.0, p_S=0.2, seed=0)


def close(one, other, tolerance=1e-6):
    np.testing.assert_allclose(one.A, other.A, atol=tolerance)
    np.testing.assert_allclose(one.S, other.S, atol=tolerance * np.asarray(other.S).max())


@pytest.mark.parametrize("r", [1, 2, 5, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 100, 128])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_are_solved_to_a_certificate_that_is_true(r, dtype):
    G, C, X = problem(r, 3001, dtype, m=150)
    shift = np.linspace(0, 1, r)
    xp = DEVICE.xp
    there = xp.asarray(X)
    told = DEVICE.solve(G, xp.asarray(C).T, there.T, shift)
    X = xp.asnumpy(there)
    exact = np.zeros(C.shape)
    solve_rows(G, C.astype(np.float64), exact, shift)
    limit = 1e-11 if dtype == np.float64 else 1e-5
    assert nnqp.violation(G, (C - shift).T, X.T) <= 2 * limit
    assert told <= limit
    np.testing.assert_allclose(X, exact, atol=limit * 1000 * exact.max())


def test_sources_that_are_alike_stay_exact():
    G, C, X = problem(6, 500, m=150)
    G[5], G[:, 5], C[:, 5] = G[4], G[:, 4], C[:, 4]
    G[5, 5] = G[4, 4]
    there = DEVICE.xp.asarray(X)
    DEVICE.solve(G, DEVICE.xp.asarray(C).T, there.T, np.zeros(6))
    assert nnqp.violation(G, C.T, DEVICE.xp.asnumpy(there).T) <= 1e-9


@pytest.mark.parametrize("r", [6, 20, 40, 70])
def test_awkward_columns_are_solved_in_single_precision(r):
    G, C, X = problem(r, 500, np.float32, m=150)
    G[5], G[:, 5], C[:, 5] = G[4], G[:, 4], C[:, 4]  # alike
    G[5, 5] = G[4, 4]
    G[2] = G[:, 2] = C[:, 2] = 0  # nowhere
    X[7] = np.nan
    C[9] = 0
    C[11] = np.abs(C[11]) + 5 * G.sum(axis=1)  # everywhere
    there = DEVICE.xp.asarray(X)
    told = DEVICE.solve(G, DEVICE.xp.asarray(C).T, there.T, np.zeros(r))
    found = DEVICE.xp.asnumpy(there)
    assert told <= 1e-5
    assert nnqp.violation(G, C.T, found.T) <= 2e-5
    assert not found[:, 2].any()
    assert not found[9].any()


@pytest.mark.parametrize("r", [1, 3, 8, 11, 16, 17])
@pytest.mark.parametrize("n", [1, 130, 2048, 9001])
def test_products_with_the_data(r, n):
    xp, rng = DEVICE.xp, np.random.default_rng(0)
    Y = rng.standard_normal((71, n + 3)).astype(np.float32)
    A, X = rng.random((71, r)).astype(np.float32), rng.random((n, r)).astype(np.float32)
    there, C = xp.asarray(Y)[:, :n], xp.full((n, r), np.nan, dtype=np.float32)
    DEVICE.correlate(xp.asarray(A), there, C.T)
    exact = Y[:, :n].T.astype(np.float64) @ A
    np.testing.assert_allclose(DEVICE.host(C), exact, atol=3e-6 * np.abs(exact).max())
    YS, SS = np.split(DEVICE.added([DEVICE.moments(there, xp.asarray(X).T)]), [71])
    exact = Y[:, :n].astype(np.float64) @ X
    np.testing.assert_allclose(YS, exact, atol=1e-4 * np.abs(exact).max())
    np.testing.assert_allclose(SS, X.T.astype(np.float64) @ X, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_products_and_medians(dtype):
    xp, rng = DEVICE.xp, np.random.default_rng(0)
    Y, X = rng.standard_normal((70, 9001)).astype(dtype), rng.random((9001, 5)).astype(dtype)
    X[X < 0.5] = 0
    there, small = xp.asarray(Y), xp.asarray(X).T
    YS, SS = np.split(DEVICE.added([DEVICE.moments(there, small)]), [70])
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    exact = Y.astype(np.float64) @ X
    np.testing.assert_allclose(YS, exact, atol=tolerance * np.abs(exact).max())
    np.testing.assert_allclose(SS, X.T.astype(np.float64) @ X, rtol=tolerance)
    sums, count = DEVICE.tally(small)
    np.testing.assert_allclose(sums, X.sum(axis=0, dtype=np.float64), rtol=1e-12)
    assert count == np.count_nonzero(X)
    found = xp.asnumpy(DEVICE.deviations(there[:, :777]))
    centre = np.median(Y[:, :777], axis=1)
    np.testing.assert_allclose(found[0], centre, rtol=1e-6)
    np.testing.assert_allclose(
        found[1], np.median(np.abs(Y[:, :777] - centre[:, None]), axis=1), rtol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [2049, 30_000])
def test_medians_of_long_rows_and_what_neighbours_say(dtype, n):
    X = np.random.default_rng(0).standard_normal((70, n)).cumsum(axis=1).round(2).astype(dtype)
    found = DEVICE.host(DEVICE.deviations(DEVICE.xp.asarray(X)))
    exact = X.astype(np.float64)
    centre = np.median(exact, axis=1)
    np.testing.assert_allclose(found[0], centre, atol=1e-12)
    expected = np.median(np.abs(exact - centre[:, None]), axis=1)
    np.testing.assert_allclose(found[1], expected, atol=1e-12)
    there, here = GpuEngine(X, DEVICE), MemoryEngine(X)
    levels, white = noise_of_differences(there)
    same, white_here = noise_of_differences(here)
    np.testing.assert_allclose(levels, same, rtol=1e-5)
    assert white == white_here
    assert magnitude(there) == magnitude(here)
    divided = there.divided(unit=2.0, dtype=np.dtype(np.float32))
    np.testing.assert_array_equal(
        DEVICE.host(divided._given), here.divided(unit=2.0, dtype=np.dtype("f"))._Y
    )
    A, S = np.abs(X[:, :3]), np.abs(X[:3])
    np.testing.assert_allclose(there.noise(A, S, final=True), here.noise(A, S, final=True), rtol=1e-3)


@pytest.mark.parametrize("n", [800, 5000])
def test_the_number_of_sources_is_that_of_the_cpu(n, monkeypatch):
    monkeypatch.setattr(derived, "WORTH_GPU", 0)
    Y = simulate.bands(40, n, 4, snr=20.0, seed=0).Y
    Y[[3, 8, 9], [200, 400, 0]] += 50 * Y.max()
    there = ngmca.choose_rank(DEVICE.xp.asarray(Y), seed=0, device="cuda")
    here = ngmca.choose_rank(Y, seed=0)
    assert (there.rank, there.criteria, there.advice) == (here.rank, here.criteria, here.advice)
    assert "3 spikes" in there.advice
    for one, other in zip(
        (GpuEngine(Y, DEVICE), GpuEngine(Y.astype(np.float32), DEVICE)),
        (MemoryEngine(Y), MemoryEngine(Y.astype(np.float32))),
        strict=True,
    ):
        np.testing.assert_array_equal(spikes(one), spikes(other))
        parts = (condensed(engine, None, None, np.random.default_rng(0)) for engine in (one, other))
        np.testing.assert_allclose(*(part.averages for part in parts), rtol=1e-9, atol=1e-12 * Y.max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("longest", [chain_on_gpu.LONGEST_RUN, 0])
def test_error_bars_are_those_of_the_cpu(mixture, monkeypatch, dtype, longest):
    monkeypatch.setattr(chain_on_gpu, "WORTH_THREADS", 0)
    monkeypatch.setattr(chain_on_gpu, "LONGEST_RUN", longest)
    Y = mixture.Y[:, :3000].astype(dtype)
    separation = ngmca.separate(Y, 6, seed=0, domain="direct", n_init=1)
    given = {"n_samples": 200, "burn": 40, "seed": 0}
    there, again = (ngmca.posterior(Y, separation, device="cuda", **given) for _ in range(2))
    here = ngmca.posterior(Y, separation, **given)
    np.testing.assert_array_equal(there.S.mean, again.S.mean)
    np.testing.assert_array_equal(there.A.sd, again.A.sd)
    for one, other in ((there.S, here.S), (there.A, here.A)):
        sd = np.maximum(other.sd, 1e-3 * other.mean.max())
        assert np.sqrt(np.mean(((one.mean - other.mean) / sd) ** 2)) < 0.25
        assert abs(np.log(np.mean(one.sd) / np.mean(other.sd))) < 0.1
    np.testing.assert_allclose(there.noise.mean, here.noise.mean, rtol=0.01)
    assert np.mean(np.abs(there.S.active - here.S.active)) < 0.02


@pytest.mark.filterwarnings("ignore:the data hardly determine")
def test_error_bars_for_data_that_are_on_the_gpu(monkeypatch):
    monkeypatch.setattr(chain_on_gpu, "WORTH_THREADS", 0)
    Y = DEVICE.xp.asarray(simulate.sparse(30, 400, 3, snr=15.0, seed=0).Y)
    bars = ngmca.Sampling(n_samples=20, burn=5)
    found = ngmca.separate(Y, 3, device="cuda", domain="direct", n_init=1, posterior=bars)
    again = ngmca.posterior(Y, found, device="cuda", n_samples=20, burn=5, seed=0)
    np.testing.assert_array_equal(found.posterior.S.mean, again.S.mean)
    bands = simulate.bands(12, 128, 2, snr=20.0, seed=0).Y
    found = ngmca.separate(bands, 2, device="cuda", domain="wavelet", n_init=1, posterior=bars)
    assert found.posterior.model == "bands"


def test_bounded_rows_as_on_the_cpu():
    rng = np.random.default_rng(0)
    S = np.maximum(rng.standard_normal((7, 80)), 0)
    G, C = S @ S.T, S @ (S.T @ rng.random((7, 150)) + rng.standard_normal((80, 150)))
    bound, X = np.full(7, 4.0), rng.random((7, 150))
    expected = X.copy()
    rounds, _ = descend_rows(G, C, bound, expected, 100, 1e-9)
    arrays = [DEVICE.xp.asarray(part[None]) for part in (G, C, bound, X)]
    told = DEVICE.bounded(*arrays, 100, 1e-9)
    np.testing.assert_allclose(DEVICE.host(arrays[3])[0], expected, atol=1e-10)
    assert abs(float(told[0, 0]) - rounds) <= 1


@pytest.mark.parametrize("method", ["soft", "anls", "hard"])
def test_the_answer_is_that_of_the_cpu_from_the_same_start(mixture, method):
    rng = np.random.default_rng(1)
    start = (rng.random((60, 6)), rng.random((6, 20_000)))
    n_iter = 20 if method == "hard" else "auto"
    there, here = (
        ngmca.separate(mixture.Y, 6, **records(method=method, n_iter=n_iter, start=start, device=device))
        for device in ("cuda", "cpu")
    )
    close(there, here)
    assert there.n_iter == here.n_iter


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p_S", [0.1, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_the_same_sdr_as_the_cpu(dtype, p_S, seed):
    mixture = simulate.sparse(200, 2000, 10, snr=15.0, p_S=p_S, seed=seed)
    Y = mixture.Y.astype(dtype)
    sdr = [
        ngmca.evaluate(mixture.S, ngmca.separate(Y, 10, seed=seed, device=device, n_init=1).S).mean_sdr
        for device in ("cuda", "cpu")
    ]
    assert abs(sdr[0] - sdr[1]) <= 0.05


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", ["soft", "anls", "hard"])
def test_bit_identical_run_to_run(mixture, dtype, method):
    Y = mixture.Y.astype(dtype)
    one, two = (
        ngmca.separate(Y, 6, **records(method=method, n_iter=15, seed=3, device="cuda"))
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.S, two.S)
    np.testing.assert_array_equal(one.A, two.A)
    np.testing.assert_array_equal(one.history.cost, two.history.cost)


def test_many_columns_are_bit_identical_run_to_run():
    G, C, X = problem(40, 30_000, np.float32, m=150)
    found = []
    for _ in range(3):
        there = DEVICE.xp.asarray(X)
        DEVICE.solve(G, DEVICE.xp.asarray(C).T, there.T, np.zeros(40))
        found.append(DEVICE.host(there))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_arrays_come_back_where_they_came_from(mixture):
    cupy = DEVICE.xp
    there = ngmca.separate(
        cupy.asarray(mixture.Y), 6, method=ngmca.Soft(n_iter=10), device="cuda", n_init=1
    )
    here = ngmca.separate(mixture.Y, 6, method=ngmca.Soft(n_iter=10), device="cuda", n_init=1)
    assert isinstance(there.S, cupy.ndarray)
    assert isinstance(there.A, cupy.ndarray)
    assert type(here.S) is np.ndarray
    np.testing.assert_array_equal(there.S.get(), here.S)


def test_numbers_on_a_gpu_are_checked():
    cupy = DEVICE.xp
    Y = cupy.ones((5, 8))
    Y[2, 3] = cupy.nan
    with pytest.raises(ValueError, match="NaN or infinite"):
        ngmca.separate(Y, 2, device="cuda", n_init=1)
    with pytest.raises(ValueError, match=r"Y is on a GPU\. Use device='cuda'"):
        ngmca.separate(cupy.ones((5, 8)), 2, n_init=1)


@pytest.mark.parametrize("order", ["C", "F"])
def test_data_larger_than_the_gpu_give_the_answer_of_the_whole(mixture, monkeypatch, order):
    monkeypatch.setattr(on_gpu, "PIECE", 1 << 20)
    whole = ngmca.separate(mixture.Y, 6, method=ngmca.Soft(n_iter=12), device="cuda", n_init=1)
    engine = GpuEngine(np.asarray(mixture.Y, order=order), DEVICE)
    needed = 4 * 6 * 20_000 * 8 + 11 * 66 * 6 * 8
    monkeypatch.setattr(type(DEVICE), "free", lambda device: int(needed / 0.9) + 6_000_000)
    assert len([*engine._pieces(6)]) > 4
    close(ngmca.separate(engine, 6, method=ngmca.Soft(n_iter=12), n_init=1), whole, 1e-9)


def test_bands_images_and_restarts_work_there(mixture):
    bands = simulate.bands(20, 256, 3, snr=20.0, seed=0)
    for Y, r, options in ((bands.Y, 3, {"domain": "wavelet"}), (mixture.Y, 6, {"n_init": 3})):
        there, here = (
            ngmca.separate(Y, r, **records(n_iter=10, device=device, **options))
            for device in ("cuda", "cpu")
        )
        assert there.domain.name == here.domain.name
        close(there, here, 1e-3)


@pytest.mark.parametrize(
    ("n", "borders"),  # or the shape of an image
    [(1, ()), (37, ()), (5000, ()), (4000, (7, 9, 3000)), (1, (4, 5)), (2, (33, 64)), (3, (90, 31))],
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 1e-4)])
@pytest.mark.parametrize("r", [1, 8, 33])
def test_steps_in_a_frame_are_those_of_the_cpu(n, borders, dtype, tolerance, r):
    here = frame_of(n, None, borders)
    if len(borders) == 2:
        here = frame_of(borders[0] * borders[1], borders)
    n = here.n
    there = replace(here, on=GpuFrame(DEVICE, here))
    rng = np.random.default_rng(0)
    S, A = rng.standard_normal((r, n)).astype(dtype), rng.random((40, r))
    G, C = A.T @ A / 10, (3 * S).astype(dtype)
    noise = np.linspace(0.1, 1, r * here.bands).reshape(r, -1)

    def found(W, bring):
        Lam = analysis.weigh(W, bring(S), noise, 3.0, 0.5)
        solved = analysis.solve(G, bring(C), W, Lam, tol=0, max_iter=21, rho=0.3)
        parts = Lam, solved.duals.coefficients, solved.duals.samples, solved.S
        return *(DEVICE.host(part) for part in parts), solved.objective, solved.gap

    *arrays, objective, gap = found(there, DEVICE.xp.asarray)
    *expected, value, bound = found(here, np.asarray)
    for one, other in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance * np.abs(other).max())
    np.testing.assert_allclose(objective, value, rtol=tolerance)
    np.testing.assert_allclose(gap, bound, atol=10 * tolerance * abs(value))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bands_are_those_of_the_cpu_and_come_again_to_the_same_bits(dtype):
    mixture = simulate.bands(40, 3000, 4, snr=20.0, seed=0)
    given = {"domain": "wavelet", "n_init": 1, "seed": 0}
    Y = mixture.Y.astype(dtype)
    one, two = (ngmca.separate(Y, 4, device="cuda", **given) for _ in range(2))
    cpu = ngmca.separate(Y, 4, **given)
    np.testing.assert_array_equal(one.S, two.S)
    np.testing.assert_array_equal(one.A, two.A)
    assert one.history.violation[-1] <= max(2e-5, 2 * cpu.history.violation[-1])
    sdr = [ngmca.evaluate(mixture.S, found.S).mean_sdr for found in (one, cpu)]
    assert abs(sdr[0] - sdr[1]) <= 0.05


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", ["soft", "anls"])
def test_a_batch_of_starts_gives_what_each_gives_alone(monkeypatch, dtype, method):
    Y = simulate.sparse(80, 120, 6, snr=15.0, seed=0).Y.astype(dtype)

    def costs(n_init, device="cuda"):
        found = ngmca.separate(Y, 6, **records(method=method, n_iter=30, n_init=n_init, device=device))
        return found, np.array([one.cost for one in found.restarts])

    (many, first), (again, second), (cpu, here) = costs(9), costs(9), costs(9, "cpu")
    np.testing.assert_array_equal(many.S, again.S)
    np.testing.assert_array_equal(first, second)
    tolerance = 1e-8 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(first, here, rtol=tolerance)
    monkeypatch.setattr(GpuEngine, "stacks", lambda engine, r: None)
    alone, apart = costs(9)
    np.testing.assert_allclose(first, apart, rtol=tolerance)
    if dtype == np.float64:
        assert first.argmin() == apart.argmin() == here.argmin()
        close(many, alone)
        close(many, cpu)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_levels_are_corrected_as_on_the_cpu(dtype):
    rng = np.random.default_rng(0)
    k, m, r, n, every = 3, 300, 12, 65, 2
    A = np.maximum(rng.standard_normal((k, m, r)), 0).astype(dtype)
    A[1, :, 5] = A[1, :, 4]  # a direction twice
    X = (rng.random((k, n, r)) * (rng.random((k, n, r)) < 0.3)).astype(dtype)
    Y = np.matmul(X, A.swapaxes(1, 2)) + 0.3 * rng.standard_normal((k, n, m)) + 0.05
    C, exact = np.matmul(Y, A).astype(dtype), A.astype(np.float64)
    G, spread = np.matmul(exact.swapaxes(1, 2), exact), 0.2 + rng.random((k, m)) / 10
    arrays = (DEVICE.xp.asarray(one) for one in (spread, A, G, C, X))
    found = DEVICE.host(DEVICE.levels(*arrays, every))
    for i in range(k):
        expected = corrected(GAUSSIAN * spread[i], A[i], C[i, ::every], X[i, ::every], n)
        np.testing.assert_allclose(found[i], expected, rtol=1e-9)


HIDDEN = "import ngmca, numpy as np\nngmca.separate(np.ones((5, 8)), 2, device='cuda')"


def test_a_hidden_gpu_is_no_reason_to_take_the_cpu():
    told = subprocess.run(
        [sys.executable, "-c", HIDDEN],
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode != 0
    assert "finds no GPU" in told.stderr.splitlines()[-1]
