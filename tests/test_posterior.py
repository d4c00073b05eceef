"""Sampling: draws that follow the model, error bars that mean what they say."""

import itertools
import json
import tomllib
import tracemalloc
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import erfcx, gammainc, gammaincinv
from typer.testing import CliRunner

import ngmca
from ngmca.cli import app, separating
from ngmca.compiled import compiled
from ngmca.posterior_file import from_variables, to_variables
from ngmca.report import figures
from ngmca.results import load_run
from ngmca.sampling import chain as chains
from ngmca.sampling import draws as random_draws
from ngmca.sampling import kernels
from ngmca.sampling.chain import Chain, Data, Rules, Sums
from ngmca.sampling.chains import TRACED, Trace
from ngmca.sampling.diagnostics import drifts, effective_size, split_rhat
from ngmca.sampling.doubts import disagreement
from ngmca.sampling.model import Noise, Parameters, Priors
from ngmca.sampling.run import _streams
from ngmca.sampling.shearing import shear
from ngmca.uncertainty import Marginals


def small(seed=0, **settings):
    return ngmca.simulate.sparse(
        **{"m": 40, "n": 100, "r": 4, "p_S": 0.2, "snr": 15, "seed": seed} | settings
    )


def arrays(found):
    parts = (found.S, found.A, found.noise, found.pi, found.stay, found.beta)
    return [x for part in parts for x in (part.mean, part.sd, *part.interval())] + [found.S.active]


# the kernels


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
    odds = kernels.neighbour_odds(pi, pi)  # neighbours that do not matter
    np.testing.assert_allclose(odds, np.tile(np.log(pi / (1 - pi)), (6, 1)))
    X, sums = np.zeros((n, 2)), np.zeros((3, n, 2))
    C = np.tile(c, (n, 1))
    kernels.sample_sources(G, C, X, beta, odds, 30, np.uint64(1), 0, np.empty((3, 0, 0)))
    kernels.sample_sources(G, C, X, beta, odds, 1, np.uint64(2), 0, sums)
    totals = kernels.transitions(X)[:2]
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
    odds = kernels.neighbour_odds(np.array([start]), np.array([stay]))
    X, found, count = np.zeros((4, 1)), np.zeros((3, 4, 1)), 40_000
    for k in range(count):
        kernels.sample_sources(
            np.array([[g]]), c[:, None], X, np.array([beta]), odds, 1, np.uint64(k), 0, found
        )
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
    law = (np.full(2, RATE), np.full(2, START), np.full(2, STAY), np.full(2, WEAK))
    for k in range(count):
        A[:, 1], X[:, 0] = first[:, 1], other[:, 0]  # only the shear of source 0 is of interest
        shear(A.T @ A, Y.T @ A, X, A, *law, np.uint64(k))
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


# all of the model (Geweke, 2004): draws of the data and sweeps in turn must leave the prior as it is

PROPER = Priors((2.0, 2.0), 5.0, 5.0, np.inf, 5.0, 5.0, 5.0, 5.0)
KNOWN = np.array([0.5, 0.8, 0.6])  # noise levels
MOST = 0.7 / np.sqrt(1 / np.mean(KNOWN**-2.0))  # beta, where the noise is known
SIZES = {"m": 3, "n": 4, "r": 2}


def from_prior(rng, kind="white"):
    m, n, r = SIZES.values()
    start, stay, beta = rng.beta(2, 2, r), rng.beta(2, 2, r), rng.gamma(5, 1 / 5, r)
    variance = 1 / rng.gamma(5, 1 / 5, m if kind == "rows" else 1) * np.ones(m)
    if kind == "given":
        variance = KNOWN**2
        beta = gammaincinv(5, rng.random(r) * gammainc(5, 5 * MOST)) / 5
    scale = rng.gamma(5, 1 / 5, r) ** -0.5
    A = np.abs(rng.standard_normal((m, r))) * scale
    X, before = rng.exponential(1 / beta, (n, r)), np.zeros(r, bool)
    for row in X:
        before = rng.random(r) < np.where(before, stay, start)
        row *= before
    return A, X, Parameters(start, stay, beta, scale, variance)


