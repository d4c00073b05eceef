"""The driver runs a task on data. Progress, checkpoints and stops look at the states it yields."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from ngmca import rivals, rules, sampling
from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, message, option, warn_user
from ngmca._support.progress import Bar, open_bar
from ngmca._support.seeds import generator
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms.batch_of_starts import run_together
from ngmca.algorithms.restarts import at_once, choose, with_restarts
from ngmca.algorithms.snapshot import state_of
from ngmca.constraints import Baseline, Closure, baseline_of
from ngmca.engines import Engine, Levels, Stacks, by_part, in_its_unit, workers_for
from ngmca.result import Separation, State
from ngmca.result.large_sources import check_room
from ngmca.task.automatic_baseline import with_found_baseline
from ngmca.task.checkpoints import Checkpoint, Keeper, Recording, SavedRun, facts_of, resumed
from ngmca.task.compared_starts import compared
from ngmca.task.methods import Rival
from ngmca.task.problem import Problem, features_of_data, features_of_levels
from ngmca.task.purest_measurements import settled_by_purest
from ngmca.task.task import Task

FAR_MIXING = 0.01  # of the largest entry of A: a warning tells of a last step so far from its minimum
WRONG_SUM = 0.01  # of a total: constraints that leave a sum so far from it contradict each other
COPIES_TO_COMPARE = 10  # of the sources, where those of several starts are compared


class Watcher:
    """Looks at a run on its way. Each method does nothing unless a subclass defines it."""

    def begins(self, iterations: int, starts: int) -> None:
        """Called before the first iteration, with the largest number of iterations of a start."""

    def sees(self, state: State, start: int) -> None:
        """Called with every state of every start, in units of the engine; several threads may call."""

    def advances(self, iterations: int) -> None:
        """Called with a number of iterations whose states are not shown."""

    def first_start_ends(self, found: Separation) -> None:
        """Called with the result of the first start, before others begin."""

    def wants_stop(self) -> bool:
        """Whether the run should write its checkpoint and stop."""
        return False


class StoppedRunError(Exception):
    """A watcher stopped the run. What was found so far is in the checkpoint.

    Attributes
    ----------
    iteration, iterations : int
        The iteration at which it stopped, and their largest number.
    """

    def __init__(self, iteration: int, iterations: int) -> None:
        super().__init__(f"stopped at iteration {iteration} of {iterations}")
        self.iteration, self.iterations = iteration, iterations


class ProgressBar(Watcher):
    """Draws how many iterations are done."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def begins(self, iterations: int, starts: int) -> None:
        """Set the length of the bar."""
        self._bar.set_total(iterations * starts)

    def sees(self, state: State, start: int) -> None:
        """Advance the bar."""
        self._bar.advance(1)

    def advances(self, iterations: int) -> None:
        """Advance the bar."""
        self._bar.advance(iterations)


@contextmanager
def shown_progress(show: bool) -> Iterator[list[Watcher]]:
    """Return the watchers that draw a progress bar, none if it is not wanted."""
    with open_bar(show=show) as bar:
        yield [] if bar is None else [ProgressBar(bar)]


