"""Quantiles, R-hat and effective sizes with known answers."""

import numpy as np
import pytest
from scipy import stats

import ngmca
from ngmca.result import Marginals
from ngmca.sampling.convergence import drifts, effective_size, split_rhat
from ngmca.sampling.parallel_chains import MAX_TRACE_ROWS, Trace
from ngmca.sampling.posterior_warnings import disagreement


def small(seed=0, **settings):
    return ngmca.simulate.sparse(
        **{"m": 40, "n": 100, "r": 4, "p_S": 0.2, "snr": 15, "seed": seed} | settings
    )


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
    assert not drifts(rng.standard_normal((8, 2, 300)))
    assert drifts(rng.standard_normal((8, 2, 300)) + np.array([0, 1])[:, None])  # more chains see less


def test_traces_are_bounded_and_even():
    trace = Trace(1)
    for k in range(1, 5 * MAX_TRACE_ROWS + 1):
        trace.add(np.array([k]))
    kept = trace.rows[:, 0]
    assert MAX_TRACE_ROWS / 2 < len(kept) <= MAX_TRACE_ROWS
    assert len(set(np.diff(kept))) == 1
    assert kept[-1] > 4.9 * MAX_TRACE_ROWS


def test_disagreement_is_said_in_words():
    data = small(m=4, n=30, snr=20)
    separation = ngmca.separate(data.Y, 4, n_init=1)
    with pytest.warns(UserWarning, match=r"chains disagree about \d of 4 sources"):
        found = ngmca.posterior(data.Y, separation, n_samples=4, burn=0, seed=0)
    assert len(found.warnings) == 1
    fine = {"S": np.array([1.01, 1.0]), "A": np.array([1.0, 1.02])}
    assert disagreement(fine) == ()
    assert "(source 2;" in disagreement({**fine, "A": np.array([1.0, 1.3])})[0]


def test_output_is_what_arviz_takes():
    data = small()
    found = ngmca.separate(data.Y, 4, posterior=True, n_init=1).posterior
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
