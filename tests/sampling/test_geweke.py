"""Geweke's joint test: sweeps leave the prior as it is."""

from copy import deepcopy
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from host_device import HostDevice, needs_compiler
from scipy.special import gammainc, gammaincinv

import ngmca
from ngmca.engines import SparseDraws, in_memory, open_data
from ngmca.engines.gpu.engine import GpuEngine
from ngmca.sampling import chain_on_gpu, sparse_chain
from ngmca.sampling.chain_on_gpu import GpuChain
from ngmca.sampling.convergence import effective_size
from ngmca.sampling.random_draws import TABLES
from ngmca.sampling.sampled_data import SampledData
from ngmca.sampling.sparse_chain import Rules, SparseChain
from ngmca.sampling.sparse_model import Noise, Parameters, Priors
from ngmca.sampling.target import Target


def small(seed=0, **settings):
    return ngmca.simulate.sparse(
        **{"m": 40, "n": 100, "r": 4, "p_S": 0.2, "snr": 15, "seed": seed} | settings
    )


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


# Missing entries, a sample seen once, and levels of entries.
GAPS = np.array([[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]])
UNEQUAL = np.array([[1.0, 0.2, 4.0, 0.5], [0.1, 1.0, 2.0, 0.3], [5.0, 0.0, 1.0, 0.7]])


@cache
def prior(count, kind, fixed):
    """The first draw from the prior, what is asked of `count` others, and the generator after them."""
    rng = np.random.default_rng(0)
    A, X, parameters = from_prior(rng, kind)
    others = (from_prior(rng, kind) for _ in range(count))
    if fixed:
        others = ((A, x, replace(p, scale=parameters.scale)) for _, x, p in others)
    return A, X, parameters, np.array([asked(*other) for other in others]), rng


def on_gpu(Y):
    """What draws for data on a GPU; its kernels are compiled for the CPU."""
    return SparseDraws(GpuEngine(Y, HostDevice()), TABLES)


def geweke(count=10_000, block=None, kind="white", fixed=False, weights=None, there=False):
    """z scores of the means of what is asked: draws from the prior against sweeps."""
    A, X, parameters, expected, rng = deepcopy(prior(count, kind, fixed))
    most = 0.7 if kind == "given" else np.inf
    rules = Rules(Noise(kind, 0.0), replace(PROPER, beta_most=most), fixed=fixed, unit=False)
    nothing = SampledData(in_memory(np.zeros((len(A), len(X)))))
    make = partial(GpuChain, draws=on_gpu(nothing.Y)) if there else SparseChain
    chain = make(nothing, A, X, parameters, rules, seed=np.random.SeedSequence(0))
    found = np.empty_like(expected)
    for k in range(count):
        noise = rng.standard_normal((len(A), len(X))) * np.sqrt(chain.parameters.variance[:, None])
        fit = chain.A @ chain.X.T
        if weights is None:
            data = in_memory(fit + noise)
        else:
            data = in_memory(fit + noise / np.sqrt(np.maximum(weights, 1e-9)), weights)
        chain._data = SampledData(data)
        chain._data.block = block or chain._data.block
        if there:
            chain._draws = on_gpu(fit + noise)
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
        (1, "rows", False, 1),
        pytest.param(None, "white", False, sparse_chain.SHEAR_EVERY, marks=pytest.mark.study),
        pytest.param(2, "given", False, 1, marks=pytest.mark.study),
        pytest.param(2, "white", True, 1, marks=pytest.mark.study),
    ],
)
def test_sweeps_leave_the_prior_as_it_is(monkeypatch, block, kind, fixed, every):
    monkeypatch.setattr(sparse_chain, "SHEAR_EVERY", every)
    assert geweke(block=block, kind=kind, fixed=fixed).max() < 4


@needs_compiler
@pytest.mark.parametrize("longest", [chain_on_gpu.LONGEST_RUN, 0])
def test_sweeps_on_a_gpu_leave_the_prior_as_it_is(monkeypatch, longest):
    monkeypatch.setattr(chain_on_gpu, "SHEAR_EVERY", 1)
    monkeypatch.setattr(chain_on_gpu, "LONGEST_RUN", longest)
    assert geweke(4000, kind="rows", there=True).max() < 4