class Prepared:
    """A task with its data: checked, and ready to run.

    Parameters
    ----------
    task : Task
        What to do.
    engine : Engine
        The data.
    """

    def __init__(self, task: Task, engine: Engine) -> None:
        self.task = task = with_found_baseline(task, engine)
        self.engine = engine
        self.starts = task.starts(engine.shape)
        self._problem: Problem | None = None
        if isinstance(task.method, Rival):
            _check_rival(task, engine)
        else:
            self._problem = Problem.of(task, engine)
        if self.starts > 1 and not engine.whole:
            size = 8.0 * task.r * engine.shape[1] * (self.starts + COPIES_TO_COMPARE)
            asked, single = option("n_init", self.starts), option("n_init", 1)
            check_room(
                size, message("{} compares the sources of all starts in memory: use {}", asked, single)
            )

    @property
    def in_batches(self) -> bool:
        """Whether several starts run in one batch on a GPU, which writes no checkpoint."""
        return self._problem is not None and stacks_for(self._problem, self.starts) is not None

    def states(self) -> Iterator[State]:
        """Yield every state of the first start, in the units of the data.

        BLAS is held to one thread while a state is computed, not while the caller looks at it.
        """
        assert self._problem is not None
        found = self._problem.states(generator(self.task.seed).spawn(1)[0])

        @one_blas_thread
        def following() -> State | None:
            return next((state for state, _, _ in found), None)

        while (state := following()) is not None:
            yield state_of(state).scaled(self.engine.unit)

    def find(
        self,
        *,
        threads: int | None = None,
        watchers: Sequence[Watcher] = (),
        checkpoint: Checkpoint | None = None,
        first: Separation | None = None,
    ) -> Separation:
        """Return A and S of the best start, in the units of the data, without error bars.

        Parameters
        ----------
        threads : int or None
            Starts of small data that run at the same time; None takes all cores.
        watchers : sequence of Watcher
            Who looks at every state.
        checkpoint : Checkpoint, optional
            Where the first start is kept on its way.
        first : Separation, optional
            The result of the first start, where it is known already.
        """
        engine = self.engine
        if self._problem is None:
            found = _best_rival(self.task, engine, self.starts, watchers)
        else:
            runs = _Starts(self._problem, self.task, self.starts, tuple(watchers))
            found = runs.best(engine, threads, checkpoint, first).scaled(engine.unit)
            _check_sums(found, self.task, engine)
            if self._problem.options.solver == "pivot":
                _warn_if_far(found)
            found = replace(found, noise_model=self._problem.noise_model)
        found = replace(found, parts=engine.parts, joined=engine.techniques)
        return _with_kind(found, baseline_of(self.task.constraints))

    def with_error_bars(
        self, found: Separation, *, threads: int | None = None, progress: bool = False
    ) -> Separation:
        """Return a separation with its posterior, if the task asks for one."""
        asked, task = self.task.posterior, self.task
        if asked is None:
            return found
        sampled = sampling.posterior(
            self.engine,
            found,
            noise=task.noise,
            constraints=task.constraints,
            **vars(asked),
            seed=task.seed,
            threads=threads,
            progress=progress,
        )
        return replace(found, posterior=sampled)


def _with_kind(found: Separation, baseline: Baseline | None) -> Separation:
    """Return a separation whose background says of which kind it is, if the data chose it."""
    if found.background is None or baseline is None or not baseline.found:
        return found
    return replace(found, background=replace(found.background, found=str(baseline.kind)))


def _check_sums(found: Separation, task: Task, engine: Engine) -> None:
    """Raise an error if the sums of A are not the totals of a closure: nothing meets all constraints."""
    for closure in (one for one in task.constraints if isinstance(one, Closure)):
        wrong = closure.error_of(found.A, by_part(closure.totals, engine))
        if wrong > WRONG_SUM:
            others = [type(one).__name__ for one in task.constraints if one is not closure]
            raise ArgumentError(
                "no result meets all constraints: sums of A are up to {:.3g} % away from the totals of "
                "{}. Correct the totals, or change {}.",
                *(100 * wrong, option("Closure"), ", ".join(others) or "the start"),
            )


def _warn_if_far(found: Separation) -> None:
    """Warn if the last step on A ended far from its minimum."""
    far = float(found.history.mixing_violation[-1])
    if far > FAR_MIXING and found.background is None:  # parts of a baseline are nearly dependent
        percent = f"{100 * min(far, 1.0):.0f} %"
        warn_user(
            "the last step on A ended before its minimum: entries of A may be off by "
            f"{percent} of the largest entry. Some sources are almost equal. Use fewer sources, or add "
            "measurements in which these sources differ."
        )


def stacks_for(problem: Problem, starts: int) -> Stacks | None:
    """Return what runs several starts in one batch on a GPU, or None where they run one by one."""
    if starts == 1 or not problem.runs_in_batches:
        return None
    stacks = problem.engine.stacks(problem.r)
    return stacks if stacks is not None and stacks.room else None


