"""Chains of the sparse model on a GPU, with kernels compiled for the CPU: the same laws."""

from functools import partial

import numpy as np
import pytest
from host_device import HostDevice, needs_compiler

import ngmca
from ngmca.engines import SparseDraws, opening
from ngmca.engines.gpu.engine import GpuEngine
from ngmca.sampling import chain_on_gpu, shearing, sparse_kernels
from ngmca.sampling.random_draws import TABLES
from ngmca.sampling.sparse_chain import Rules, SparseChain
from ngmca.sampling.sparse_model import Noise, Priors

pytestmark = needs_compiler


def small():
    return ngmca.simulate.sparse(m=40, n=100, r=4, p_S=0.2, snr=15, seed=0)


def draws_for(Y):
    return SparseDraws(GpuEngine(Y, HostDevice()), TABLES)


def problem(n=301, r=4, seed=0, p=0.4):
    """Sources, correlations and laws; the second source is active only together with the first."""
    rng = np.random.default_rng(seed)
    A = rng.random((20, r))
    X = rng.exponential(1, (n, r)) * (rng.random((n, r)) < p)
    X[:, 1] *= X[:, 0] > 0
    Y = A @ X.T + 0.3 * rng.standard_normal((20, n))
    G, C = A.T @ A / 0.09, Y.T @ A / 0.09
    return Y, A, X, G, C, rng.random(r) + 0.5, 0.2 + 0.2 * rng.random(r), 0.6 + 0.3 * rng.random(r)


@pytest.mark.parametrize("n", [1, 2, 301])
@pytest.mark.parametrize("r", [1, 4])
@pytest.mark.parametrize("size", [1.0, 1e-3, 300.0])  # far above the noise, and far below
def test_sources_are_drawn_from_the_law_of_the_cpu(n, r, size):
    Y, _, X, G, C, rate, start, stay = problem(n, r) if r > 1 else problem(n, 4)
    X, C, rate = np.ascontiguousarray(X[:, :r]), np.ascontiguousarray(C[:, :r]) * size, rate[:r]
    G, odds = np.ascontiguousarray(G[:r, :r]), sparse_kernels.neighbour_odds(start[:r], stay[:r])
    G[0, 0] = 0 if size < 1 else G[0, 0]  # a source without data, which the prior draws
    C[:, 0] = 0 if size < 1 else C[:, 0]
    G[0, 1:] = G[1:, 0] = 0 if size < 1 else G[0, 1:]
    root = chain_on_gpu._root(np.diagonal(G), rate)
    ratio = np.exp(np.minimum(odds + np.log(rate) + np.log(root), 700))
    draws, key = draws_for(Y), np.uint64(2**63 + 12345)
    found, sums = draws.there(X), draws.zeros((3, n, r))
    draws.sources(G, C, found, rate, root, ratio, 3, key, sums)
    expected, total = X.copy(), np.zeros((3, n, r))
    for j in [*range(0, n, 2), *range(1, n, 2)]:
        given = odds, 3, key, j, total, sparse_kernels.ALIKE, sparse_kernels.NONE_HELD
        sparse_kernels.sample_sources(G[None], C[j : j + 1], expected, rate, *given)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    # the second moment of an entry without data is a difference of nearly equal numbers
    np.testing.assert_allclose(sums[:], total, rtol=1e-5 if size < 1 else 1e-9, atol=1e-12)
    again = draws.there(X)
    draws.sources(G, C, again, rate, root, ratio, 3, key, None)
    np.testing.assert_array_equal(again, found)
    np.testing.assert_allclose(draws.transitions(found), sparse_kernels.transitions(expected), rtol=1e-9)


