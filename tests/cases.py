"""Several cases in one test: the error of one that fails says which it was."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def case(name: object) -> Iterator[None]:
    """Add the name of the case to every error inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"case: {name}")
        raise
