"""The three algorithms: what they promise step by step, and how well they find sources."""

from dataclasses import replace

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.algorithms import Options
from ngmca.algorithms.first_guess import first_guess, revive, unit_columns
from ngmca.algorithms.restarts import choose
from ngmca.engines import robust_noise as noise
from ngmca.engines.memory import MemoryEngine
from ngmca.metrics import CEILING
from ngmca.nnqp import pivot, violation

METHODS = ("soft", "hard", "naive", "anls")


def small(seed=0, **settings):
    return ngmca.simulate.sparse(**{"m": 30, "n": 80, "r": 4, "snr": 20, "seed": seed} | settings)


def mean_sdr(method, seeds, r=15, tau=1.0, n_iter="auto", **settings):
    scores = []
    for seed in seeds:
        data = ngmca.simulate.sparse(r=r, seed=seed, **settings)
        result = ngmca.separate(data.Y, r, **records(method=method, tau=tau, n_iter=n_iter, seed=seed))
        scores.append(ngmca.evaluate(data.S, result.S).mean_sdr)
    return np.mean(scores)


# how well: the full study over 12 seeds is `python bench/accuracy.py`


@pytest.mark.parametrize(
    ("p_S", "snr", "least"), [(0.1, 15, 26.0), (0.3, 15, 21.0), (0.3, 30, 35.5), (0.5, 15, 17.4)]
)
def test_sources_are_found_in_noise(p_S, snr, least):
    assert mean_sdr("soft", range(4), p_S=p_S, snr=snr) >= least


def test_many_sources_without_noise():
    soft = mean_sdr("soft", range(1), r=40, tau=0, p_S=0.8)
    assert soft >= 19.5
    assert soft > mean_sdr("naive", range(1), r=40, tau=0, p_S=0.8)


def test_few_dense_sources_without_noise_suit_hard_and_naive_better():
    """This holds for a given number of iterations, as in the paper."""
    settings = {"r": 5, "tau": 0, "p_S": 0.8, "n_iter": 500}
    soft = mean_sdr("soft", range(4), **settings)
    assert mean_sdr("naive", range(4), **settings) > soft


def test_soft_is_the_most_robust_to_noise():
    settings = {"p_S": 0.1, "snr": 15}
    soft = mean_sdr("soft", range(2), **settings)
    assert soft > mean_sdr("hard", range(2), **settings) > mean_sdr("naive", range(2), **settings)


def test_bounded_refinement_pays():
    gain = []
    for seed in range(3):
        data = ngmca.simulate.sparse(p_S=0.3, snr=30, seed=seed)
        scores = [
            ngmca.evaluate(
                data.S, ngmca.separate(data.Y, 15, method=ngmca.Soft(bounded=on), seed=seed, n_init=1).S
            ).mean_sdr
            for on in (True, False)
        ]
        gain.append(scores[0] - scores[1])
    assert np.mean(gain) > 1.0


@pytest.mark.parametrize("method", METHODS)
def test_square_mixtures_never_break(method):
    """As many measurements as sources: singular Gram matrices and dying sources all the time."""
    for seed in range(10):
        data = ngmca.simulate.sparse(m=15, n=100, r=15, p_S=0.3, snr=15, seed=seed)
        result = ngmca.separate(data.Y, 15, **records(method=method, n_iter=80, seed=seed))
        for values in (result.A, result.S, result.lam, result.noise, result.history.cost):
            assert np.isfinite(values).all()
        assert (result.A >= 0).all()
        assert (result.S >= 0).all()
        np.testing.assert_allclose(np.linalg.norm(result.A, axis=0), 1)


# what the result says of itself


