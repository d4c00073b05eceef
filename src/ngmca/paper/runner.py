"""Run studies in parallel processes; finished simulations are never lost and never repeated."""

import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path
from typing import Any

from ngmca._support.threads import available
from ngmca.paper.experiments import Example, Study
from ngmca.paper.measures import Row
from ngmca.paper.tables import Key, StudyTable, example_is_there, locked, missing, write_example

THREAD_LIMITS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
QUICK_SIMULATIONS = 3
QUICK_VALUES = 3  # from the first to the last
SIMULATIONS_OF_EXAMPLES = 48  # if the paper shows only one example


@dataclass(frozen=True)
class Size:
    """How much of a study to run: simulations (None: as many as the paper), at all or some values."""

    sims: int | None = 12
    thinned: bool = False

    @classmethod
    def quick(cls) -> "Size":
        """Return a few simulations at a few values."""
        return cls(QUICK_SIMULATIONS, thinned=True)

    def of(self, study: Study) -> tuple[int, tuple[float, ...]]:
        """Return the number of simulations, and the values."""
        values = study.values
        if self.thinned and len(values) > QUICK_VALUES:
            last = len(values) - 1
            values = tuple(values[round(k * last / (QUICK_VALUES - 1))] for k in range(QUICK_VALUES))
        return max(self.sims or study.sims or SIMULATIONS_OF_EXAMPLES, study.at_least), values


@dataclass(frozen=True)
class Task:
    """One simulation of one method, or an example."""

    source: Study | Example
    key: Key | None = None

    @property
    def kind(self) -> tuple[str, str, float]:
        """Kind of the task: tasks of one kind take about the same time."""
        return (self.source.name, self.key[2], self.key[0]) if self.key else (self.source.name, "", 0)


def plan(sources: Iterable[Study | Example], folder: Path, size: Size) -> list[Task]:
    """Return the tasks that are left."""
    tasks = []
    for source in dict.fromkeys(sources):
        if isinstance(source, Example):
            if not example_is_there(folder, source):
                tasks.append(Task(source))
            continue
        sims, values = size.of(source)
        done = StudyTable(folder, source).keys()
        tasks += [Task(source, key) for key in missing(source, done, sims, values)]
    # All first simulations come before the second ones, so that early results are balanced.
    return sorted(tasks, key=lambda task: task.key[1] if task.key else 0)


@dataclass(frozen=True)
class Failure:
    """A task that failed, and the reason."""

    task: Task
    error: BaseException

    def __str__(self) -> str:
        told = f"{type(self.error).__name__}: {self.error}"
        source, where = self.task.source, ""
        if isinstance(source, Study) and self.task.key is not None:
            value, sim, method = self.task.key
            where = f", {source.varies} = {value:g}, {method}, seed {sim}"
        return f"{source.name}{where}: {told}"


def run(
    tasks: Sequence[Task],
    folder: Path,
    *,
    workers: int | None = None,
    after: Callable[[Task, float], Any] = lambda task, seconds: None,
) -> list[Failure]:
    """Perform the tasks, write each result as soon as it is finished, and return the failures.

    `after` is told about every finished task and the seconds that it took.
    """
    failures = []
    with ExitStack() as stack:
        stack.enter_context(locked(folder))
        tables = {}
        for study in dict.fromkeys(t.source for t in tasks if isinstance(t.source, Study)):
            tables[study] = StudyTable(folder, study)
            tables[study].open()
            stack.callback(tables[study].close)
        for task, future in stack.enter_context(_performed(tasks, workers or available())):
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                raise error
            if error is not None:
                failures.append(Failure(task, error))
                after(task, 0.0)
            elif isinstance(task.source, Study):
                tables[task.source].append(future.result())
                after(task, float(future.result()["seconds"]))
            else:
                write_example(folder, task.source, future.result())
                after(task, 0.0)
    return failures


def perform(task: Task) -> Any:
    """Return the row of a simulation, or the table of an example."""
    if isinstance(task.source, Example):
        return task.source.make()
    assert task.key is not None
    value, sim, method = task.key
    row: Row = task.source.perform(value, sim, method)
    return row


@contextmanager
def _performed(tasks: Sequence[Task], workers: int) -> Iterator[Iterator[tuple[Task, "Future[Any]"]]]:
    """Yield tasks with their results in the order in which they end; stop at an error."""
    others = set(active_children())
    with _one_thread_each():
        count, context = min(workers, max(len(tasks), 1)), get_context("spawn")
        pool = ProcessPoolExecutor(count, mp_context=context, initializer=_prepare_worker)
        try:
            futures = {pool.submit(perform, task): task for task in tasks}
            yield ((futures[future], future) for future in as_completed(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(active_children()) - others:
                worker.terminate()
            raise
        pool.shutdown()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that start inside use one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in THREAD_LIMITS}
    os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _prepare_worker() -> None:
    """Leave Ctrl-C to the parent process, and end with it, even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


class Clock:
    """Estimate of the remaining time, from the times of finished tasks of each kind."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._left: dict[tuple[str, str, float], int] = defaultdict(int)
        self._times: dict[tuple[str, str, float], list[float]] = defaultdict(list)
        self._start = time.monotonic()
        for task in tasks:
            self._left[task.kind] += 1

    def finished(self, task: Task, seconds: float) -> None:
        """Add a finished task."""
        self._left[task.kind] -= 1
        self._times[task.kind].append(max(seconds, 1e-3))

    def remaining(self) -> float | None:
        """Return the seconds, or None before a task has finished."""
        known = {kind: sum(times) / len(times) for kind, times in self._times.items()}
        if not known:
            return None
        typical = sum(known.values()) / len(known)
        rest = sum(count * known.get(kind, typical) for kind, count in self._left.items())
        done = sum(sum(times) for times in self._times.values())
        return (time.monotonic() - self._start) * rest / done
