"""The A-step under several constraints at once, and known values of single entries, against cvxpy."""

import itertools

import cvxpy as cp
import numpy as np
import pytest

import ngmca
from ngmca.algorithms import Options
from ngmca.algorithms.first_guess import unit_columns
from ngmca.algorithms.steps import a_step, s_step
from ngmca.constraints import constraint_arrays
from ngmca.engines import Levels, open_data
from ngmca.nnqp import closed_shapes

M, N, R = 9, 12, 3
NOISE = 0.2
EXACT = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-12}
FRACTIONS = np.array([(1 - t, 0.8 * t * (1 - t), t - 0.8 * t * (1 - t)) for t in np.linspace(0, 1, M)])


def problem(constraints, *, missing, noise=None):
    """An engine, its data and weights, and the factors after one S-step; the constraints as arrays."""
    rng = np.random.default_rng(7)
    S = rng.random((R, N))
    Y = FRACTIONS @ S + NOISE * rng.standard_normal((M, N))
    W = np.ones((M, N))
    if missing:
        W[rng.random((M, N)) < 0.3] = 0
        Y[W == 0] = np.nan
    engine = open_data(Y)
    levels = Levels.of(noise, engine)
    options = Options(known=constraint_arrays(constraints, engine, R, levels))
    A, S = unit_columns(rng.random((M, R)), S)
    A, S = options.known.imposed(A, S)
    engine = levels.applied(engine)
    sweep = engine.sweep(A, S, s_step(np.zeros(R), options))
    rows = levels.units(engine.shape)[0][:, None]
    return engine, np.nan_to_num(Y) / rows, W, A, sweep, options


def best(Y, W, S, constraints, penalty=lambda X: 0):
    """The minimum over A by an interior-point method."""
    X = cp.Variable((M, len(S)), nonneg=True)
    cost = cp.sum_squares(cp.multiply(W, Y - X @ S)) / 2 + penalty(X)
    task = cp.Problem(cp.Minimize(cost), constraints(X))
    task.solve(solver=cp.CLARABEL, **EXACT)
    return X.value


def known_points():
    """A whole measurement, a single value, and zeros in another one."""
    points = np.full((M, R), np.nan)
    points[0], points[4, 1], points[-2, 2] = FRACTIONS[0], 0.25, 0.8
    return points