def test_the_result_is_certified():
    data = small()
    assert ngmca.separate(data.Y, 4, n_init=1).violation <= 1e-12
    result = ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=100), n_init=1)
    G, C = result.A.T @ result.A, result.A.T @ data.Y - result.lam[:, None]
    assert violation(G, C, result.S) <= 1e-12
    assert result.violation <= 1e-12
    assert (result.S == 0).mean() > 0.2
    np.testing.assert_allclose(np.linalg.norm(result.A, axis=0), 1, rtol=1e-14)
    assert result.history.cost[-1] == pytest.approx(np.sum((data.Y - result.A @ result.S) ** 2) / 2)
    assert result.history.active[-1] == (result.S > 0).mean()
    np.testing.assert_array_equal(result.history.threshold[-1], result.lam)
    assert len(result.history.cost) == len(result.history.violation) == result.n_iter
    with pytest.raises(AttributeError):
        result.A = None


def test_the_final_threshold_is_tau_times_the_noise_in_the_gradient():
    data = small()
    result = ngmca.separate(
        data.Y, 4, method=ngmca.Soft(tau=2.0, n_iter=50, refinement=0), noise=0.1, n_init=1
    )
    np.testing.assert_allclose(result.lam, 2.0 * noise.in_gradient(result.A, np.full(30, 0.1)))
    np.testing.assert_array_equal(result.noise, 0.1)


def test_noise_is_found_for_each_measurement():
    rng = np.random.default_rng(0)
    clean = ngmca.simulate.sparse(m=40, n=2000, r=3, p_S=0.1, seed=0)
    sigma = rng.uniform(0.02, 0.3, 40)
    Y = clean.Y + sigma[:, None] * rng.standard_normal(clean.Y.shape)
    found = ngmca.separate(Y, 3, n_init=1).noise
    np.testing.assert_allclose(found, sigma, rtol=0.3)  # shrinkage shows where there is little noise
    assert np.corrcoef(found, sigma)[0, 1] > 0.98


@pytest.mark.parametrize("method", ["soft", "hard"])
@pytest.mark.parametrize("refinement", [0.0, 0.2, 1.0])
def test_the_threshold_starts_at_the_peak_and_arrives_at_its_target(method, refinement):
    data = small()
    states = list(
        ngmca.iterate(
            data.Y,
            ngmca.Task(4, **records(method=method, n_iter=40, refinement=refinement, tol=0, noise=0.1)),
        )
    )
    assert [state.k for state in states] == list(range(1, 41))
    falls = 40 - int(40 * refinement)
    arrival = states[max(falls, 1) - 1]
    np.testing.assert_allclose(arrival.lam, noise.in_gradient(arrival.A, np.full(30, 0.1)))
    for state in states[falls:]:
        np.testing.assert_array_equal(state.lam, arrival.lam)
    if refinement < 1:
        decrease = np.array([state.lam for state in states[:falls]])
        assert (np.diff(decrease, axis=0) < 0).all()
        assert np.ptp(np.diff(decrease, axis=0), axis=0).max() < 1e-3 * decrease.max()  # a straight line


def test_the_first_threshold_is_the_peak_of_the_gradient_at_the_start():
    data = small()
    rng = np.random.default_rng(5)
    A, S = unit_columns(rng.random((30, 4)), rng.random((4, 80)))
    first = next(ngmca.iterate(data.Y, ngmca.Task(4, start=(A, S))))
    np.testing.assert_allclose(first.lam, np.abs(A.T @ (A @ S - data.Y)).max())


@pytest.mark.parametrize("method", ["soft", "hard", "naive"])
def test_without_a_final_threshold_it_still_starts_high_and_falls_to_zero(method):
    data = small(snr=None)
    states = list(ngmca.iterate(data.Y, ngmca.Task(4, **records(method=method, tau=0.0, n_iter=40))))
    assert (states[0].lam > 0).all()
    np.testing.assert_array_equal(states[-1].lam, 0)
    assert states[0].active < states[-1].active


def test_naive_activates_coefficients_at_a_steady_pace():
    data = small(n=400)
    states = list(ngmca.iterate(data.Y, ngmca.Task(4, method=ngmca.Naive(n_iter=50))))
    growth = np.diff([np.count_nonzero(state.S) for state in states[10:40]])
    assert growth.mean() > 0
    assert np.abs(growth - growth.mean()).max() < 4 * growth.mean()
    sigma = noise.mad(np.linalg.lstsq(states[-1].A, data.Y, rcond=None)[0])
    np.testing.assert_allclose(states[-1].lam, sigma)
    assert np.isnan(states[-1].violation)


