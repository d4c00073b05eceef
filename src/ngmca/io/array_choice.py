"""Choose the data and their axis among several named arrays of a file."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import Message, message, option
from ngmca.io.axis_names import quantity_of
from ngmca.io.axis_units import NO_AXIS, heading, is_place, meaning, role
from ngmca.io.dataset import Axis, monotonic
from ngmca.io.read_error import ReadError

Shape = tuple[int, ...]

MAX_DIMENSIONS = 5
SHORTEST_SPECTRUM = 5  # points
MUCH_LARGER = 10  # times the size of all other arrays
DATA_NAMES = ("y", "data", "x", "spectra", "intensity", "intensities", "cube", "measurements")
ERROR_NAME = re.compile(r"(^|[_ ]|\b)(std|stdev|sd|err|errors?|sigma|var|variance|mask|weights?)$|dev$")
AXIS_NAMES = (
    "axis",
    "x_axis",
    "axisscale",
    "columns",
    "shift",
)  # names of an axis that do not say which quantity it is


EMISSION = re.compile(r"em(ission)?(ax|axis|wl|nm|[ _].*|)(?= \[|$)")  # of fluorescence, with excitation
EXCITATION = re.compile(r"ex(citation)?(ax|axis|wl|nm|[ _].*|)(?= \[|$)")


def choose_array(shapes: Mapping[str, Shape], wanted: str | None, path: Path | str) -> str:
    """Return the name of the array with the data: the wanted one, the only one, by name or by size."""
    if wanted is not None:
        for name in (wanted, wanted.strip("/"), "/" + wanted.strip("/")):
            if name in shapes:
                return name
        raise ReadError(
            "{} has no data for {}: it has {}.", path, option("dataset", wanted), listed(shapes)
        )
    tables = _tables(shapes) or single_vectors(shapes)
    if not tables:
        raise ReadError(f"{path} has no table or image cube of numbers: it has {listed(shapes)}.")
    if len(tables) == 1:
        return next(iter(tables))
    for known in DATA_NAMES:
        hits = [name for name in tables if name.rsplit("/", 1)[-1].lower() == known]
        if len(hits) == 1 and _is_data(hits[0], tables):
            return hits[0]
    largest = max(tables, key=lambda name: math.prod(tables[name]))
    rest = sum(math.prod(shape) for name, shape in tables.items() if name != largest)
    if math.prod(tables[largest]) >= MUCH_LARGER * rest:
        return largest
    raise ReadError("{} has several data sets. Choose one: {}.", path, _choices(tables))


def _tables(shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the arrays that may be the data; one that is named like an axis only if it is alone."""
    tables = {name: shape for name, shape in shapes.items() if is_table(shape)}
    others = {name: shape for name, shape in tables.items() if not _is_beside(name)}
    return others or tables


def is_table(shape: Shape) -> bool:
    """Return whether an array has two to five dimensions of more than one entry."""
    long = [size for size in shape if size != 1]
    return 2 <= len(long) <= MAX_DIMENSIONS and min(long) > 1


