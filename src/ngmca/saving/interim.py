"""A separation that a run keeps while it goes on, in one .npz file with a checksum.

It is cheap to write, and all numbers come back to the bit. For results use `ngmca.save`.
"""

from io import BytesIO
from pathlib import Path

from ngmca._support.atomic_files import write_atomically
from ngmca._support.records import read_record, write_record
from ngmca.io import ReadError
from ngmca.result import Separation
from ngmca.saving.checksummed_files import read_checked, with_checksum


def save(path: Path, separation: Separation) -> None:
    """Write a separation, atomically; a file that is there is replaced."""
    content = BytesIO()
    write_record(content, separation.in_memory())
    write_atomically(path, with_checksum(content))


def load(path: Path) -> Separation:
    """Return the separation that `save` wrote; raise a ReadError if the file is damaged."""
    try:
        return read_record(Separation, BytesIO(read_checked(path)))
    except ReadError:
        raise
    except Exception as error:  # NumPy and zip raise errors of many kinds
        raise ReadError(
            f"{path} is not a separation that this version of ngmca can read ({error}): remove it and "
            "start again."
        ) from error
