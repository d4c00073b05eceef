"""Spectral images: ENVI by spectral, microscopes' formats by rosettasciio, imzML by pyimzML."""

import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.dataset import Dataset, ReadError, from_array, monotonic
from ngmca.io.extras import require
from ngmca.io.sizes import check_claim
from ngmca.io.units import NO_AXIS, from_unit, known_unit

ENVI_DATA = ("", ".img", ".dat", ".raw", ".bin", ".bil", ".bip", ".bsq", ".sli")
BIN = 0.1  # width in m/z on which spectra with peaks of their own are put


def read_envi(path: Path, **_: Any) -> Dataset:
    """The pixels of an ENVI image, with its wavelengths."""
    envi = require("spectral.io.envi", "ENVI")
    header = path if path.suffix.lower() == ".hdr" else _sibling(path, (".hdr",))
    if header is None:
        raise ReadError(f"{path} has no ENVI header (.hdr) beside it.")
    try:
        fields = envi.read_envi_header(str(header))
        shape = [int(fields[key]) for key in ("lines", "samples", "bands")]
        kind = np.dtype(dict(envi.dtype_map)[fields["data type"]])
    except KeyError as error:
        raise ReadError(f"{header} is not a whole ENVI header: it has no {error}.") from error
    except Exception as error:  # spectral raises its own, and ValueError
        raise ReadError(f"{header} is not a whole ENVI header: {error}.") from error
    body = _sibling(header, ENVI_DATA) or _sibling(header.with_suffix(""), ENVI_DATA)
    if body is None:
        raise ReadError(f"{header} has no data file beside it (.img, .dat, .raw, .bsq ...).")
    check_claim(float(np.prod(shape, dtype=float)) * kind.itemsize, body.stat().st_size, str(header))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cube = np.asarray(envi.open(str(header), str(body)).open_memmap(interleave="bip"))
    waves = np.array(fields.get("wavelength", []), dtype=float)
    axis = waves if len(waves) == shape[2] and monotonic(waves) else None
    name, unit = "band", ""
    if axis is not None:
        name, unit = from_unit(_known(str(fields.get("wavelength units", ""))), otherwise="wavelength")
    return from_array(cube, axis, transpose=False, where=str(header), axis_name=name, axis_unit=unit)


def rosetta_plugin(path: Path) -> str | None:
    """The rosettasciio module that reads a name, None if there is none or it is not installed."""
    try:
        from rsciio import IO_PLUGINS
    except ImportError:
        return None
    suffix = path.suffix.lower().lstrip(".")
    skip = {"numpy", "Image", "netCDF", "TIFF", "Impulse", "Protochips"}
    for plugin in IO_PLUGINS:
        if plugin["name"] not in skip and suffix in {e.lower() for e in plugin["file_extensions"]}:
            return str(plugin["api"])
    return None


