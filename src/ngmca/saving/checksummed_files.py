"""NetCDF files that end with a checksum: what has changed since it was written is not read at all.

HDF5 does not mind bytes behind its own. A file without them, written before there were any or by another
program, is read in a process of its own: a damaged one can make HDF5 crash or hang.
"""

import hashlib
from io import BytesIO
from pathlib import Path
from typing import Any

from ngmca._support.isolated_process import Apart
from ngmca.io import ReadError
from ngmca.io.claimed_sizes import check_claim, memory_left
from ngmca.io.containers.safety_checks import check_hdf5
from ngmca.io.isolated_reading import call_isolated
from ngmca.saving.whole_files import write_whole

SEAL = b"\nngmca sha256 "
LENGTH = len(SEAL) + hashlib.sha256().digest_size


def write_sealed(path: Path, stored: Any, encoding: dict[str, Any]) -> None:
    """Write an xarray Dataset; in memory first, since HDF5 does not survive a disk that is full."""
    content = BytesIO()
    stored.to_netcdf(content, engine="h5netcdf", encoding=encoding)
    content.seek(0, 2)
    content.write(SEAL + hashlib.sha256(content.getbuffer()).digest())
    write_whole(path, content.getvalue())


def contents(file: Path) -> dict[str, Any]:
    """The variables of a NetCDF file, its attributes and those of its axis."""
    if is_sealed(file):
        return contents_here(str(file))
    with Apart(memory=memory_left() / 2) as apart:
        found: dict[str, Any] = call_isolated(apart, f"{__name__}:contents_here", file)
    return found


def contents_here(path: str) -> dict[str, Any]:
    """The same, read by this process."""
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


def is_signed(file: Path) -> bool:
    """Whether a NetCDF file says that ngmca wrote it; what it holds is not read."""
    if is_sealed(file):
        return True
    with Apart(memory=memory_left() / 2) as apart:
        return bool(call_isolated(apart, f"{__name__}:is_signed_here", file))


def is_signed_here(path: str) -> bool:
    """The same for a file without a checksum, read by this process."""
    import xarray as xr

    check_hdf5(Path(path))
    with xr.open_dataset(path, engine="h5netcdf", phony_dims="access") as opened:
        return "ngmca" in opened.attrs


def is_sealed(file: Path) -> bool:
    """Whether a file ends with a checksum; an error if that is not its own."""
    size = file.stat().st_size - LENGTH
    if size < 0:
        return False
    digest = hashlib.sha256()
    with file.open("rb") as stored:
        stored.seek(size)
        seal = stored.read()
        if not seal.startswith(SEAL):
            return False
        stored.seek(0)
        for _ in range(0, size, 1 << 20):
            digest.update(stored.read(min(1 << 20, size - stored.tell())))
    if SEAL + digest.digest() != seal:
        raise ReadError(f"{file} has changed since ngmca wrote it: it is damaged.")
    return True
