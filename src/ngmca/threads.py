"""BLAS held to one thread: results do not depend on the number of cores, and blocks do not fight."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager:
    """A context in which matrix products use one thread."""
    return _controller().limit(limits=1, user_api="blas")
