"""Compare the size that a file claims with its real size and with the free memory."""

import contextlib
import os
from collections.abc import Iterator
from itertools import starmap
from pathlib import Path

from ngmca.io.read_error import ReadError

CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
MEMORY_FILES = {2: ("max", "current", "stat"), 1: ("limit_in_bytes", "usage_in_bytes", "stat")}


def check_claim(claimed: float, present: float | None, where: str) -> None:
    """Raise an error if a file claims more bytes than it has, or more than the memory can hold."""
    if present is not None and claimed > present:
        raise ReadError(
            f"{where} claims {in_words(claimed)}, but the file has {in_words(present)}: "
            "it is truncated or damaged."
        )
    left = memory_left()
    if 2 * claimed > left:
        raise ReadError(
            f"{where} claims {in_words(claimed)}, reading takes twice as much, and {in_words(left)} of "
            "memory is free: the file is damaged, or too large for this machine."
        )


def memory_bytes() -> float:
    """Return the memory of this machine, or infinity if the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def memory_left() -> float:
    """Return the free memory: of the machine, of its control groups, and by the limit of the process."""
    return max(0.0, min(_free_on_machine(), _free_to_process(), *starmap(_free_in_group, _groups())))


def _free_on_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError, IndexError):
        return memory_bytes()


def _free_to_process() -> float:
    """Return what the limit of this process (ulimit -v) still allows."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        return float("inf") if most == resource.RLIM_INFINITY else float(most - used)
    return float("inf")


def _groups() -> Iterator[tuple[Path, int]]:
    """Yield the control groups (container, job) of this process up to the root, and their version."""
    with contextlib.suppress(OSError, ValueError):
        for line in OWN_GROUPS.read_text().splitlines():
            _, controllers, own = line.split(":", 2)
            if controllers in ("", "memory"):
                root = CONTROL_GROUPS / controllers
                inside = root / own.lstrip("/")
                for folder in (inside, *inside.parents):
                    if folder.is_relative_to(root):
                        yield folder, 1 if controllers else 2


def _free_in_group(folder: Path, version: int) -> float:
    """Return what a control group may still take; cached files count as free."""
    limit, used, details = (folder / f"memory.{name}" for name in MEMORY_FILES[version])
    with contextlib.suppress(OSError, ValueError):  # "max" means no limit
        most, taken = float(limit.read_text()), float(used.read_text())
        lines = (line.split() for line in details.read_text().splitlines())
        kept = {name: float(size) for name, size in lines}
        return most - taken + kept.get("total_inactive_file", kept.get("inactive_file", 0.0))
    return float("inf")


def in_words(size: float) -> str:
    """Return a number of bytes as text with its unit, 3 digits."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
