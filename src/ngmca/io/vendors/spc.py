"""Reader of Galactic SPC (Thermo GRAMS): spectra on one axis, or with own axes."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import NO_AXIS, absorbance, heading
from ngmca.io.combine import combine, combine_peaks
from ngmca.io.dataset import Dataset, monotonic
from ngmca.io.read_error import ReadError, printable
from ngmca.io.vendors.binary_fields import one, take, words

SHORT, MANY, LABELS, OWN_AXES, UNEVEN = 1, 4, 32, 64, 128  # bits of the first byte
HEADER_BYTES, PART_BYTES = 512, 32  # of the file's header and of a spectrum's header
FLOATS = -128  # the exponent that marks intensities as floats
AXES = {
    1: ("wavenumber", "cm-1"),
    2: ("wavelength", "um"),
    3: ("wavelength", "nm"),
    4: ("time", "s"),
    5: ("time", "min"),
    6: ("frequency", "Hz"),
    7: ("frequency", "kHz"),
    8: ("frequency", "MHz"),
    9: ("m/z", ""),
    10: ("chemical shift", "ppm"),
    11: ("time", "d"),
    13: ("Raman shift", "cm-1"),
    14: ("energy", "eV"),
    20: ("temperature", "C"),
    21: ("temperature", "K"),
    23: ("time", "ms"),
    30: ("time", "h"),
}
INTENSITIES = {2: "absorbance", 3: "Kubelka-Munk", 4: "counts", 128: "transmittance", 129: "reflectance"}


@dataclass(frozen=True)
class Header:
    """The first 512 bytes of a file.

    Attributes
    ----------
    flags : int
    order : str
        Byte order, "<" or ">".
    exponent : int
    points : int
        Of each spectrum; the offset of the directory if spectra have their own axes.
    ends : (float, float)
        Of the axis.
    spectra : int
        Number of spectra.
    kinds : (int, int, int, int)
        Codes of the quantities of axis, intensities, series and planes.
    planes : int
        Rows of a map.
    step : float
        From one plane to the next; 0 if each spectrum has its own position.
    label : str
        Of the axis.
    title : str
    """

    flags: int
    order: str
    exponent: int
    points: int
    ends: tuple[float, float]
    spectra: int
    kinds: tuple[int, int, int, int]
    planes: int
    step: float
    label: str
    title: str


def is_spc(head: bytes) -> bool:
    """Return whether a file begins like this format; EDAX and Shimadzu use the same suffix."""
    order = {0x4B: "<", 0x4C: ">"}.get(head[1] if len(head) > 1 else 0)
    if order is None or len(head) < HEADER_BYTES:
        return head[1:2] == b"\x4d"
    ends = np.frombuffer(head, order + "f8", 2, 8)
    return bool(np.isfinite(ends).all()) and (head[28] <= 30 or head[28] == 255)


def read_spc(path: Path, **_: Any) -> Dataset:
    """Read the spectra in an SPC file; transmittance becomes absorbance."""
    raw = path.read_bytes()
    if raw[1] == 0x4D:
        raise ReadError(
            f"{path}: SPC files from before 1996 are not supported: save it again, or as JCAMP-DX."
        )
    header = _header(raw, path)
    if header.kinds[1] == 1 or header.kinds[0] == 255:
        raise ReadError(
            f"{path} is an interferogram: Fourier-transform it first, then save the spectrum."
        )
    place, axis = HEADER_BYTES, None
    parts, counts, levels = [], [], []
    if not header.flags & OWN_AXES:
        axis = np.linspace(*header.ends, header.points)
        if header.flags & UNEVEN:
            axis = take(raw, place, header.order + "f4", header.points, path).astype(float)
            place += 4 * header.points
    places = _directory(raw, header, path)
    for i in range(header.spectra):
        start = places[i] if places else place
        levels.append(one(raw, start + 24, header.order + "f4", path))
        x, y, count, place = _spectrum(raw, start, header, axis, path)
        counts.append(count)
        parts.append(_dataset(x, y, header, path))
    data = _together(parts, counts, header, path)
    return replace(data, meta=data.meta | _coordinates(data.image_shape, counts, levels, header))


def _header(raw: bytes, path: Path) -> Header:
    order = "<" if raw[1] == 0x4B else ">"
    first, last = (one(raw, at, order + "f8", path) for at in (8, 16))
    spectra = one(raw, 24, order + "u4", path)
    header = Header(
        flags=raw[0],
        order=order,
        exponent=one(raw, 3, "i1", path),
        points=one(raw, 4, order + "u4", path),
        ends=(first, last),
        spectra=spectra if raw[0] & MANY else 1,
        kinds=(raw[28], raw[29], raw[30], one(raw, 324, "u1", path)),
        planes=one(raw, 316, order + "u4", path),
        step=one(raw, 320, order + "f4", path),
        label=words(raw[218:248]) if raw[0] & LABELS else "",
        title=words(raw[88:218]),
    )
    least = PART_BYTES + (0 if header.flags & OWN_AXES else 2 * header.points)
    if not header.points or not header.spectra or header.spectra * least > len(raw):
        raise ReadError(
            f"{path} announces {header.spectra} spectra of {header.points} points, but holds "
            f"{len(raw)} bytes: it is truncated or damaged."
        )
    return header


def _directory(raw: bytes, header: Header, path: Path) -> list[int]:
    """Return where spectra with own axes begin; without a directory they follow each other."""
    if not header.flags & OWN_AXES or header.spectra == 1:
        return []
    entries = take(raw, header.points, header.order + "u4", 3 * header.spectra, path)
    return [int(place) for place in entries[::3]]


def _spectrum(
    raw: bytes, place: int, header: Header, axis: NDArray | None, path: Path
) -> tuple[NDArray, NDArray, float, int]:
    """Return axis, intensities and series value of one spectrum, and where the next begins."""
    count = one(raw, place + 4, header.order + "f4", path)
    exponent = one(raw, place + 1, "i1", path) if header.flags & MANY else header.exponent
    points = header.points if axis is not None else one(raw, place + 16, header.order + "u4", path)
    place += PART_BYTES
    if axis is None:
        axis = take(raw, place, header.order + "f4", points, path).astype(float)
        place += 4 * points
    kind = "i2" if header.flags & SHORT else "i4"
    if exponent == FLOATS:
        y = take(raw, place, header.order + "f4", points, path).astype(float)
        return axis, y, count, place + 4 * points
    whole = take(raw, place, header.order + kind, points, path)
    bits = 8 * whole.dtype.itemsize
    return axis, whole * 2.0 ** (exponent - bits), count, place + whole.nbytes


def _dataset(x: NDArray, y: NDArray, header: Header, path: Path) -> Dataset:
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ReadError(f"{path} has missing or infinite values: it is damaged.")
    name, unit = AXES.get(header.kinds[0], (NO_AXIS, ""))
    if header.label:
        name, unit = heading(printable(header.label))
    y, kind, notes = absorbance(y, INTENSITIES.get(header.kinds[1], ""))
    meta = {"intensity": kind, "peaks": name == "m/z" and bool(header.flags & OWN_AXES)}
    return Dataset(y[None, :], x, name, unit, (), None, meta, notes)


def _together(parts: list[Dataset], counts: list[float], header: Header, path: Path) -> Dataset:
    """Return all spectra; mass spectra with own positions are peak lists."""
    if not any(part.Y.size for part in parts):
        raise ReadError(f"{path} has no points in any of its spectra: it is damaged.")
    names = [f"{count:g}{_unit(header.kinds[2])}" for count in counts]
    if len(set(names)) < len(names):
        names = [str(i + 1) for i in range(len(names))]
    peaks = len(parts) > 1 and all(part.meta["peaks"] for part in parts)
    data = combine_peaks(parts, names) if peaks else combine(parts, names)
    if data.positions.size > 1 and not monotonic(data.positions):
        raise ReadError(
            f"{path}: its axis does not rise or fall all the way: it is damaged, or not a spectrum."
        )
    columns = len(parts) // max(header.planes, 1)
    whole = header.planes > 1 and columns > 1 and header.planes * columns == len(parts)
    meta = data.meta | ({"title": printable(header.title)} if header.title else {})
    meta["peaks"] = len(parts) == 1 and parts[0].meta["peaks"]
    return replace(data, meta=meta, image_shape=(header.planes, columns) if whole else None)


def _coordinates(
    shape: tuple[int, int] | None, counts: list[float], levels: list[float], header: Header
) -> dict[str, Any]:
    """Return x and y of every pixel of a map, with their units, if the file has them."""
    if shape is None:
        return {}
    x, y = np.reshape(counts, shape), np.reshape(levels, shape)
    if np.isfinite(header.step) and header.step:  # only the first plane has its position
        y = np.broadcast_to(y[0, 0] + header.step * np.arange(shape[0])[:, None], shape)
    even = (x == x[:1]).all() and (y == y[:, :1]).all()
    if not (even and monotonic(x[0]) and monotonic(y[:, 0])):
        return {}
    units = {"x_unit": _unit(header.kinds[2]).strip(), "y_unit": _unit(header.kinds[3]).strip()}
    return {"x": x.ravel().tolist(), "y": y.ravel().tolist(), **units}


def _unit(kind: int) -> str:
    unit = AXES.get(kind, ("", ""))[1]
    return f" {unit}" if unit else ""
