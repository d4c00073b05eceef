"""Files that are whole or not there, for the rooms above: see `_support.whole_files`."""

from ngmca._support.atomic_files import (
    LONGEST,
    MARK,
    UNKNOWN,
    appearing,
    check_free,
    is_part,
    made_up,
    occupied,
    sync,
    write_whole,
)

__all__ = [
    "LONGEST",
    "MARK",
    "UNKNOWN",
    "appearing",
    "check_free",
    "is_part",
    "made_up",
    "occupied",
    "sync",
    "write_whole",
]
