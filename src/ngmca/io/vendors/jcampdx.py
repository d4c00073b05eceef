"""Reader of JCAMP-DX, with the package jcamp: one spectrum, or a compound file."""

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from ngmca.io.axis_units import absorbance, from_unit
from ngmca.io.combine import combine, combine_peaks
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, check_held, damaged, printable, require


def read_jcamp(path: Path, **_: Any) -> Dataset:
    """Read the spectra in a JCAMP-DX file; transmittance becomes absorbance."""
    jcamp = require("jcamp", "JCAMP-DX")
    _check_end(path)
    printed = io.StringIO()  # jcamp prints warnings
    with damaged(f"{path}: jcamp cannot read it"), contextlib.redirect_stdout(printed):
        content = jcamp.readfile(str(path))
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
    y, y_unit, notes = absorbance(y, str(block.get("yunits", "")).strip())
    meta = {
        "title": str(block.get("title", path.stem)),
        "intensity": y_unit.lower(),
        "peaks": _is_peaks(block),
    }
    return Dataset(y[None, :], x, name, unit, (path.stem,), None, meta, notes)