def asked(A, X, p):
    parts = [p.start, p.stay, np.log(p.beta), np.log(p.scale), np.log(p.variance[:2])]
    parts += [(X > 0).mean(axis=0), np.sqrt(X.mean(axis=0)), np.sqrt(A.mean(axis=0))]
    parts += [(X[1:] * X[:-1] > 0).mean(axis=0)]
    return np.concatenate([*parts, [np.tanh(A[:, 0] @ A[:, 1]), np.tanh(X[:, 0] @ X[:, 1])]])


def geweke(count=10_000, block=None, kind="white", fixed=False):
    """z scores of the means of what is asked: draws from the prior against sweeps."""
    rng = np.random.default_rng(0)
    A, X, parameters = from_prior(rng, kind)
    others = (from_prior(rng, kind) for _ in range(count))
    if fixed:
        others = ((A, x, replace(p, scale=parameters.scale)) for _, x, p in others)
    expected = np.array([asked(*other) for other in others])
    most = 0.7 if kind == "given" else np.inf
    rules = Rules(Noise(kind, 0.0), replace(PROPER, beta_most=most), fixed=fixed, unit=False)
    chain = Chain(
        Data(np.zeros((len(A), len(X)))), A, X, parameters, rules, seed=np.random.SeedSequence(0)
    )
    found = np.empty_like(expected)
    for k in range(count):
        noise = rng.standard_normal((len(A), len(X))) * np.sqrt(chain.parameters.variance[:, None])
        chain._data = Data(chain.A @ chain.X.T + noise)
        chain._data.step = block or chain._data.step
        chain.sweep()
        found[k] = asked(chain.A, chain.X, chain.parameters)
    moves = expected.std(axis=0) > 1e-12
    np.testing.assert_allclose(found[:, ~moves], expected[:, ~moves], rtol=1e-12)
    found, expected = found[:, moves], expected[:, moves]
    error = np.sqrt(found.var(axis=0) / effective_size(found[None]) + expected.var(axis=0) / count)
    return np.abs(found.mean(axis=0) - expected.mean(axis=0)) / error


@pytest.mark.parametrize(
    ("block", "kind", "fixed", "every"),  # block: samples that are drawn together
    [
        (None, "white", False, chains.SHEAR_EVERY),
        (1, "rows", False, 1),
        (2, "given", False, 1),
        (2, "white", True, 1),
    ],
)
def test_sweeps_leave_the_prior_as_it_is(monkeypatch, block, kind, fixed, every):
    monkeypatch.setattr(chains, "SHEAR_EVERY", every)
    assert geweke(block=block, kind=kind, fixed=fixed).max() < 4


@pytest.mark.parametrize("kernel", ["sample_sources", "neighbour_odds", "sample_mixing", "shear"])
def test_a_wrong_conditional_is_noticed(monkeypatch, kernel):
    right = getattr(chains, kernel)

    def wrong(*arguments):
        arguments = list(arguments)
        if kernel == "sample_sources":
            arguments[3] = 1.25 * arguments[3]  # the slab's rate
        elif kernel == "neighbour_odds":
            arguments[1] = arguments[0]  # neighbours do not matter
        elif kernel == "sample_mixing":
            arguments[4] = 1.5 * arguments[4]  # inverse variances of A
        else:
            arguments[7] = 0 * arguments[7]  # as if nothing were known of A
        return right(*arguments)

    monkeypatch.setattr(chains, kernel, wrong)
    monkeypatch.setattr(chains, "SHEAR_EVERY", 1)
    assert geweke().max() > 5


def test_columns_of_norm_1_change_nothing_that_has_no_scale():
    """With the same random numbers, a chain whose scale wanders says the same as one at norm 1."""
    data = small(m=6, n=15, r=2, p_S=0.4, snr=12)
    problem = ngmca.sampling.run.Problem.of(data.Y, ngmca.separate(data.Y, 2, seed=0), None, None)
    told, norms = [], []
    for unit in (True, False):
        rules = replace(problem.rules, unit=unit, priors=Priors())
        chain = replace(problem, rules=rules).chains(np.random.default_rng(1), 2, 1).tracks[0].chain
        trace = []
        for _ in range(300):
            chain.sweep()
            norm, law = np.linalg.norm(chain.A, axis=0), chain.parameters
            parts = [chain.X * norm, chain.A / norm, law.pi, law.beta / norm, law.variance]
            trace.append(np.concatenate([part.ravel() for part in parts]))
        told.append(np.array(trace))
        norms.append(norm)
    assert np.abs(np.log(norms[1])).max() > 1  # it did wander
    np.testing.assert_allclose(told[0], told[1], rtol=1e-6)


