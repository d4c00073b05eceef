"""A separation that a run keeps while it goes on, in one .npz file with a checksum.

It is cheap to write, and all numbers come back to the bit. For results use `ngmca.save`.
"""

import json
from io import BytesIO
from pathlib import Path

import numpy as np

from ngmca._support.atomic_files import write_atomically
from ngmca.io import ReadError
from ngmca.result import Separation
from ngmca.saving.checksummed_files import read_checked, with_checksum
from ngmca.saving.records import from_plain, to_plain


def save(path: Path, separation: Separation) -> None:
    """Write a separation, atomically; a file that is there is replaced."""
    arrays: list[np.ndarray] = []
    text = json.dumps(to_plain(separation.in_memory(), arrays))
    content = BytesIO()
    np.savez(content, *arrays, text=np.array(text))
    write_atomically(path, with_checksum(content))


def load(path: Path) -> Separation:
    """Return the separation that `save` wrote; raise a ReadError if the file is damaged."""
    try:
        with np.load(BytesIO(read_checked(path))) as stored:
            arrays = [stored[f"arr_{i}"] for i in range(len(stored.files) - 1)]
            return from_plain(Separation, json.loads(str(stored["text"])), arrays)
    except ReadError:
        raise
    except Exception as error:  # NumPy and zip raise errors of many kinds
        raise ReadError(
            f"{path} is not a separation that this version of ngmca can read ({error}): remove it and "
            "start again."
        ) from error
