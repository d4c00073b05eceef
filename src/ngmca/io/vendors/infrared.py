"""Readers of infrared spectra: OPUS of Bruker (with brukeropus), Omnic (spectrochempy-omnic)."""

from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from ngmca._support.messages import option
from ngmca.io.axis_units import NO_AXIS, absorbance, meaning
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, check_held, damaged, printable, require
from ngmca.io.vendors.binary_fields import one, take

SPECTRUM, SERIES = b"Spectral Data File", b"Spectral Exte File"


def read_omnic(path: Path, **_: Any) -> Dataset:
    """Read the spectra in an Omnic file; transmittance becomes absorbance."""
    suffix = path.suffix.lower()
    if suffix not in (".spa", ".spg"):
        raise ReadError(
            f"{path}: only .spa and .spg files of Omnic are supported, not maps or series. "
            "Save its spectra as a group (.spg), as CSV or as JCAMP-DX in Omnic."
        )
    library = require("spectrochempy_omnic", "Omnic")
    with damaged(f"{path} is not a complete Omnic file"):
        content = library.OMNICReader(path.read_bytes(), suffix=suffix)
        titles = content.y_labels[1]
    Y, axis = np.asarray(content.data, dtype=float), np.asarray(content.x, dtype=float)
    if Y.shape[1] != len(axis) or not np.isfinite(Y).all():
        raise ReadError(f"{path} has blanked or missing points: save it without them.")
    if content.x_units is None:
        raise ReadError(
            f"{path} is an interferogram: Fourier-transform it first, then save the spectrum."
        )
    unit = str(content.x_units)
    name = str(content.x_title or "")
    name, unit = meaning(name if "raman" in name.lower() else unit) or (name or NO_AXIS, unit)
    percent = "% " if "percent" in str(content.units) else ""
    Y, kind, notes = absorbance(Y, f"{percent}{content.title or ''}")
    names = tuple(printable(PureWindowsPath(title).name) for title in titles) if len(Y) > 1 else ()
    meta = {"intensity": kind, "title": printable(PureWindowsPath(titles[0]).name)}
    return Dataset(Y, axis, name, unit, names, None, meta if len(Y) == 1 else {"intensity": kind}, notes)


MAGIC = b"\x0a\x0a\xfe\xfe"
RESULTS = ["a", "t", "r", "km", "ra", "e", "atr", "pas", "logr", "pw", "gcsc", "sm"]  # best first
NAMES = {"a": "absorbance", "t": "transmittance", "r": "reflectance", "km": "Kubelka-Munk"}
AXES = {
    "WN": ("wavenumber", "cm-1"),
    "RSH": ("Raman shift", "cm-1"),
    "MI": ("wavelength", "um"),
    "NM": ("wavelength", "nm"),
}


def read_opus(path: Path, *, dataset: str | None = None, **_: Any) -> Dataset:
    """Read the spectrum, or series of spectra, of an OPUS file; `dataset` is its key, such as `sm`."""
    _check_blocks(path)
    library = require("brukeropus", "OPUS")
    with damaged(f"{path}: brukeropus cannot read it"):
        content = library.read_opus(str(path))
        keys = {key: getattr(content, key) for key in content.all_data_keys}
    spectra = {key: part for key, part in keys.items() if part.params.dxu in AXES and key[:2] != "ph"}
    key = _chosen(spectra, dataset, path)
    part = spectra[key]
    y = np.atleast_2d(np.asarray(part.y, dtype=float))
    if y.shape[1] != len(part.x) or not np.isfinite(y).all():
        raise ReadError(
            f"{path} announces {len(part.x)} points, but holds {y.shape[1]}, or some are not numbers."
        )
    y, kind, notes = absorbance(y, NAMES.get(key.split("_")[0], printable(part.label).lower()))
    name, unit = AXES[part.params.dxu]
    title = printable(str(content.params.snm or "").strip()) if "snm" in content.params.keys() else ""  # noqa: SIM118
    meta = {"intensity": kind, "dataset": key} | ({"title": title} if title else {})
    others = ", ".join(f"{other} ({spectra[other].label})" for other in spectra if other != key)
    if others:
        notes += (
            f"{printable(path.name)}: {key} ({part.label}) was read; the file also holds {others}.",
        )
    return Dataset(y, np.asarray(part.x, dtype=float), name, unit, (), None, meta, notes)


def _chosen(spectra: dict[str, Any], wanted: str | None, path: Path) -> str:
    """Return the wanted spectrum, or the final result of the measurement."""
    if not spectra:
        raise ReadError(f"{path} has no spectrum: Fourier-transform its interferograms in OPUS first.")
    if wanted is None:
        rank = {kind: i for i, kind in enumerate(RESULTS)}
        return min(spectra, key=lambda key: (rank.get(key.split("_")[0], len(rank)), key))
    if wanted not in spectra:
        found = ", ".join(spectra)
        raise ReadError("{} has no spectrum for {}: it has {}.", path, option("dataset", wanted), found)
    return wanted


def _check_blocks(path: Path) -> None:
    """Raise an error if the file ends before one of its blocks; brukeropus ignores such blocks."""
    raw = path.read_bytes()
    start, count = one(raw, 12, "<i4", path), one(raw, 20, "<i4", path)
    blocks = take(raw, start, "<i4", 3 * count, path).reshape(-1, 3)
    end = max((int(place) + 4 * int(size) for _, size, place in blocks), default=0)
    check_held(path, max(end, len(raw)), len(raw), "bytes")
