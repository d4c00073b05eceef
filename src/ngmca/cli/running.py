"""The loop of a run: progress on the way, a checkpoint now and then, and a stop that loses nothing."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.folder import CHECKPOINT
from ngmca.records import History, Options, Separation, State

CHECKPOINT_SECONDS = 30.0


class InterruptedRunError(Exception):
    """Ctrl-C was pressed, and what was found so far is in the checkpoint."""


@dataclass
class Recorder:
    """The last state, and one line of history for each so far, those before a resumption included."""

    before: int = 0  # iterations done by an earlier run
    lines: list[tuple[float, NDArray, float, float]] = field(default_factory=list)
    last: State | None = None

    def add(self, state: State) -> None:
        """Take in the next state."""
        self.last = state
        self.lines.append((state.cost, state.lam, state.active, state.violation))

    @property
    def history(self) -> History:
        """One entry an iteration."""
        return History(*(np.array(column) for column in zip(*self.lines, strict=True)))

    def separation(self) -> Separation:
        """The result, once all states are in."""
        assert self.last is not None
        last = self.last
        return Separation(
            A=last.A,
            S=last.S,
            lam=last.lam,
            noise=last.noise,
            n_iter=self.before + last.k,
            stopped="settled" if last.settled else "iterations",
            violation=last.violation,
            history=self.history,
        )

    def save(self, folder: Path) -> None:
        """Write the checkpoint of the last state, whole or not at all."""
        assert self.last is not None
        done = self.before + self.last.k
        _write(folder, A=self.last.A, S=self.last.S, done=done, **vars(self.history))


def save_finished(separation: Separation, folder: Path) -> None:
    """Write a separation that is done, for a run that has still to sample around it."""
    names = ("A", "S", "lam", "noise", "n_iter", "stopped")
    stored = {name: getattr(separation, name) for name in names}
    _write(folder, **stored, final_violation=separation.violation, **vars(separation.history))


def load_finished(folder: Path) -> Separation | None:
    """The separation in a folder's checkpoint, None if it was not done yet."""
    if not (folder / CHECKPOINT).is_file():
        return None
    with np.load(folder / CHECKPOINT) as stored:
        if "stopped" not in stored:
            return None
        return Separation(
            **{name: stored[name] for name in ("A", "S", "lam", "noise")},
            n_iter=int(stored["n_iter"]),
            stopped=str(stored["stopped"]),
            violation=float(stored["final_violation"]),
            history=History(*(stored[part.name] for part in fields(History))),
        )


def _write(folder: Path, **values: Any) -> None:
    """The checkpoint, whole or not at all."""
    part = folder / (CHECKPOINT + ".part")
    with part.open("wb") as file:
        np.savez(file, **values)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / CHECKPOINT)


@dataclass(frozen=True)
class Checkpoint:
    """Where an earlier run stopped."""

    done: int
    start: tuple[NDArray, NDArray]
    recorder: Recorder


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """The checkpoint in a folder, None if there is none."""
    if not (folder / CHECKPOINT).is_file():
        return None
    with np.load(folder / CHECKPOINT) as stored:
        columns = (stored[name] for name in ("cost", "threshold", "active", "violation"))
        lines = [(float(c), lam, float(a), float(v)) for c, lam, a, v in zip(*columns, strict=True)]
        done = int(stored["done"])
        return Checkpoint(done, (stored["A"], stored["S"]), Recorder(before=done, lines=lines))


def remaining(options: dict[str, Any], checkpoint: Checkpoint) -> dict[str, Any]:
    """Options for the rest of a run: as many iterations of each kind as were still to come."""
    schedule = Options(**{k: options[k] for k in ("method", "tau", "n_iter", "refinement")}).schedule
    options = options | {"start": checkpoint.start}
    if options["n_iter"] == "auto" and checkpoint.done < schedule.n_decrease:
        return options  # the threshold falls on from where it is, in the same way
    left = max(schedule.n_iter - checkpoint.done, 1)
    steady = schedule.n_iter - schedule.n_decrease  # iterations at the final threshold
    return options | {"n_iter": left, "refinement": min(1.0, (steady + 0.5) / left), "tol": schedule.tol}


def consume(
    states: Iterator[State], recorder: Recorder, folder: Path, total: int, show: Callable[[State], None]
) -> Separation:
    """Run to the end; at Ctrl-C, keep the last state and raise `InterruptedRunError`."""
    saved = time.monotonic()
    with _stop_signal() as stopped:
        for state in states:
            recorder.add(state)
            show(state)
            if stopped():
                recorder.save(folder)
                raise InterruptedRunError(f"stopped at iteration {recorder.before + state.k} of {total}")
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                recorder.save(folder)
                saved = time.monotonic()
    return recorder.separation()


@contextmanager
def _stop_signal() -> Iterator[Callable[[], bool]]:
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
