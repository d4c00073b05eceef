"""Which reader a path needs, from what is in it and how it is called."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ngmca.io.containers import hdf5_and_zarr as containers
from ngmca.io.containers import netcdf_and_xarray as labelled
from ngmca.io.containers import numpy_and_matlab as arrays
from ngmca.io.dataset import Dataset, ReadError
from ngmca.io.tables import spreadsheets, text
from ngmca.io.vendors import jcampdx, nmr, omnic, opus, perkinelmer, princeton, spc
from ngmca.io.vendors import mass_spectra as masses
from ngmca.io.vendors import spectral_images as images

Reader = Callable[..., Dataset]

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
TEXT = (".csv", ".tsv", ".txt", ".dat", ".asc", ".xy", ".prn")
JCAMP = (".jdx", ".dx", ".jcm", ".jcamp")
KNOWN = (
    "NumPy, text tables, Excel, LibreOffice, MATLAB, HDF5, Zarr, NetCDF, Bruker, Varian, NMRPipe, "
    "JCAMP-DX, SPC, OPUS, Omnic, PerkinElmer, Princeton, ENVI, mzML, imzML, and what rosettasciio reads"
)
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"  # what spreadsheets and much else are packed in
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".ods", ".xls")
EDAX = (b"\xf6\x28\x1c\x3f", b"\x33\x33\x33\x3f")  # versions 0.61 and 0.70
JEOL_MAP = b"\x34\x00\x00\x00"
ADVICE = {  # files that no kept reader reads, and what can be had instead
    ".l6m": "LabSpec 6 files are not read: export as .xml or .txt in LabSpec",
    ".l6s": "LabSpec 6 files are not read: export as .xml or .txt in LabSpec",
    ".ngs": "LabSpec 5 files are not read: export as .txt in LabSpec",
    ".wip": "WITec projects are not read: export as .spc, MATLAB or text in WITec Project",
    ".sif": "Andor Solis files are not read: export as ASCII in Solis",
    ".jws": "JASCO files are not read: export as text or JCAMP-DX in Spectra Manager",
    ".srs": "Omnic's series are not read: save their spectra as a group (.spg) in Omnic",
    ".map": "it is none of JEOL's maps: export as text or SPC in the program that wrote it",
    ".spc": "it is none of the SPC files of Galactic or EDAX: export as JCAMP-DX or text",
    ".spe": "it is none of Princeton Instruments' files: export as text",
    ".xml": "of XML, Horiba's LabSpec and mzML are read: export as text",
}
PIPE = (".ft", ".ft1", ".ft2", ".fid", ".nmrpipe", ".pipe")


def reader_of(path: Path) -> tuple[str, Reader]:
    """Name of the format and its reader, for a file or for a folder that is one data set."""
    found = _of_folder(path) if path.is_dir() else _of_file(path)
    if found is None:
        what = "folder" if path.is_dir() else "file"
        advice = ADVICE.get(path.suffix.lower())
        if advice and path.is_file():
            raise ReadError(f"{path}: {advice}.")
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
    found = _by_content(path, head) or _by_instrument(path, head)
    return found or _by_name(path, head) or _by_look(path, head)


def _by_content(path: Path, head: bytes) -> tuple[str, Reader] | None:
    """Formats that begin in a way of their own."""
    suffix = path.suffix.lower()
    if head.startswith(b"\x93NUMPY"):
        return "npy", arrays.read_npy
    if head.startswith(ZIP) and suffix in (".npz", ""):
        return "npz", arrays.read_npz
    if head.startswith((ZIP, OLE)) and suffix in SHEETS:
        return "spreadsheet", spreadsheets.read_sheets
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


def _by_instrument(path: Path, head: bytes) -> tuple[str, Reader] | None:
    """Formats of instruments' programs; a suffix alone decides nothing, several share each."""
    suffix = path.suffix.lower()
    if head.startswith(opus.MAGIC):
        return "OPUS", opus.read_opus
    if head.startswith((omnic.SPECTRUM, omnic.SERIES)):
        return "Omnic", omnic.read_omnic
    if head.startswith(perkinelmer.MAGIC):
        return "PerkinElmer", perkinelmer.read_perkinelmer
    runs = b"<mzML" in head or b"<indexedmzML" in head or path.name.lower().endswith(".mzml.gz")
    if runs and suffix != ".imzml":
        return "mzML", masses.read_mzml
    if suffix == ".spc" and spc.is_spc(head):
        return "SPC", spc.read_spc
    if suffix == ".spe" and princeton.is_princeton(head, path.stat().st_size):
        return "SPE", princeton.read_princeton
    return None


def _is_rosetta(path: Path, head: bytes) -> bool:
    """Whether rosettasciio reads a file, and not another program's of the same suffix."""
    begins = {".spc": head[:4] in EDAX, ".map": head[:4] == JEOL_MAP, ".xml": b"<LSX" in head}
    return begins.get(path.suffix.lower(), True) and images.rosetta_plugin(path) is not None


def _by_name(path: Path, head: bytes) -> tuple[str, Reader] | None:
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
        ".imzml": ("imzML", masses.read_imzml),
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
    return ("rosettasciio", images.read_rosetta) if _is_rosetta(path, head) else None


def _by_look(path: Path, head: bytes) -> tuple[str, Reader] | None:
    """Anything that is text may be a table, but XML; gzip may hold one."""
    if head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"<?xml", b"<!DOCTYPE", b"<html")):
        return None
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
