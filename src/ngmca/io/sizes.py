"""Sizes that a file claims, against those that can be true."""

import contextlib
import os
from pathlib import Path

from ngmca.io.dataset import ReadError

GROUP = "/sys/fs/cgroup"
GROUPS = (  # limit, use and details of memory, versions 2 and 1
    tuple(f"{GROUP}/memory.{name}" for name in ("max", "current", "stat")),
    tuple(f"{GROUP}/memory/memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")),
)


def check_claim(claimed: float, present: float | None, where: str) -> None:
    """Refuse a header that claims more bytes than the file or the memory of this machine holds."""
    if present is not None and claimed > present:
        raise ReadError(
            f"{where} claims {in_words(claimed)} and the file holds {in_words(present)}: "
            "it is truncated or damaged."
        )
    left = memory_left()
    if 2 * claimed > left:
        raise ReadError(
            f"{where} claims {in_words(claimed)}, reading takes twice as much, and {in_words(left)} of "
            "memory is left: it is damaged, or too large to be read whole."
        )


def memory_bytes() -> float:
    """Memory of this machine, infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def memory_left() -> float:
    """Memory that can still be had, by this machine and by the group of processes this one is in."""
    return min(_free_on_machine(), _free_in_group())


def _free_on_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError, IndexError):
        return memory_bytes()


def _free_in_group() -> float:
    """What the control group (a container, a job) may still take; files kept in memory give way."""
    for limit, used, details in GROUPS:
        with contextlib.suppress(OSError, ValueError):  # "max" is no limit, nor a number
            most, taken = float(Path(limit).read_text()), float(Path(used).read_text())
            lines = (line.split() for line in Path(details).read_text().splitlines())
            kept = {name: float(size) for name, size in lines}
            return most - taken + kept.get("total_inactive_file", kept.get("inactive_file", 0.0))
    return float("inf")


def in_words(size: float) -> str:
    """A size with its unit, 3 digits."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
