"""Which format a file or folder has, from its content and its name."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ngmca.io.containers import hdf5_and_zarr, json_arrays, netcdf_and_xarray, numpy_and_matlab
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError
from ngmca.io.tables import spreadsheets, text_reader
from ngmca.io.vendors import (
    agilent,
    athena,
    images,
    infrared,
    jcampdx,
    mass_spectra,
    nmr,
    perkinelmer,
    princeton,
    spc,
)

Reader = Callable[..., Dataset]

HEAD_BYTES = 2048  # at the start of a file, from which its format is found
TABLE_FORMATS = ("text", "spreadsheet")
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"  # containers of spreadsheets and of many other formats
SHEET_SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".ods", ".xls")
SIGNATURES: tuple[tuple[bytes | tuple[bytes, ...], tuple[str, ...], str], ...] = (
    # the first bytes, the suffixes if other formats begin alike, and the format
    (b"\x93NUMPY", (), "npy"),
    (ZIP, (".npz", ""), "npz"),
    ((ZIP, OLE), SHEET_SUFFIXES, "spreadsheet"),
    (b"MATLAB 5.0", (), "MATLAB"),
    ((b"CDF\x01", b"CDF\x02"), (), "NetCDF"),
    (b"\x89HDF\r\n\x1a\n", (), "HDF5"),
    (b"MATLAB 7.3", (), "MATLAB 7.3"),
    ((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), (".npy", ".pkl", ".pickle"), "pickle"),
    (b"ENVI", (".hdr",), "ENVI"),
)
JSON_RECORD = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"')
EXPORT_HINTS = {
    ".l6m": "LabSpec 6 files are not supported: export as .xml or .txt in LabSpec",
    ".l6s": "LabSpec 6 files are not supported: export as .xml or .txt in LabSpec",
    ".ngs": "LabSpec 5 files are not supported: export as .txt in LabSpec",
    ".wip": "WITec projects are not supported: export as .spc, MATLAB or text in WITec Project",
    ".sif": "Andor Solis files are not supported: export as ASCII in Solis",
    ".jws": "JASCO files are not supported: export as text or JCAMP-DX in Spectra Manager",
    ".srs": "series of Omnic are not supported: save their spectra as a group (.spg) in Omnic",
    ".map": "it is not a map of JEOL: export as text or SPC in the program that wrote it",
    ".spc": "it is not an SPC file of Galactic or EDAX: export as JCAMP-DX or text",
    ".spe": "it is not a file of Princeton Instruments: export as text",
    ".xml": "the only XML files that can be read are those of Horiba's LabSpec and mzML: export as text",
}


def _raise_for_pickle(path: Path, **_: Any) -> Dataset:
    raise ReadError(
        f"{path} is a Python pickle, which could run any program when opened: it is not read. "
        "Save plain numbers (numpy.save, .csv)."
    )


PLAIN_READERS: dict[str, Reader] = {
    "npy": numpy_and_matlab.read_npy,
    "npz": numpy_and_matlab.read_npz,
    "text": text_reader.read_text,
    "JSON": json_arrays.read_json,
    "MATLAB": numpy_and_matlab.read_mat,
    "MATLAB 7.3": hdf5_and_zarr.read_hdf5,
    "HDF5": hdf5_and_zarr.read_hdf5,
    "SPC": spc.read_spc,
    "SPE": princeton.read_princeton,
    "PerkinElmer": perkinelmer.read_perkinelmer,
    "Agilent": agilent.read_agilent,
    "Athena": athena.read_athena,
    "mzML": mass_spectra.read_mzml,
    "pickle": _raise_for_pickle,
}
READERS_OF_EXTRA: dict[str, Reader] = {  # they need the libraries of `pip install 'ngmca[io]'`
    "Zarr": hdf5_and_zarr.read_zarr,
    "NetCDF": netcdf_and_xarray.read_netcdf,
    "spreadsheet": spreadsheets.read_sheets,
    "Bruker": nmr.read_bruker,
    "Varian": nmr.read_varian,
    "NMRPipe": nmr.read_pipe,
    "JCAMP-DX": jcampdx.read_jcamp,
    "OPUS": infrared.read_opus,
    "Omnic": infrared.read_omnic,
    "ENVI": images.read_envi,
    "imzML": mass_spectra.read_imzml,
}
READERS_OF_MICROSCOPES: dict[str, Reader] = {  # they need `pip install 'ngmca[microscopes]'`
    "rosettasciio": images.read_rosetta,
    "ZSpy": images.read_rosetta,
}
READERS = PLAIN_READERS | READERS_OF_EXTRA | READERS_OF_MICROSCOPES
NAMES_IN_TEXTS = {  # where they are not the names above; "" for a variant of another format
    "npy": "NumPy (.npy, .npz)",
    "npz": "",
    "text": "text tables (.csv, .tsv, .txt)",
    "MATLAB 7.3": "",
    "SPE": "Princeton (.spe)",
    "Athena": "Athena (.prj)",
    "pickle": "",
    "spreadsheet": "Excel, LibreOffice",
    "rosettasciio": "all that rosettasciio reads",
    "ZSpy": "",
}
BY_SUFFIX = {
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "MATLAB",
    ".h5": "HDF5",
    ".hdf5": "HDF5",
    ".nc": "NetCDF",
    ".hdr": "ENVI",
    ".imzml": "imzML",
    **dict.fromkeys((".csv", ".tsv", ".txt", ".dat", ".asc", ".xy", ".prn"), "text"),
    **dict.fromkeys((".jdx", ".dx", ".jcm", ".jcamp"), "JCAMP-DX"),
    **dict.fromkeys((".ft", ".ft1", ".ft2", ".fid", ".nmrpipe", ".pipe"), "NMRPipe"),
}


def in_words(readers: Iterable[str] = READERS) -> str:
    """Return the formats of some readers, by default of all, with commas between them."""
    return ", ".join(filter(None, (NAMES_IN_TEXTS.get(name, name) for name in readers)))


def format_of(path: Path, head: bytes | None = None) -> str:
    """Return the name of the format of a file, or of a folder that is one data set.

    `head` is the start of the file, `HEAD_BYTES` long; it is read here if it is not given. The names
    are the keys of `READERS`. Raise an error if no reader supports the file or folder.
    """
    found = format_of_folder(path) if path.is_dir() else _of_file(path, head)
    if found is not None:
        return found
    hint = EXPORT_HINTS.get(path.suffix.lower())
    if hint and path.is_file():
        raise ReadError(f"{path}: {hint}.")
    what = "folder" if path.is_dir() else "file"
    more = images.without_rosetta()
    raise ReadError(f"{path}: this {what} has no known format. Known formats: {in_words()}.{more}")


def format_of_folder(path: Path) -> str | None:
    """Return the format of a folder that is one data set, None for a collection of files."""
    if (path / "procpar").is_file():
        return "Varian"
    if any((path / name).is_file() for name in (".zgroup", ".zarray", "zarr.json")):
        return "ZSpy" if path.suffix.lower() == ".zspy" else "Zarr"
    return "Bruker" if nmr.is_bruker(path) else None


def _of_file(path: Path, head: bytes | None) -> str | None:
    if head is None:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    if not head:
        raise ReadError(f"{path} is empty.")
    found = _by_signature(path, head) or _by_instrument(path, head)
    return found or _by_name(path, head) or _text_or_none(head)


def _by_signature(path: Path, head: bytes) -> str | None:
    """Return a format whose files begin with fixed bytes."""
    suffix = path.suffix.lower()
    if suffix == ".prj" and athena.is_project(head):
        return "Athena"
    for begin, suffixes, name in SIGNATURES:
        if head.startswith(begin) and (not suffixes or suffix in suffixes):
            return _hdf5_family(path) if name == "HDF5" else name
    if suffix == ".json" or JSON_RECORD.match(head):
        return "JSON"
    return "JCAMP-DX" if head.lstrip().upper().startswith(b"##TITLE") else None


def _by_instrument(path: Path, head: bytes) -> str | None:
    """Return a format of an instrument; a suffix alone is not enough, since several formats share it."""
    suffix = path.suffix.lower()
    if head.startswith(infrared.MAGIC):
        return "OPUS"
    if head.startswith((infrared.SPECTRUM, infrared.SERIES)):
        return "Omnic"
    if head.startswith(perkinelmer.MAGIC):
        return "PerkinElmer"
    is_mzml = b"<mzML" in head or b"<indexedmzML" in head or path.name.lower().endswith(".mzml.gz")
    if is_mzml and suffix != ".imzml":
        return "mzML"
    if suffix == ".spc" and spc.is_spc(head):
        return "SPC"
    if suffix == ".spe" and princeton.is_princeton(head, path.stat().st_size):
        return "SPE"
    if suffix == ".dat" and _text_or_none(head) is None:
        if _has_envi_header(path):
            return "ENVI"
        return "Agilent" if agilent.settings_beside(path) else None
    return None


def _has_envi_header(path: Path) -> bool:
    header = path.with_suffix(".hdr")
    return header.is_file() and header.read_bytes()[:4] == b"ENVI"


def _by_name(path: Path, head: bytes) -> str | None:
    """Return a format that is known by the name of the file."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-1] if suffixes else ""
    if last == ".gz" and len(suffixes) > 1:
        last = suffixes[-2]
    if last in BY_SUFFIX:
        return BY_SUFFIX[last]
    if last in (".img", ".bil", ".bip", ".bsq", ".raw") and path.with_suffix(".hdr").is_file():
        return "ENVI"
    if path.name in ("fid", "ser") and (path.parent / "acqus").is_file():
        return "Bruker"
    if path.name == "fid" and (path.parent / "procpar").is_file():
        return "Varian"
    if path.name in ("1r", "2rr"):
        return "Bruker"
    return "rosettasciio" if _is_rosetta(path, head) else None


