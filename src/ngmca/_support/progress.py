"""A progress bar for long work."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar(
    total: int, *, show: bool, label: str = "separating"
) -> Iterator[Callable[[Iterable[Any]], Iterable[Any]]]:
    """A function that passes items on and draws how many of `total` have passed, if wanted."""
    if not show:
        yield lambda items: items
        return
    from rich.progress import Progress, TimeElapsedColumn

    with Progress(*Progress.get_default_columns(), TimeElapsedColumn()) as bar:
        task = bar.add_task(label, total=total)

        def shown(items: Iterable[Any]) -> Iterator[Any]:
            for item in items:
                bar.advance(task)
                yield item

        yield shown
        bar.update(task, completed=total)
