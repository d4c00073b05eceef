"""A notice while kernels are compiled, for users who wait."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core.event import Event, Listener, install_listener


class _FirstCompilation(Listener):
    """Call a function when the first compilation starts."""

    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify: Callable[[], None] | None = notify

    def on_start(self, event: Event) -> None:
        notify, self._notify = self._notify, None
        if notify is not None:
            notify()

    def on_end(self, event: Event) -> None:
        pass


@contextmanager
def compile_notice(notify: Callable[[], None]) -> Iterator[None]:
    """Call `notify` once if a kernel is compiled inside; loading it from the cache does not count."""
    with install_listener("numba:compile", _FirstCompilation(notify)):
        yield
