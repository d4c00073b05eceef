"""Reader of Thermo Omnic, with spectrochempy-omnic: one spectrum (.spa) or a group (.spg)."""

from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from ngmca.io.axis_units import NO_AXIS, absorbance, meaning
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, damaged, printable, require

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
