"""Lines and bands: the wavelet domain, and when it is taken."""

from dataclasses import replace

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.algorithms.options import Options
from ngmca.algorithms.wavelets import wavelet_stage as bands_module
from ngmca.algorithms.wavelets.domain_choice import correlation
from ngmca.algorithms.wavelets.wavelet_stage import log_cost
from ngmca.domains import analyse, analysis, frame_of
from ngmca.engines import derived, open_data
from ngmca.task.problem import Problem


def bands(seed=0, m=24, n=400, r=3, snr=25.0):
    return ngmca.simulate.bands(m, n, r, bands=6, fwhm=(8.0, 30.0), snr=snr, seed=seed)


def sdr(data, found):
    return ngmca.evaluate(data.S, found.S).mean_sdr


def test_bands_are_found_far_better_than_channel_by_channel():
    gains = []
    for seed in range(4):
        data = bands(seed)
        direct = ngmca.separate(data.Y, 3, seed=seed, domain="direct", n_init=1)
        auto = ngmca.separate(data.Y, 3, seed=seed, n_init=1)
        assert direct.domain.name == "direct"
        assert auto.domain.name == "wavelet"
        assert auto.violation < 1e-4
        assert (auto.S >= 0).all()
        assert (auto.A >= 0).all()
        np.testing.assert_allclose(np.linalg.norm(auto.A, axis=0), 1)
        gains.append(sdr(data, auto) - sdr(data, direct))
    assert np.mean(gains) > 5
    assert min(gains) > 0


def test_a_number_of_iterations_is_obeyed_in_wavelets():
    data, counts = bands(m=12, n=128), []
    for n_iter in (30, "auto", 300):
        found = ngmca.separate(data.Y, 3, method=ngmca.Soft(n_iter=n_iter), domain="wavelet", n_init=1)
        counts.append(found.n_iter - found.domain.begun)
    assert counts[0] == 30
    assert counts[1] <= 260 < counts[2] <= 300
    assert Options(n_iter=450, domain="wavelet").most == 900


@pytest.mark.parametrize("p_S", [0.1, 0.3, 0.5])
def test_white_sources_stay_as_they_are_to_the_bit(p_S):
    Y = ngmca.simulate.sparse(60, 100, 5, p_S=p_S, snr=15, seed=0).Y
    auto, direct = ngmca.separate(Y, 5, n_init=1), ngmca.separate(Y, 5, domain="direct", n_init=1)
    assert auto.domain.name == "direct"
    assert "hardly related" in auto.domain.why
    np.testing.assert_array_equal(auto.S, direct.S)
    np.testing.assert_array_equal(auto.A, direct.A)
    assert auto.n_iter == direct.n_iter


def test_channels_without_an_order_have_no_bands():
    data = bands()
    order = np.random.default_rng(0).permutation(400)
    found = ngmca.separate(data.Y[:, order], 3, n_init=1)
    assert found.domain.name == "direct"
    assert abs(found.domain.correlation) < 0.2


def test_auto_does_not_ask_for_more_memory_than_there_is_likely_to_be(monkeypatch):
    monkeypatch.setattr("ngmca.algorithms.wavelets.domain_choice.MAX_COEFFICIENTS", 10_000)
    found = ngmca.separate(bands().Y, 3, n_init=1)
    assert found.domain.name == "direct"
    assert "too much memory" in found.domain.why
    assert (
        ngmca.separate(bands().Y, 3, method=ngmca.Soft(n_iter=5), domain="wavelet", n_init=1).domain.name
        == "wavelet"
    )


def test_few_channels_say_nothing():
    Y = np.abs(np.cumsum(np.random.default_rng(0).standard_normal((8, 11)), axis=1))
    assert ngmca.separate(Y, 2, n_init=1).domain.name == "direct"
    assert ngmca.separate(Y, 2, domain="wavelet", n_init=1).domain.name == "wavelet"


@pytest.mark.parametrize("unit", [1e-8, 1e8, 2.0**400])
def test_the_choice_does_not_depend_on_units_where_there_is_no_noise(unit):
    data = bands()
    found = [
        ngmca.separate(data.Y * u, 3, method=ngmca.Soft(n_iter=30), noise=0.0, n_init=1).domain
        for u in (1.0, unit)
    ]
    assert found[0].name == found[1].name == "wavelet"


@pytest.mark.parametrize("shape", [(1, 400), (400, 1)])
def test_an_image_of_one_row_is_a_line(shape):
    data = bands()
    line, image = (
        ngmca.separate(data.Y, 3, method=ngmca.Soft(n_iter=20), sample_shape=s, n_init=1)
        for s in (None, shape)
    )
    assert image.domain.name == "wavelet"
    np.testing.assert_array_equal(image.S, line.S)