def test_noise_of_each_row_and_known_noise():
    rng = np.random.default_rng(1)
    data = small(m=20, n=2000, snr=None)
    levels = np.where(np.arange(20) % 2, 0.5, 0.1)
    Y = data.Y + levels[:, None] * rng.standard_normal(data.Y.shape)
    separation = ngmca.separate(Y, 4, seed=0)
    for noise in ("rows", None):
        found = ngmca.posterior(Y, separation, noise=noise, n_samples=40, burn=40, seed=0)
        np.testing.assert_allclose(found.noise.mean, levels, rtol=0.1)
    white = ngmca.posterior(Y, separation, noise="white", n_samples=40, burn=40, seed=0)
    assert np.ptp(white.noise.mean) == 0
    known = ngmca.posterior(Y, separation, noise=levels, n_samples=40, burn=40, seed=0)
    np.testing.assert_allclose(known.noise.mean, levels)
    score = {k: ngmca.evaluate(data.S, v.S.mean).mean_sdr for k, v in {"w": white, "k": known}.items()}
    assert score["k"] > score["w"] + 0.5


# what it is good for; all figures are printed by `python bench/posterior.py`


def test_sources_beat_the_oracle():
    gains = []
    for seed in range(3):
        data = ngmca.simulate.sparse(p_S=0.1, snr=15, seed=seed)
        found = ngmca.separate(data.Y, 15, seed=seed, posterior=True).posterior
        known = ngmca.posterior(data.Y, None, A=data.A, seed=seed)
        oracle = ngmca.evaluate(data.S, ngmca.baselines.oracle(data.Y, data.A).S).mean_sdr
        gains.append([ngmca.evaluate(data.S, x.S.mean).mean_sdr - oracle for x in (found, known)])
    found, known = np.mean(gains, axis=0)
    assert found > 1.0
    assert known > found
    np.testing.assert_allclose(known, 3.4, atol=0.7)


def test_intervals_cover_and_activities_are_calibrated():
    covered, covered_A, chance, truth = [], [], [], []
    for seed in range(6):
        data = ngmca.simulate.sparse(60, 300, 5, p_S=0.2, snr=15, seed=seed)
        found = ngmca.separate(data.Y, 5, seed=seed, posterior=True).posterior
        order = ngmca.evaluate(data.S, found.S.mean).order
        norm = np.linalg.norm(data.A, axis=0)
        S, A = data.S * norm[:, None], data.A / norm
        low, high = (end[order] for end in found.S.interval(0.9, given_active=True))
        covered.append(((low <= S) & (high >= S))[S > 0])
        low, high = (end[:, order] for end in found.A.interval(0.9))
        covered_A.append((low <= A) & (high >= A))
        chance.append(found.S.active[order].ravel())
        truth.append((S > 0).ravel())
    assert 0.87 < np.concatenate(covered).mean() < 0.93
    assert 0.87 < np.mean(covered_A) < 0.93
    chance, truth = np.concatenate(chance), np.concatenate(truth)
    sure = (chance > 0.9) | (chance < 0.1)
    assert np.abs(chance[sure].mean() - truth[sure].mean()) < 0.01
    assert np.abs(chance[~sure].mean() - truth[~sure].mean()) < 0.05