LAST = np.where(np.arange(M)[:, None] == M - 2, FRACTIONS, np.nan)
SD = np.repeat(np.where(np.arange(M) == 0, 0, 0.05)[:, None], R, axis=1)  # the first row is exact
EXTRA = {
    "points": [ngmca.KnownMixing(known_points())],
    "zeros": [ngmca.ZeroMixing(np.eye(M, R, k=1, dtype=bool)), ngmca.KnownMixing(LAST)],
    "uncertain": [ngmca.KnownMixing(known_points(), sd=SD)],
}
SHAPES = {
    "free": [],
    "monotonic": [ngmca.Monotonic("decreasing", [0]), ngmca.Monotonic("increasing", [2])],
}
CLOSURES = {
    "equal": [ngmca.Closure(np.ones(M))],
    "at most": [ngmca.Closure(1.0, "at most")],
    "at least": [ngmca.Closure(1.0, "at least")],
    "two of three": [ngmca.Closure(1.05, sources=[0, 2], kind="at most")],
    "two are equal": [ngmca.Closure(1 - FRACTIONS[:, 1], sources=[0, 2])],
    "none": [],
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("closure", "shape", "extra"), [*itertools.product(CLOSURES, SHAPES, EXTRA)])
def test_every_combination_is_the_minimum(closure, shape, extra, missing):
    constraints = [*CLOSURES[closure], *SHAPES[shape], *EXTRA[extra]]
    engine, Y, W, A, sweep, options = problem(constraints, missing=missing)
    known = options.known
    found, quality = a_step(engine, sweep, A, options, bounded=False, noise=np.full(M, NOISE))
    size, S = known.sizes_of(A, sweep.S), sweep.S
    inside = known.closed

    def kept(X):
        P = cp.multiply(X, np.tile(size, (M, 1)))
        rules = []
        if known.totals is not None:
            sums = P[:, np.flatnonzero(inside)] @ np.ones(inside.sum())
            rules += {
                "equal": [sums == known.totals],
                "at most": [sums <= known.totals],
                "at least": [sums >= known.totals],
            }[known.sense]
        if shape == "monotonic":
            rules += [cp.diff(X[:, 0]) <= 0, cp.diff(X[:, 2]) >= 0]
        if known.points is not None:
            rules += [P[i, k] == known.points[i, k] for i, k in np.argwhere(~np.isnan(known.points))]
        return rules

    def pull(X):
        if known.expected is None:
            return 0
        soft = np.argwhere(~np.isnan(known.expected))
        return sum(
            cp.square((X[i, k] * size[k] - known.expected[i, k]) / known.sd[i, k]) * NOISE**2 / 2
            for i, k in soft
        )

    expected = best(Y, W, S, kept, pull)
    plain = best(Y, W, S, lambda X: [])
    assert quality < 1e-6
    assert np.abs(plain - expected).max() > 0.01  # the constraints bind
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_unimodal_profiles_with_a_closure_are_best_for_their_peaks():
    constraints = [ngmca.Unimodal(), ngmca.Closure(), ngmca.KnownMixing(known_points())]
    engine, Y, W, A, sweep, options = problem(constraints, missing=False)
    found, quality = a_step(engine, sweep, A, options, bounded=False)
    size, points = options.known.sizes_of(A, sweep.S), options.known.points

    def kept(X):
        rules = [X @ size == 1]
        for k, peak in enumerate(found.argmax(axis=0)):
            rules += [X[i, k] <= X[i + 1, k] for i in range(peak)]
            rules += [X[i, k] >= X[i + 1, k] for i in range(peak, M - 1)]
        return rules + [X[i, k] * size[k] == points[i, k] for i, k in np.argwhere(~np.isnan(points))]

    assert quality < 1e-6
    expected = best(Y, W, sweep.S, kept)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_shapes_and_sums_are_those_of_the_data_for_unequal_noise():
    noise = np.linspace(0.1, 0.4, M)[:, None]
    constraints = [ngmca.Monotonic("decreasing", [0]), ngmca.Closure(2.0)]
    engine, Y, W, A, sweep, options = problem(constraints, missing=False, noise=noise)
    found, quality = a_step(engine, sweep, A, options, bounded=False)
    size, rows = options.known.sizes_of(A, sweep.S), options.known.rows
    physical = found * rows[:, None] * size
    np.testing.assert_allclose(physical.sum(axis=1), 2, rtol=1e-8)
    assert (np.diff(physical[:, 0]) <= 1e-12).all()
    expected = best(
        Y, W, sweep.S,
        lambda X: [cp.multiply(X @ size, rows) == 2, cp.diff(cp.multiply(X[:, 0], rows)) <= 0],
    )  # fmt: skip
    assert quality < 1e-6
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_certificate_that_tells_a_wrong_answer(monkeypatch):
    constraints = [*SHAPES["monotonic"], *CLOSURES["equal"]]
    engine, _, _, A, sweep, options = problem(constraints, missing=False)
    monkeypatch.setattr(closed_shapes, "MAX_STEPS", 1)  # the sums are not right yet
    _, quality = a_step(engine, sweep, A, options, bounded=False)
    assert quality > 1e-3


@pytest.mark.parametrize("missing", [False, True])
def test_sources_known_in_a_window(missing):
    rng = np.random.default_rng(1)
    window = np.full((1, N), np.nan)
    window[0, 3:8] = rng.random(5)
    constraints = [ngmca.KnownSources(window, sources=[1])]
    engine, Y, W, A, sweep, options = problem(constraints, missing=missing)
    lam = np.full(R, 0.05)
    S = options.known.imposed(A, sweep.S)[1]
    found = engine.sweep(A, S, s_step(lam, options))
    X = cp.Variable((R, N), nonneg=True)
    cost = cp.sum_squares(cp.multiply(W, Y - A @ X)) / 2 + 0.05 * cp.sum(X)
    task = cp.Problem(cp.Minimize(cost), [X[1, 3:8] == S[1, 3:8]])
    task.solve(solver=cp.CLARABEL, **EXACT)
    np.testing.assert_allclose(S[1, 3:8] / window[0, 3:8], S[1, 3] / window[0, 3])
    np.testing.assert_array_equal(found.S[1, 3:8], S[1, 3:8])
    np.testing.assert_allclose(found.S, X.value, atol=1e-6)


