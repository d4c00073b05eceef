"""Noise levels know what the fit follows of the noise: right also where measurements are few."""

import numpy as np
import pytest
from task_options import records

from ngmca import evaluate, separate, simulate
from ngmca.algorithms.first_guess import unit_columns
from ngmca.engines import by_residual, open_data
from ngmca.engines import degrees_of_freedom as freedom
from ngmca.engines.memory import MemoryEngine
from ngmca.engines.weighted import WeightedEngine
from ngmca.nnqp.pivoting import solve_rows


def level(sigma):
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(sigma))))


@pytest.mark.parametrize(
    ("m", "r", "p_S", "snr"),
    [
        (15, 15, 0.3, 15),
        (20, 15, 0.1, 15),
        (20, 15, 0.5, 15),
        (30, 15, 0.3, 30),
        (60, 15, 0.3, 10),
        (200, 15, 0.3, 15),
        (15, 5, 0.3, 15),
        (30, 5, 0.5, 30),
    ],
)
def test_a_separation_finds_the_noise_to_ten_per_cent(m, r, p_S, snr):
    """Also with as many sources as measurements, where half of the noise is in the fit."""
    ratios = []
    for seed in range(3):
        data = simulate.sparse(m=m, r=r, p_S=p_S, snr=snr, seed=seed)
        found = separate(data.Y, r, domain="direct", seed=seed, threads=1, n_init=1)
        ratios.append(level(found.noise) / level(data.noise))
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


def test_right_levels_make_better_sources_where_measurements_are_few():
    """Thresholds follow the levels: no tau is right for those of the residual."""
    better = []
    for seed in range(4):
        data = simulate.sparse(m=20, r=15, p_S=0.3, snr=15, seed=seed)
        engine = open_data(data.Y, threads=1)
        sdr = [
            _sdr(data, engine, seed),
            max(_sdr(data, by_residual(engine), seed, tau=tau) for tau in (1.0, 2.0)),
        ]
        better.append(sdr[0] - sdr[1])
    assert np.mean(better) > -0.1


def _sdr(data, engine, seed, **options):
    found = separate(engine, len(data.S), **records(domain="direct", seed=seed, **options))
    return evaluate(data.S, found.S).mean_sdr


@pytest.mark.parametrize("missing", [0.05, 0.2])
def test_levels_of_data_with_gaps(missing):
    ratios = []
    for seed in range(2):
        data = simulate.sparse(m=30, r=15, n=150, snr=15, seed=seed)
        mask = np.random.default_rng(seed).random(data.Y.shape) < missing
        found = separate(data.Y, 15, mask=mask, domain="direct", seed=seed, threads=1, n_init=1)
        ratios.append(level(found.noise) / level(data.noise))
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("m", "r", "missing"), [(12, 8, 0.3), (60, 15, 0.6), (30, 15, 0.3), (30, 5, 0.3)]
)
def test_levels_for_a_known_mixing_where_much_is_missing(m, r, missing):
    """A measurement is followed only where it was observed, and more closely where others were not."""
    rng = np.random.default_rng(m)
    n = 2000
    S = np.where(rng.random((r, n)) < 0.3, rng.exponential(size=(r, n)), 0)
    A, S = unit_columns(rng.random((m, r)), S)
    sigma = 0.18 * level(A @ S)
    Y = A @ S + sigma * rng.standard_normal((m, n))
    Y[rng.random((m, n)) < missing] = np.nan
    engine, thresholds = open_data(Y), np.full(r, sigma)
    fit = engine.sweep(A, np.zeros((r, n)), lambda G, C, X, _: G.solve(C, X, thresholds))
    assert level(engine.noise(A, fit.S, final=True)) == pytest.approx(sigma, rel=0.08)


def test_levels_do_not_depend_on_the_order_of_samples():
    rng = np.random.default_rng(5)
    m, r, b = 12, 5, 40
    A, X = rng.random((m, r)), np.where(rng.random((b, r)) < 0.5, rng.random((b, r)), 0)
    W, C = rng.random((m, b)) * (rng.random((m, b)) < 0.7), rng.random((b, r))
    grams = np.einsum("ij,ik,il->jkl", W, A, A)

    def found(order):
        given = {"stack": grams[order], "which": np.arange(b), "weights": W[:, order]}
        return freedom.corrected(np.ones(m), A, C[order], X[order], np.full(m, b), **given)

    np.testing.assert_allclose(found(rng.permutation(b)), found(np.arange(b)), rtol=1e-9)


def test_equal_weights_give_the_levels_of_complete_data():
    rng = np.random.default_rng(6)
    m, r, b = 12, 5, 40
    A, X = rng.random((m, r)), np.where(rng.random((b, r)) < 0.5, rng.random((b, r)), 0)
    C, levels = (X @ A.T + 0.1 * rng.standard_normal((b, m))) @ A, rng.random(m)
    given = {"stack": (A.T @ A)[None], "which": np.zeros(b, dtype=int), "weights": np.ones((m, b))}
    found = freedom.corrected(levels, A, C, X, np.full(m, b), **given)
    np.testing.assert_allclose(found, freedom.corrected(levels, A, C, X, b), rtol=1e-9)


