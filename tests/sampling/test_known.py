"""Known entries stay fixed, and intervals lie around a separation with other constraints."""

from types import SimpleNamespace

import numpy as np
import pytest

import ngmca
from ngmca.engines import open_data
from ngmca.sampling.posterior_from_chains import _noise_of_mixing
from ngmca.sampling.target import Target

FEW = ngmca.Sampling(n_samples=60, burn=30)
BRIEF = {"n_samples": 40, "burn": 20, "seed": 0}
pytestmark = pytest.mark.filterwarnings(
    "ignore:the chains disagree", "ignore:.* went silent", "ignore:the data hardly determine"
)


def small(seed=0, **settings):
    return ngmca.simulate.sparse(
        **{"m": 40, "n": 150, "r": 4, "p_S": 0.2, "snr": 15, "seed": seed} | settings
    )


def test_known_sources_are_held_and_their_amounts_are_drawn_from_their_law():
    """With all sources known, and far from 0, rows of A are normal with a mean and spread we know."""
    data, rng = small(snr=None), np.random.default_rng(0)
    A, level = data.A + 2, 0.3
    Y = A @ data.S + level * rng.standard_normal(data.Y.shape)
    separation = SimpleNamespace(A=data.A, S=data.S, noise=np.full(40, level))
    found = ngmca.posterior(
        Y,
        separation,
        noise=level,
        n_samples=2000,
        burn=50,
        seed=0,
        constraints=[ngmca.KnownSources(data.S)],
    )
    np.testing.assert_allclose(found.S.mean, data.S)
    assert (found.S.sd == 0).all()
    inverse = np.linalg.inv(data.S @ data.S.T)
    spread = level * np.sqrt(np.diag(inverse))
    np.testing.assert_allclose(found.A.sd / spread, 1, atol=0.1)
    np.testing.assert_allclose((found.A.mean - Y @ data.S.T @ inverse) / spread, 0, atol=0.3)


def test_one_known_source_helps_the_others():
    data = small(snr=5)
    norm = np.linalg.norm(data.A, axis=0)
    known = np.full((1, 150), np.nan)
    known[0] = data.S[0]
    separation = ngmca.separate(data.Y, 4, constraints=[ngmca.KnownSources(known)], n_init=1)
    found = ngmca.posterior(data.Y, separation, seed=0, constraints=[ngmca.KnownSources(known)])
    np.testing.assert_allclose(found.S.mean[0], data.S[0])
    assert (found.S.sd[0] == 0).all()
    assert (found.S.sd[1:] > 0).any(axis=1).all()
    low, high = found.A.interval(0.9)
    assert 0.75 <= np.mean((low[:, 0] <= data.A[:, 0]) & (high[:, 0] >= data.A[:, 0])) <= 1
    np.testing.assert_allclose(np.linalg.norm(found.A.mean[:, 0]), norm[0], rtol=0.1)
    np.testing.assert_allclose(np.linalg.norm(found.A.mean[:, 1:], axis=0), 1, rtol=0.05)


def test_all_columns_known_are_a_known_mixing():
    data = small()
    separation = ngmca.separate(data.Y, 4, constraints=[ngmca.KnownMixing(data.A)], n_init=1)
    held = ngmca.posterior(
        data.Y, separation, n_samples=800, seed=0, constraints=[ngmca.KnownMixing(data.A)]
    )
    given = ngmca.posterior(data.Y, None, A=data.A, n_samples=800, seed=1)
    np.testing.assert_allclose(held.A.mean, data.A)
    assert (held.A.sd == 0).all()
    spread = np.sqrt(np.mean(given.S.sd**2))
    assert np.sqrt(np.mean((held.S.mean - given.S.mean) ** 2)) < 0.15 * spread
    np.testing.assert_allclose(np.mean(held.S.sd), np.mean(given.S.sd), rtol=0.05)