def test_moments_and_quantiles_are_those_of_stored_draws():
    data = small(snr=5)
    separation = ngmca.separate(data.Y, 4, seed=0)
    problem = ngmca.sampling.run.Problem.of(data.Y, separation, None, None)
    chain = problem.chains(np.random.default_rng(0), 2, 1).tracks[0].chain
    sums, stored, mixing = Sums(data.Y.shape, 4), [], []
    for k in range(6000):
        chain.sweep(sums if k >= 100 else None)
        if k >= 100:
            mixing.append(chain.A.copy())
            # the scale that the last rescaling gave to S belongs to the A that is drawn by now
            stored.append(chain.X.T.copy())
    active, mean, second = sums.sources.transpose(0, 2, 1) / sums.count
    found = Marginals(mean, np.sqrt(second - mean**2), active)
    stored = np.array(stored)
    spread = np.sqrt(np.mean(found.sd**2))
    np.testing.assert_allclose(found.mean, stored.mean(axis=0), atol=0.15 * spread)
    np.testing.assert_allclose(found.active, (stored > 0).mean(axis=0), atol=0.05)
    for q in (0.05, 0.5, 0.95):
        difference = np.abs(found.quantile(q) - np.quantile(stored, q, axis=0))
        assert np.sqrt(np.mean(difference**2)) < 0.1 * spread
    mean, second = sums.mixing / sums.count
    A = Marginals(mean, np.sqrt(second - mean**2))
    np.testing.assert_allclose(A.sd, np.std(mixing, axis=0), rtol=1e-6)
    difference = A.quantile(0.95) - np.quantile(mixing, 0.95, axis=0)
    assert np.abs(difference / A.sd).max() < 0.2


def test_entries_that_dominate_their_column_have_the_spread_of_the_draws():
    rng = np.random.default_rng(0)
    A = np.array([[1.0, 0.02], [0.03, 1.0], [0.02, 0.01]])
    S = rng.exponential(size=(2, 200)) * (rng.random((2, 200)) < 0.3)
    Y = A @ S + 0.05 * rng.standard_normal((3, 200))
    start = SimpleNamespace(A=A, S=S, noise=np.full(3, 0.05))
    found = ngmca.posterior(Y, start, n_samples=3000, burn=100, seed=0)
    chain = ngmca.sampling.run.Problem.of(Y, start, None, None).chains(np.random.default_rng(1), 2, 1)
    draws = []
    for k in range(6100):
        chain.tracks[0].chain.sweep()
        if k >= 100:
            draws.append(chain.tracks[0].chain.A.copy())
    np.testing.assert_allclose(found.A.sd, np.std(draws, axis=0), rtol=0.1)
    assert found.A.sd[0, 0] < 0.1 * found.A.sd[1, 0]  # at norm 1 hardly anything is left to it


def test_weak_sources_of_small_data_do_not_die_unnoticed():
    lost = 0
    for seed in range(4):
        data = ngmca.simulate.sparse(8, 80, 3, p_S=0.2, snr=3, seed=seed)
        separation = ngmca.separate(data.Y, 3, seed=seed)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            found = ngmca.posterior(data.Y, separation, seed=seed)
        silent = (found.S.mean.max(axis=1) < found.noise.mean.mean()).sum()
        lost += silent
        assert any("went silent" in words for words in found.warnings) == (silent > 0)
        assert (found.beta.mean <= 1.1 / separation.noise.min()).all()
    assert lost <= 1


def test_a_source_that_the_data_do_not_have_is_said_to_be_silent():
    rng = np.random.default_rng(0)
    data = small()
    separation = ngmca.separate(data.Y, 4, seed=0)
    level = separation.noise.mean()
    A = np.column_stack([separation.A, np.abs(rng.standard_normal(40)) / np.sqrt(40)])
    extra = 3 * level * (rng.random(100) < 0.1)
    start = SimpleNamespace(A=A, S=np.vstack([separation.S, extra]), noise=separation.noise)
    with pytest.warns(UserWarning, match=r"source 5 \(row 4 of S\) went silent"):
        ngmca.posterior(data.Y, start, n_samples=200, seed=0)


