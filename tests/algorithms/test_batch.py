"""Many starts in one batch on a GPU, with NumPy in place of CuPy: what each of them would be alone."""

from functools import partial

import numpy as np
import pytest
from host_device import HostDevice, needs_compiler
from task_options import records

import ngmca
from ngmca import simulate
from ngmca.algorithms import batch_of_starts as batch
from ngmca.algorithms import first_guess as start
from ngmca.algorithms import restarts, reweighted_channels
from ngmca.algorithms.constraint_arrays import FREE
from ngmca.engines import by_residual, opening
from ngmca.engines.gpu import stacks
from ngmca.engines.gpu.engine import ROOM, GpuEngine
from ngmca.engines.memory import MemoryEngine
from ngmca.task import driver
from ngmca.task.problem import Problem

pytestmark = needs_compiler


@pytest.fixture
def device(monkeypatch):
    """A GPU in place of the real one, to which `separate` finds its way."""
    found = HostDevice()
    monkeypatch.setattr(opening, "open_device", lambda: found)
    return found


@pytest.fixture
def alone(monkeypatch):
    """Every separation that was chosen from, whichever way they were run."""
    seen = []
    real = driver.choose

    def choose(engine, runs, options, **given):
        seen.append(runs)
        return real(engine, runs, options, **given)

    monkeypatch.setattr(driver, "choose", choose)
    return seen


@pytest.fixture(scope="module")
def mixture():
    return simulate.sparse(30, 60, 4, snr=15.0, p_S=0.3, seed=0)


def counted(monkeypatch):
    """How many starts went into each batch."""
    sizes = []
    real = batch._Batch.__init__

    def init(self, engine, stacks, options, rngs):
        sizes.append(len(rngs))
        real(self, engine, stacks, options, rngs)

    monkeypatch.setattr(batch._Batch, "__init__", init)
    return sizes


def begun(engine, rngs):
    """Return a batch of starts for four sources."""
    problem = Problem.of(ngmca.Task(4), engine)
    return batch._Batch(problem.engine, problem.engine.stacks(4), problem.options, rngs)


def same(one, other, tolerance=1e-8):
    """All that a separation tells, but for the history's certificates, which are rounding."""
    for name in ("A", "S", "lam", "noise"):
        expected = getattr(other, name)
        size = np.abs(expected).max() or 1.0
        np.testing.assert_allclose(getattr(one, name), expected, atol=tolerance * size, err_msg=name)
    assert (one.n_iter, one.stopped) == (other.n_iter, other.stopped)
    for name in ("cost", "threshold", "active"):
        np.testing.assert_allclose(
            getattr(one.history, name), getattr(other.history, name), rtol=tolerance, atol=1e-12
        )
    assert one.history.violation.max() < 1e-11
    bounded = other.history.mixing_violation
    np.testing.assert_allclose(one.history.mixing_violation, bounded, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"domain": "direct", "tau": 2.0},
        {"n_iter": 12},
        {"n_iter": 12, "refinement": 0.0},
        {"n_iter": 1},
        {"bounded": False},
        {"tau": 0.0, "n_iter": 30},
        {"tol": 1e-9, "n_iter": 30},
        {"noise": 0.2},
        {"noise": 1e-200, "n_iter": 30},
        {"method": "anls"},
        {"method": "anls", "noise": 0.2, "tol": 1e-3},
    ],
)
def test_every_start_is_what_it_would_be_alone(device, alone, mixture, monkeypatch, options):
    sizes = counted(monkeypatch)
    there, here = (
        ngmca.separate(mixture.Y, 4, **records(n_init=5, seed=1, device=device, **options))
        for device in ("cuda", "cpu")
    )
    assert sizes == [5]
    together, one_by_one = alone
    for one, other in zip(together, one_by_one, strict=True):
        same(one, other)
    same(there, here)
    np.testing.assert_allclose(
        [one.cost for one in there.restarts], [one.cost for one in here.restarts], rtol=1e-8
    )
    assert [one.equal for one in there.restarts] == [one.equal for one in here.restarts]