@pytest.mark.parametrize("tau", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("m", [8, 16, 40])
def test_levels_for_a_known_mixing_at_any_threshold(m, tau):
    """What thresholds take off the sources is not noise, and what the support follows is."""
    rng = np.random.default_rng(m)
    n, r, sigma = 3000, 6, rng.uniform(0.04, 0.06, m)
    S = np.where(rng.random((r, n)) < 0.2, rng.exponential(size=(r, n)), 0)
    A, S = unit_columns(rng.random((m, r)), S)
    Y = A @ S + sigma[:, None] * rng.standard_normal((m, n))
    X = np.zeros((n, r))
    solve_rows(A.T @ A, Y.T @ A, X, tau * np.sqrt((A * A).T @ sigma**2))
    for engine in (MemoryEngine(Y), MemoryEngine(Y.astype(np.float32))):
        for final in (False, True):
            found = engine.noise(A.astype(engine.dtype), X.T.astype(engine.dtype), final=final)
            assert level(found) == pytest.approx(level(sigma), rel=0.08)
    if tau < 2:
        rest = by_residual(MemoryEngine(Y)).noise(A, X.T)
        assert level(rest) < (0.85 if m == 8 else 0.98) * level(sigma)


def test_least_squares_have_their_degrees_of_freedom():
    """r of m in every sample, r of n in every measurement, but for what both could follow."""
    rng = np.random.default_rng(0)
    m, n, r = 20, 60, 8
    Y = rng.standard_normal((m, n)) + 50 * rng.random((m, r)) @ rng.random((r, n))
    U, D, V = np.linalg.svd(Y, full_matrices=False)
    left = np.sqrt((1 - r / m) * (1 - r / n))
    found = MemoryEngine(Y).noise(U[:, :r], D[:r, None] * V[:r])
    rest = by_residual(MemoryEngine(Y)).noise(U[:, :r], D[:r, None] * V[:r])
    assert level(found) == pytest.approx(1, abs=0.1)
    assert level(found) == pytest.approx(level(rest) / left, rel=0.05)


def test_a_measurement_that_sources_follow_closely_has_a_level_of_its_own():
    """One that a source has nearly for itself leaves little of a residual."""
    rng = np.random.default_rng(1)
    m, n, r = 12, 4000, 4
    A, S = unit_columns(rng.random((m, r)), rng.random((r, n)) + 1)
    A[0] = (0.8, 0, 0, 0)
    Y = A @ S + rng.standard_normal((m, n))
    X = np.linalg.lstsq(A, Y, rcond=None)[0]
    rest, found = (engine.noise(A, X) for engine in (by_residual(MemoryEngine(Y)), MemoryEngine(Y)))
    assert rest[0] < 0.8
    np.testing.assert_allclose(found, 1, rtol=0.12)


def test_sources_that_are_held_follow_nothing():
    rng = np.random.default_rng(2)
    m, n, r = 10, 3000, 6
    A, S = unit_columns(rng.random((m, r)), rng.random((r, n)))
    Y, held = A @ S + 0.1 * rng.standard_normal((m, n)), np.arange(r) < 4
    X = S.copy()
    X[4:] = np.linalg.lstsq(A[:, 4:], Y - A[:, :4] @ S[:4], rcond=None)[0]
    assert level(MemoryEngine(Y).noise(A, X, held=held)) == pytest.approx(0.1, rel=0.03)
    assert level(MemoryEngine(Y).noise(A, X)) > 0.115


@pytest.mark.parametrize("shape", [(1, 30), (4, 30), (30, 4), (5, 1)])
def test_levels_stay_within_three_times_the_residual(shape):
    """Where nothing is left to tell the noise by: they are numbers, and not below half the residual."""
    rng = np.random.default_rng(3)
    Y, A, S = rng.random(shape), rng.random((shape[0], 6)), rng.random((6, shape[1]))
    A[:, 1] = A[:, 0]  # dependent
    S[2] = 0
    rest, found = (engine.noise(A, S) for engine in (by_residual(MemoryEngine(Y)), MemoryEngine(Y)))
    assert np.all(np.isfinite(found))
    assert np.all((found >= rest / 2) & (found <= 3.001 * rest))


def test_no_residual_is_no_noise():
    Y, A, S = np.zeros((5, 40)), np.ones((5, 2)), np.zeros((2, 40))
    np.testing.assert_array_equal(MemoryEngine(Y).noise(A, S), 0)


def test_sums_over_samples_are_those_of_plain_algebra():
    rng = np.random.default_rng(4)
    m, r, b = 12, 5, 30
    A, X = rng.random((m, r)), np.where(rng.random((b, r)) < 0.5, 0.1 * rng.random((b, r)), 0)
    C = 0.1 * rng.random((b, r))
    G, both = A.T @ A, np.zeros((r, 2 * r))
    freedom._measure(G, C, X, m, np.ones(r, dtype=bool), 1.0, both)
    taken, moved = np.zeros((r, r)), np.zeros((b, r))
    for x, c, u in zip(X, C, moved, strict=True):
        P = np.flatnonzero(x)
        inverse = np.linalg.inv(G[np.ix_(P, P)])
        u[P] = inverse @ c[P]
        near = np.where((u[P] > 0) & (x[P] < u[P]), 4 - 6 * x[P] / u[P], 0)
        taken[np.ix_(P, P)] += inverse + inverse * near / np.diagonal(inverse) @ inverse
    np.testing.assert_allclose(both[:, :r], taken / b)
    np.testing.assert_allclose(both[:, r:], np.cov(moved.T, bias=True), atol=1e-12)


def test_levels_of_weighted_entries_are_those_of_weight_1():
    """A measurement with two entries, far too large by chance, has the level of the others."""
    rng = np.random.default_rng(0)
    W = 10.0 ** rng.uniform(-2, 0, (6, 3000))
    W[5, 2:] = 0
    Y = 0.3 * rng.standard_normal(W.shape) / np.sqrt(np.where(W > 0, W, 1))
    Y[5, :2] = 99.0
    found = WeightedEngine(Y, W).noise(np.ones((6, 1)), np.zeros((1, 3000)), final=True)
    np.testing.assert_allclose(found, 0.3, rtol=0.1)
    assert found[5] == pytest.approx(level(found[:5]))
