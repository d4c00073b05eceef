"""Laws that hold for every problem (hypothesis)."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from task_options import records

import ngmca
from ngmca.algorithms import Options
from ngmca.algorithms.soft_and_hard import a_step, s_step
from ngmca.engines.memory import MemoryEngine
from ngmca.nnqp import objective, pivot

seeds = st.integers(0, 2**32 - 1)
sizes = st.tuples(st.integers(2, 12), st.integers(4, 30), st.integers(1, 4))
quick = settings(max_examples=25, deadline=None, derandomize=True)


def data(seed, size, snr=20.0):
    m, n, r = size
    r = min(r, m, n)
    return ngmca.simulate.sparse(m, n, r, p_S=0.4, snr=snr, seed=seed).Y, r


def problem(seed, r, n=7):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((r + 3, r)) + rng.random()
    return A.T @ A, A.T @ rng.standard_normal((r + 3, n)), rng


@settings(max_examples=200, deadline=None, derandomize=True)
@given(seeds, st.integers(1, 12), st.floats(-100, 100))
def test_scaling_the_unknowns_scales_the_solution(seed, r, exponent):
    G, C, rng = problem(seed, r)
    d = 10.0 ** rng.uniform(-abs(exponent), abs(exponent), r)
    X = pivot(G, C).X
    np.testing.assert_allclose(pivot(G * d * d[:, None], C * d[:, None]).X * d[:, None], X, atol=1e-8)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(seeds, st.integers(1, 12))
def test_order_of_unknowns_does_not_matter(seed, r):
    G, C, rng = problem(seed, r)
    order = rng.permutation(r)
    np.testing.assert_allclose(pivot(G[order][:, order], C[order]).X, pivot(G, C).X[order], atol=1e-8)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(seeds, st.integers(1, 12))
def test_no_feasible_point_is_better(seed, r):
    G, C, rng = problem(seed, r)
    X = pivot(G, C).X
    least = objective(G, C, X)
    for step in (1e-3, 1e-1, 1.0):
        other = np.maximum(X + step * rng.standard_normal(X.shape), 0)
        assert (objective(G, C, other) >= least - 1e-10 * (1 + np.abs(least))).all()


@quick
@given(seeds, sizes, st.sampled_from(["soft", "hard", "naive"]))
def test_factors_are_non_negative_with_unit_columns(seed, size, method):
    Y, r = data(seed, size)
    for state in ngmca.iterate(Y, ngmca.Task(r, **records(method=method, n_iter=12, seed=seed))):
        assert (state.A >= 0).all()
        assert (state.S >= 0).all()
        np.testing.assert_allclose(np.linalg.norm(state.A, axis=0), 1)


@quick
@given(seeds, sizes, st.integers(-40, 40), st.sampled_from(["soft", "hard", "naive"]))
def test_scaling_the_data_scales_the_sources(seed, size, power, method):
    Y, r = data(seed, size)
    plain = ngmca.separate(Y, r, **records(method=method, n_iter=12, seed=seed))
    scaled = ngmca.separate(Y * 2.0**power, r, **records(method=method, n_iter=12, seed=seed))
    np.testing.assert_array_equal(scaled.A, plain.A)
    np.testing.assert_array_equal(scaled.S, plain.S * 2.0**power)


@quick
@given(seeds, st.tuples(st.integers(6, 12), st.integers(20, 40), st.integers(1, 3)))
def test_order_of_samples_and_measurements_does_not_matter(seed, size):
    m, n, r = size
    mixture = ngmca.simulate.sparse(m, n, r, p_S=0.4, snr=20.0, seed=seed)
    Y, start = mixture.Y, (mixture.A, mixture.S)
    rng = np.random.default_rng(seed)
    rows, columns, sources = (rng.permutation(k) for k in (*Y.shape, r))
    plain = ngmca.separate(Y, r, method=ngmca.Soft(n_iter=12), start=start, n_init=1)
    moved = ngmca.separate(
        Y[rows][:, columns],
        r,
        method=ngmca.Soft(n_iter=12),
        start=(start[0][rows][:, sources], start[1][sources][:, columns]),
        n_init=1,
    )
    np.testing.assert_allclose(moved.A, plain.A[rows][:, sources], atol=1e-6)
    np.testing.assert_allclose(moved.S, plain.S[sources][:, columns], atol=1e-6 * plain.S.max())


@quick
@given(seeds, sizes)
def test_each_half_step_lowers_its_own_objective(seed, size):
    Y, r = data(seed, size)
    states = list(
        ngmca.iterate(Y, ngmca.Task(r, method=ngmca.Soft(n_iter=15, refinement=0.4), seed=seed))
    )
    for before, after in pairwise(states):
        least = penalised(Y, after.A, after.S, after.lam)
        assert least <= penalised(Y, after.A, before.S, after.lam) * (1 + 1e-9) + 1e-12
    engine = MemoryEngine(Y)
    sweep = engine.sweep(after.A, after.S, s_step(after.lam, Options()))
    A, exact = a_step(engine, sweep, after.A, Options(), bounded=False)
    bounded, close = a_step(engine, sweep, after.A, Options(), bounded=True)
    assert exact <= 1e-9
    assert close <= 1e-5
    assert (np.linalg.norm(bounded, axis=0) <= 1 + 1e-9).all()
    assert misfit(Y, A, after.S) <= misfit(Y, bounded, after.S) * (1 + 1e-9) + 1e-12
    assert misfit(Y, bounded, after.S) <= misfit(Y, after.A, after.S) * (1 + 1e-9) + 1e-12


def misfit(Y, A, S):
    return np.sum((Y - A @ S) ** 2) / 2


def penalised(Y, A, S, lam):
    return misfit(Y, A, S) + lam @ S.sum(axis=1)


@quick
@given(seeds, sizes)
def test_transform_of_the_training_data_is_fit_transform(seed, size):
    Y, r = data(seed, size)
    model = ngmca.NGMCA(r, method=ngmca.Soft(n_iter=10), n_init=1)
    W = model.fit_transform(Y)
    np.testing.assert_allclose(model.transform(Y), W, atol=1e-8 * max(W.max(), 1))