def test_starts_leave_the_batch_when_they_have_settled(device, alone, monkeypatch):
    Y = simulate.sparse(12, 40, 4, snr=10.0, p_S=0.6, seed=2).Y
    lengths = []
    real = batch._Batch._note

    def note(self, going, sweep):
        lengths.append(len(going.which))
        real(self, going, sweep)

    monkeypatch.setattr(batch._Batch, "_note", note)
    for device in ("cuda", "cpu"):
        ngmca.separate(Y, 4, n_init=7, device=device)
    together, one_by_one = alone
    wanted = [one.n_iter for one in one_by_one]
    assert len(set(wanted)) > 3  # they end at different times, and not in their order
    assert wanted != sorted(wanted)
    assert [one.n_iter for one in together] == wanted
    batched = [n - reweighted_channels.ITERATIONS for n in wanted]
    assert lengths == [sum(k <= n for n in batched) for k in range(1, max(batched) + 1)]
    for one, other in zip(together, one_by_one, strict=True):
        same(one, other, 1e-6)


def test_a_source_that_dies_comes_back_as_it_would_alone(device, alone, monkeypatch):
    Y = simulate.sparse(10, 40, 2, snr=10.0, p_S=0.3, seed=0).Y  # of sources that there are not
    revived = []
    real = start.revive

    def revive(engine, A, S, *known):
        if not A.any(axis=0).all():
            revived.append(type(engine))
        return real(engine, A, S, *known)

    for place in (start, batch):
        monkeypatch.setattr(place, "revive", revive)
    monkeypatch.setattr("ngmca.algorithms.soft_and_hard.revive", revive)
    for device in ("cuda", "cpu"):
        ngmca.separate(Y, 6, method=ngmca.Soft(n_iter=25), n_init=4, seed=3, device=device)
    assert revived.count(GpuEngine) == revived.count(MemoryEngine) > 0
    for one, other in zip(*alone, strict=True):
        same(one, other)


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
def test_units_of_the_data_do_not_matter(device, mixture, unit):
    there, here = (
        ngmca.separate(mixture.Y * unit, 4, method=ngmca.Soft(n_iter=12), n_init=3, device=device)
        for device in ("cuda", "cpu")
    )
    np.testing.assert_allclose(there.A, here.A, atol=1e-8)
    np.testing.assert_allclose(there.S / unit, here.S / unit, atol=1e-7)
    np.testing.assert_allclose(there.noise / unit, here.noise / unit, rtol=1e-8)


@pytest.mark.parametrize(
    ("shape", "r"), [((1, 30), 1), ((7, 1), 1), ((30, 5), 3), ((20, 40), 1), ((5, 90), 5)]
)
def test_every_shape(device, alone, shape, r):
    Y = np.random.default_rng(0).random(shape)
    for device in ("cuda", "cpu"):
        ngmca.separate(Y, r, method=ngmca.Soft(n_iter=9), n_init=3, device=device, domain="direct")
    for one, other in zip(*alone, strict=True):
        same(one, other)


@pytest.mark.parametrize("Y", [np.zeros((6, 20)), np.eye(6), -np.ones((6, 20))])
def test_degenerate_data(device, alone, Y):
    for device in ("cuda", "cpu"):
        ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=9), n_init=3, device=device)
    for one, other in zip(*alone, strict=True):
        np.testing.assert_allclose(one.A @ one.S, other.A @ other.S, atol=1e-8)
        np.testing.assert_allclose(one.history.cost, other.history.cost, atol=1e-8)
        assert np.isfinite(one.A).all()


def test_data_without_noise_have_no_threshold_left(device, alone):
    """The noise of a perfect fit is 0: A is not bounded then, which may be so for some starts only."""
    rng = np.random.default_rng(0)
    A, S = np.eye(6)[:, :3], np.zeros((3, 30))
    S[np.arange(30) % 3, np.arange(30)] = 1 + rng.integers(1, 9, 30)
    for device in ("cuda", "cpu"):
        ngmca.separate(A @ S, 3, method=ngmca.Soft(n_iter=45), n_init=4, device=device, domain="direct")
    thresholds = [bool(one.lam.any()) for one in alone[1]]
    assert not all(thresholds)
    assert [bool(one.lam.any()) for one in alone[0]] == thresholds
    for one, other in zip(*alone, strict=True):
        np.testing.assert_allclose(one.A, other.A, atol=1e-6)
        np.testing.assert_allclose(one.S, other.S, atol=1e-6 * S.max())


