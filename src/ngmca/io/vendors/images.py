"""Readers of spectral images: ENVI with spectral, formats of microscopes with rosettasciio."""

import logging
import re
import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.extras import pip_line
from ngmca._support.messages import option
from ngmca.io.array_layout import BY_EVIDENCE, Layout, from_array
from ngmca.io.axis_units import NO_AXIS, from_unit, known_unit
from ngmca.io.claimed_sizes import check_claim
from ngmca.io.containers.hdf5_and_zarr import read_hdf5, written_notes
from ngmca.io.containers.safety_checks import check_hdf5, check_zarr
from ngmca.io.dataset import Axis, Dataset, monotonic
from ngmca.io.read_error import ReadError, check_held, damaged, require
from ngmca.io.vendors.agilent import settings_beside

ENVI_DATA_SUFFIXES = ("", ".img", ".dat", ".raw", ".bin", ".bil", ".bip", ".bsq", ".sli")
EMSA_SUFFIXES = (".msa", ".ems", ".mas", ".emsa")


def read_envi(path: Path, **_: Any) -> Dataset:
    """Read the pixels of an ENVI image, with its wavelengths."""
    cube, axis, where = open_envi(path)
    return from_array(np.asarray(cube), axis, transpose=False, where=where)


def open_envi(path: Path) -> tuple[NDArray, Axis, str]:
    """Return a memory map of an ENVI image (rows, columns, channels), its axis, and its header."""
    envi = require("spectral.io.envi", "ENVI")
    header = path if path.suffix.lower() == ".hdr" else _sibling(path, (".hdr",))
    if header is None:
        raise ReadError(f"{path} has no ENVI header (.hdr) beside it.")
    with damaged(f"{header} is not a complete ENVI header"):
        _check_header_end(header)
        fields = envi.read_envi_header(str(header))
        absent = [key for key in ("lines", "samples", "bands", "data type") if key not in fields]
        if absent:
            raise ReadError(f"{header} is not a complete ENVI header: it has no {absent[0]!r}.")
        shape = [int(fields[key]) for key in ("lines", "samples", "bands")]
        kind = np.dtype(dict(envi.dtype_map)[fields["data type"]])
    body = _sibling(header, ENVI_DATA_SUFFIXES) or _sibling(header.with_suffix(""), ENVI_DATA_SUFFIXES)
    if body is None:
        raise ReadError(f"{header} has no data file beside it (.img, .dat, .raw, .bsq ...).")
    check_claim(float(np.prod(shape, dtype=float)) * kind.itemsize, body.stat().st_size, str(header))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cube = envi.open(str(header), str(body)).open_memmap(interleave="bip")
    waves = np.array(fields.get("wavelength", []), dtype=float)
    axis = waves if len(waves) == shape[2] and monotonic(waves) else None
    name, unit = "band", ""
    if axis is not None:
        given = str(fields.get("wavelength units", ""))
        given = given or ("cm-1" if settings_beside(header) else "")
        name, unit = from_unit("" if given.lower() == "unknown" else given, otherwise="wavelength")
    return cube, (axis, name, unit), str(header)


def _check_header_end(header: Path) -> None:
    """Raise an error for a header whose last line or list is cut; spectral would ignore it."""
    text = header.read_text(errors="replace").rstrip()
    last = text.rsplit("\n", 1)[-1]
    if text.count("{") != text.count("}") or not (last.endswith("}") or last.partition("=")[2].strip()):
        raise ReadError(f"{header} is not a complete ENVI header: it ends with {last[-40:]!r}.")


def rosetta_plugin(path: Path) -> str | None:
    """Return the rosettasciio module for a file; None if there is none or it is not installed."""
    try:
        from rsciio import IO_PLUGINS
    except ImportError:
        return None
    suffix = path.suffix.lower().lstrip(".")
    if suffix == "img" and path.is_file() and _begins(path, b"IM"):  # JEOL uses the same suffix
        return "rsciio.hamamatsu"
    skip = {"numpy", "Image", "netCDF", "TIFF", "Impulse", "Protochips"}
    for plugin in IO_PLUGINS:
        if plugin["name"] not in skip and suffix in {e.lower() for e in plugin["file_extensions"]}:
            return str(plugin["api"])
    return None


def without_rosetta() -> str:
    """Return what to install for files of microscopes; nothing if it is installed."""
    if find_spec("rsciio") is not None:
        return ""
    return f" Files of microscopes need rosettasciio, which is not installed: {pip_line('rsciio')}."


def _begins(path: Path, with_bytes: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(with_bytes)) == with_bytes


class NoSpectraError(ReadError):
    """A file of a microscope holds no signal with one spectral axis."""


def read_rosetta(
    path: Path, *, dataset: str | None = None, layout: Layout = BY_EVIDENCE, **_: Any
) -> Dataset:
    """Read the spectra, or the spectral image, in a file that rosettasciio supports."""
    try:
        data = _from_signal(_signal(path, dataset), path)
    except NoSpectraError:
        if path.suffix.lower() != ".nxs":
            raise
        return read_hdf5(path, layout=layout, dataset=dataset)
    return data.with_notes(*written_notes(path, f"Experiments/{dataset}/data" if dataset else None))


