"""Single draws against integration and sums over all patterns."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import erfcx

from ngmca._support.compiled import compiled
from ngmca.sampling import random_draws, sparse_kernels
from ngmca.sampling.convergence import effective_size
from ngmca.sampling.shearing import shear


@compiled
def many(t, key, draws, inverse):
    state = key
    for k in range(len(draws)):
        state, draws[k] = random_draws.positive_normal(state, t)
    for k in range(len(inverse)):
        inverse[k, 0], inverse[k, 1] = random_draws.inverse_mills(inverse[k, 0])


@pytest.mark.parametrize("t", [-50.0, -20.5, -3.0, -0.3, 0.0, 1.0, 6.0])
def test_draws_of_a_normal_cut_off_at_0(t):
    draws = np.empty(200_000)
    many(t, np.uint64(1), draws, np.empty((0, 2)))
    assert draws.min() > 0
    tail = stats.norm.logsf(-t)
    found = stats.kstest(draws, lambda x: -np.expm1(stats.norm.logsf(x - t) - tail))
    assert found.pvalue > 1e-3


def test_ratio_of_mills():
    t = np.linspace(-60, 30, 20_001)
    inverse = np.stack([t, t], axis=1)
    many(0.0, np.uint64(1), np.empty(0), inverse)
    expected = 1 / (np.sqrt(np.pi / 2) * erfcx(-t / np.sqrt(2)))
    np.testing.assert_allclose(inverse[:, 0], expected, rtol=2e-7)
    excess = t[t > -20] + expected[t > -20]
    np.testing.assert_allclose(inverse[t > -20, 1], excess, rtol=1e-6)


def brute_force(G, c, pi, beta):
    """Probability to be active and mean of two entries, by integration over all four patterns."""

    def weight(x, y):
        s = np.array([x, y])
        return np.exp(c @ s - s @ G @ s / 2 - beta @ s)

    reach = 12
    none = (1 - pi[0]) * (1 - pi[1])
    masses, means = np.zeros(2), np.zeros(2)
    for i, off in ((0, 1), (1, 0)):
        for power in (0, 1):
            value = integrate.quad(
                lambda s, i=i, p=power: s**p * weight(*((s, 0) if i == 0 else (0, s))), 0, reach
            )[0]
            (masses if power == 0 else means)[i] += pi[i] * beta[i] * (1 - pi[off]) * value
    total = none + masses.sum()
    both = pi.prod() * beta.prod()
    mass = both * integrate.dblquad(lambda y, x: weight(x, y), 0, reach, 0, reach)[0]
    means[0] += both * integrate.dblquad(lambda y, x: x * weight(x, y), 0, reach, 0, reach)[0]
    means[1] += both * integrate.dblquad(lambda y, x: y * weight(x, y), 0, reach, 0, reach)[0]
    return (masses + mass) / (total + mass), means / (total + mass)


@pytest.mark.parametrize("c", [(2.0, 1.0), (-0.5, 1.5)])
def test_two_sources_agree_with_integration(c):
    G, c = np.array([[1.5, 0.9], [0.9, 1.0]]), np.array(c)
    pi, beta = np.array([0.3, 0.6]), np.array([1.2, 0.5])
    n = 20_000  # columns with the same data: independent chains
    odds = sparse_kernels.neighbour_odds(pi, pi)  # neighbours that do not matter
    np.testing.assert_allclose(odds, np.tile(np.log(pi / (1 - pi)), (6, 1)))
    X, sums = np.zeros((n, 2)), np.zeros((3, n, 2))
    C = np.tile(c, (n, 1))
    plain = sparse_kernels.ALIKE, sparse_kernels.NONE_HELD
    sparse_kernels.sample_sources(
        G[None], C, X, beta, odds, 30, np.uint64(1), 0, np.empty((3, 0, 0)), *plain
    )
    sparse_kernels.sample_sources(G[None], C, X, beta, odds, 1, np.uint64(2), 0, sums, *plain)
    totals = sparse_kernels.transitions(X)[:2]
    active, mean = brute_force(G, c, pi, beta)
    assert (np.abs(active - 0.5) < 0.49).all()  # or hardly anything is tested
    np.testing.assert_allclose(totals / n, [active, mean], atol=0.03)
    np.testing.assert_allclose(sums[:2].mean(axis=1), [active, mean], atol=0.02)
    spread = np.sqrt((X**2).mean(axis=0)), np.sqrt(sums[2].mean(axis=0))
    np.testing.assert_allclose(*spread, rtol=0.03)


def test_neighbours_agree_with_a_sum_over_all_patterns():
    """One source, four samples: what lies beside an entry tells about it."""
    start, stay, beta, g = 0.2, 0.8, 0.7, 1.5
    c = np.array([1.5, 0.0, 2.5, -1.0])
    slab = [
        beta * integrate.quad(lambda s, c=c_t: np.exp((c - beta) * s - g * s * s / 2), 0, 20)[0]
        for c_t in c
    ]
    weights = {}
    for z in itertools.product((0, 1), repeat=4):
        chances = [stay if before else start for before in (0, *z[:-1])]
        terms = [p * e if on else 1 - p for on, p, e in zip(z, chances, slab, strict=True)]
        weights[z] = np.prod(terms)
    expected = sum(np.array(z) * w for z, w in weights.items()) / sum(weights.values())
    alone = start * np.array(slab) / (start * np.array(slab) + 1 - start)
    assert np.abs(expected - alone).max() > 0.1  # or neighbours would not matter here
    odds = sparse_kernels.neighbour_odds(np.array([start]), np.array([stay]))
    X, found, count = np.zeros((4, 1)), np.zeros((3, 4, 1)), 40_000
    for k in range(count):
        sparse_kernels.sample_sources(
            np.array([[[g]]]), c[:, None], X, np.array([beta]), odds, 1, np.uint64(k), 0, found,
            sparse_kernels.ALIKE, sparse_kernels.NONE_HELD,
        )  # fmt: skip
    np.testing.assert_allclose(found[0, :, 0] / count, expected, atol=0.01)


START, STAY, RATE, WEAK = 0.1, 0.9, 0.6, 0.5


RUNS = np.array([1, 1, 0, 1, 1, 0, 0, 1, 1]) > 0  # where source 0 is active: first, last, a gap of one


BESIDE = {2: 1.5, 5: 0.8, 6: 0.0}  # source 1 in between, which stays as it is


def line_of_shears(Y, A, s, grid, edges):
    """Mean and variance of c in a_0 + c a_1, and activities of source 1, by a sum over its patterns.

    `edges` says what is taken for the neighbours of a run: "right", or one of two mistakes.
    """
    sites = np.flatnonzero(RUNS)
    a = A[:, 0] + grid[:, None] * A[:, 1]  # (grid, m)
    left = Y.T[None] - a[:, None] * s[:, None]  # (grid, n, m)
    g, u = A[:, 1] @ A[:, 1], left @ A[:, 1]
    slab = RATE * np.sqrt(np.pi / 2 / g) * erfcx((RATE - u) / np.sqrt(2 * g))
    weight = np.exp(-0.5 * (left**2).sum(axis=(1, 2)) - 0.5 * WEAK * (a**2).sum(axis=1))
    weight[(a < 0).any(axis=1)] = 0
    mass, active = np.zeros(len(grid)), np.zeros((len(s), len(grid)))
    for pattern in itertools.product((0, 1), repeat=len(sites)):
        z = np.array([float(BESIDE.get(t, 0) > 0) for t in range(len(s))])
        z[sites] = pattern
        chance = 1.0
        for t in range(len(s)):
            before = z[t - 1] if t else 0
            if edges == "inactive" and t and RUNS[t] and not RUNS[t - 1]:
                before = 0
            p = STAY if before else START
            if RUNS[t] or (t and RUNS[t - 1] and edges != "nothing"):
                now = 0 if edges == "inactive" and not RUNS[t] else z[t]
                chance *= p if now else 1 - p
        found = chance * weight * np.prod(np.where(z[:, None] * RUNS[:, None] > 0, slab.T, 1), axis=0)
        mass += found
        active += z[:, None] * found
    mean = mass @ grid / mass.sum()
    variance = mass @ (grid - mean) ** 2 / mass.sum()
    return np.array([mean, np.sqrt(variance), *active[sites].sum(axis=1) / mass.sum()])


def test_shears_agree_with_a_sum_over_all_patterns():
    rng = np.random.default_rng(2)
    A = np.array([[0.9, 0.5], [0.7, 0.8], [0.4, 0.6]])
    s = np.where(RUNS, rng.exponential(1.5, 9), 0)
    X = np.column_stack([s, np.where(RUNS, 1.0, 0)])
    for t, value in BESIDE.items():
        X[t, 1] = value
    Y = A @ X.T + rng.standard_normal((3, 9))
    first, other, count = A.copy(), X.copy(), 30_000
    told = np.empty((count, 8))
    all_move = np.ones(2, bool), np.ones(2, bool)
    law = (np.full(2, RATE), np.full(2, START), np.full(2, STAY), np.full(2, WEAK))
    for k in range(count):
        A[:, 1], X[:, 0] = first[:, 1], other[:, 0]  # only the shear of source 0 is of interest
        shear((A.T @ A)[None], Y.T @ A, X, A, *law, np.uint64(k), sparse_kernels.ALIKE, *all_move)
        told[k] = (A[0, 0] - first[0, 0]) / first[0, 1], 0, *(X[RUNS, 1] > 0)
    found = told.mean(axis=0)
    found[1] = told[:, 0].std()
    grid = np.linspace(-4, 6, 4001)
    expected = {
        edges: line_of_shears(Y, first, s, grid, edges) for edges in ("right", "nothing", "inactive")
    }
    error = np.sqrt(told.var(axis=0) / effective_size(told[None]))
    error[1] = error[0]
    assert (np.abs(found - expected["right"]) < 4 * error).all()
    assert (np.abs(found[2:] - 0.5) < 0.48).all()  # or hardly anything is tested
    for mistake in ("nothing", "inactive"):
        assert (np.abs(expected[mistake] - expected["right"]) > 8 * error).any()
