"""Reader of JCAMP-DX, with the package jcamp: one spectrum, or a compound file."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import SHIFT, absorbance, from_unit
from ngmca.io.combine import combine, combine_peaks
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, check_held, damaged, printable, require
from ngmca.io.vendors.jcamp_digits import decoded

NTUPLES = re.compile(r"^##NTUPLES\s*=\s*NMR SPECTRUM", re.M)
REAL_PAGE = re.compile(r"^##DATA TABLE\s*=\s*\(X\+\+\(R\.\.R\)\)[^\n]*\n(.*?)^##", re.M | re.S)
FIELD = re.compile(r"^##(\.?[A-Z_ ]+?)\s*=(.*)$", re.M)
COLUMNS = ("SYMBOL", "UNITS", "FACTOR", "FIRST", "LAST", "VAR_DIM")
TITLE = re.compile(r"^##TITLE", re.M)


def read_jcamp(path: Path, **_: Any) -> Dataset:
    """Read the spectra in a JCAMP-DX file; transmittance becomes absorbance."""
    jcamp = require("jcamp", "JCAMP-DX")
    _check_end(path)
    printed = io.StringIO()  # jcamp prints warnings
    with damaged(f"{path}: jcamp cannot read it"), contextlib.redirect_stdout(printed):
        content = _real_page(path) or jcamp.readfile(str(path))
    inside = content.get("children", [content])
    announced = content.get("blocks", 0)
    if isinstance(announced, int | float) and len(inside) < announced:
        raise ReadError(
            f"{path} announces {announced:g} blocks, but holds {len(inside)}: it is truncated."
        )
    blocks = [block for block in inside if _has_data(block, path)]
    if not blocks:
        kind = content.get("data type", "")
        raise ReadError(f"{path} has no spectrum that jcamp can read{f' ({kind})' if kind else ''}.")
    if not all(_is_peaks(block) for block in blocks):  # a peak list beside a spectrum repeats it
        blocks = [block for block in blocks if not _is_peaks(block)]
    parts = [_spectrum(block, path) for block in blocks]
    names = [str(block.get("title") or path.stem) for block in blocks]
    if len(parts) > 1 and all(_is_peaks(block) for block in blocks):
        return combine_peaks(parts, names)
    data = combine(parts, names)
    failed = sum("check failed" in line.lower() for line in printed.getvalue().splitlines())
    if failed:
        data = data.with_notes(
            f"{printable(path.name)}: checks of x or y failed in {failed} lines (jcamp)."
        )
    return data


def _real_page(path: Path) -> dict[str, Any] | None:
    """Return the real part of a spectrum in NTUPLES, as TopSpin writes it; None for other files.

    jcamp does not read them.
    """
    text = path.read_text(encoding="latin-1")
    kind = NTUPLES.search(text)
    page = REAL_PAGE.search(text, kind.end()) if kind else None
    if kind is None or page is None or len(TITLE.findall(text)) != 1:
        return None
    head = dict(FIELD.findall(text[: page.start()]))
    table = {key: [cell.strip() for cell in head[key].split(",")] for key in COLUMNS}
    x, r = table["SYMBOL"].index("X"), table["SYMBOL"].index("R")
    y = decoded(page[1].splitlines(), path)
    check_held(path, int(table["VAR_DIM"][r]), len(y), "points")
    return {
        "title": head["TITLE"].strip(),
        "data type": head["DATA TYPE"].strip(),
        ".observe frequency": float(head.get(".OBSERVE FREQUENCY", "nan")),
        ".shift reference": head.get(".SHIFT REFERENCE", ""),
        "x": np.linspace(float(table["FIRST"][x]), float(table["LAST"][x]), len(y)),
        "y": y * float(table["FACTOR"][r]),
        "xunits": table["UNITS"][x],
        "yunits": table["UNITS"][r],
    }


def _in_ppm(block: dict[str, Any], x: NDArray) -> NDArray | None:
    """Return chemical shifts for an axis in Hz; None if nothing says where 0 ppm is."""
    frequency = block.get(".observe frequency")
    if not isinstance(frequency, int | float) or not frequency > 0:
        return None
    reference = [part.strip() for part in str(block.get(".shift reference", "")).split(",")]
    try:
        point, shift = int(float(reference[2])), float(reference[3])
    except (IndexError, ValueError):
        return x / frequency if x.min() < 0 < x.max() else None
    return shift + (x - x[point - 1]) / frequency if 1 <= point <= len(x) else None


def _check_end(path: Path) -> None:
    """Raise an error if a block or the file has no end; jcamp would accept it."""
    lines = path.read_bytes().upper().replace(b" ", b"").splitlines()
    begun, ended = (sum(line.startswith(mark) for line in lines) for mark in (b"##TITLE=", b"##END="))
    if begun > ended:
        raise ReadError(f"{path} does not end with ##END=: it is truncated or damaged.")


def _has_data(block: dict[str, Any], path: Path) -> bool:
    kind = str(block.get("data type", block.get("datatype", "")))
    if "FID" in kind.upper():
        raise ReadError(
            f"{path} is a free induction decay ({kind}): "
            "Fourier-transform and phase it first, then save the spectrum."
        )
    return len(np.atleast_1d(block.get("y", ()))) > 0


def _is_peaks(block: dict[str, Any]) -> bool:
    return "peak table" in block or "MASS" in str(block.get("data type", "")).upper()


def _spectrum(block: dict[str, Any], path: Path) -> Dataset:
    x, y = np.asarray(block["x"], dtype=float), np.asarray(block["y"], dtype=float)
    check_held(path, len(x), len(y), "points")
    points = block.get("npoints")
    if isinstance(points, int | float):
        check_held(path, int(points), len(y), "points")
    bad = np.flatnonzero(~np.isfinite(y))
    if bad.size:
        raise ReadError(f"{path}: point {bad[0] + 1}, at {x[bad[0]]:g}, has no value.")
    name, unit = from_unit(str(block.get("xunits", "")).strip())
    shifts = _in_ppm(block, x) if unit == "Hz" and "NMR" in str(block.get("data type")).upper() else None
    if shifts is not None:
        x, (name, unit) = shifts, SHIFT
    y, y_unit, notes = absorbance(y, str(block.get("yunits", "")).strip())
    meta = {
        "title": str(block.get("title", path.stem)),
        "intensity": y_unit.lower(),
        "peaks": _is_peaks(block),
    }
    return Dataset(y[None, :], x, name, unit, (path.stem,), None, meta, notes)