def test_quantiles_of_what_is_known_in_closed_form():
    exponential = Marginals(np.array([2.0]), np.array([2.0]))
    np.testing.assert_allclose(exponential.quantile(0.9), 2 * np.log(10), rtol=0.01)
    normal = Marginals(np.array([9.0]), np.array([1.0]))
    np.testing.assert_allclose(normal.interval(0.9), [[9 - 1.645], [9 + 1.645]], atol=1e-2)
    half = stats.halfnorm(scale=3)
    np.testing.assert_allclose(
        Marginals(np.array([half.mean()]), np.array([half.std()])).quantile(0.3),
        half.ppf(0.3),
        rtol=1e-3,
    )
    with pytest.raises(ValueError, match="level must be below 1"):
        normal.interval(1.0)
    # active with probability 1/4, and then 9 +- 1
    moments = 9 / 4, np.sqrt(82 / 4 - (9 / 4) ** 2)
    spiked = Marginals(*(np.array([x]) for x in (*moments, 0.25)))
    assert spiked.quantile(0.7) == 0
    np.testing.assert_allclose(spiked.quantile(0.875), 9, atol=1e-2)
    np.testing.assert_allclose(spiked.quantile(0.5, given_active=True), 9, atol=1e-2)


# diagnostics


def test_diagnostics_of_chains_with_known_answers():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((4, 5000, 2))
    slow = np.zeros_like(noise)
    for k in range(1, 5000):
        slow[:, k] = 0.9 * slow[:, k - 1] + noise[:, k]
    np.testing.assert_allclose(effective_size(noise), 20_000, rtol=0.1)
    np.testing.assert_allclose(effective_size(slow), 20_000 * 0.1 / 1.9, rtol=0.2)
    np.testing.assert_allclose(split_rhat(noise), 1, atol=1e-3)
    apart = noise + np.arange(4)[:, None, None]
    assert (split_rhat(apart) > 1.4).all()
    assert (split_rhat(noise + np.linspace(0, 4, 5000)[:, None]) > 1.2).all()  # they move alike
    assert not drifts(rng.standard_normal((2, 2, 300)))
    assert drifts(rng.standard_normal((2, 2, 300)) + np.array([0, 3])[:, None])


def test_traces_are_bounded_and_even():
    trace = Trace(1)
    for k in range(1, 5 * TRACED + 1):
        trace.add(np.array([k]))
    kept = trace.rows[:, 0]
    assert TRACED / 2 < len(kept) <= TRACED
    assert len(set(np.diff(kept))) == 1
    assert kept[-1] > 4.9 * TRACED


def test_disagreement_is_said_in_words():
    data = small(m=4, n=30, snr=20)
    separation = ngmca.separate(data.Y, 4, seed=0)
    with pytest.warns(UserWarning, match=r"chains disagree about \d of 4 sources"):
        found = ngmca.posterior(data.Y, separation, n_samples=4, burn=0, seed=0)
    assert len(found.warnings) == 1
    fine = {"S": np.array([1.01, 1.0]), "A": np.array([1.0, 1.02])}
    assert disagreement(fine) == ()
    assert "row 1 of S" in disagreement({**fine, "A": np.array([1.0, 1.3])})[0]


def test_output_is_what_arviz_takes():
    data = small()
    found = ngmca.separate(data.Y, 4, seed=0, posterior=True).posterior
    assert {k: v.shape for k, v in found.traces.items()} == {
        "noise": (2, found.n_samples),
        "pi": (2, found.n_samples, 4),
        "stay": (2, found.n_samples, 4),
        "beta": (2, found.n_samples, 4),
    }
    assert set(found.rhat) == set(found.ess) == {"noise", "pi", "stay", "beta", "S", "A"}
    assert found.settled
    assert found.error <= 0.1
    np.testing.assert_allclose(np.linalg.norm(found.A.mean, axis=0), 1, atol=0.05)


# how it behaves


@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_same_seed_same_answer_whatever_the_threads():
    for data, count in ((small(), 10), (ngmca.simulate.sparse(60, 12_000, 15, snr=15, seed=0), 4)):
        r = data.A.shape[1]
        separation = ngmca.separate(data.Y, r, n_iter=3, seed=0)
        options = {"n_samples": count, "burn": 2, "seed": 3}
        one, *others = (ngmca.posterior(data.Y, separation, threads=k, **options) for k in (1, 2, 3))
        other_seed = ngmca.posterior(data.Y, separation, n_samples=count, burn=2, seed=4)
        for other in others:
            for mine, its in zip(arrays(one), arrays(other), strict=True):
                np.testing.assert_array_equal(mine, its)
        assert not np.array_equal(one.S.mean, other_seed.S.mean)


