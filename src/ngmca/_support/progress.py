"""A progress bar."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")


@contextmanager
def progress_bar(
    total: int, *, show: bool, label: str = "separating"
) -> Iterator[Callable[[Iterable[Item]], Iterable[Item]]]:
    """Yield a function that passes items on, and draws how many of `total` have passed if `show`."""
    if not show:
        yield lambda items: items
        return
    from rich.progress import Progress, TimeElapsedColumn

    with Progress(*Progress.get_default_columns(), TimeElapsedColumn()) as bar:
        task = bar.add_task(label, total=total)

        def shown(items: Iterable[Item]) -> Iterator[Item]:
            for item in items:
                bar.advance(task)
                yield item

        yield shown
        bar.update(task, completed=total)