@pytest.mark.parametrize("spread", [4, 12])
def test_zeros_that_the_data_contradict_are_left_out(spread):
    rng = np.random.default_rng(1)
    x = np.arange(60)
    S = np.exp(-0.5 * ((x - np.array([[20], [30], [40]])) / spread) ** 2)
    S[S < 1e-3] = 0
    t = np.linspace(0, 4, 30)
    a, b = np.exp(-t), 2 * (np.exp(-0.5 * t) - np.exp(-t))
    A = np.column_stack([a, b, 1 - a - b])
    Y = A @ S + 0.02 * rng.standard_normal((30, 60))
    points = np.full(A.shape, np.nan)
    points[[4, 20]] = A[[4, 20]]
    known = [ngmca.Closure(), ngmca.KnownMixing(points)]
    given = {"constraints": known, "n_init": 1}
    found = ngmca.separate(Y, 3, domain="direct", **given)
    plain = ngmca.separate(Y, 3, method=ngmca.Anls(), **given)
    assert np.sqrt(np.mean((found.A - A) ** 2)) < 1.1 * np.sqrt(np.mean((plain.A - A) ** 2))
    true = S == 0
    if spread == 4:  # zeros that are true stay
        assert (found.S[true] == 0).mean() > 0.85 > (plain.S[true] == 0).mean() + 0.1
    in_wavelets = ngmca.separate(Y, 3, domain="wavelet", **given)
    np.testing.assert_allclose(in_wavelets.A, plain.A, atol=0.01)  # thresholds do not move A


def test_known_values_say_which_source_is_which():
    rng = np.random.default_rng(0)
    S = np.exp(-0.5 * ((np.arange(40) - np.array([[10], [20], [30]])) / 4) ** 2)
    Y = FRACTIONS @ S + 0.01 * rng.standard_normal((M, 40))
    for order in itertools.permutations(range(R)):
        points = np.full((M, R), np.nan)
        points[[1, 6]] = FRACTIONS[[1, 6]][:, order]
        given = {"n_init": 1, "domain": "direct", "method": ngmca.Soft(n_iter=15)}
        found = ngmca.separate(Y, R, constraints=[ngmca.KnownMixing(points)], **given)
        np.testing.assert_allclose(found.A, FRACTIONS[:, order], atol=0.1)


@pytest.mark.parametrize(("kind", "total"), [("at least", 1.0), ("at most", 0.5)])
def test_sums_are_kept_beside_values_with_a_standard_deviation(kind, total):
    x = ngmca.simulate.sparse(m=12, n=40, r=1, snr=30, seed=3)
    amounts = x.A / x.A.max()
    known = [ngmca.Closure(total, kind), ngmca.KnownMixing(amounts, sd=0.1)]
    found = ngmca.separate(amounts @ x.S, 1, constraints=known, n_init=1, method=ngmca.Soft(n_iter=6))
    sums = found.A.sum(axis=1)
    assert sums.min() >= total - 1e-6 if kind == "at least" else sums.max() <= total + 1e-6


@pytest.mark.parametrize("baseline", [[], [ngmca.Baseline("splines")]])
@pytest.mark.parametrize("coefficients", [0, 1 << 17])  # up to which data keep their precision
def test_known_amounts_of_a_known_spectrum_stay_in_wavelets(monkeypatch, coefficients, baseline):
    monkeypatch.setattr("ngmca.algorithms.wavelets.wavelet_data.SMALL", coefficients)
    rng = np.random.default_rng(0)
    A, S = rng.random((18, 3)) * 5, rng.random((3, 64)) ** 4
    amounts = np.where(rng.random((18, 1)) < 0.5, A[:, :1], np.nan)
    found = ngmca.separate(
        A @ S + 0.01 * rng.standard_normal((18, 64)),
        3,
        constraints=[ngmca.KnownSources(S[:1]), ngmca.KnownMixing(amounts), *baseline],
        method=ngmca.Soft(n_iter=12),
        n_init=1,
        domain="wavelet",
    )
    np.testing.assert_allclose(found.S[0], S[0], rtol=1e-5, atol=1e-6)
    known = ~np.isnan(amounts[:, 0])
    np.testing.assert_allclose(found.A[known, 0], amounts[known, 0], rtol=1e-5)
    np.testing.assert_allclose(found.A[:, 0], A[:, 0], atol=0.1)


def test_known_spectra_are_not_rounded_by_many_steps_in_single_precision(monkeypatch):
    monkeypatch.setattr("ngmca.algorithms.wavelets.wavelet_data.SMALL", 0)
    x = ngmca.simulate.sparse(m=11, n=37, r=2, snr=20, seed=6111)
    known = [ngmca.KnownSources(x.S[:1]), ngmca.Baseline("splines")]
    found = ngmca.separate(x.Y, 3, constraints=known, n_init=1, seed=0, domain="wavelet")
    np.testing.assert_allclose(found.S[0], x.S[0], rtol=1e-9)