def single_vectors(shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the vectors that may be one spectrum, in a file without a table."""
    long = {name: s for name, s in shapes.items() if math.prod(s) == max(s, default=0)}
    return {
        name: shape
        for name, shape in long.items()
        if max(shape, default=0) >= SHORTEST_SPECTRUM and not _is_beside(name)
        and role(short(name)) not in ("time", "channel", "counting")
    }  # fmt: skip


def is_axis_name(name: str) -> bool:
    """Return whether an array is named like an axis of spectra."""
    return role(short(name)) == "spectral" or short(name) in AXIS_NAMES


def _is_beside(name: str) -> bool:
    """Return whether an array is named like an axis, or like errors of the data."""
    return is_axis_name(name) or bool(ERROR_NAME.search(short(name).partition(" [")[0]))


def other_arrays(shapes: Mapping[str, Shape], chosen: str) -> tuple[str, ...]:
    """Return a note on the arrays beside the chosen one that might also be data."""
    others = {name: s for name, s in shapes.items() if name != chosen and is_table(s)}
    if not others:
        return ()
    text = "{} was read; the file also has {}. Choose another with {}."
    return (message(text, chosen, listed(others), option("dataset")),)


def _is_data(name: str, tables: Mapping[str, Shape]) -> bool:
    """Return False for concentrations y beside spectra X: another table has 5 times its entries.

    Raise an error if a wider table exists and the names do not settle which one holds the data.
    """
    shape = tables[name]
    size = 5 * math.prod(shape)
    wide = [n for n, s in tables.items() if s[0] == shape[0] and math.prod(s) >= size]
    if wide and (short(name) != "y" or [short(n) for n in wide] != ["x"]):
        raise ReadError(
            "{} {} is named like data, but {} is much larger. Choose one: {}.",
            *(name, _size(shape), wide[0], _choices(tables)),
        )
    return not wide


def listed(shapes: Mapping[str, Shape], most: int = 8) -> str:
    """Return names and shapes on one line."""
    if not shapes:
        return "nothing that can be read"
    parts = [f"{name} {_size(shape)}" for name, shape in shapes.items()]
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")


def _choices(tables: Mapping[str, Shape], most: int = 8) -> Message:
    """Return the options that choose each of several arrays, with their sizes."""
    shown, more = list(tables.items())[:most], len(tables) - most
    parts = (part for name, shape in shown for part in (option("dataset", name), _size(shape)))
    return message(
        ", ".join(["{} ({})"] * len(shown)) + (f" and {more} more" if more > 0 else ""), *parts
    )


def _size(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"


def find_axis(vectors: Mapping[str, NDArray], shape: Shape, transpose: bool | None = None) -> Axis:
    """Return axis, name and unit: of the vector named like an axis, or as long as a row of the table.

    A vector as long as a column may number the measurements. It does if it is called time, sample or
    temperature; otherwise an error asks the user.
    """
    fitting = {
        name: np.ravel(vector).astype(float)
        for name, vector in vectors.items()
        if vector.dtype.kind in "fiu" and vector.size in shape and vector.size > 1
    }
    fitting = {name: vector for name, vector in fitting.items() if monotonic(vector)}
    known = {n: v for n, v in fitting.items() if is_axis_name(n)}
    known = emission_of(fitting) or known
    known = _not_in_hertz(known) or known or _unnamed_axes(fitting, shape, transpose)
    if len(known) != 1:
        return None, NO_AXIS, ""
    name, axis = next(iter(known.items()))
    quantity, unit = heading(short(name))
    known_as = meaning(quantity) or (_readable(name), "")
    if EMISSION.match(short(name)) and emission_of(fitting):
        known_as = ("emission wavelength", "")
    return axis, known_as[0], unit or known_as[1]


def emission_of(vectors: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Return the wavelengths of emission if those of excitation are beside them, else nothing."""
    found = {n: v for n, v in vectors.items() if EMISSION.match(short(n))}
    return found if any(EXCITATION.match(short(n)) for n in vectors) else {}


def _unnamed_axes(
    fitting: dict[str, NDArray], shape: Shape, transpose: bool | None
) -> dict[str, NDArray]:
    """Return vectors that are not named like an axis but have the length of one."""
    cube = len(shape) > 2
    roles = {name: "place" if cube and is_place(short(name)) else role(short(name)) for name in fitting}
    if (
        cube
        and transpose is None
        and any(
            roles[n] == "place" and len(v) == shape[-1] not in shape[:-1] for n, v in fitting.items()
        )
    ):
        raise ReadError(
            "the last dimension of {} is as long as a vector of coordinates, and no vector is named "
            "like an axis: say what each dimension is, for example {}.",
            *("x".join(map(str, shape)), option("axes", "channel,y,x")),
        )
    along = {
        n: v for n, v in fitting.items() if len(v) == shape[-1] and roles[n] in ("", "time", "channel")
    }
    down = {n: v for n, v in fitting.items() if len(v) == shape[0] and roles[n] in ("", "channel")}
    if along or cube or transpose is False:
        return along if not transpose else {}
    usual = {n: v for n, v in down.items() if not roles[n] and quantity_of(v) is not None}
    if len(usual) == 1 and transpose is None:
        return usual
    if down and transpose is None:
        name = next(iter(down))
        raise ReadError(
            "the vector {!r} has one number for each row of the table of {} x {}: give {} if it is the "
            "axis of the channels, {} if it numbers the measurements.",
            *(name, shape[0], shape[1], option("transpose", True), option("transpose", False)),
        )
    return down


def _not_in_hertz(vectors: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Return vectors that are not frequencies: spectra are often stored with a second axis in Hz."""
    kinds = {name: meaning(heading(short(name))[0]) for name in vectors}
    return {
        name: vectors[name] for name, kind in kinds.items() if kind is None or kind[0] != "frequency"
    }


def short(name: str) -> str:
    """Return the last part of a path, in lower case, followed by its unit."""
    path, mark, unit = name.partition(" [")
    return path.rsplit("/", 1)[-1].lower() + mark + unit


def _readable(name: str) -> str:
    word = name.partition(" [")[0].rsplit("/", 1)[-1]
    return NO_AXIS if word.lower() in AXIS_NAMES else word.replace("_", " ")
