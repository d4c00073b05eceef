"""Which reader a path needs, from what is in it and how it is called."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ngmca.io import arrays, containers, images, jcampdx, labelled, nmr, text
from ngmca.io.dataset import Dataset, ReadError

Reader = Callable[..., Dataset]

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
TEXT = (".csv", ".tsv", ".txt", ".dat", ".asc", ".xy", ".prn")
JCAMP = (".jdx", ".dx", ".jcm", ".jcamp")
KNOWN = (
    "NumPy, text tables, MATLAB, HDF5, Zarr, NetCDF, Bruker, Varian, NMRPipe, JCAMP-DX, ENVI, imzML, "
    "and what rosettasciio reads"
)
PIPE = (".ft", ".ft1", ".ft2", ".fid", ".nmrpipe", ".pipe")


def reader_of(path: Path) -> tuple[str, Reader]:
    """Name of the format and its reader, for a file or for a folder that is one data set."""
    found = _of_folder(path) if path.is_dir() else _of_file(path)
    if found is None:
        what = "folder" if path.is_dir() else "file"
        raise ReadError(f"{path}: no reader knows this {what}. Known are {KNOWN}.")
    return found


def _of_folder(path: Path) -> tuple[str, Reader] | None:
    if (path / "procpar").is_file():
        return "Varian", nmr.read_varian
    if any((path / name).is_file() for name in (".zgroup", ".zarray", "zarr.json")):
        plain = path.suffix.lower() != ".zspy"
        return ("Zarr", containers.read_zarr) if plain else ("ZSpy", images.read_rosetta)
    if nmr.is_bruker(path):
        return "Bruker", nmr.read_bruker
    return None


def _of_file(path: Path) -> tuple[str, Reader] | None:
    with path.open("rb") as file:
        head = file.read(2048)
    if not head:
        raise ReadError(f"{path} is empty.")
    return _by_content(path, head) or _by_name(path) or _by_look(path, head)


def _by_content(path: Path, head: bytes) -> tuple[str, Reader] | None:
    """Formats that begin in a way of their own."""
    suffix = path.suffix.lower()
    if head.startswith(b"\x93NUMPY"):
        return "npy", arrays.read_npy
    if head.startswith(b"PK\x03\x04") and suffix in (".npz", ""):
        return "npz", arrays.read_npz
    if head.startswith(b"MATLAB 5.0"):
        return "MATLAB", arrays.read_mat
    if head.startswith((b"CDF\x01", b"CDF\x02")):
        return "NetCDF", labelled.read_netcdf
    if head.startswith(HDF5_MAGIC):
        return _hdf5_family(path)
    if head.startswith(b"MATLAB 7.3"):
        return "MATLAB 7.3", containers.read_hdf5
    if (
        head[:1] == b"\x80"
        and head[1:2] in b"\x02\x03\x04\x05"
        and suffix in (".npy", ".pkl", ".pickle")
    ):
        return "pickle", _refuse_pickle
    if head.lstrip().upper().startswith(b"##TITLE"):
        return "JCAMP-DX", jcampdx.read_jcamp
    if head.startswith(b"ENVI") and suffix == ".hdr":
        return "ENVI", images.read_envi
    return None


def _by_name(path: Path) -> tuple[str, Reader] | None:
    """Formats known by how the file is called."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-1] if suffixes else ""
    if last == ".gz" and len(suffixes) > 1:
        last = suffixes[-2]
    if last in TEXT:
        return "text", text.read_text
    named: dict[str, tuple[str, Reader]] = {
        ".npy": ("npy", arrays.read_npy),
        ".npz": ("npz", arrays.read_npz),
        ".mat": ("MATLAB", arrays.read_mat),
        ".h5": ("HDF5", containers.read_hdf5),
        ".hdf5": ("HDF5", containers.read_hdf5),
        ".nc": ("NetCDF", labelled.read_netcdf),
        ".hdr": ("ENVI", images.read_envi),
        ".imzml": ("imzML", images.read_imzml),
    }
    if last in named:
        return named[last]
    if last in JCAMP:
        return "JCAMP-DX", jcampdx.read_jcamp
    if last in PIPE:
        return "NMRPipe", nmr.read_pipe
    if last in (".img", ".bil", ".bip", ".bsq", ".raw") and path.with_suffix(".hdr").is_file():
        return "ENVI", images.read_envi
    if path.name in ("fid", "ser") and (path.parent / "acqus").is_file():
        return "Bruker", lambda p, **options: nmr.read_bruker(p.parent, **options)
    if path.name == "fid" and (path.parent / "procpar").is_file():
        return "Varian", lambda p, **options: nmr.read_varian(p.parent, **options)
    if path.name in ("1r", "2rr"):
        return "Bruker", lambda p, **options: nmr.read_bruker(p.parent, **options)
    return ("rosettasciio", images.read_rosetta) if images.rosetta_plugin(path) else None


def _by_look(path: Path, head: bytes) -> tuple[str, Reader] | None:
    """Anything that is text may be a table; gzip may hold one."""
    if head[:2] == b"\x1f\x8b" or not any(byte < 9 or 13 < byte < 32 for byte in head):
        return "text", text.read_text
    return None


def _hdf5_family(path: Path) -> tuple[str, Reader]:
    """HDF5 is also NetCDF 4 and the container of several microscopes."""
    suffix = path.suffix.lower()
    if suffix in (".h5", ".hdf5", ".mat", ".he5", ""):
        return "HDF5", containers.read_hdf5
    if suffix in (".nc", ".nc4", ".cdf"):
        return "NetCDF", labelled.read_netcdf
    if images.rosetta_plugin(path):
        return "rosettasciio", images.read_rosetta
    return "HDF5", containers.read_hdf5


def _refuse_pickle(path: Path, **_: Any) -> Dataset:
    raise ReadError(
        f"{path} is a Python pickle, which could run any program when opened: it is not read. "
        "Save plain numbers (numpy.save, .csv)."
    )
