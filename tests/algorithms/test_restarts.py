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
from ngmca import separation
from ngmca.algorithms import restarts
from ngmca.algorithms.restarts import at_once, with_restarts
from ngmca.engines import open_data, workers_for
from ngmca.engines.memory import MemoryEngine
from ngmca.metrics import CEILING

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
    collect = separation._collect

    def noted(*arguments):
        where.add(threading.current_thread().name)
        return collect(*arguments)

    monkeypatch.setattr(separation, "_collect", noted)
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


def test_a_start_that_is_stopped_ends_at_its_next_state():
    seen = []

    def states():
        for state in ngmca.iterate(CLEAR.Y, 3):
            seen.append(state.k)
            yield state

    separation._collect(states(), lambda: len(seen) == 3)
    assert seen == [1, 2, 3]


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
    told = {
        f.kind
        for f in ngmca.answers.how_sure.findings(found, ngmca.answers.how_sure.diagnose(DENSE.Y, found))
    }
    assert "starts" in told


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
