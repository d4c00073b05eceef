"""How much memory a piece of work takes."""

import tracemalloc
from collections.abc import Callable


def peak_memory(work: Callable[[], object]) -> int:
    """Bytes that Python and NumPy held at the most while it ran, beyond those before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