def test_hard_entries_are_not_shrunk():
    data = small(snr=30)
    state = list(ngmca.iterate(data.Y, ngmca.Task(4, method=ngmca.Hard(n_iter=100))))[-1]
    active = state.S > 0
    gradient = state.A.T @ (state.A @ state.S - data.Y)
    assert np.abs(gradient[active]).max() < 1e-3 * state.lam.max()
    assert (-gradient[~active]).max() <= state.lam.max() * 1.01


def test_refinement_lowers_the_penalised_cost_at_every_iteration():
    data = small()
    states = list(ngmca.iterate(data.Y, ngmca.Task(4, method=ngmca.Soft(n_iter=60, refinement=0.5))))[
        30:
    ]
    costs = np.array([state.cost + state.lam @ state.S.sum(axis=1) for state in states])
    assert (np.diff(costs) <= 1e-9 * costs[0]).all()
    assert costs[-1] < costs[0]


def test_it_stops_when_nothing_moves_any_more():
    data = small()
    result = ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=2000, refinement=0.9), n_init=1)
    assert result.stopped == "settled"
    assert 200 < result.n_iter < 2000
    assert ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=20), n_init=1).stopped == "iterations"


def test_fista_as_solver_gives_nearly_the_same():
    data = small()
    exact = ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=100), n_init=1)
    paper = ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=100, solver="fista"), n_init=1)
    assert ngmca.evaluate(exact.S, paper.S).mean_sdr > 40
    assert 1e-15 < paper.violation < 1e-2


# starts


def test_a_given_start_is_used():
    data = ngmca.simulate.sparse(r=15, p_S=0.3, snr=15, seed=0)
    initialised = ngmca.separate(data.Y, 15, start=data, noise=data.noise.std(), n_init=1)
    plain = ngmca.separate(data.Y, 15, n_init=1)
    paper = ngmca.separate(data.Y, 15, method=ngmca.Soft(n_iter=300), n_init=1)
    difference = (
        ngmca.evaluate(data.S, initialised.S).mean_sdr - ngmca.evaluate(data.S, plain.S).mean_sdr
    )
    assert abs(difference) < 0.3  # the paper: "extremely small"
    again = ngmca.separate(
        data.Y, 15, method=ngmca.Soft(n_iter=1), start=(paper.A, paper.S), noise=paper.noise, n_init=1
    )
    np.testing.assert_allclose(again.S, paper.S, atol=1e-2 * paper.S.max())
    np.testing.assert_allclose(again.A, paper.A, rtol=1e-14)


def test_first_guess_explains_most_of_the_data():
    data = small(snr=None)
    engine = MemoryEngine(data.Y)
    A, S = first_guess(engine, 4, np.random.default_rng(0))
    assert np.linalg.norm(data.Y - A @ S) < 0.3 * np.linalg.norm(data.Y)
    np.testing.assert_allclose(np.linalg.norm(A, axis=0), 1)


def test_a_dead_source_is_revived_from_the_residual_and_the_others_are_not_touched():
    data = small(snr=None)
    A, S = unit_columns(data.A, data.S)
    A_dead, S_dead = A.copy(), S.copy()
    A_dead[:, 2] = 0
    A_new, S_new = revive(MemoryEngine(data.Y), A_dead, S_dead)
    np.testing.assert_array_equal(np.delete(A_new, 2, axis=1), np.delete(A, 2, axis=1))
    np.testing.assert_array_equal(np.delete(S_new, 2, axis=0), np.delete(S, 2, axis=0))
    np.testing.assert_array_equal(S_new[2], 0)
    np.testing.assert_allclose(A_new[:, 2], A[:, 2], atol=1e-12)  # all that is left over is that source
    assert A_dead[0, 2] == 0  # the caller's arrays are not changed


