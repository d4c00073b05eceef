"""Threads over blocks of the data, with BLAS held to one thread inside.

Results do not depend on the number of threads: what a block computes, and the order in which the parts
are added up, are fixed by the shape of the data.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")

PARTS = 16  # into which the blocks are grouped, whatever the number of threads


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="ngmca")


class _OneBlasThread:
    """The limit is the process's: the first to enter sets it, the last to leave takes it away."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._controller: ThreadpoolController | None = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._controller = self._controller or ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


one_blas_thread = _OneBlasThread()  # a context in which matrix products use one thread


def _after_fork() -> None:
    """A forked child has none of its parent's threads: it makes its own, and starts to count anew."""
    _pool.cache_clear()
    one_blas_thread.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def available() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def in_parts(work: Callable[[range], Part], length: int, block: int, threads: int) -> list[Part]:
    """work(starts of blocks) for each of at most PARTS groups of blocks, in their order."""
    starts = range(0, length, block)
    size = max(1, -(-len(starts) // PARTS))
    groups = [starts[i : i + size] for i in range(0, len(starts), size)]
    if threads == 1 or len(groups) <= 1:
        return [work(group) for group in groups]
    return list(_pool(threads).map(work, groups))
