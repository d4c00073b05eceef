"""Threads over blocks of the data, with BLAS held to one thread inside.

Results do not depend on the number of threads: what a block computes, and the order in which the parts
are added up, are fixed by the shape of the data.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")

PARTS = 16  # into which the blocks are grouped, whatever the number of threads


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="ngmca")


def one_blas_thread() -> AbstractContextManager:
    """A context in which matrix products use one thread."""
    return _controller().limit(limits=1, user_api="blas")


def available() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def in_parts(work: Callable[[range], Part], length: int, block: int, threads: int) -> list[Part]:
    """work(starts of blocks) for each of at most PARTS groups of blocks, in their order."""
    starts = range(0, length, block)
    size = -(-len(starts) // PARTS)
    groups = [starts[i : i + size] for i in range(0, len(starts), size)]
    if threads == 1 or len(groups) == 1:
        return [work(group) for group in groups]
    return list(_pool(threads).map(work, groups))