@pytest.mark.parametrize("c", [-0.4, 0.0, 0.7])
@pytest.mark.parametrize("p", [0.4, 1.0])
@pytest.mark.parametrize(("k", "i"), [(1, 0), (0, 1), (2, 3)])
def test_the_density_of_a_shear_is_that_of_the_cpu(monkeypatch, c, p, k, i):
    """The compiled move tells its density by the point that it draws, which here is always c."""
    Y, _, X, G, C, rate, start, stay = problem(p=p)
    draws = draws_for(Y)
    u = draws.rest(G, C, X, k, i)
    where = np.flatnonzero(X[:, k] > 0)
    rest = C[where, i] + G[i, i] * X[where, i] - X[where] @ G[i]
    np.testing.assert_allclose(u[where], rest, rtol=1e-10)
    same, n = shearing._SAME_RUN, len(X)
    edges = np.full((2, len(where)), same)
    for q, j in enumerate(where):
        if q == 0 or where[q - 1] < j - 1:
            edges[0, q] = j > 0 and X[j - 1, i] > 0
        if q == len(where) - 1 or where[q + 1] > j + 1:
            edges[1, q] = shearing._NO_ENTRY if j == n - 1 else X[j + 1, i] > 0
    ones, g = np.ones(len(where)), G[i, i]
    root, scale = 1 / np.sqrt(g), np.log(rate[i] / np.sqrt(g))
    own = g * ones, root * ones, scale * ones
    forward = np.empty(len(where))
    part = X[where, k], rest, edges, forward, own
    expected = shearing._forwards(c, part, (rate[i], start[i], stay[i], 1.0))
    law = np.array([rate[i], start[i], stay[i], g, root, scale])
    assert draws.density(k, i, law, X, u, c) == pytest.approx(expected, rel=1e-10)
    # what is drawn for this c: how often each entry is active, and its mean, against the sum of patterns
    one, another = X.copy(), X.copy()
    count, active = 600, np.zeros(len(where))
    for key in range(count):
        another[:] = X
        draws.runs(k, i, law, another, u, c, np.uint64(key))
        active += another[where, i] > 0
    one[where, i] = another[where, i]
    np.testing.assert_array_equal(another, one)  # nothing else has changed
    likely = active_given_all(edges, forward, start[i], stay[i])
    error = np.sqrt(np.maximum(likely * (1 - likely), 1e-3) / count)
    assert np.abs(active / count - likely).max() < 5 * error.max()
    assert np.mean(((active / count - likely) / error) ** 2) < 1.5


def active_given_all(edges, forward, start, stay):
    """Probability of each entry to be active, from those given the entries before it."""
    likely, after = np.empty(len(forward)), None
    for q in range(len(forward) - 1, -1, -1):
        if edges[1, q] != shearing._SAME_RUN:
            after = {0: (1.0, 0.0), 1: (0.0, 1.0), shearing._NO_ENTRY: None}[int(edges[1, q])]
        to = np.array([[1 - start, start], [1 - stay, stay]])
        joint = np.array([1 - forward[q], forward[q]])[:, None] * (1 if after is None else to)
        if after is None:
            likely[q] = forward[q]
        else:
            back = joint / joint.sum(axis=0)
            likely[q] = float(back[1] @ np.array(after))
        after = (1 - likely[q], likely[q])
    return likely


def test_runs_are_measured():
    draws, X = draws_for(np.ones((3, 9))), np.zeros((9, 2))
    assert draws.longest_run(X) == 0
    X[3:6, 1] = X[0, 0] = 1
    assert draws.longest_run(X) == 3
    X[:, 0] = 1
    assert draws.longest_run(X) == 9


@pytest.fixture
def device(monkeypatch):
    found = HostDevice()
    monkeypatch.setattr(opening, "open_device", lambda: found)
    monkeypatch.setattr(chain_on_gpu, "WORTH_THREADS", 0)
    return found


@pytest.mark.parametrize(("dtype", "known"), [(np.float64, True), (np.float32, False)])
def test_the_posterior_is_that_of_the_cpu(device, dtype, known):
    data = small()
    Y = data.Y.astype(dtype)
    separation = ngmca.separate(Y, 4, seed=0, domain="direct", n_init=1)
    ask = partial(ngmca.posterior, Y, separation, n_samples=600, seed=0)
    given = {"A": separation.A} if known else {}
    launches = device.launches
    there, here, again = (ask(device=one, **given) for one in ("cuda", "cpu", "cuda"))
    assert device.launches > launches + 1000
    np.testing.assert_array_equal(there.S.mean, again.S.mean)
    for one, other in ((there.S, here.S), (there.A, here.A)):
        sd = np.maximum(other.sd, 1e-3 * other.mean.max())
        assert np.sqrt(np.mean(((one.mean - other.mean) / sd) ** 2)) < 0.15
        assert abs(np.log(np.mean(one.sd + 1e-12) / np.mean(other.sd + 1e-12))) < 0.1
    np.testing.assert_allclose(there.noise.mean, here.noise.mean, rtol=0.01)
    np.testing.assert_allclose(there.S.active, here.S.active, atol=0.25)
    assert np.mean(np.abs(there.S.active - here.S.active)) < 0.01


def test_separate_gives_error_bars_there(device):
    data = small()
    found = ngmca.separate(
        data.Y,
        4,
        seed=0,
        device="cuda",
        domain="direct",
        n_init=1,
        posterior=ngmca.Sampling(n_samples=20, burn=5),
    )
    assert found.posterior.S.mean.shape == found.S.shape


def test_what_the_gpu_does_not_draw_is_drawn_by_the_cpu(device):
    engine = GpuEngine(small().Y, device)
    rules = Rules(Noise("white", 0.0), Priors())
    assert chain_on_gpu.kinds(engine, 4, rules, 2)[0] is not SparseChain
    device.room = 1000
    assert chain_on_gpu.kinds(engine, 4, rules, 2)[0] is SparseChain