def open_rosetta(path: Path, dataset: str | None) -> tuple[Any, Axis, str]:
    """Return the numbers in a file as a Dask array, if the plugin is lazy; its axis; and its name."""
    signal = _signal(path, dataset, lazy=True)
    return _turned(signal, path), _axis(signal), str(path)


def _signal(path: Path, dataset: str | None, **given: bool) -> Any:
    """Return the spectra in a file as rosettasciio gives them."""
    module = rosetta_plugin(path) or ""
    plugin = require(module or "rsciio", f"{path.suffix or 'this format'}")
    logging.getLogger("rsciio").setLevel(logging.ERROR)
    with damaged(f"{path}: rosettasciio cannot read it"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _check_before(path)
        signals = plugin.file_reader(str(path), **given)
    return _spectral_signal(signals, dataset, path)


def _check_before(path: Path) -> None:
    """Raise an error for files that rosettasciio would accept: links, code, endless chains of blocks."""
    if path.is_dir() or (path.suffix.lower() == ".zspy" and zipfile.is_zipfile(path)):
        check_zarr(path)
    elif path.suffix.lower() == ".wdf":
        _check_renishaw(path)
    elif path.suffix.lower() in EMSA_SUFFIXES:
        _check_emsa(path)
    else:
        import h5py

        if h5py.is_hdf5(path):
            check_hdf5(path)


def _check_emsa(path: Path) -> None:
    """Raise an error for spectra without their end or with missing points."""
    header, _, values = path.read_text(errors="replace").upper().partition("#SPECTRUM")
    numbers, end, _ = values.partition("#ENDOFDATA")
    if not end:
        raise ReadError(f"{path} does not end with #ENDOFDATA: it is truncated or damaged.")
    announced = re.search(r"#NPOINTS\s*:\s*([\d.E+]+)", header)
    pairs = re.search(r"#DATATYPE\s*:\s*XY", header)
    held = len(numbers.partition("\n")[2].replace(",", " ").split()) / (2 if pairs else 1)
    if announced:
        check_held(path, f"{float(announced[1]):g}", f"{held:g}", "points")


def _check_renishaw(path: Path) -> None:
    """Raise an error for an endless chain of blocks: rosettasciio would follow it for ever."""
    size, place = path.stat().st_size, 0
    with path.open("rb") as file:
        while place < size:
            file.seek(place + 8)
            step = int.from_bytes(file.read(8), "little")
            if step < 16:
                raise ReadError(f"{path}: rosettasciio cannot read it: broken block at byte {place}.")
            place += step


def _spectral_signal(signals: list[Any], wanted: str | None, path: Path) -> Any:
    """Return the signal with one spectral axis: the wanted one, or the largest."""
    spectra = [s for s in signals if sum(not axis["navigate"] for axis in s["axes"]) == 1]
    titles = [str(s.get("metadata", {}).get("General", {}).get("title", "")) for s in spectra]
    if wanted is not None:
        spectra = [s for s, title in zip(spectra, titles, strict=True) if title == wanted]
        if not spectra:
            raise ReadError(
                "{} has no spectra for {}: it has {}.",
                *(path, option("dataset", wanted), ", ".join(titles)),
            )
    if not spectra:
        raise NoSpectraError(f"{path} holds images or other data, but no spectra.")
    return max(spectra, key=lambda s: np.size(s["data"]))


def _from_signal(signal: Any, path: Path) -> Dataset:
    title = _text(signal.get("metadata", {}).get("General", {}).get("title"))
    array, meta = np.asarray(_turned(signal, path)), {"title": title} if title else {}
    return from_array(array, _axis(signal), transpose=False, where=str(path), meta=meta)


def _turned(signal: Any, path: Path) -> Any:
    """Return the numbers of a signal, channels last."""
    places = sum(bool(axis["navigate"]) for axis in signal["axes"])
    if places > 2:
        raise ReadError(f"{path} has {places} dimensions besides the spectra: one or two are required.")
    array = signal["data"]
    order = list(range(np.ndim(array)))
    order.append(order.pop(next(i for i, a in enumerate(signal["axes"]) if not a["navigate"])))
    return array.transpose(order)


def _axis(signal: Any) -> Axis:
    """Return the spectral axis of a signal, its name and its unit."""
    place, described = next((i, a) for i, a in enumerate(signal["axes"]) if not a["navigate"])
    if "axis" in described:
        axis = np.asarray(described["axis"], dtype=float)
    else:
        size = np.shape(signal["data"])[place]
        axis = float(described.get("offset", 0)) + float(described.get("scale", 1)) * np.arange(size)
    unit = known_unit(_text(described.get("units")))
    return axis, _text(described.get("name")) or from_unit(unit, NO_AXIS)[0], unit


def _text(value: Any) -> str:
    return value if isinstance(value, str) and "undefined" not in value else ""


def _sibling(path: Path, suffixes: tuple[str, ...]) -> Path | None:
    named = (path.with_suffix(suffix) for suffix in suffixes)
    return next((candidate for candidate in named if candidate != path and candidate.is_file()), None)
