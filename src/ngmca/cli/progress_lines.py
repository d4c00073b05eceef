"""Lines that say how far a run is, where stderr is no terminal and no bar can be drawn."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event

from rich.text import Text

from ngmca._support.progress import pause
from ngmca._support.threads import beside
from ngmca.cli.console import print_to_stderr


@contextmanager
def progress_lines(line: Callable[[], str], *, show: bool) -> Iterator[None]:
    """Write a line every few seconds while the block runs, in a long run every tenth of its time.

    Parameters
    ----------
    line : callable
        Returns what is being done; an empty text is not written.
    show : bool
        Whether to write at all.
    """
    if not show:
        yield
        return
    begun = time.monotonic()

    def work(over: Event) -> None:
        while not over.wait(pause(time.monotonic() - begun)):
            text = line()
            if text:
                print_to_stderr(Text(f"{time.monotonic() - begun:.0f} s: {text}"))

    with beside(work, "ngmca-progress"):
        yield