def test_a_shape_may_be_an_array():
    assert (
        ngmca.separate(
            bands().Y, 3, method=ngmca.Soft(n_iter=5), sample_shape=np.array([20, 20]), n_init=1
        ).n_iter
        >= 5
    )


def test_a_checkpoint_of_another_domain_is_an_error(tmp_path):
    data, path = bands(), tmp_path / "run.npz"
    given = {"n_iter": 10, "checkpoint": path}
    ngmca.separate(data.Y, 3, **records(**given))
    for options, words in (
        ({"domain": "direct"}, "its domain was 'auto' and is 'direct' now"),
        ({"method": "anls"}, "its method was Soft.* and is Anls.* now"),
    ):
        with pytest.raises(ValueError, match=words):
            ngmca.separate(data.Y, 3, **records(resume=path, **given | options))


@pytest.mark.parametrize("option", [{"domain": "wavelet"}, {"sample_shape": (20, 20)}])
def test_rivals_know_no_wavelets_and_no_images(option):
    (name,) = option
    with pytest.raises(ValueError, match=f"{name}.* cannot be combined with method='hals': only 'soft'"):
        ngmca.separate(bands().Y, 3, **records(method="hals", **option))


@pytest.mark.parametrize("unit", [2.0**400, 2.0**-400])
def test_units_do_not_matter(unit):
    data = bands()
    plain, scaled = (ngmca.separate(data.Y * u, 3, n_init=1) for u in (1.0, unit))
    np.testing.assert_allclose(scaled.A, plain.A, atol=2e-3)
    np.testing.assert_allclose(scaled.S / unit, plain.S, atol=5e-3 * plain.S.max())
    np.testing.assert_allclose(scaled.noise / unit, plain.noise, rtol=1e-2)
    assert scaled.violation < 1e-4


def test_single_precision_is_as_good():
    data = bands()
    single = ngmca.separate(data.Y.astype(np.float32), 3, n_init=1)
    assert single.S.dtype == np.float32
    assert sdr(data, single) > sdr(data, ngmca.separate(data.Y, 3, n_init=1)) - 0.3


def test_the_sources_minimise_their_objective_for_the_final_mixing(monkeypatch):
    """The certificate is of the problem with the final weights; an exact solution of it is no better."""
    weights = []
    find = bands_module.weighted
    monkeypatch.setattr(
        bands_module, "weighted", lambda *args: weights.append(find(*args)) or weights[-1]
    )
    data = bands()
    found = ngmca.separate(data.Y, 3, n_init=1)
    unit = np.abs(data.Y).max()  # of the iterations
    last, W = weights[-1], frame_of(400)
    G, C = found.A.T @ found.A, found.A.T @ data.Y / unit - last.direct
    best = analysis.solve(G, C, W, last.Lam, tol=1e-9, max_iter=5000)
    here = analysis.objective(G, C, W, last.Lam, found.S / unit)
    assert best.gap < 1e-7 * abs(best.objective)
    assert here - best.objective <= found.violation * abs(here) * (1 + 1e-3) + best.gap
    assert here - best.objective <= 1e-4 * abs(here)
    for wrong in (0.97, 1.03):
        assert analysis.objective(
            G, C, W, last.Lam, wrong * found.S / unit
        ) - best.objective > 1e-4 * abs(here)
    assert found.history.violation[-1] == found.violation


def test_the_same_bits_whatever_the_threads(monkeypatch):
    monkeypatch.setattr(derived, "WORTH_THREADS", 0)  # few data are enough then
    data = ngmca.simulate.bands(60, 12_000, 5, snr=20, seed=0)
    one, two = (
        ngmca.separate(data.Y, 5, method=ngmca.Soft(n_iter=2), domain="wavelet", threads=t, n_init=1)
        for t in (1, 2)
    )
    np.testing.assert_array_equal(one.S, two.S)
    np.testing.assert_array_equal(one.A, two.A)


def test_states_tell_the_domain_and_runs_continue_through_it():
    data = bands()
    states = list(ngmca.iterate(data.Y, 3))
    names = [state.domain.name for state in states]
    first = names.index("wavelet")
    assert names == ["direct"] * first + ["wavelet"] * (len(states) - first)
    assert [state.k for state in states] == list(range(1, len(states) + 1))
    assert not any(one.settled for one in states[:-1])
    whole = ngmca.separate(data.Y, 3, n_init=1)
    np.testing.assert_array_equal(states[-1].S, whole.S)
    problem = Problem.of(ngmca.Task(3, n_init=1), open_data(data.Y))
    seen = list(problem.states(np.random.default_rng(0)))
    kept = [snapshot for _, snapshot, _ in seen if snapshot is not None]
    assert len(kept) == first  # none in wavelets
    for snapshot in (kept[19], kept[-1]):
        again = list(problem.states(np.random.default_rng(0), snapshot))
        assert [one.k for one, _, _ in again][-1] == len(seen)
        np.testing.assert_array_equal(again[-1][0].S, seen[-1][0].S)