def test_separation_is_the_same_with_and_without():
    data = small()
    plain = ngmca.separate(data.Y, 4, seed=5)
    sampled = ngmca.separate(data.Y, 4, seed=5, posterior=True)
    np.testing.assert_array_equal(plain.S, sampled.S)
    assert plain.posterior is None
    estimator = ngmca.NGMCA(4, posterior=True, random_state=5).fit(data.Y)
    np.testing.assert_array_equal(estimator.components_, sampled.posterior.S.mean)
    assert estimator.set_params(posterior=False).fit(data.Y).posterior_ is None
    rival = ngmca.separate(data.Y, 4, method="hals", seed=5, posterior=True)
    assert ngmca.evaluate(data.S, rival.posterior.S.mean).mean_sdr > 15


def test_memory_does_not_grow_with_the_samples():
    data = small(n=2000)
    separation = ngmca.separate(data.Y, 4, seed=0)
    peaks = []
    for count in (20, 20, 200):
        tracemalloc.start()
        ngmca.posterior(data.Y, separation, n_samples=count, burn=10, seed=0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.1 * peaks[1]
    assert peaks[2] < 40 * separation.S.nbytes


@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_units_do_not_matter():
    data = small()
    separation = ngmca.separate(data.Y, 4, seed=0)
    one = ngmca.posterior(data.Y, separation, n_samples=10, burn=10, seed=0)
    for unit in (2.0**500, 2.0**-500):
        scaled = replace(separation, S=separation.S * unit, noise=separation.noise * unit)
        other = ngmca.posterior(data.Y * unit, scaled, n_samples=10, burn=10, seed=0)
        np.testing.assert_allclose(other.S.interval()[1] / unit, one.S.interval()[1], rtol=1e-6)
        np.testing.assert_allclose(other.beta.mean * unit, one.beta.mean, rtol=1e-6)


def rms(x):
    return np.sqrt(np.mean(np.square(x, dtype=np.float64)))


DEGENERATE = {  # data, number of sources, options, and what must be true of the posterior
    "no noise": (
        lambda: small(snr=None).Y,
        4,
        {"tau": 0},
        lambda p, Y: rms(Y - p.A.mean @ p.S.mean) < 1e-2 * rms(Y),
    ),
    "noise said to be 0": (
        lambda: small().Y,
        4,
        {"noise": 0.0},
        lambda p, Y: np.allclose(p.noise.mean, 1e-6 * rms(Y)),
    ),
    "more sources than there are": (
        lambda: small().Y,
        6,
        {},
        lambda p, Y: abs(np.log(p.noise.mean / rms(small().noise))).max() < 0.1,
    ),
    "one column": (
        lambda: small().Y[:, :1],
        1,
        {},
        lambda p, Y: abs(p.S.mean[0, 0] / np.linalg.norm(np.maximum(Y, 0)) - 1) < 0.1,
    ),
    "one measurement": (
        lambda: small().Y[:1],
        1,
        {},
        lambda p, Y: p.A.mean[0, 0] == 1 and p.A.sd[0, 0] == 0,
    ),
    "zeros": (lambda: np.zeros((5, 8)), 2, {}, lambda p, Y: p.S.mean.max() < 1e-5),
    "negative": (
        lambda: -np.abs(small().Y),
        2,
        {},
        lambda p, Y: p.S.mean.max() < p.noise.mean.mean(),
    ),
    "single precision": (
        lambda: small().Y.astype(np.float32),
        4,
        {},
        lambda p, Y: abs(np.log(p.noise.mean / rms(small().noise))).max() < 0.1,
    ),
    "single precision without noise": (
        lambda: small(snr=None).Y.astype(np.float32),
        4,
        {"tau": 0},
        lambda p, Y: rms(Y - p.A.mean @ p.S.mean) < 1e-2 * rms(Y),
    ),
}


@pytest.mark.filterwarnings("ignore:the chains disagree", "ignore:.* went silent")
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_give_finite_numbers(case):
    make, r, options, truth = DEGENERATE[case]
    Y = make()
    separation = ngmca.separate(Y, r, seed=0, **options)
    found = ngmca.posterior(Y, separation, noise=options.get("noise"), n_samples=60, seed=0)
    assert all(np.isfinite(x).all() for x in arrays(found))
    assert all((x >= 0).all() for x in arrays(found))
    assert (found.S.active <= 1).all()
    assert truth(found, Y)


def test_a_dead_source_stays_finite():
    data = small()
    separation = ngmca.separate(data.Y, 4, seed=0)
    A, S = separation.A.copy(), separation.S.copy()
    A[:, 1] = S[1] = 0
    start = SimpleNamespace(A=A, S=S, noise=separation.noise)
    assert all(
        np.isfinite(x).all() for x in arrays(ngmca.posterior(data.Y, start, n_samples=60, seed=0))
    )


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"separation": None}, TypeError, "separation must be"),
        ({"noise": "loud"}, ValueError, "noise must be one of"),
        ({"noise": -1.0}, ValueError, "not negative"),
        ({"n_samples": 2}, ValueError, "n_samples must be at least 4"),
        ({"n_chains": 1}, ValueError, "n_chains must be at least 2"),
        ({"burn": -1}, ValueError, "burn must be at least 0"),
        ({"separation": SimpleNamespace(A=1.0, S=1.0, noise=1.0)}, ValueError, "A of separation"),
        (
            {"separation": SimpleNamespace(A=-np.ones((40, 2)), S=np.ones((2, 100)), noise=np.ones(40))},
            ValueError,
            "A of separation has negative",
        ),
        (
            {"separation": SimpleNamespace(A=np.ones((40, 2)), S=np.ones((2, 100)), noise=-np.ones(40))},
            ValueError,
            "noise of separation",
        ),
        ({"A": np.ones(40)}, ValueError, "A must have one row a measurement .* one column a source"),
        ({"noise": 1e200}, ValueError, "noise is too large"),
        ({"A": np.ones((3, 2))}, ValueError, "one row a measurement"),
        ({"A": np.eye(40, 3) * [1, 1, 0]}, ValueError, "A has a column of zeros"),
    ],
)
def test_wrong_arguments(options, error, words):
    data = small()
    options = {"separation": ngmca.separate(data.Y, 4, n_iter=3, seed=0)} | options
    with pytest.raises(error, match=words):
        ngmca.posterior(data.Y, options.pop("separation"), **options)