def test_zeros_stay():
    data = small()
    norm = np.linalg.norm(data.A, axis=0)
    A = np.where(np.random.default_rng(0).random((40, 4)) < 0.3, 0, data.A)
    Y = A @ data.S + data.noise
    zero_sources, zero_mixing = data.S == 0, A == 0
    known = [ngmca.ZeroSources(zero_sources), ngmca.ZeroMixing(zero_mixing)]
    separation = ngmca.separate(Y, 4, start=(A, data.S), constraints=known)
    found = ngmca.posterior(Y, separation, n_samples=200, seed=0, constraints=known)
    for part, zero in ((found.S, zero_sources), (found.A, zero_mixing)):
        assert (part.mean[zero] == 0).all()
        assert (part.sd[zero] == 0).all()
        assert (part.sd[~zero] > 0).all()
    norm = np.linalg.norm(A, axis=0)
    low, high = found.A.interval(0.9)
    assert 0.8 < ((low <= A / norm) & (high >= A / norm))[A > 0].mean() < 0.97


def with_baseline(seed=0):
    data, rng = small(seed, m=60, n=200), np.random.default_rng(seed)
    t = np.linspace(0, 1, 200)
    basis = np.array([1 - t, t])
    return data, data.Y + rng.uniform(0.5, 3, (60, 2)) @ basis, basis


def test_a_baseline_is_drawn_along():
    data, Y, basis = with_baseline()
    separation = ngmca.separate(Y, 4, constraints=[ngmca.Baseline(basis)], domain="direct", n_init=1)
    found = ngmca.posterior(Y, separation, seed=0)
    assert found.S.mean.shape == (4, 200)
    assert found.A.mean.shape == (60, 4)
    assert found.pi.mean.shape == found.rhat["S"].shape == found.ess["A"].shape == (4,)
    assert found.traces["beta"].shape[-1] == 4
    match, norm = ngmca.evaluate(data.S, found.S.mean), np.linalg.norm(data.A, axis=0)
    assert match.mean_sdr > ngmca.evaluate(data.S, separation.S).mean_sdr
    S, A = data.S * norm[:, None], data.A / norm
    low, high = (end[match.order] for end in found.S.interval(0.9, given_active=True))
    assert 0.83 < ((low <= S) & (high >= S))[S > 0].mean() < 0.96
    low, high = (end[:, match.order] for end in found.A.interval(0.9))
    assert 0.83 < ((low <= A) & (high >= A)).mean() < 0.96
    assert not found.refuted


def bands(seed=0, m=30, n=200, r=3):
    """Bands in a reaction: profiles that fall, have one maximum, and rise, with a sum of 1."""
    rng = np.random.default_rng([seed, 8])
    t, time = np.arange(n), np.linspace(0, 3, m)
    S = np.stack(
        [
            sum(np.exp(-0.5 * ((t - rng.uniform(10, n - 10)) / 4) ** 2) for _ in range(4))
            for _ in range(r)
        ]
    )
    A = np.stack([np.exp(-2 * time), 2 * (np.exp(-time) - np.exp(-2 * time)), time], axis=1)
    A[:, 2] = 1 - A[:, :2].sum(axis=1)
    return A, S, A @ S + 0.02 * rng.standard_normal((m, n))


SHAPES = [
    ngmca.Monotonic("decreasing", sources=[0]),
    ngmca.Unimodal(sources=[1]),
    ngmca.Monotonic("increasing", sources=[2]),
]


CONSTRAINED = {
    "closure": lambda A, S: [ngmca.Closure()],
    "shapes": lambda A, S: SHAPES,
    "known source": lambda A, S: [ngmca.KnownSources(S[:1])],
    "known column": lambda A, S: [ngmca.KnownMixing(A[:, :1])],
    "zeros": lambda A, S: [ngmca.ZeroMixing(ABSENT), ngmca.Closure()],
    "sum of two": lambda A, S: [ngmca.Closure(A[:, :2].sum(axis=1), sources=[0, 1])],
    "sum at most": lambda A, S: [ngmca.Closure(1.0, "at most"), ngmca.KnownMixing(some_of(A))],
}
ABSENT = np.zeros((30, 3), bool)
ABSENT[0, 1:] = True  # before the reaction


def some_of(A):
    """Two known measurements."""
    points = np.full(A.shape, np.nan)
    points[[3, 20]] = A[[3, 20]]
    return points


