"""Files that end with a checksum: a file that has changed since it was written is not read.

A separation that a run keeps while it goes on is one .npz file with a checksum. It is cheap to write,
and all numbers come back to the bit. For results use `ngmca.save`.
"""

import hashlib
from io import BytesIO
from pathlib import Path

from ngmca._support.atomic_files import write_atomically
from ngmca._support.records import read_record, write_record
from ngmca.io import ReadError
from ngmca.result import Separation

LABEL = b"\nngmca sha256 "
CHECKSUM_BYTES = len(LABEL) + hashlib.sha256().digest_size


def with_checksum(content: BytesIO) -> memoryview:
    """Return the content of a file with its checksum at the end."""
    content.seek(0, 2)
    with content.getbuffer() as written:
        digest = hashlib.sha256(written).digest()
    content.write(LABEL + digest)
    return content.getbuffer()


def read_checked(file: Path) -> bytes:
    """Return the content of a file that ends with a checksum; raise an error if that is wrong."""
    if not has_checksum(file):
        raise ReadError(f"{file} has no checksum: it is damaged.")
    return file.read_bytes()[:-CHECKSUM_BYTES]


def has_checksum(file: Path) -> bool:
    """Return whether a file ends with a checksum; raise an error if that is wrong."""
    size = file.stat().st_size - CHECKSUM_BYTES
    if size < 0:
        return False
    digest = hashlib.sha256()
    with file.open("rb") as stored:
        stored.seek(size)
        end = stored.read()
        if not end.startswith(LABEL):
            return False
        stored.seek(0)
        for _ in range(0, size, 1 << 20):
            digest.update(stored.read(min(1 << 20, size - stored.tell())))
    if LABEL + digest.digest() != end:
        raise ReadError(f"{file} has changed since ngmca wrote it: it is damaged.")
    return True


def save_interim(path: Path, separation: Separation) -> None:
    """Write a separation, atomically; a file that is there is replaced."""
    content = BytesIO()
    write_record(content, separation.in_memory())
    write_atomically(path, with_checksum(content))


def load_interim(path: Path) -> Separation:
    """Return the separation that `save_interim` wrote; raise a ReadError if the file is damaged."""
    try:
        return read_record(Separation, BytesIO(read_checked(path)))
    except ReadError:
        raise
    except Exception as error:  # NumPy and zip raise errors of many kinds
        raise ReadError(
            f"{path} is not a separation that this version of ngmca can read ({error}): remove it and "
            "start again."
        ) from error