def test_several_dead_sources_get_different_directions():
    data = small(snr=None, p_S=0.05)
    A, S = unit_columns(data.A, data.S)
    true = A[:, [1, 3]].copy()
    A[:, [1, 3]] = 0
    A_new, _ = revive(MemoryEngine(data.Y), A, S)
    cosines = A_new[:, [1, 3]].T @ true
    assert cosines.max(axis=0).min() > 0.9
    assert set(cosines.argmax(axis=0)) == {0, 1}


@pytest.mark.parametrize("solver", ["pivot", "fista"])
def test_a_source_that_dies_in_the_start_comes_back(solver):
    data = small(snr=30)
    A, S = unit_columns(data.A, data.S)
    S[1] = 0
    A[:, 1] = 0
    result = ngmca.separate(
        data.Y, 4, method=ngmca.Soft(n_iter=200, solver=solver), start=(A, S), n_init=1
    )
    assert ngmca.evaluate(data.S, result.S).sdr.min() > 15


def test_restarts_keep_the_lowest_common_cost_and_report_how_they_differ():
    data = ngmca.simulate.sparse(m=10, n=200, r=10, p_S=0.2, snr=30, seed=1)
    best = ngmca.separate(data.Y, 10, method=ngmca.Soft(n_iter=100), n_init=6, seed=7)
    single = ngmca.separate(data.Y, 10, method=ngmca.Soft(n_iter=100), n_init=1, seed=7)
    assert len(best.restarts) == 6
    assert single.restarts == ()
    costs = [restart.cost for restart in best.restarts]
    chosen = int(np.argmin(costs))
    assert best.restarts[chosen].agreement == CEILING
    assert min(restart.agreement for restart in best.restarts) < 30
    for restart in best.restarts:
        assert np.mean(restart.sources) == pytest.approx(restart.agreement)
    if chosen > 0:  # source by source, in the order of the chosen ones
        expected = ngmca.evaluate(best.S, single.S).sdr
        np.testing.assert_allclose(best.restarts[0].sources, expected)
        assert np.ptp(expected) > 1
    assert np.ptp(costs) > 0
    scores = [ngmca.evaluate(data.S, result.S).mean_sdr for result in (best, single)]
    if chosen == 0:
        np.testing.assert_array_equal(best.S, single.S)
    else:
        assert scores[0] > scores[1]


def test_restarts_are_compared_at_one_common_threshold():
    """A run that claims little noise must not win by its low threshold alone."""
    data = small(snr=15)
    good = ngmca.separate(data.Y, 4, n_init=1)
    rng = np.random.default_rng(0)
    bad = replace(good, A=unit_columns(rng.random(good.A.shape), good.S)[0], noise=good.noise / 1000)
    engine = MemoryEngine(data.Y)
    chosen = choose(engine, [bad, good], Options())
    common = np.mean([noise.in_gradient(run.A, run.noise) for run in (bad, good)])
    S = pivot(good.A.T @ good.A, good.A.T @ data.Y - common).X
    cost = np.sum((data.Y - good.A @ S) ** 2) / 2 + common * S.sum()
    assert chosen.A is good.A
    assert chosen.restarts[1].cost == pytest.approx(cost)
    assert chosen.restarts[0].cost > cost


def test_restarts_of_plain_factorisation_keep_the_lowest_plain_cost():
    data = ngmca.simulate.sparse(m=20, n=200, r=6, p_S=0.3, snr=15, seed=0)
    best = ngmca.separate(data.Y, 6, method=ngmca.Anls(n_iter=60), n_init=5)
    assert best.history.cost[-1] == pytest.approx(
        min(restart.cost for restart in best.restarts), rel=1e-9
    )


@pytest.mark.parametrize("method", ["soft", "hals"])
def test_seeds_are_left_alone(method):
    data = small()
    seed = np.random.SeedSequence(3)
    first, second = (
        ngmca.separate(data.Y, 4, **records(method=method, n_iter=5, seed=seed)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.S, second.S)
    assert seed.n_children_spawned == 0


def test_records_are_short_to_print_and_can_be_compared():
    data = small()
    result = ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=5), n_init=1)
    assert len(repr(result)) < 200
    assert result != ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=5), n_init=1)
    assert result == result