def test_bounded_and_exact_steps_side_by_side(device, mixture):
    work = begun(GpuEngine(mixture.Y, device), np.random.default_rng(0).spawn(3))
    going = work._first()
    solve = partial(device.solve_each, shift=going.lam / 20)
    sweep = work._stacks.sweep(going.seen, going.X, solve)
    steps = [work._a_step(sweep, going.seen.A, np.full(3, bounded)) for bounded in (True, False)]
    mixed = work._a_step(sweep, going.seen.A, np.array([True, False, True]))
    assert not np.allclose(steps[0][0], steps[1][0])
    for i, bounded in enumerate((True, False, True)):
        for part, whole in zip(mixed, steps[0] if bounded else steps[1], strict=True):
            np.testing.assert_array_equal(part[i], whole[i])


def test_sources_of_a_sweep_stay_as_they_are_when_one_is_revived(device, mixture):
    work = begun(GpuEngine(mixture.Y, device), [np.random.default_rng(0)] * 2)
    going = work._first()
    A, X = going.seen.A.copy(), going.X.copy()
    A[1, :, 2] = 0
    for scale in (True, False):
        found, sources = work._sound(A, X, scale=scale)
        np.testing.assert_array_equal(X, going.X)
        assert found.any(axis=1).all()
        assert not sources[1, :, 2].any()
        np.testing.assert_allclose(sources[0], X[0], rtol=1e-12)


def test_single_precision(device, alone, mixture):
    Y = mixture.Y.astype(np.float32)
    for device in ("cuda", "cpu"):
        ngmca.separate(Y, 4, method=ngmca.Soft(n_iter=12), n_init=5, seed=1, device=device)
    for one, other in zip(*alone, strict=True):
        assert one.S.dtype == one.A.dtype == np.float32
        assert 0 < one.history.violation.max() <= 1e-5
        np.testing.assert_allclose(one.A, other.A, atol=1e-4)
        np.testing.assert_allclose(one.S, other.S, atol=1e-4 * other.S.max())
        np.testing.assert_allclose(one.noise, other.noise, rtol=1e-3)


def test_the_number_of_starts_and_of_batches_changes_nothing(device, alone, mixture, monkeypatch):
    sizes = counted(monkeypatch)
    run = partial(ngmca.separate, mixture.Y, 4, method=ngmca.Soft(n_iter=20), device="cuda")
    many, again = (run(n_init=7) for _ in range(2))
    monkeypatch.setattr(stacks, "MOST_AT_ONCE", 3)
    parts = run(n_init=7)
    monkeypatch.setattr(stacks, "MOST_AT_ONCE", 2)
    run(n_init=2)
    assert sizes == [7, 7, 3, 3, 1, 2]
    assert many.restarts == again.restarts
    for name in ("A", "S", "lam", "noise"):  # to the bit
        np.testing.assert_array_equal(getattr(many, name), getattr(again, name))
    same(parts, many)
    for runs in alone[1:]:
        for one, other in zip(runs, alone[0], strict=False):
            same(one, other)


def test_what_does_not_suit_a_batch_is_run_one_by_one(device, mixture, monkeypatch):
    sizes = counted(monkeypatch)
    levels = np.linspace(0.1, 0.3, 30)
    for options in ({"n_init": 1}, {"method": "hard"}, {"solver": "fista"}, {"noise": levels}):
        given = {"n_init": 2, "n_iter": 3} | options
        ngmca.separate(mixture.Y, 4, **records(device="cuda", **given))
    ngmca.separate(mixture.Y, 4, method=ngmca.Soft(n_iter=3), n_init=2)
    assert sizes == []
    for shape, r in (((20, 5000), 4), ((300, 1000), 4), ((300, 300), 60)):
        large = GpuEngine(np.zeros(shape), device)  # for medians, for the noise, for the bounded step
        assert room_for(large, r) == 0
    assert MemoryEngine(mixture.Y).stacks(4) is None
    small = GpuEngine(mixture.Y, device)
    assert room_for(small, 4) == stacks.MOST_AT_ONCE
    assert by_residual(small).stacks(4) is None
    assert Problem.of(ngmca.Task(4), small).runs_in_batches
    given = ngmca.Task(4, start=(mixture.A, mixture.S))
    assert not Problem.of(given, small).runs_in_batches


