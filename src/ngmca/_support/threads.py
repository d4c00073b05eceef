"""Threads over blocks of the data, with BLAS limited to one thread inside.

Results do not depend on the number of threads: the shape of the data alone fixes the blocks and the
order in which their results are added.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, wraps
from threading import Event, RLock, Thread
from typing import Any, ParamSpec, TypeVar

import scipy.linalg  # noqa: F401  loads its BLAS, so that it is limited too
from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Arguments = ParamSpec("Arguments")

GROUPS = 16  # of blocks, for any number of threads


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="ngmca")


class _OneBlasThread:
    """A decorator: BLAS uses one thread while a decorated function runs.

    The limit holds for the whole process: the first call sets it, the last one to return removes it.
    Ctrl-C may come between any two steps of Python. Therefore every step here can be repeated, the
    earlier numbers of threads are stored first, and leaving is tried twice, the second time outside of
    the first.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._inside: set[object] = set()
        self._libraries: list[Any] | None = None
        self._before: dict[Any, int] = {}  # threads of each library before the limit
        self._set = False

    def __call__(self, work: Callable[Arguments, Part]) -> Callable[Arguments, Part]:
        @wraps(work)
        def inside(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Part:
            ticket = object()
            try:
                try:
                    self._enter(ticket)
                    return work(*args, **kwargs)
                finally:
                    self._leave(ticket)
            finally:
                self._leave(ticket)

        return inside

    def _enter(self, ticket: object) -> None:
        with self._lock:
            self._inside.add(ticket)
            if self._set:
                return
            if self._libraries is None:
                self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            for library in self._libraries:
                self._before.setdefault(library, library.num_threads)
                library.set_num_threads(1)
            self._set = True

    def _leave(self, ticket: object) -> None:
        with self._lock:
            self._inside.discard(ticket)
            if self._inside or not self._before:
                return
            self._set = False
            for library, threads in self._before.items():
                library.set_num_threads(threads)
            self._before = {}


one_blas_thread = _OneBlasThread()


@contextmanager
def beside(work: Callable[[Event], None], name: str) -> Iterator[None]:
    """Run `work` in a thread while the block runs; its event is set at the end of the block."""
    over = Event()
    thread = Thread(target=work, args=(over,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _after_fork() -> None:
    """Start again in a forked child, which has none of the threads of its parent."""
    _pool.cache_clear()
    one_blas_thread.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def available() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def grouped(length: int, block: int, most: int | None = None) -> list[range]:
    """Return the starts of blocks in GROUPS groups, or in more groups of at most `most` blocks."""
    starts = range(0, length, block)
    size = max(1, -(-len(starts) // GROUPS))
    size = size if most is None else max(1, min(size, most))
    return [starts[i : i + size] for i in range(0, len(starts), size)]


def in_parts(
    work: Callable[[range], Part], length: int, block: int, threads: int, most: int | None = None
) -> list[Part]:
    """Return work(starts of blocks) for each group of blocks, in order."""
    groups = grouped(length, block, most)
    if threads == 1 or len(groups) <= 1:
        return [work(group) for group in groups]
    return list(_pool(threads).map(work, groups))