def test_command_line_writes_bars_that_load_again(tmp_path):
    data = small()
    np.save(tmp_path / "Y.npy", data.Y)
    command = [
        "separate",
        str(tmp_path / "Y.npy"),
        "-r",
        "4",
        "-o",
        str(tmp_path / "out"),
        "--posterior",
    ]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "Error bars come from 2 chains" in result.output
    separation = ngmca.load(tmp_path / "out")
    plain = ngmca.separate(data.Y, 4, seed=0)
    np.testing.assert_array_equal(separation.S, plain.S)
    expected = ngmca.posterior(data.Y, plain, seed=0)
    found = separation.posterior
    at_once = ngmca.separate(data.Y, 4, seed=0, posterior=True).posterior
    np.testing.assert_array_equal(at_once.S.mean, expected.S.mean)
    for mine, its in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert found.traces["pi"].shape == expected.traces["pi"].shape
    assert found.settled is expected.settled
    table = np.genfromtxt(tmp_path / "out" / "sources.csv", delimiter=",", names=True, deletechars="")
    np.testing.assert_allclose(table["source_2_95_%"], expected.S.interval(0.9)[1][1], rtol=1e-5)
    np.testing.assert_allclose(table["source_4_active"], expected.S.active[3], rtol=1e-5)
    assert "source 1 5 %" in (tmp_path / "out" / "mixing.csv").read_text().splitlines()[0]
    drawn = figures.weights(load_run(tmp_path / "out"))
    bars = [trace for trace in drawn.data if trace.name == "posterior mean"]
    low, high = expected.A.interval(0.9)
    np.testing.assert_allclose(bars[2].y + bars[2].error_y.array, high[:, 2])
    np.testing.assert_allclose(bars[2].y - bars[2].error_y.arrayminus, low[:, 2])
    assert drawn.layout.yaxis3.range[1] > high[:, 2].max()
    sources = figures.sources(load_run(tmp_path / "out"))
    assert sources.layout.yaxis3.range[1] > expected.S.interval(0.9)[1][2].max()
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("Dark: the posterior mean") == 2  # sources and weights
    old = {k: v for k, v in to_variables(found).items() if "stay" not in k}  # before neighbours counted
    again = from_variables({k: np.asarray(values) for k, (_, values) in old.items()})
    np.testing.assert_array_equal(again.S.mean, found.S.mean)
    assert np.isnan(again.stay.mean).all()
    assert set(again.traces) == {"noise", "pi", "beta"}
    assert tomllib.loads((tmp_path / "out" / "run.toml").read_text())["separate"]["posterior"] is True