@needs_compiler
def test_a_wrong_shear_on_a_gpu_is_noticed(monkeypatch):
    right = SparseDraws.density
    monkeypatch.setattr(chain_on_gpu, "SHEAR_EVERY", 1)
    wrong = lambda draws, k, i, law, X, u, c: right(draws, k, i, law, X, 0 * u, c)  # noqa: E731
    monkeypatch.setattr(SparseDraws, "density", wrong)
    assert geweke(2000, there=True).max() > 5


@pytest.mark.parametrize(
    ("weights", "kind", "fixed"),
    [
        (UNEQUAL, "given", False),
        pytest.param(GAPS, "white", False, marks=pytest.mark.study),
        pytest.param(GAPS, "rows", True, marks=pytest.mark.study),
        pytest.param(UNEQUAL, "rows", False, marks=pytest.mark.study),
    ],
)
def test_sweeps_leave_the_prior_as_it_is_with_missing_and_unequal_entries(
    monkeypatch, weights, kind, fixed
):
    monkeypatch.setattr(sparse_chain, "SHEAR_EVERY", 1)
    assert geweke(5000, block=2, kind=kind, fixed=fixed, weights=weights).max() < 4


@pytest.mark.parametrize("part", ["grams", "moments"])
def test_weights_that_are_not_heeded_are_noticed(monkeypatch, part):
    right = getattr(SampledData, part)

    def wrong(data, factor):
        alike = SampledData(in_memory(data.Y, np.ones(data.shape)))
        return right(alike, factor)

    monkeypatch.setattr(SampledData, part, wrong)
    assert geweke(1500, weights=GAPS).max() > 5


@pytest.mark.parametrize(
    ("kernel", "count"),
    [
        ("sample_mixing", 2_000),
        ("shear", 2_000),
        pytest.param("sample_sources", 10_000, marks=pytest.mark.study),
        pytest.param("neighbour_odds", 10_000, marks=pytest.mark.study),
    ],
)
def test_a_wrong_conditional_is_noticed(monkeypatch, kernel, count):
    module = sparse_chain if kernel == "shear" else sparse_chain.kernels
    right = getattr(module, kernel)

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

    monkeypatch.setattr(module, kernel, wrong)
    monkeypatch.setattr(sparse_chain, "SHEAR_EVERY", 1)
    assert geweke(count).max() > 5


def test_columns_of_norm_1_change_nothing_that_has_no_scale():
    """With the same random numbers, a chain whose scale wanders says the same as one at norm 1."""
    data = small(m=6, n=15, r=2, p_S=0.4, snr=12)
    found = ngmca.separate(data.Y, 2, method=ngmca.Soft(n_iter=100), n_init=1)
    problem = Target.of(open_data(data.Y), found, None, None)
    told, norms = [], []
    for unit in (True, False):
        rules = replace(problem.rules, unit=unit, priors=Priors())
        chain = replace(problem, rules=rules).chains(np.random.default_rng(6), 2, 1).tracks[0].chain
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
    separation = ngmca.separate(Y, 4, n_init=1)
    for noise in ("rows", None):
        found = ngmca.posterior(Y, separation, noise=noise, n_samples=40, burn=40, seed=0)
        np.testing.assert_allclose(found.noise.mean, levels, rtol=0.1)
    white = ngmca.posterior(Y, separation, noise="white", n_samples=40, burn=40, seed=0)
    assert np.ptp(white.noise.mean) == 0
    known = ngmca.posterior(Y, separation, noise=levels, n_samples=40, burn=40, seed=0)
    np.testing.assert_allclose(known.noise.mean, levels)
    score = {k: ngmca.evaluate(data.S, v.S.mean).mean_sdr for k, v in {"w": white, "k": known}.items()}
    assert score["k"] > score["w"] + 0.5
