"""Sizes that a file claims, against those that can be true."""

import os

from ngmca.io.dataset import ReadError

GIGABYTE = 1e9


def check_claim(claimed: float, present: float | None, where: str) -> None:
    """Refuse a header that claims more bytes than the file or the memory of this machine holds."""
    if present is not None and claimed > present:
        raise ReadError(
            f"{where} claims {in_words(claimed)} and the file holds {in_words(present)}: "
            "it is truncated or damaged."
        )
    memory = memory_bytes()
    if claimed > memory:
        raise ReadError(
            f"{where} claims {in_words(claimed)}, and this machine has {in_words(memory)} of memory: "
            "it is damaged, or too large to be read whole."
        )


def memory_bytes() -> float:
    """Memory of this machine, infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def in_words(size: float) -> str:
    """A size with its unit, 3 digits."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
