"""Reader of camera files of Princeton Instruments (.spe): WinSpec (2.x) and LightField (3.0)."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import NO_AXIS
from ngmca.io.claimed_sizes import check_claim
from ngmca.io.dataset import Dataset, monotonic
from ngmca.io.read_error import ReadError, damaged
from ngmca.io.vendors.binary_fields import one, take

HEADER_BYTES = 4100
TYPES = {0: "<f4", 1: "<i4", 2: "<i2", 3: "<u2", 5: "<f8", 6: "u1", 8: "<u4"}
PIXEL_FORMATS = {
    "MonochromeUnsigned16": "<u2",
    "MonochromeUnsigned32": "<u4",
    "MonochromeFloating32": "<f4",
}
UNITS = {4: ("wavelength", "nm"), 5: ("wavenumber", "cm-1"), 6: ("Raman shift", "cm-1")}


def is_princeton(head: bytes, size: int) -> bool:
    """Return whether version, type and sizes in a header are valid: the format has no signature."""
    if len(head) < 2000 or size < HEADER_BYTES:
        return False
    version = float(np.frombuffer(head, "<f4", 1, 1992)[0])
    return 1.0 <= version < 4.0 and head[109] == 0 and head[108] in TYPES and any(head[42:44])


def read_princeton(path: Path, **_: Any) -> Dataset:
    """Read the rows of all frames as measurements, with the calibrated axis if there is one."""
    raw = path.read_bytes()
    light_field = one(raw, 1992, "<f4", path) >= 3
    frames, (axis, name, unit) = _light_field(raw, path) if light_field else _winspec(raw, path)
    count, height, width = frames.shape
    names = tuple(
        " ".join([f"frame {i + 1}"] * (count > 1) + [f"row {j + 1}"] * (height > 1))
        for i in range(count)
        for j in range(height)
    )
    Y = frames.reshape(count * height, width).astype(float)
    if not np.isfinite(Y).all():
        raise ReadError(f"{path} has missing or infinite values: it is damaged.")
    return Dataset(Y, axis, name, unit, names if len(Y) > 1 else (), None, {"intensity": "counts"})


def _winspec(raw: bytes, path: Path) -> tuple[NDArray, tuple[NDArray | None, str, str]]:
    width, height = one(raw, 42, "<u2", path), one(raw, 656, "<u2", path)
    count, kind = one(raw, 1446, "<i4", path), TYPES[one(raw, 108, "<i2", path)]
    if min(count, width, height) < 1:
        raise ReadError(f"{path} announces {count} frames of {height} x {width} points: it is damaged.")
    size = count * height * width
    check_claim(8.0 * size, None, str(path))
    frames = take(raw, HEADER_BYTES, kind, size, path).reshape(count, height, width)
    order, code = raw[3101], raw[3100]
    if not raw[3098] or code not in UNITS or order > 5:
        return frames, (None, NO_AXIS, "")
    powers = take(raw, 3263, "<f8", order + 1, path)
    axis = np.polynomial.polynomial.polyval(np.arange(1.0, width + 1), powers)  # pixels count from 1
    return frames, (axis, *UNITS[code]) if monotonic(axis) else (None, NO_AXIS, "")


def _light_field(raw: bytes, path: Path) -> tuple[NDArray, tuple[NDArray | None, str, str]]:
    """Return frames and axis as the XML after the data describes them."""
    footer = one(raw, 678, "<u8", path)
    with damaged(f"{path} is truncated or damaged: it has no complete description after its data"):
        root = ElementTree.fromstring(raw[footer:])
        block = next(b for b in root.iter() if b.tag.endswith("}DataBlock") and b.get("type") == "Frame")
        regions = [b for b in block if b.get("type") == "Region"]
        count, stride = int(block.attrib["count"]), int(block.attrib["stride"])
        width, height = (int(regions[0].attrib[key]) for key in ("width", "height"))
        kind = np.dtype(PIXEL_FORMATS[block.attrib["pixelFormat"]])
    if len(regions) > 1:
        raise ReadError(f"{path} has {len(regions)} regions of interest: export them one by one.")
    if min(count, width, height) < 1 or stride < kind.itemsize * width * height:
        raise ReadError(f"{path} announces {count} frames of {height} x {width} points: it is damaged.")
    every = take(raw[:footer], HEADER_BYTES, "u1", count * stride, path).reshape(count, stride)
    pixels = np.ascontiguousarray(every[:, : kind.itemsize * width * height])
    frames = pixels.view(kind).reshape(count, height, width)
    text = next((e.text for e in root.iter() if e.tag.endswith("}Wavelength") and e.text), "")
    try:
        axis = np.array([float(value) for value in text.split(",")])
    except ValueError:
        axis = np.zeros(0)
    known = len(axis) == width and monotonic(axis)
    return frames, (axis, "wavelength", "nm") if known else (None, NO_AXIS, "")