def _is_rosetta(path: Path, head: bytes) -> bool:
    """Return whether rosettasciio reads a file; other programs use some of the same suffixes."""
    begins = {
        ".spc": head[:4] in (b"\xf6\x28\x1c\x3f", b"\x33\x33\x33\x3f"),  # EDAX, versions 0.61 and 0.70
        ".map": head[:4] == b"\x34\x00\x00\x00",  # JEOL
        ".xml": b"<LSX" in head,
    }
    return begins.get(path.suffix.lower(), True) and images.rosetta_plugin(path) is not None


def _text_or_none(head: bytes) -> str | None:
    """Return "text" for any text except XML, and for gzip."""
    if head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"<?xml", b"<!DOCTYPE", b"<html")):
        return None
    is_text = head[:2] == b"\x1f\x8b" or not any(byte < 9 or 13 < byte < 32 for byte in head)
    return "text" if is_text else None


def _hdf5_family(path: Path) -> str:
    """Return HDF5, NetCDF 4 or rosettasciio: several microscopes write HDF5."""
    suffix = path.suffix.lower()
    if suffix in (".h5", ".hdf5", ".mat", ".he5", ""):
        return "HDF5"
    if suffix in (".nc", ".nc4", ".cdf"):
        return "NetCDF"
    microscope = suffix in (".hspy", ".emd") or images.rosetta_plugin(path)
    return "rosettasciio" if microscope else "HDF5"
