"""The iterations of a run: progress on the way, a checkpoint now and then, a stop that loses nothing."""

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ngmca.algorithms.schedule import BANDS
from ngmca.answers.wording import percent
from ngmca.cli.console import stderr
from ngmca.engines import InMemory
from ngmca.result import Separation, State
from ngmca.saving import checkpoints

CHECKPOINT_SECONDS = 30.0


class StoppedRunError(Exception):
    """Ctrl-C was pressed, and what was found so far is in the checkpoint."""


def consume(
    states: Iterator[State],
    so_far: checkpoints.Checkpoint,
    folder: Path,
    total: int,
    show: Callable[[State], None],
) -> Separation:
    """Run to the end; at Ctrl-C, keep the last state and raise `StoppedRunError`."""
    saved = time.monotonic()
    with stop_signal() as stopped:
        for state in states:
            so_far.add(state)
            show(state)
            if stopped():
                checkpoints.save(folder, so_far)
                raise StoppedRunError(f"stopped at iteration {state.k} of {total}")
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                checkpoints.save(folder, so_far)
                saved = time.monotonic()
    return so_far.separation()


def run_through(states: Iterable[State], stopped: Callable[[], bool]) -> Separation:
    """Run to the end, or until it is stopped, without a checkpoint."""
    so_far = checkpoints.Checkpoint()
    for state in states:
        so_far.add(state)
        if stopped():
            break
    return so_far.separation()


@contextmanager
def stop_signal() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; a second one stops at once."""
    pressed = [False]

    def press(number: int, frame: Any) -> None:
        if pressed[0]:
            raise KeyboardInterrupt
        pressed[0] = True

    previous = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed[0]
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def progress(
    engine: InMemory, total: int, done: int, *, show: bool
) -> Iterator[Callable[[State], None]]:
    """A function to call with every state: it draws iterations, time left, threshold and residual."""
    console = stderr()
    if not show or not console.is_terminal:
        yield lambda state: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    size = float(np.sqrt(engine.energy)) * engine.unit
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[told]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("separating", total=total, completed=done, told="")

        def draw(state: State) -> None:
            residual = np.sqrt(2 * state.cost) / size if size > 0 else 0.0
            now = f"threshold {np.max(state.lam):.3g}  residual {percent(float(residual))}"
            begun = state.domain.begun  # from then on it is known how many are to come
            bar.update(task, completed=state.k, total=begun + BANDS if begun else total, told=now)

        yield draw


@contextmanager
def progress_of_starts(
    total: int, count: int, *, show: bool
) -> Iterator[Callable[[Iterable[State]], Iterable[State]]]:
    """A function that passes on the states of one of several starts, and draws how far all are."""
    console = stderr()
    if not show or not console.is_terminal:
        yield lambda states: states
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.percentage:.0f} %"), TimeRemainingColumn())
    told = TextColumn(f"{count} other starts")
    with Progress(*columns, told, console=console, transient=True) as bar:
        task = bar.add_task("separating", total=total * count)

        def shown(states: Iterable[State]) -> Iterator[State]:
            done = 0
            for state in states:
                done += 1
                bar.advance(task)
                yield state
            bar.advance(task, total - done)  # most end before their time

        yield shown