def read_rosetta(path: Path, *, dataset: str | None = None, **_: Any) -> Dataset:
    """The spectra, or the spectral image, in a file that rosettasciio reads."""
    module = rosetta_plugin(path) or ""
    plugin = require(module or "rsciio", f"{path.suffix or 'this format'}")
    logging.getLogger("rsciio").setLevel(logging.ERROR)
    if path.suffix.lower() == ".wdf":
        _check_renishaw(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signals = plugin.file_reader(str(path))
    except Exception as error:  # readers of thirty formats raise what they like
        detail = " ".join(str(error).split()) or type(error).__name__
        raise ReadError(f"{path}: rosettasciio cannot read it: {detail}.") from error
    signal = _spectral_signal(signals, dataset, path)
    return _from_signal(signal, path)


def read_imzml(path: Path, **_: Any) -> Dataset:
    """The pixels of an imaging mass spectrum, on its own m/z axis or in bins of 0.1."""
    parser = require("pyimzml.ImzMLParser", "imzML")
    body = path.with_suffix(".ibd")
    if not body.is_file():
        raise ReadError(f"{path} has no data file {body.name} beside it.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with parser.ImzMLParser(str(path)) as stored:
                places = np.array([place[:2] for place in stored.coordinates])
                spectra = [stored.getspectrum(i) for i in range(len(places))]
    except Exception as error:  # XML and binary damage surface as all sorts
        raise ReadError(f"{path} is not a whole imzML file: {error}.") from error
    short = next((i for i, (mz, y) in enumerate(spectra) if len(mz) != len(y) or not len(mz)), None)
    if short is not None:
        raise ReadError(
            f"{path}: spectrum {short + 1} is cut short: {body.name} is truncated or damaged."
        )
    axis, Y, note = _on_one_axis(spectra)
    order, shape = _as_image(places)
    names = tuple(f"x{x} y{y}" for x, y in places[order])
    data = Dataset(Y[order], axis, "m/z", "", () if shape else names, shape)
    return data.noted(note) if note else data


def _on_one_axis(spectra: list[tuple[Any, Any]]) -> tuple[NDArray, NDArray, str]:
    first = np.asarray(spectra[0][0], dtype=float)
    if all(len(mz) == len(first) and np.array_equal(mz, first) for mz, _ in spectra):
        return first, np.array([y for _, y in spectra], dtype=float), ""
    low = min(float(np.min(mz)) for mz, _ in spectra)
    bins = [np.floor((np.asarray(mz) - low) / BIN).astype(int) for mz, _ in spectra]
    Y = np.zeros((len(spectra), max(int(b.max()) for b in bins) + 1))
    for row, where, (_, y) in zip(Y, bins, spectra, strict=True):
        np.add.at(row, where, y)
    axis = low + BIN * (np.arange(Y.shape[1]) + 0.5)
    used = Y.any(axis=0)
    note = f"peaks were summed in bins of {BIN} m/z; {int(used.sum())} bins hold any."
    return axis[used], Y[:, used], note


def _as_image(places: NDArray) -> tuple[NDArray, tuple[int, int] | None]:
    """Pixels row by row, and the image's shape if none is missing."""
    order = np.lexsort((places[:, 0], places[:, 1]))
    corner = places.min(axis=0)
    columns, rows = (int(size) for size in places.max(axis=0) - corner + 1)
    whole = len(places) == rows * columns == len(np.unique(places, axis=0))
    return order, (rows, columns) if whole and rows > 1 and columns > 1 else None


def _check_renishaw(path: Path) -> None:
    """Refuse a chain of blocks that does not move on: rosettasciio would follow it for ever."""
    size, place = path.stat().st_size, 0
    with path.open("rb") as file:
        while place < size:
            file.seek(place + 8)
            step = int.from_bytes(file.read(8), "little")
            if step < 16:
                raise ReadError(f"{path}: rosettasciio cannot read it: broken block at byte {place}.")
            place += step


def _spectral_signal(signals: list[Any], wanted: str | None, path: Path) -> Any:
    """The signal with one spectral axis: the wanted one, or the largest."""
    spectra = [s for s in signals if sum(not axis["navigate"] for axis in s["axes"]) == 1]
    titles = [str(s.get("metadata", {}).get("General", {}).get("title", "")) for s in spectra]
    if wanted is not None:
        spectra = [s for s, title in zip(spectra, titles, strict=True) if title == wanted]
        if not spectra:
            raise ReadError(f"{path} has no spectra called {wanted!r}: it has {', '.join(titles)}.")
    if not spectra:
        raise ReadError(f"{path} holds images or other data, and no spectra.")
    return max(spectra, key=lambda s: np.size(s["data"]))


def _from_signal(signal: Any, path: Path) -> Dataset:
    order = [i for i, a in enumerate(signal["axes"]) if a["navigate"]]
    spectral = next(i for i, a in enumerate(signal["axes"]) if not a["navigate"])
    array = np.moveaxis(np.asarray(signal["data"]), spectral, -1)
    if len(order) > 2:
        raise ReadError(
            f"{path} has {len(order)} directions besides the spectra: one or two are needed."
        )
    described = signal["axes"][spectral]
    if "axis" in described:
        axis = np.asarray(described["axis"], dtype=float)
    else:
        size = array.shape[-1]
        axis = float(described.get("offset", 0)) + float(described.get("scale", 1)) * np.arange(size)
    name, unit = (_text(described.get(key)) for key in ("name", "units"))
    title = _text(signal.get("metadata", {}).get("General", {}).get("title"))
    return from_array(
        array,
        axis,
        transpose=False,
        where=str(path),
        axis_name=name or NO_AXIS,
        axis_unit=known_unit(unit),
        meta={"title": title} if title else {},
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) and "undefined" not in value else ""


def _sibling(path: Path, suffixes: tuple[str, ...]) -> Path | None:
    named = (path.with_suffix(suffix) for suffix in suffixes)
    return next((candidate for candidate in named if candidate != path and candidate.is_file()), None)


def _known(unit: str) -> str:
    """The unit of an ENVI header, which may say that it is not known."""
    return "" if unit.lower() == "unknown" else unit
