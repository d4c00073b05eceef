"""Files that end with a checksum: a file that has changed since it was written is not read.

HDF5 ignores bytes after its own. A NetCDF file without a checksum, written by an older version or by
another program, is read in a separate process: a damaged file can make HDF5 crash or hang.

A separation that a run keeps while it goes on is one .npz file with a checksum. It is cheap to write,
and all numbers come back to the bit. For results use `ngmca.save`.
"""

import hashlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from numpy.typing import NDArray

from ngmca._support.atomic_files import write_atomically
from ngmca._support.isolated_process import IsolatedProcess
from ngmca._support.records import read_record, write_record
from ngmca.io import ReadError
from ngmca.io.claimed_sizes import check_claim, memory_left
from ngmca.io.containers.safety_checks import check_hdf5
from ngmca.io.isolated_reading import call_isolated
from ngmca.result import Separation

if TYPE_CHECKING:
    import xarray as xr

LABEL = b"\nngmca sha256 "
CHECKSUM_BYTES = len(LABEL) + hashlib.sha256().digest_size


class Contents(TypedDict):
    """What a NetCDF file holds: values of its variables, its attributes, and those of its axis."""

    values: dict[str, NDArray]
    attributes: dict[str, Any]
    axis: dict[str, Any]


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


def write_netcdf(path: Path, stored: "xr.Dataset", encoding: dict[str, dict[str, Any]]) -> None:
    """Write a NetCDF file; in memory first, since HDF5 may crash when a disk is full."""
    content = BytesIO()
    stored.to_netcdf(content, engine="h5netcdf", encoding=encoding)
    write_atomically(path, with_checksum(content))


def read_netcdf(file: Path) -> Contents:
    """Read a NetCDF file, in a separate process if it has no checksum."""
    if has_checksum(file):
        return read_netcdf_here(str(file))
    with IsolatedProcess(memory=memory_left() / 2) as process:
        found: Contents = call_isolated(process, "ngmca.saving.checksummed_files:read_netcdf_here", file)
    return found


def read_netcdf_here(path: str) -> Contents:
    """Read a NetCDF file in this process."""
    import xarray as xr

    check_hdf5(Path(path))
    with xr.open_dataset(path, engine="h5netcdf", phony_dims="access") as opened:
        check_claim(float(opened.nbytes), None, path)
        stored = opened.load()
    return {
        "values": {str(name): variable.values for name, variable in stored.variables.items()},
        "attributes": dict(stored.attrs),
        "axis": dict(stored["axis"].attrs) if "axis" in stored.variables else {},
    }


def is_written_by_ngmca(file: Path) -> bool:
    """Return whether a NetCDF file says that ngmca wrote it; its values are not read."""
    if has_checksum(file):
        return True
    with IsolatedProcess(memory=memory_left() / 2) as process:
        return bool(call_isolated(process, "ngmca.saving.checksummed_files:has_ngmca_attribute", file))


def has_ngmca_attribute(path: str) -> bool:
    """Return whether a NetCDF file has the attribute that ngmca writes, read in this process."""
    import xarray as xr

    check_hdf5(Path(path))
    with xr.open_dataset(path, engine="h5netcdf", phony_dims="access") as opened:
        return "ngmca" in opened.attrs


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