def test_sources_of_any_sign_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="any sign"):
        ngmca.separate(small().Y, 4, method="gmca", posterior=True)
    np.save(tmp_path / "Y.npy", small().Y)
    monkeypatch.setattr(separating, "ngmca_separate", None)  # it is not run first
    command = ["separate", tmp_path / "Y.npy", "-r", 4, "-o", tmp_path / "out", "--posterior"]
    result = CliRunner().invoke(app, [*map(str, command), "--method", "gmca"])
    assert result.exit_code == 2
    assert "any sign" in result.stderr


@pytest.mark.parametrize("method", ["soft", "hals"])
def test_a_stop_while_sampling_keeps_the_separation(tmp_path, monkeypatch, method):
    np.save(tmp_path / "Y.npy", small().Y)
    out, sample = tmp_path / "out", ngmca.sampling.posterior

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(separating.sampling, "posterior", stop)
    command = ["separate", tmp_path / "Y.npy", "-r", 4, "-o", out, "--posterior", "--method", method]
    result = CliRunner().invoke(app, list(map(str, command)))
    assert result.exit_code == 130
    assert f"--resume {out}" in result.stderr
    monkeypatch.setattr(separating.sampling, "posterior", sample)
    monkeypatch.setattr(separating, "_separate", None)  # it is not separated again
    result = CliRunner().invoke(app, ["separate", "--resume", str(out), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)["posterior"]
    expected = ngmca.separate(small().Y, 4, method=method, seed=0, posterior=True)
    found = ngmca.load(out)
    np.testing.assert_array_equal(found.S, expected.S)
    np.testing.assert_array_equal(found.posterior.S.mean, expected.posterior.S.mean)
    np.testing.assert_array_equal(found.history.cost, expected.history.cost)
    assert told["n_samples"] == expected.posterior.n_samples
    assert told["n_chains"] == 2
    assert told["settled"] is True
    assert 1 <= told["worst_rhat"] < 1.2


def test_seeds():
    """The same seed gives the same chains, which share no stream with the first guess."""
    rng = np.random.default_rng(3)
    first = [child.generate_state(2).tolist() for child in _streams(3, 2)]
    again = [child.generate_state(2).tolist() for child in _streams(np.random.SeedSequence(3), 2)]
    assert first == again
    assert first[0] != first[1]
    guesses = [child.generate_state(2).tolist() for child in np.random.SeedSequence(3).spawn(4)]
    assert not any(stream in guesses for stream in first)
    moved = [_streams(rng, 1)[0].generate_state(2).tolist() for _ in range(2)]
    assert moved[0] != moved[1]


def test_a_budget_that_is_spent_is_said(monkeypatch):
    data = small(snr=5)
    separation = ngmca.separate(data.Y, 4, seed=0)
    for module in (ngmca.sampling.chains, ngmca.sampling.doubts):
        monkeypatch.setattr(module, "ENOUGH", 1e-3)
        monkeypatch.setattr(module, "BUDGET", 250)
    with pytest.warns(UserWarning, match=r"stopped at 250 sweeps, with 150 samples .* error .* 0\.\d\d"):
        found = ngmca.posterior(data.Y, separation, seed=0)
    assert not found.settled
    asked_for = ngmca.posterior(data.Y, separation, n_samples=150, seed=0)
    assert not asked_for.settled
    assert asked_for.warnings == ()
