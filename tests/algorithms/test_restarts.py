"""Several starts: at the same time, with the same answer; and how far equally good answers differ."""

import _thread
import threading
from concurrent.futures import wait as futures_wait
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.algorithms import restarts
from ngmca.algorithms.restarts import at_once, with_restarts
from ngmca.answers import how_sure
from ngmca.engines import open_data, workers_for
from ngmca.engines.memory import MemoryEngine
from ngmca.metrics import CEILING
from ngmca.nnqp import pivot
from ngmca.task import driver
from ngmca.task.compared_starts import compared
from ngmca.task.driver import Prepared, StoppedRunError, Watcher
from ngmca.task.problem import Problem

CLEAR = ngmca.simulate.sparse(m=20, n=200, r=3, p_S=0.3, snr=30, seed=0)
DENSE = ngmca.simulate.sparse(m=4, n=200, r=3, p_S=1.0, seed=0)  # without zeros any rotation fits
BANDS = ngmca.simulate.bands(m=12, n=128, r=3, seed=0)


def gaps(Y):
    return np.where(np.random.default_rng(0).random(Y.shape) < 0.1, np.nan, Y)


@pytest.mark.parametrize(
    ("Y", "options"),
    [
        (CLEAR.Y, {"domain": "direct"}),
        (gaps(CLEAR.Y), {"domain": "direct", "n_iter": 20}),
        (BANDS.Y, {"domain": "wavelet", "n_iter": 10}),
        (gaps(BANDS.Y), {"domain": "wavelet", "n_iter": 10}),
        (CLEAR.Y, {"method": "naive", "n_iter": 20}),
        (CLEAR.Y, {"robust": True, "n_iter": 10}),
    ],
)
def test_starts_at_the_same_time_give_the_same_bits(monkeypatch, Y, options):
    where = set()
    states = Problem.states

    def noted(*arguments, **named):
        where.add(threading.current_thread().name)
        return states(*arguments, **named)

    monkeypatch.setattr(Problem, "states", noted)
    one = ngmca.separate(Y, 3, threads=1, **records(n_init=4, **options))
    assert where == {"MainThread"}
    where.clear()
    two = ngmca.separate(Y, 3, threads=2, **records(n_init=4, **options))
    assert "MainThread" not in where
    for name in ("A", "S", "lam", "noise"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.restarts == two.restarts


def test_large_data_have_all_threads_for_one_start_at_a_time():
    assert workers_for(MemoryEngine(np.ones((10, 100))), 3, threads=4) == 4
    large = MemoryEngine(np.ones((10, 1_000_000), dtype=np.float32), threads=4)
    assert workers_for(large, 3, threads=4) == 1


def until(stopped):
    for _ in range(1000):
        if stopped():
            return True
        threading.Event().wait(0.01)
    return False


def test_results_are_in_order_whatever_ends_first():
    first = threading.Event()

    def work(k, stopped):
        assert first.wait(60) if k == 0 else True
        first.set()
        return k * k

    assert at_once(work, range(5), 2) == [0, 1, 4, 9, 16]


def test_an_error_in_one_start_ends_all_and_comes_through_once():
    ended, running = [], threading.Event()

    def work(k, stopped):
        if k == 0:
            running.set()
            ended.append(until(stopped))
        elif k == 1:
            assert running.wait(60)
            raise ValueError("this start")
        else:
            ended.append(k)

    with pytest.raises(ValueError, match="this start"):
        at_once(work, range(10), 2)
    assert ended[-1] is True
    assert len(ended) < 9  # others were not begun


def test_ctrl_c_ends_all(monkeypatch):
    ended, running, waiting = [], threading.Barrier(2), threading.Event()

    def wait(*arguments):
        waiting.set()
        return futures_wait(*arguments)

    def work(k, stopped):
        running.wait(60)
        if k == 1:
            assert waiting.wait(60)  # until then not even all threads need be known
            _thread.interrupt_main()
        ended.append(until(stopped))

    monkeypatch.setattr(restarts, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        at_once(work, range(2), 2)
    assert ended == [True, True]


class Seen(Watcher):
    """What a watcher is told, and an error or a stop at an iteration."""

    def __init__(self, fails=None, stops=None):
        self.states, self.began, self.fails, self.stops = [], None, fails, stops
        self.failed = threading.Event()

    def begins(self, iterations, starts):
        self.began = iterations, starts

    def sees(self, state, start):
        self.states.append((start, state.k))
        if (start, state.k) == self.fails:
            self.failed.set()
            raise ValueError("this start")
        if self.fails and (start, state.k) == (0, 5) and threading.current_thread().name != "MainThread":
            assert self.failed.wait(60)

    def wants_stop(self):
        return self.stops is not None and self.states[-1:] == [self.stops]


def prepared(n_init=3, n_iter=20):
    return Prepared(
        ngmca.Task(3, ngmca.Soft(n_iter=n_iter), "direct", n_init=n_init), open_data(CLEAR.Y)
    )


def test_a_watcher_sees_every_state_of_every_start():
    seen = Seen()
    found = prepared().find(threads=1, watchers=[seen])
    assert seen.began == (20, 3)
    assert seen.states == [(start, k) for start in range(3) for k in range(1, 21)]
    np.testing.assert_array_equal(found.S, prepared().find(threads=2, watchers=[Seen()]).S)


@pytest.mark.parametrize("threads", [1, 2])
def test_starts_that_are_stopped_end_at_their_next_state(threads):
    with pytest.raises(StoppedRunError, match="stopped at iteration 3 of 20"):
        prepared(n_init=1).find(threads=threads, watchers=[Seen(stops=(0, 3))])
    seen = Seen(fails=(1, 3))
    with pytest.raises(ValueError, match="this start"):
        prepared(n_init=8, n_iter=500).find(threads=threads, watchers=[seen])
    assert (1, 4) not in seen.states
    assert len({start for start, _ in seen.states}) < 8  # others were not begun
    if threads == 2:  # the start beside it ends soon, not after its 500 iterations
        assert max(k for start, k in seen.states if start == 0) < 500


def test_the_first_start_is_told_before_the_others_begin_and_may_be_given():
    class First(Seen):
        ended = None

        def first_start_ends(self, found):
            assert {start for start, _ in self.states} == {0}
            self.ended = found

    seen = First()
    found = prepared().find(watchers=[seen])
    single = prepared(n_init=1).find()
    np.testing.assert_array_equal(seen.ended.S, single.S)
    again = Seen()
    rest = prepared().find(watchers=[again], first=single)
    assert {start for start, _ in again.states} == {1, 2}
    np.testing.assert_array_equal(rest.S, found.S)
    assert rest.restarts == found.restarts


def test_small_data_have_several_starts_by_default_and_large_ones_have_one():
    assert len(ngmca.separate(CLEAR.Y, 3, method=ngmca.Soft(n_iter=5)).restarts) == 5
    task = ngmca.Task(3)
    assert task.starts((20, 200)) == 5
    assert task.starts((1000, 1000)) == 1
    assert ngmca.Task(3, n_init=2).starts((1000, 1000)) == 2
    assert ngmca.Task(3, start=(CLEAR.A, CLEAR.S)).starts((20, 200)) == 1
    assert ngmca.Task(3, method="hals").starts((20, 200)) == 1


def test_answers_that_fit_equally_well_have_a_range_and_all_of_them_lie_in_it():
    found = ngmca.separate(DENSE.Y, 3, method=ngmca.Anls(n_iter=100), n_init=4)
    others = found.others
    assert others.count == 3
    assert others.differs.all()
    width = (others.S_high - others.S_low).mean(axis=1) / found.S.mean(axis=1)
    assert width.min() > 0.1
    assert (others.S_low <= found.S).all()
    assert (others.S_high >= found.S).all()
    assert (others.A_low <= found.A).all()
    assert (others.A_high >= found.A).all()
    single = ngmca.separate(DENSE.Y, 3, method=ngmca.Anls(n_iter=100), n_init=1)  # the first of them
    matched = ngmca.evaluate(found.S, single.S).S
    matched *= (np.linalg.norm(found.S, axis=1) / np.linalg.norm(matched, axis=1))[:, None]
    room = 1e-9 * found.S.max()
    assert (others.S_low - room <= matched).all()
    assert (matched <= others.S_high + room).all()
    kinds = {one.kind for one in how_sure.findings(found, how_sure.diagnose(DENSE.Y, found))}
    assert "starts" in kinds


def test_one_answer_has_no_range():
    found = ngmca.separate(CLEAR.Y, 3, n_init=4)
    assert [one.equal for one in found.restarts] == [True] * 4
    assert found.others is None
    assert ngmca.separate(CLEAR.Y, 3, n_init=1).others is None


def test_costs_of_noiseless_data_are_equal_next_to_nothing():
    """All of them fit to 80 dB and more: by how much tells of iterations, not of the data."""
    found = ngmca.separate(DENSE.Y, 3, method=ngmca.Anls(n_iter=100), n_init=4)
    costs = np.array([one.cost for one in found.restarts])
    assert costs.max() > 1.1 * costs.min()
    assert costs.max() < 1e-8 * np.sum(DENSE.Y**2)
    assert all(one.equal for one in found.restarts)


@pytest.fixture
def all_runs(monkeypatch):
    """What was chosen from."""
    seen = []
    real = driver.choose

    def choose(engine, runs, options, **given):
        seen.extend(runs)
        return real(engine, runs, options, **given)

    monkeypatch.setattr(driver, "choose", choose)
    return seen


def test_starts_are_compared_in_units_of_the_noise(all_runs):
    """Half of the measurements are in another unit: the sources that they show are 100 times as high."""
    rng = np.random.default_rng(0)
    S = ngmca.simulate.sparse(m=10, n=200, r=6, p_S=0.3, seed=0).S
    A = rng.random((8, 6))
    A[:4, 3:] *= 0.02
    A[4:, :3] *= 0.02
    A /= np.linalg.norm(A, axis=0)
    unit = np.repeat([1.0, 100.0], 4)[:, None]
    noise = 0.1 * (A @ S).std() * unit
    Y = unit * (A @ S) + noise * rng.standard_normal((8, 200))
    found = ngmca.separate(Y, 6, n_init=6, domain="direct", noise=noise[:, 0])
    scores = [ngmca.evaluate(S, run.S).mean_sdr for run in all_runs]
    assert ngmca.evaluate(S, found.S).mean_sdr > max(scores) - 0.5
    assert np.ptp(scores) > 3


@pytest.mark.parametrize("known", ["closure", "sources"])
def test_starts_under_constraints_are_compared_at_unit_columns_and_a_common_threshold(all_runs, known):
    rng = np.random.default_rng(1)
    S = ngmca.simulate.sparse(m=10, n=150, r=4, p_S=0.3, seed=1).S
    Y = rng.dirichlet(np.ones(4), 10) @ S
    Y += 0.1 * Y.std() * rng.standard_normal(Y.shape)
    given = [ngmca.Closure()] if known == "closure" else [ngmca.KnownSources(S[:1])]
    found = ngmca.separate(Y, 4, n_init=3, domain="direct", noise=0.1 * Y.std(), constraints=given)
    lam, fixed = 0.1 * Y.std(), 1 if known == "sources" else 0
    for run, restart in zip(all_runs, found.restarts, strict=True):
        norm = np.linalg.norm(run.A, axis=0)
        assert np.abs(norm - 1).max() > 0.01
        U = (run.A / norm)[:, fixed:]
        rest = Y - run.A[:, :fixed] @ run.S[:fixed]
        X = pivot(U.T @ U, U.T @ rest - lam).X
        cost = np.sum((rest - U @ X) ** 2) / 2 + lam * X.sum()
        assert restart.cost == pytest.approx(cost, rel=1e-6)


def test_a_start_pays_for_the_spikes_that_it_leaves_out():
    """What every run leaves out is not free, but costs as much as an entry that is just no spike."""
    Y = CLEAR.Y.copy()
    Y[3, 50] += 10 * Y.max()
    found = ngmca.separate(Y, 3, n_init=1, robust=True, domain="direct")
    problem = Problem.of(ngmca.Task(3, robust=True, domain="direct"), open_data(Y))
    assert [3, 50] in found.outliers.tolist()
    more = replace(found, outliers=np.vstack([found.outliers, [[5, j] for j in range(20)]]))
    engine, options, fits = compared(problem, [found, more])
    for run, fit in zip((found, more), fits, strict=True):
        left_out = np.zeros(Y.shape, dtype=bool)
        left_out[tuple(run.outliers.T)] = True
        np.testing.assert_array_equal(fit.engine.weights == 0, left_out)
    one, other = restarts.choose(engine, [found, more], options, fits=fits).restarts
    assert one.cost < other.cost


@pytest.fixture(scope="module")
def found():
    return ngmca.separate(CLEAR.Y, 3, n_init=1)


def permuted(found, order, S, **changes):
    return replace(found, A=found.A[:, order], S=S[order], **changes)


def test_sources_in_another_order_and_scale_are_the_same(found):
    scaled = found.S * np.array([1.0, 3.0, 0.2])[:, None]
    other = permuted(found, [2, 0, 1], scaled)
    best = with_restarts([found, other], [1.0, 1.0], 0.0)
    assert best.others is None
    assert best.restarts[1].sources == pytest.approx((CEILING,) * 3)


def test_the_range_is_that_of_the_source_which_differs(found):
    S = found.S.copy()
    S[1] = np.roll(S[1], 1)
    other = permuted(found, [2, 0, 1], S)
    others = with_restarts([found, other], [1.0, 1.0], 0.0).others
    assert others.differs.tolist() == [False, True, False]
    assert others.count == 1
    np.testing.assert_allclose(others.S_high[1], np.maximum(found.S[1], S[1]), rtol=1e-12)
    np.testing.assert_allclose(others.S_low[1], np.minimum(found.S[1], S[1]), rtol=1e-12)
    np.testing.assert_array_equal(others.S_low[[0, 2]], found.S[[0, 2]])
    np.testing.assert_array_equal(others.A_low, others.A_high)


def test_weights_that_differ_have_a_range_in_the_order_of_their_sources(found):
    A, S = found.A.copy(), found.S.copy()
    S[1] = np.roll(S[1], 1)
    A[:, 1] = A[::-1, 1]
    others = with_restarts([found, permuted(replace(found, A=A), [2, 0, 1], S)], [1.0, 1.0], 0.0).others
    np.testing.assert_allclose(others.A_high[:, 1], np.maximum(found.A[:, 1], A[:, 1]), rtol=1e-12)
    np.testing.assert_array_equal(others.A_low[:, [0, 2]], found.A[:, [0, 2]])


def test_a_worse_answer_is_in_no_range(found):
    other = replace(found, S=np.roll(found.S, 1, axis=1))
    assert with_restarts([found, other], [1.0, 1.02], 0.0).others is None
    assert with_restarts([found, other], [1.0, 1.005], 0.0).others.count == 1
    assert with_restarts([other, found], [-0.995, -1.0], 0.0).S is found.S


def test_a_known_scale_that_differs_is_a_difference(found):
    """Under a closure, say, columns of A do not have norm 1, and amounts are what is asked for."""
    sized = replace(found, A=found.A * 2, S=found.S / 2)
    other = replace(sized, A=sized.A / 1.3, S=sized.S * 1.3)
    others = with_restarts([sized, other], [1.0, 1.0], 0.0).others
    np.testing.assert_allclose(others.S_high, 1.3 * sized.S)
    np.testing.assert_allclose(others.A_low, sized.A / 1.3)


def test_sources_that_are_silent_in_both_agree(found):
    S = found.S.copy()
    S[1] = 0
    silent = replace(found, S=S)
    best = with_restarts([silent, permuted(silent, [1, 2, 0], S)], [1.0, 1.0], 0.0)
    assert best.restarts[1].agreement == pytest.approx(CEILING)
    assert best.others is None
    others = with_restarts([silent, found], [1.0, 1.0], 0.0).others
    np.testing.assert_array_equal(others.S_high[1], found.S[1])


@pytest.mark.parametrize("unit", [2.0**-500, 2.0**500])
def test_the_range_has_the_units_of_the_data(unit):
    plain, large = (
        ngmca.separate(DENSE.Y * u, 3, method=ngmca.Anls(n_iter=50), n_init=3) for u in (1.0, unit)
    )
    np.testing.assert_array_equal(large.others.S_high, plain.others.S_high * unit)
    np.testing.assert_array_equal(large.others.A_high, plain.others.A_high)
    assert [one.equal for one in large.restarts] == [one.equal for one in plain.restarts]


def test_data_elsewhere_are_asked_by_one_start_at_a_time():
    """Their engines remember the last sweep, which must be that of the start that asks."""
    Y = np.ones((4, 30))
    assert workers_for(open_data(Y), 2, 2) == 2
    assert workers_for(open_data(Y, lazily=True), 2, 2) == 1
    assert workers_for(open_data(da.from_array(Y)), 2) == 1


def test_starts_of_many_measurements_do_not_depend_on_each_other():
    """Above 2,048 measurements noise levels have a memory: each start begins with an empty one."""
    Y = ngmca.simulate.sparse(2100, 40, 2, snr=15, seed=0).Y
    options = {"method": ngmca.Soft(n_iter=12), "domain": "direct"}
    several = ngmca.separate(Y, 2, n_init=3, **options)
    again = ngmca.separate(Y, 2, n_init=3, threads=1, **options)
    np.testing.assert_array_equal(several.S, again.S)
    engine = ngmca.engines.open_data(Y)
    first, second = (ngmca.separate(engine, 2, n_init=1, **options) for _ in range(2))
    np.testing.assert_array_equal(first.S, second.S)
    np.testing.assert_array_equal(first.noise, second.noise)