def inside(part, truth):
    low, high = part.interval(0.9)
    return np.mean((low <= truth + 1e-6) & (truth - 1e-6 <= high))


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        *((kind, "wavelet") for kind in CONSTRAINED),
        *((kind, "direct") for kind in ("closure", "shapes", "zeros", "sum of two", "sum at most")),
    ],
)
def test_intervals_around_a_separation_with_constraints(kind, domain):
    A, S, Y = bands()
    known = CONSTRAINED[kind](A, S)
    found = ngmca.separate(Y, 3, start=(A, S), constraints=known, domain=domain, posterior=FEW, seed=0)
    bars = found.posterior
    assert bars.model == ("bands" if domain == "wavelet" else "profiles")
    physical = {"closure": 3, "zeros": 3, "sum of two": 2, "sum at most": 3}.get(kind, 0)
    scale = np.where(np.arange(3) < physical, 1.0, np.linalg.norm(A, axis=0))
    scale[0] = 1 if "known" in kind else scale[0]
    assert inside(bars.A, found.A) == inside(bars.S, found.S) == 1
    for part, truth in ((bars.A, A / scale), (bars.S, S * scale[:, None])):
        low, high = part.interval(0.9)
        counted = truth > 0.01 * truth.max()
        assert np.mean(((low <= truth) & (truth <= high))[counted]) > 0.8
        assert np.median(high - low) < 0.3 * truth.max()
    held = {
        "known source": bars.S.sd[0],
        "known column": bars.A.sd[:, 0],
        "zeros": bars.A.interval(0.9)[1][ABSENT],
    }
    assert (held.get(kind, 0) == np.zeros(1)).all()


def test_known_sums_bind_the_noise_of_the_mixing():
    """The spread of A for known S is that of a fit with known sums to data with other noise."""
    A, S, Y = bands()
    start = SimpleNamespace(A=A, S=S, noise=np.full(len(A), 0.02))
    problem = Target.of(open_data(Y), start, None, 0.02, [ngmca.Closure()])
    G, rng = S @ S.T, np.random.default_rng(0)
    C = S @ ((A[5] @ S)[:, None] + 0.02 * rng.standard_normal((200, 2000)))
    free, ones = np.linalg.solve(G, C), np.linalg.solve(G, np.ones(3))
    closed = free - np.outer(ones, (free.sum(axis=0) - 1) / ones.sum())
    np.testing.assert_allclose(_noise_of_mixing(problem, S)[5], closed.std(axis=1), rtol=0.06)


def test_a_baseline_among_bands_is_exchanged_with_the_sources():
    A, S, Y = bands()
    t = np.linspace(0, 1, Y.shape[1])
    basis = np.array([1 - t, t])
    Y = Y + np.random.default_rng(0).uniform(0.5, 3, (len(Y), 2)) @ basis
    known = [ngmca.Baseline(basis)]
    found = ngmca.separate(
        Y, 3, start=(A, S), constraints=known, domain="wavelet", posterior=FEW, seed=0
    )
    bars, norm = found.posterior, np.linalg.norm(A, axis=0)
    assert (bars.S.mean.shape, bars.A.mean.shape, bars.rhat["S"].shape) == (S.shape, A.shape, (3,))
    low, high = bars.S.interval(0.9)
    truth = S * norm[:, None]
    counted = truth > 0.05 * truth.max()
    assert np.mean(((low <= truth) & (truth <= high))[counted]) > 0.9
    np.testing.assert_allclose(bars.noise.mean, 0.02, rtol=0.2)


def test_a_known_mixing_and_known_sources_do_not_go_together():
    data = small()
    with pytest.raises(ValueError, match="A cannot be combined with KnownSources"):
        ngmca.posterior(data.Y, None, A=data.A, constraints=[ngmca.KnownSources(data.S)], **BRIEF)


def test_amounts_with_a_standard_deviation_are_refused_as_in_separate():
    x = ngmca.simulate.bands(m=20, n=128, r=2, snr=30, seed=0)
    known = {"constraints": [ngmca.KnownMixing(x.A[:, :1], sd=0.01)], "n_init": 1}
    found = ngmca.separate(x.Y, 2, method=ngmca.Soft(n_iter=5), **known)
    with pytest.raises(ValueError, match="KnownMixing with standard deviations"):
        ngmca.posterior(x.Y, found, constraints=known["constraints"])
    with pytest.raises(ValueError, match="KnownMixing with standard deviations"):
        ngmca.separate(x.Y, 2, posterior=True, **known)
