"""A progress bar, or lines where no bar can be drawn."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Item = TypeVar("Item")


SECONDS = 5.0  # before the first line: short runs print none
GROWTH = 0.1  # of the seconds so far, between two lines of a long run


def pause(passed: float) -> float:
    """Return the seconds until the next line, after so many seconds."""
    return max(SECONDS, GROWTH * passed)


class Bar(Protocol):
    """What is told how far a piece of work is; its length may become known later."""

    def advance(self, count: int = 1) -> None:
        """Show that more is done."""

    def set_total(self, total: int) -> None:
        """Set the length."""


class _DrawnBar:
    """A bar on a terminal or in a notebook."""

    def __init__(self, shown: "Progress", task: "TaskID") -> None:
        self._shown, self._task = shown, task

    def advance(self, count: int = 1) -> None:
        self._shown.advance(self._task, count)

    def set_total(self, total: int) -> None:
        self._shown.update(self._task, total=total)


class _Lines:
    """Lines on stderr, at first every few seconds, later more seldom."""

    def __init__(self, label: str, total: int | None) -> None:
        self._label, self._total, self._done = label, total, 0
        self._begun = time.monotonic()
        self._due = SECONDS

    def advance(self, count: int = 1) -> None:
        self._done += count
        passed = time.monotonic() - self._begun
        if passed < self._due:
            return
        self._due = passed + pause(passed)
        most = "" if self._total is None else f" of at most {self._total}"
        self._write(f"{self._done}{most}")

    def set_total(self, total: int) -> None:
        self._total = total

    def end(self) -> None:
        self._write("done")

    def _write(self, text: str) -> None:
        passed = time.monotonic() - self._begun
        print(f"{self._label}: {text}, {passed:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def open_bar(total: int | None = None, *, show: bool, label: str = "separating") -> Iterator[Bar | None]:
    """Show progress on stderr while the block runs; yield None if it is not wanted."""
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        lines = _Lines(label, total)
        yield lines
        lines.end()
        return
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=console) as shown:
        task = shown.add_task(label, total=total)
        yield _DrawnBar(shown, task)
        done = shown.tasks[0].total or 1
        shown.update(task, total=done, completed=done)


@contextmanager
def progress_bar(
    total: int, *, show: bool, label: str = "separating"
) -> Iterator[Callable[[Iterable[Item]], Iterable[Item]]]:
    """Yield a function that passes items on and draws how many of `total` have passed."""
    with open_bar(total, show=show, label=label) as bar:

        def shown(items: Iterable[Item]) -> Iterator[Item]:
            for item in items:
                if bar is not None:
                    bar.advance()
                yield item

        yield shown