def test_a_batch_is_as_large_as_there_is_room(device, mixture, monkeypatch):
    whole = ngmca.separate(mixture.Y, 4, method=ngmca.Soft(n_iter=8), n_init=5, device="cuda")
    sizes = counted(monkeypatch)
    each = int(ROOM * device.room) // room_for_all(device, mixture, monkeypatch)
    device.room = int(2.5 * each / ROOM)
    parts = ngmca.separate(mixture.Y, 4, method=ngmca.Soft(n_iter=8), n_init=5, device="cuda")
    assert sizes == [2, 2, 1]
    same(parts, whole)


def room_for(engine, r):
    """Return how many starts the GPU takes at once."""
    found = engine.stacks(r)
    return 0 if found is None else found.room


def room_for_all(device, mixture, monkeypatch):
    monkeypatch.setattr(stacks, "MOST_AT_ONCE", 1 << 40)
    return room_for(GpuEngine(mixture.Y, device), 4)


def test_lines_and_bands_follow_as_they_would_alone(device):
    Y = simulate.bands(12, 128, 2, snr=20.0, seed=0).Y
    there, here = (
        ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=12), n_init=2, domain="wavelet", device=device)
        for device in ("cuda", "cpu")
    )
    assert there.domain == here.domain
    assert there.n_iter == here.n_iter
    np.testing.assert_allclose(there.S, here.S, atol=1e-3 * here.S.max())


def test_costs_are_compared_at_once(device, mixture, monkeypatch):
    runs = [
        ngmca.separate(
            mixture.Y,
            4,
            method=ngmca.Soft(n_iter=4),
            seed=seed,
            domain="direct",
            device="cuda",
            n_init=1,
        )
        for seed in range(3)
    ]
    engine = GpuEngine(mixture.Y, device)
    fits = [restarts.Fit(run.A, run.S, run.noise) for run in runs]
    expected = [restarts._penalised_cost(engine, fit, 0.3, FREE) for fit in fits]
    device.launches = 0
    np.testing.assert_allclose(restarts._penalised_costs(engine, fits, 0.3, FREE), expected, rtol=1e-10)
    assert device.launches == 3  # scales, solutions and sums, of all three at once


def test_questions_about_stacks_have_the_answers_of_the_engine(device, mixture):
    rng = np.random.default_rng(0)
    A = np.stack([mixture.A + 0.1 * rng.random(mixture.A.shape) for _ in range(3)])
    X = np.stack([mixture.S.T * (rng.random(mixture.S.T.shape) < 0.8) for _ in range(3)])
    X[1, :, 2] = 0
    engine = MemoryEngine(mixture.Y)
    asked = GpuEngine(mixture.Y, device).stacks(4)
    seen = asked.see(A)
    for i in range(3):
        np.testing.assert_allclose(seen.C[i].T, engine.correlate(A[i]), rtol=1e-10)
        np.testing.assert_allclose(asked.peak(seen, X)[i], engine.peak(A[i], X[i].T), rtol=1e-10)
        np.testing.assert_allclose(asked.noise(seen, X)[i], engine.noise(A[i], X[i].T), rtol=1e-10)
    assert abs(asked.noise(seen, X)[1] / asked.noise(seen, X)[0] - 1).max() > 1e-3


def test_progress_tells_of_every_iteration(device, mixture, capsys, monkeypatch):
    monkeypatch.setattr("ngmca._support.progress.SECONDS", 0.0)
    monkeypatch.setattr("ngmca._support.progress.GROWTH", 0.0)
    found = ngmca.separate(
        mixture.Y, 4, method=ngmca.Soft(n_iter=4), n_init=3, device="cuda", progress=True
    )
    assert found.n_iter == 4
    assert "separating: 12 of at most 24" in capsys.readouterr().err