class _Starts:
    """The starts of one problem."""

    def __init__(self, problem: Problem, task: Task, starts: int, watchers: tuple[Watcher, ...]) -> None:
        self._problem, self._task, self._starts, self._watchers = problem, task, starts, watchers

    def best(
        self,
        engine: Engine,
        threads: int | None,
        checkpoint: Checkpoint | None,
        first: Separation | None,
    ) -> Separation:
        """Return the best of all starts, in units of the engine."""
        problem = self._problem
        for watcher in self._watchers:
            watcher.begins(problem.most, self._starts)
        rngs = generator(self._task.seed).spawn(self._starts)
        stacks = stacks_for(problem, self._starts) if checkpoint is None and first is None else None
        if stacks is not None:
            runs = self._together(stacks, rngs)
        elif first is None and checkpoint is None and not self._keeps_first():
            runs = at_once(self._start(rngs), range(self._starts), self._workers(threads))
        else:
            if first is None:
                runs = [self._first(engine, rngs[0], checkpoint)]
                for watcher in self._watchers:
                    kept = replace(
                        runs[0].scaled(engine.unit), parts=engine.parts, joined=engine.techniques
                    )
                    watcher.first_start_ends(kept)
            else:
                runs = [first.scaled(1 / engine.unit)]
            if self._starts > 1:
                runs += at_once(self._start(rngs), range(1, self._starts), self._workers(threads))
        if self._starts == 1:
            return runs[0]
        data, options, fits = compared(problem, runs)
        found = choose(data, runs, options, fits=fits)
        if self._task.n_init != "auto":
            return found
        return settled_by_purest(problem, found, runs)

    def _keeps_first(self) -> bool:
        """Whether a watcher wants the result of the first start before others begin."""
        return any(
            type(watcher).first_start_ends is not Watcher.first_start_ends for watcher in self._watchers
        )

    def _workers(self, threads: int | None) -> int:
        return workers_for(self._problem.engine, self._problem.r, threads)

    def _together(self, stacks: Stacks, rngs: list[np.random.Generator]) -> list[Separation]:
        """Run all starts in batches on the GPU, where their states stay."""
        problem, runs = self._problem, []

        def advance(count: int) -> None:
            for watcher in self._watchers:
                watcher.advances(count)

        for last, lines in run_together(problem.engine, stacks, problem.options, rngs, advance):
            recording = Recording(lines)
            for state in problem.after(last):
                recording.add(state)
            runs.append(recording.separation())
        return runs

    def _first(
        self, engine: Engine, rng: np.random.Generator, checkpoint: Checkpoint | None
    ) -> Separation:
        """Run the first start, with its checkpoints."""
        keeper, before = None, None
        if checkpoint is not None:
            facts = facts_of(engine, self._task)
            before = resumed(Path(checkpoint.path), facts) if checkpoint.resume else None
            keeper = Keeper(checkpoint, facts)
        return self._through(rng, 0, keeper, before)

    def _start(self, rngs: list[np.random.Generator]) -> Callable[[int, Callable[[], bool]], Separation]:
        """Return the function that runs one of the starts."""
        return lambda k, stopped: self._through(rngs[k], k, stopped=stopped)

    def _through(
        self,
        rng: np.random.Generator,
        start: int,
        keeper: Keeper | None = None,
        before: SavedRun | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Separation:
        """Run one start to its end."""
        recording = Recording([] if before is None else list(before.lines))
        resume = None if before is None else before.snapshot
        for state, snapshot, last in self._problem.states(rng, resume, fetch=False):
            recording.add(state)
            if keeper is not None and snapshot is not None:
                keeper.keep(snapshot, recording.lines, last=last)
            for watcher in self._watchers:
                watcher.sees(state, start)
            if stopped():
                break
            if any(watcher.wants_stop() for watcher in self._watchers):
                if keeper is not None:
                    keeper.write()
                raise StoppedRunError(state.k, self._problem.most)
        return recording.separation()


def _check_rival(task: Task, engine: Engine) -> None:
    """Raise an error if a rival does not suit the data."""
    arguments.check_rank(task.r, engine.shape, warn=False)
    features = task.features | features_of_data(engine)
    rules.check(features)
    rules.check(features | features_of_levels(Levels.of(by_part(task.noise, engine), engine)))


def _best_rival(task: Task, engine: Engine, starts: int, watchers: Sequence[Watcher]) -> Separation:
    """Return the factors with the lowest cost out of several runs of a rival.

    Each run has a child of the seed. Costs are compared in units of the engine, in which none overflows.
    """
    method = task.method
    assert isinstance(method, Rival)
    start = None if task.start is None else arguments.check_start(task.start, engine, task.r)
    levels = arguments.check_noise(by_part(task.noise, engine), engine)
    given = {"start": start, "seed": generator(task.seed), **method.options}
    for watcher in watchers:
        watcher.begins(1, starts)
    runs = []
    for _ in range(starts):
        runs.append(rivals.as_separation(method.name, in_its_unit(engine), task.r, levels, **given))
        for watcher in watchers:
            watcher.advances(1)
    costs = [float(run.history.cost[-1]) for run in runs]
    found = runs[0] if starts == 1 else with_restarts(runs, costs, engine.energy)
    return found.scaled(engine.unit)
