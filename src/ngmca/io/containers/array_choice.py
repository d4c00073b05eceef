"""Which of several arrays in a file are the data, and which is their axis."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import NO_AXIS, heading, is_place, meaning, role
from ngmca.io.dataset import ReadError, monotonic

DATA_NAMES = ("y", "data", "x", "spectra", "intensity", "intensities", "cube", "measurements")
MUCH = 5  # times as many columns: those of spectra beside concentrations
PLAIN = ("axis", "x_axis")  # names that say that it is an axis, and not of what


def choose(shapes: Mapping[str, tuple[int, ...]], wanted: str | None, path: Any) -> str:
    """The name of the array to separate: the wanted one, the only one, or the one called like data."""
    if wanted is not None:
        for name in (wanted, wanted.strip("/"), "/" + wanted.strip("/")):
            if name in shapes:
                return name
        raise ReadError(f"{path} has no dataset {wanted!r}: it has {listed(shapes)}.")
    tables = {name: shape for name, shape in shapes.items() if len(shape) in (2, 3) and min(shape) > 1}
    if not tables:
        raise ReadError(f"{path} has no table or image cube of numbers: it has {listed(shapes)}.")
    if len(tables) == 1:
        return next(iter(tables))
    for known in DATA_NAMES:
        hits = [name for name in tables if name.rsplit("/", 1)[-1].lower() == known]
        if len(hits) == 1 and _is_data(hits[0], tables):
            return hits[0]
    raise ReadError(f"{path} has several datasets: choose one by dataset=: {listed(tables)}.")


def _is_data(name: str, tables: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether a table is no list of concentrations beside one that is much wider; y is, beside X."""
    shape = tables[name]
    wide = [n for n, s in tables.items() if s[0] == shape[0] and s[-1] >= MUCH * shape[-1]]
    if wide and (short(name) != "y" or [short(n) for n in wide] != ["x"]):
        raise ReadError(
            f"{name} {'x'.join(map(str, shape))} is called like data, and {wide[0]} is much wider: "
            f"choose one by dataset=: {listed(tables)}."
        )
    return not wide


def listed(shapes: Mapping[str, tuple[int, ...]], most: int = 8) -> str:
    """Names and shapes on one line."""
    if not shapes:
        return "nothing that can be read"
    parts = [f"{name} {'x'.join(map(str, shape)) or 'scalar'}" for name, shape in shapes.items()]
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")


def find_axis(
    vectors: Mapping[str, NDArray], shape: tuple[int, ...], transpose: bool | None = None
) -> tuple[NDArray | None, str, str]:
    """Axis, name and unit: the vector called an axis, or the one that is as long as the table is wide.

    A vector as long as the table is high, and not called an axis, may number the measurements: those
    that are called times, samples or temperatures do, of others the user is asked.
    """
    fitting = {
        name: np.ravel(vector).astype(float)
        for name, vector in vectors.items()
        if vector.dtype.kind in "fiu" and vector.size in (shape[-1], shape[0]) and vector.size > 1
    }
    fitting = {name: vector for name, vector in fitting.items() if monotonic(vector)}
    known = {n: v for n, v in fitting.items() if role(short(n)) == "spectral" or short(n) in PLAIN}
    known = _not_in_hertz(known) or known or _unknown(fitting, shape, transpose)
    if len(known) != 1:
        return None, NO_AXIS, ""
    name, axis = next(iter(known.items()))
    quantity, unit = heading(short(name))
    known_as = meaning(quantity) or (_readable(name), "")
    return axis, known_as[0], unit or known_as[1]


def _unknown(
    fitting: dict[str, NDArray], shape: tuple[int, ...], transpose: bool | None
) -> dict[str, NDArray]:
    """Vectors that are not called axes and may be: along the rows, or down them where that is asked."""
    cube = len(shape) == 3
    roles = {name: "place" if cube and is_place(short(name)) else role(short(name)) for name in fitting}
    if (
        cube
        and transpose is None
        and any(
            roles[n] == "place" and len(v) == shape[-1] not in shape[:-1] for n, v in fitting.items()
        )
    ):
        raise ReadError(
            f"the last direction of {'x'.join(map(str, shape))} is one of places, by its length, and no "
            "vector is called an axis: give transpose=True if channels are along the first direction."
        )
    along = {
        n: v for n, v in fitting.items() if len(v) == shape[-1] and roles[n] in ("", "time", "channel")
    }
    down = {n: v for n, v in fitting.items() if len(v) == shape[0] and roles[n] in ("", "channel")}
    if along or cube or transpose is False:
        return along if not transpose else {}
    if down and transpose is None:
        name = next(iter(down))
        raise ReadError(
            f"the vector {name!r} is as long as the table of {shape[0]} x {shape[1]} is high: give "
            "transpose=True if it is the axis of channels, transpose=False if it numbers measurements."
        )
    return down


def _not_in_hertz(vectors: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Vectors that are no frequencies: spectra are often stored with both, and drawn over the other."""
    kinds = {name: meaning(heading(short(name))[0]) for name in vectors}
    return {
        name: vectors[name] for name, kind in kinds.items() if kind is None or kind[0] != "frequency"
    }


def short(name: str) -> str:
    """The last part of a path, in small letters, and the unit behind it as it stands."""
    path, mark, unit = name.partition(" [")
    return path.rsplit("/", 1)[-1].lower() + mark + unit


def _readable(name: str) -> str:
    word = name.partition(" [")[0].rsplit("/", 1)[-1]
    return NO_AXIS if word.lower() in PLAIN else word.replace("_", " ")
