"""Lines that say how far a run is, where stderr is no terminal and no bar can be drawn."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from rich.text import Text

from ngmca.cli.console import print_to_stderr

FIRST = 5.0  # seconds before the first line: short runs print none
GROWTH = 0.1  # of the seconds so far, between two lines of a long run


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
    over, begun = Event(), time.monotonic()

    def work() -> None:
        while not over.wait(max(FIRST, GROWTH * (time.monotonic() - begun))):
            text = line()
            if text:
                print_to_stderr(Text(f"{time.monotonic() - begun:.0f} s: {text}"))

    thread = Thread(target=work, name="ngmca-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
