"""Reader of PerkinElmer files: one infrared spectrum (.sp), or an image (.fsm)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import absorbance, from_unit, known_unit
from ngmca.io.dataset import Dataset, monotonic
from ngmca.io.read_error import ReadError, check_held, printable
from ngmca.io.vendors.binary_fields import one, take

MAGIC = b"PEPE"
FIRST_BLOCK = 44  # offset in bytes
SPECTRUM = 120  # the block that holds the blocks of a spectrum
ENDS, POINTS, AXIS, INTENSITY, VALUES, NAME = -29838, -29835, -29833, -29832, -29828, -29827
IMAGE, PIXEL = 5100, 5105  # blocks of an image: its header, and one spectrum each
UNITS = {"%T": "% transmittance", "T": "transmittance", "A": "absorbance"}


def read_perkinelmer(path: Path, **_: Any) -> Dataset:
    """Read the spectrum or image in a PerkinElmer file; transmittance becomes absorbance."""
    raw = path.read_bytes()
    blocks = list(_blocks(raw, FIRST_BLOCK, len(raw), path))
    kinds = {kind for kind, _, _ in blocks}
    if SPECTRUM in kinds:
        return _spectrum(raw, blocks, path)
    if IMAGE in kinds:
        return _image(raw, blocks, path)
    raise ReadError(f"{path} is a PerkinElmer file without spectra: export it as CSV or JCAMP-DX.")


def _blocks(raw: bytes, place: int, end: int, path: Path) -> Iterator[tuple[int, int, int]]:
    """Yield kind, place and size of all blocks; raise an error for a block that is cut."""
    while place < end:
        kind, size = one(raw, place, "<i2", path), one(raw, place + 2, "<i4", path)
        place += 6
        if size < 0 or place + size > end:
            check_held(path, place + size, end, "bytes")
        yield kind, place, size
        if kind == SPECTRUM:
            yield from _blocks(raw, place, place + size, path)
        place += size


def _spectrum(raw: bytes, blocks: list[tuple[int, int, int]], path: Path) -> Dataset:
    found = {kind: place + 2 for kind, place, _ in blocks}  # the type of the content comes first
    missing = {ENDS, POINTS, VALUES} - set(found)
    if missing:
        raise ReadError(f"{path} is not a complete PerkinElmer spectrum: blocks {missing} are missing.")
    points = one(raw, found[POINTS], "<i4", path)
    held = one(raw, found[VALUES], "<i4", path)
    if held != 8 * points or points < 1:
        raise ReadError(
            f"{path} announces {points} points, but holds {held} bytes of them: it is damaged."
        )
    y = take(raw, found[VALUES] + 4, "<f8", points, path)
    first, last = take(raw, found[ENDS], "<f8", 2, path)
    axis, kind, name = (
        _words(raw, found[key], path) if key in found else "" for key in (AXIS, INTENSITY, NAME)
    )
    return _dataset(y[None, :], np.linspace(first, last, points), axis, kind, name, path)


def _image(raw: bytes, blocks: list[tuple[int, int, int]], path: Path) -> Dataset:
    place = next(place for kind, place, _ in blocks if kind == IMAGE)
    name = _words(raw, place, path)
    place += 2 + one(raw, place, "<i2", path)
    wide, high, _, start, end, _, _, left, top, _ = take(raw, place, "<f8", 10, path).tolist()
    columns, rows, points = take(raw, place + 80, "<i4", 3, path).tolist()
    labels, place = [], place + 92
    for _ in range(4):  # of x, y, axis and intensities
        labels.append(_words(raw, place, path))
        place += 2 + one(raw, place, "<i2", path)
    pixels = [(place, size) for kind, place, size in blocks if kind == PIXEL]
    if len(pixels) != rows * columns or any(size != 4 * points for _, size in pixels):
        raise ReadError(
            f"{path} announces {rows} x {columns} spectra of {points} points, but holds {len(pixels)}, "
            "or some are too short: it is truncated or damaged."
        )
    Y = np.stack([take(raw, place, "<f4", points, path) for place, _ in pixels]).astype(float)
    data = _dataset(Y, np.linspace(start, end, points), labels[2], labels[3], name, path)
    x, y = _steps(left, wide, columns), _steps(top, high, rows)
    meta = data.meta | (_coordinates(x, y, labels[:2]) if monotonic(x) and monotonic(y) else {})
    return replace(data, image_shape=(rows, columns), meta=meta)


def _steps(first: float, step: float, count: int) -> NDArray:
    with np.errstate(over="ignore", invalid="ignore"):  # the file may be damaged
        return first + step * np.arange(count)


def _coordinates(x: NDArray, y: NDArray, labels: list[str]) -> dict[str, Any]:
    """Return x and y of every pixel, with their units from labels such as `X - micrometers`."""
    parts = (label.partition(" - ") for label in labels)
    units = {f"{name.lower()}_unit": known_unit(unit.strip()) for name, _, unit in parts if unit}
    return {"x": np.tile(x, len(y)).tolist(), "y": np.repeat(y, len(x)).tolist(), **units}


def _dataset(Y: NDArray, axis: NDArray, label: str, kind: str, title: str, path: Path) -> Dataset:
    if not (np.isfinite(Y).all() and np.isfinite(axis).all()):
        raise ReadError(f"{path} has missing or infinite values: it is damaged.")
    Y, kind, notes = absorbance(Y, UNITS.get(kind.strip(), kind))
    name, unit = from_unit(label.strip())
    return Dataset(Y, axis, name, unit, (), None, {"intensity": kind, "title": printable(title)}, notes)


def _words(raw: bytes, place: int, path: Path) -> str:
    """Return the text that follows its length."""
    length = one(raw, place, "<i2", path)
    return take(raw, place + 2, "u1", length, path).tobytes().decode("latin-1").strip("\0 ")