def test_noise_that_is_given_is_taken():
    data = bands()
    sigma = data.noise.std()
    found = ngmca.separate(data.Y, 3, noise=sigma, n_init=1)
    np.testing.assert_allclose(found.noise, sigma)
    np.testing.assert_allclose(found.lam, 3 * sigma, rtol=1e-5)
    loud = ngmca.separate(data.Y, 3, noise=10 * sigma, n_init=1)
    assert not np.allclose(loud.S, found.S)


def test_of_several_starts_the_one_with_the_lowest_cost_is_kept():
    data = bands(snr=15.0)
    found = ngmca.separate(data.Y, 3, n_init=3)
    costs = [restart.cost for restart in found.restarts]
    own = log_cost(open_data(data.Y), found.A, found.S, found.noise, Options())
    assert min(costs) == pytest.approx(own, rel=1e-3)
    assert max(restart.agreement for restart in found.restarts) > 200


def test_the_cost_of_a_start_is_that_of_its_logarithmic_penalty():
    rng = np.random.default_rng(0)
    A, S = np.abs(np.linalg.qr(rng.standard_normal((6, 2)))[0]), rng.random((2, 64))
    Y, sigma = A @ S + 0.1 * rng.standard_normal((6, 64)), 0.1
    W = frame_of(64, None, Options().borders)
    sizes, noise = np.abs(analyse(W, S))[:, :-1], sigma * W.norms[:-1, None]
    penalty = 2 * 3 * np.sum(noise**2 / 2 * np.log1p(2 * sizes / noise))  # for tau = 2
    expected = np.sum((Y - A @ S) ** 2) / 2 + penalty
    found = log_cost(open_data(Y), A, S, np.full(6, sigma), Options(tau=2.0))
    assert found == pytest.approx(expected)


def test_correlation_of_known_sources():
    rng = np.random.default_rng(0)
    white = rng.random((5, 4000))
    assert abs(correlation(white)) < 0.03
    smooth = np.array([np.convolve(row, np.ones(2), "same") for row in white])
    assert correlation(smooth) == pytest.approx(0.5, abs=0.05)
    stripes = np.repeat(rng.random((2, 1, 50)), 40, axis=1)  # alike along one direction of an image only
    assert correlation(stripes.reshape(2, -1), (40, 50)) < 0.1
    assert correlation(np.zeros((2, 50))) == 0


@pytest.mark.parametrize("method", ["hard", "naive", "anls"])
def test_other_methods_know_no_wavelets(method):
    Y = bands().Y
    with pytest.raises(ValueError, match=f"'wavelet' cannot be combined with method='{method}'"):
        ngmca.separate(Y, 3, method=method, domain="wavelet", n_init=1)
    assert (
        ngmca.separate(Y, 3, **records(method=method, n_iter=5, domain="direct")).domain.name == "direct"
    )


@pytest.mark.parametrize(
    ("shape", "error", "words"),
    [
        ((3, 5), ValueError, "does not fit 400 channels"),
        ((400,), TypeError, "two integers"),
        (7, TypeError, "two"),
    ],
)
def test_wrong_shapes(shape, error, words):
    with pytest.raises(error, match=words):
        ngmca.separate(bands().Y, 3, sample_shape=shape, n_init=1)


DEGENERATE = {
    "zeros": np.zeros((6, 100)),
    "constant": np.ones((6, 100)),
    "one band": np.outer(np.arange(6.0), np.exp(-(((np.arange(100) - 50) / 9.0) ** 2))),
    "negative": -np.ones((6, 100)),
    "few": np.abs(np.cumsum(np.random.default_rng(0).standard_normal((2, 100)), axis=1)),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore:r=3 sources are more than", "ignore:the fit in wavelets follows")
def test_degenerate_data_stay_finite(case, dtype):
    found = ngmca.separate(
        DEGENERATE[case].astype(dtype), 3, method=ngmca.Soft(n_iter=30), domain="wavelet", n_init=1
    )
    for array in (found.A, found.S, found.lam, found.noise):
        assert np.isfinite(array).all()
    assert (found.S >= 0).all()
    assert replace(found).domain.levels > 0
