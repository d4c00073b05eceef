"""A progress bar."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Item = TypeVar("Item")


class Bar:
    """A bar on the screen, whose length may become known after it is shown."""

    def __init__(self, shown: "Progress", task: "TaskID") -> None:
        self._shown, self._task = shown, task

    def advance(self, count: int = 1) -> None:
        """Show that more is done."""
        self._shown.advance(self._task, count)

    def set_total(self, total: int) -> None:
        """Set the length of the bar."""
        self._shown.update(self._task, total=total)


@contextmanager
def open_bar(total: int | None = None, *, show: bool, label: str = "separating") -> Iterator[Bar | None]:
    """Draw a progress bar on stderr while the block runs; yield None if it is not wanted."""
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task(label, total=total)
        yield Bar(shown, task)
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
