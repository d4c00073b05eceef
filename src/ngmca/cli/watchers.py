"""Watchers of a run: progress bars, Ctrl-C, and keeping the result of the first start."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

import numpy as np

from ngmca.algorithms.schedule import end_in_wavelets
from ngmca.answers.wording import percent
from ngmca.cli.console import stderr
from ngmca.result import Separation, State
from ngmca.saving.checksummed_files import save_interim
from ngmca.task.driver import Prepared, Watcher

if TYPE_CHECKING:
    from rich.progress import Progress


class KeepFirst(Watcher):
    """Writes the result of the first start to a file, before other starts and error bars."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def first_start_ends(self, found: Separation) -> None:
        """Write it."""
        save_interim(self._path, found)


class StopOnInterrupt(Watcher):
    """Ctrl-C stops the first start after its iteration; a second Ctrl-C, or a later one, at once."""

    def __enter__(self) -> "StopOnInterrupt":
        self._pressed = False
        self._previous = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True

    def advances(self, iterations: int) -> None:
        """Stop at once where there is no state to keep."""
        if self._pressed:
            raise KeyboardInterrupt

    def first_start_ends(self, found: Separation) -> None:
        """Let Ctrl-C interrupt at once from now on: the first start is kept."""
        signal.signal(signal.SIGINT, self._previous)

    def wants_stop(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._pressed


class _Bars(Watcher):
    """A bar for the first start, with its threshold and residual, and one for the others."""

    def __init__(self, bars: "Progress", energy: float, unit: float) -> None:
        self._bars, self._unit = bars, unit
        self._size = float(np.sqrt(energy))

    def begins(self, iterations: int, starts: int) -> None:
        """Set the lengths of the bars."""
        self._iterations = iterations
        self._first = self._bars.add_task("separating", total=iterations, text="")
        self._others = self._bars.add_task(
            "other starts",
            total=iterations * (starts - 1),
            text=f"{starts - 1} other starts",
            visible=False,
        )

    def sees(self, state: State, start: int) -> None:
        """Advance a bar."""
        if start:
            self._bars.update(self._others, advance=1, visible=True)
            return
        residual = np.sqrt(2 * state.cost) / self._size if self._size > 0 else 0.0
        text = f"threshold {np.max(state.lam) * self._unit:.3g}  residual {percent(float(residual))}"
        begun = state.domain.begun  # from then on the number of iterations is known
        total = end_in_wavelets(begun, self._iterations) if begun else self._iterations
        self._bars.update(self._first, completed=state.k, total=total, text=text)

    def advances(self, iterations: int) -> None:
        """Advance the bar of all starts."""
        self._bars.update(self._others, advance=iterations, visible=True)

    def first_start_ends(self, found: Separation) -> None:
        """Replace the bar of the first start by that of the others."""
        self._bars.update(self._first, visible=False)


@contextmanager
def terminal_progress(prepared: Prepared, *, show: bool) -> Iterator[list[Watcher]]:
    """Yield watchers that draw progress on a terminal, none elsewhere."""
    console = stderr()
    if not show or not console.is_terminal:
        yield []
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield [_Bars(bars, prepared.engine.energy, prepared.engine.unit)]
