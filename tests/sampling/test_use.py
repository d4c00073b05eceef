"""`posterior` as it is called: seeds, units, memory, degenerate data, wrong arguments."""

import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.sampling.target import streams


def small(seed=0, **settings):
    return ngmca.simulate.sparse(
        **{"m": 40, "n": 100, "r": 4, "p_S": 0.2, "snr": 15, "seed": seed} | settings
    )


def arrays(found):
    parts = (found.S, found.A, found.noise, found.pi, found.stay, found.beta)
    return [x for part in parts for x in (part.mean, part.sd, *part.interval())] + [found.S.active]


@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_same_seed_same_answer_whatever_the_threads():
    for data, count in ((small(), 10), (ngmca.simulate.sparse(60, 12_000, 15, snr=15, seed=0), 4)):
        r = data.A.shape[1]
        separation = ngmca.separate(data.Y, r, method=ngmca.Soft(n_iter=3), n_init=1)
        options = {"n_samples": count, "burn": 2, "seed": 3}
        one, *others = (ngmca.posterior(data.Y, separation, threads=k, **options) for k in (1, 2, 3))
        other_seed = ngmca.posterior(data.Y, separation, n_samples=count, burn=2, seed=4)
        for other in others:
            for mine, its in zip(arrays(one), arrays(other), strict=True):
                np.testing.assert_array_equal(mine, its)
        assert not np.array_equal(one.S.mean, other_seed.S.mean)


def test_separation_is_the_same_with_and_without():
    data = small()
    plain = ngmca.separate(data.Y, 4, seed=5, n_init=1)
    sampled = ngmca.separate(data.Y, 4, seed=5, posterior=True, n_init=1)
    np.testing.assert_array_equal(plain.S, sampled.S)
    assert plain.posterior is None
    estimator = ngmca.NGMCA(4, posterior=True, random_state=5, n_init=1).fit(data.Y)
    np.testing.assert_array_equal(estimator.components_, sampled.posterior.S.mean)
    assert estimator.set_params(posterior=False).fit(data.Y).posterior_ is None
    rival = ngmca.separate(data.Y, 4, method="hals", seed=5, posterior=True, n_init=1)
    assert ngmca.evaluate(data.S, rival.posterior.S.mean).mean_sdr > 15


def test_memory_does_not_grow_with_the_samples():
    data = small(n=2000)
    separation = ngmca.separate(data.Y, 4, n_init=1)
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
    separation = ngmca.separate(data.Y, 4, n_init=1)
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
    separation = ngmca.separate(Y, r, **records(**options))
    found = ngmca.posterior(Y, separation, noise=options.get("noise"), n_samples=60, seed=0)
    assert all(np.isfinite(x).all() for x in arrays(found))
    assert all((x >= 0).all() for x in arrays(found))
    assert (found.S.active <= 1).all()
    assert truth(found, Y)


def test_a_dead_source_stays_finite():
    data = small()
    separation = ngmca.separate(data.Y, 4, n_init=1)
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
        (
            {"A": np.ones(40)},
            ValueError,
            "A must have one row for each of .* and a column for each source",
        ),
        ({"noise": 1e200}, ValueError, "noise is too large"),
        ({"A": np.ones((3, 2))}, ValueError, "one row for each of"),
        ({"A": np.eye(40, 3) * [1, 1, 0]}, ValueError, "A has a column of zeros"),
    ],
)
def test_wrong_arguments(options, error, words):
    data = small()
    options = {"separation": ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=3), n_init=1)} | options
    with pytest.raises(error, match=words):
        ngmca.posterior(data.Y, options.pop("separation"), **options)


def test_seeds():
    """The same seed gives the same chains, which share no stream with the first guess."""
    rng = np.random.default_rng(3)
    first = [child.generate_state(2).tolist() for child in streams(3, 2)]
    again = [child.generate_state(2).tolist() for child in streams(np.random.SeedSequence(3), 2)]
    assert first == again
    assert first[0] != first[1]
    guesses = [child.generate_state(2).tolist() for child in np.random.SeedSequence(3).spawn(4)]
    assert not any(stream in guesses for stream in first)
    moved = [streams(rng, 1)[0].generate_state(2).tolist() for _ in range(2)]
    assert moved[0] != moved[1]


def test_a_budget_that_is_spent_is_said(monkeypatch):
    data = small(snr=5)
    separation = ngmca.separate(data.Y, 4, n_init=1)
    for module in (ngmca.sampling.parallel_chains, ngmca.sampling.posterior_warnings):
        monkeypatch.setattr(module, "ERROR_GOAL", 1e-3)
        monkeypatch.setattr(module, "MOST", 250)
    with pytest.warns(UserWarning, match=r"stopped at 210 sweeps, with 150 samples .* error .* 0\.\d\d"):
        found = ngmca.posterior(data.Y, separation, seed=0)
    assert not found.settled
    asked_for = ngmca.posterior(data.Y, separation, n_samples=150, seed=0)
    assert not asked_for.settled
    assert asked_for.warnings == ()
