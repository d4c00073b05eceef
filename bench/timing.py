"""Times taken side by side, so that a busy machine slows all contenders alike."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """One line of a table: a figure, and what it should be."""

    name: str
    value: float
    limit: str = ""  # such as "<= 1.8" or ">= 25"; empty where nothing is promised
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the figure is on the right side of its limit."""
        if not self.limit:
            return None
        sign, bound = self.limit.split()
        return self.value <= float(bound) if sign == "<=" else self.value >= float(bound)


def side_by_side(
    contenders: dict[str, Callable[[], object]],
    repeats: int = 9,
    clock: Callable[[], float] = time.process_time,
    of_turns: Callable[[list[float]], object] = np.median,
) -> dict[str, float]:
    """Median seconds of each contender, taking turns; the first turn warms up and does not count.

    Processor time by default, which for one thread is the wall time on an idle machine, and hardly
    changes on a busy one. Threads and processes need the wall clock, `time.perf_counter`, and threads
    the best of the turns (`of_turns=min`): that one had all cores to itself.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, run in contenders.items():
            start = clock()
            run()
            if turn:
                times[name].append(clock() - start)
    return {name: float(of_turns(values)) for name, values in times.items()}  # type: ignore[arg-type]


def advance(states: Iterator[object], count: int) -> object:
    """The last of the next `count` states."""
    state = None
    for _ in range(count):
        state = next(states)
    return state