def test_the_first_restart_does_not_depend_on_their_number():
    data = small()
    one = ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=20), n_init=1, seed=3)
    three = ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=20), n_init=3, seed=3)
    if three.restarts[0].agreement == CEILING:
        np.testing.assert_array_equal(one.S, three.S)
    else:
        assert ngmca.evaluate(three.S, one.S).mean_sdr == pytest.approx(three.restarts[0].agreement)


def test_progress_is_shown_when_asked(capsys):
    data = small()
    ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=5), n_init=1)
    assert not any(capsys.readouterr())
    ngmca.separate(data.Y, 4, method=ngmca.Soft(n_iter=5), progress=True, n_init=1)
    assert capsys.readouterr().err == "separating: done, 0 s\n"


def test_lines_tell_how_far_it_is_where_no_bar_can_be_drawn(capsys, monkeypatch):
    monkeypatch.setattr("ngmca._support.progress.SECONDS", 0.0)
    monkeypatch.setattr("ngmca._support.progress.GROWTH", 0.0)
    method = ngmca.Soft(n_iter=3)
    ngmca.separate(small().Y, 4, method=method, domain="direct", progress=True, n_init=1)
    lines = capsys.readouterr().err.splitlines()
    assert [line.rsplit(",", 1)[0] for line in lines] == [
        *(f"separating: {k} of at most 3" for k in (1, 2, 3)),
        "separating: done",
    ]


# the accelerated schedule, and plain factorisation


@pytest.mark.parametrize(("p_S", "snr"), [(0.1, 15), (0.3, 30), (0.5, 30)])
def test_auto_is_as_good_as_five_hundred_iterations(p_S, snr):
    difference, iterations = [], []
    for seed in range(2):
        data = ngmca.simulate.sparse(p_S=p_S, snr=snr, seed=seed)
        auto, plain = (
            ngmca.separate(data.Y, 15, method=ngmca.Soft(n_iter=n), seed=seed, n_init=1)
            for n in ("auto", 500)
        )
        scores = [ngmca.evaluate(data.S, result.S).mean_sdr for result in (auto, plain)]
        difference.append(scores[0] - scores[1])
        iterations.append(auto.n_iter)
        assert auto.stopped == "settled"
    assert np.mean(difference) > -0.1
    assert max(iterations) < 500 / 4


def test_extrapolation_gets_to_a_lower_cost_than_plain_alternation():
    data = ngmca.simulate.sparse(m=60, n=300, r=8, p_S=0.3, snr=20, seed=0)
    start = first_guess(MemoryEngine(data.Y), 8, np.random.default_rng(0))
    fast = list(ngmca.iterate(data.Y, ngmca.Task(8, method=ngmca.Anls(n_iter=30), start=start)))
    # soft without a threshold is the same alternation, without the extrapolation
    plain = list(
        ngmca.iterate(
            data.Y, ngmca.Task(8, method=ngmca.Soft(tau=0.0, n_iter=30, refinement=1.0), start=start)
        )
    )
    assert plain[0].cost == fast[0].cost
    assert fast[-1].cost < plain[-1].cost


def test_anls_is_stationary():
    """At the end neither factor can be improved alone: the KKT conditions of plain factorisation."""
    data = small()
    result = ngmca.separate(data.Y, 4, method=ngmca.Anls(n_iter=2000, tol=1e-9), n_init=1)
    assert result.stopped == "settled"
    A, S = result.A, result.S
    assert violation(A.T @ A, A.T @ data.Y, S) <= 1e-12
    assert violation(S @ S.T, S @ data.Y.T, A.T) <= 1e-6
    assert (S == 0).mean() > 0.05
    assert np.isfinite(result.noise).all()
    np.testing.assert_array_equal(result.lam, 0)
