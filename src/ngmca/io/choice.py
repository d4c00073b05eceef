"""Which of several arrays in a file are the data, and which is their axis."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.dataset import ReadError, monotonic
from ngmca.io.units import NO_AXIS, is_spectral, meaning

DATA_NAMES = ("y", "data", "x", "spectra", "intensity", "intensities", "cube", "measurements")
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
        if len(hits) == 1:
            return hits[0]
    raise ReadError(f"{path} has several datasets: choose one by dataset=: {listed(tables)}.")


def listed(shapes: Mapping[str, tuple[int, ...]], most: int = 8) -> str:
    """Names and shapes on one line."""
    if not shapes:
        return "nothing that can be read"
    parts = [f"{name} {'x'.join(map(str, shape)) or 'scalar'}" for name, shape in shapes.items()]
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")


def find_axis(vectors: Mapping[str, NDArray], shape: tuple[int, ...]) -> tuple[NDArray | None, str, str]:
    """Axis, name and unit: the one monotonic vector as long as the table is wide, or high."""
    ends = (shape[-1], shape[0]) if len(shape) == 2 else (shape[-1],)
    fitting = {
        name: np.ravel(vector).astype(float)
        for name, vector in vectors.items()
        if vector.dtype.kind in "fiu" and vector.size in ends and vector.size > 1
    }
    fitting = {name: vector for name, vector in fitting.items() if monotonic(vector)}
    if len(fitting) > 1:  # an axis by name wins over other vectors
        known = {n: v for n, v in fitting.items() if is_spectral(short(n)) or short(n) in PLAIN}
        fitting = _not_in_hertz(known) or known or fitting
    if len(fitting) != 1:
        return None, NO_AXIS, ""
    name, axis = next(iter(fitting.items()))
    return axis, *(meaning(short(name)) or (_readable(name), ""))


def _not_in_hertz(vectors: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Vectors that are no frequencies: spectra are often stored with both, and drawn over the other."""
    kinds = {name: meaning(short(name)) for name in vectors}
    return {
        name: vectors[name] for name, kind in kinds.items() if kind is None or kind[0] != "frequency"
    }


def short(name: str) -> str:
    """The last part of a path, in small letters."""
    return name.rsplit("/", 1)[-1].lower()


def _readable(name: str) -> str:
    return NO_AXIS if short(name) in PLAIN else name.rsplit("/", 1)[-1].replace("_", " ")
