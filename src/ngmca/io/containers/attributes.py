"""Positions and units in the attributes of a dataset of HDF5 or Zarr."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import from_unit, role

START_OR_STEP = re.compile(  # x_start and x_step, wavelength_first and wavelength_delta
    r"(?P<stem>[a-z_]*?)_?((?P<start>start|first|min|origin|offset|begin|0)|(?P<step>step|delta|increment|spacing))",
    re.I,
)


def in_attributes(item: Any) -> dict[str, NDArray]:
    """Return the vectors among the attributes of a dataset."""
    found = {key: np.asarray(value) for key, value in dict(item.attrs).items()}
    vectors = {
        key: value
        for key, value in found.items()
        if value.dtype.kind in "fiu" and value.size > 1 and value.size == max(value.shape, default=0)
    }
    units = {key: _unit_beside(key, item.attrs) for key in vectors}
    named = {f"{key} [{units[key]}]" if units[key] else key: one for key, one in vectors.items()}
    return named or _of_start_and_step(item)


def _of_start_and_step(item: Any) -> dict[str, NDArray]:
    """Return the axis that attributes such as x_start, x_step and x_unit describe, else nothing."""
    marks = {key: match for key in item.attrs if (match := START_OR_STEP.fullmatch(key))}
    given = {key: np.asarray(item.attrs[key]) for key in marks}
    numbers = {key: float(v.item()) for key, v in given.items() if v.dtype.kind in "fiu" and v.size == 1}
    start = {marks[key]["stem"].lower(): v for key, v in numbers.items() if marks[key]["start"]}
    step = {marks[key]["stem"].lower(): v for key, v in numbers.items() if marks[key]["step"]}
    stems = [stem for stem in start if step.get(stem) and np.isfinite([start[stem], step[stem]]).all()]
    if len(stems) != 1 or not item.shape:
        return {}
    stem = stems[0]
    keys = (f"{stem}_unit", f"{stem}_units", f"{stem}unit", f"{stem}units")
    unit = next((as_text(item.attrs[key]) for key in item.attrs if key.lower() in keys), "")
    name = stem if role(stem) == "spectral" else from_unit(unit, "x_axis")[0]
    axis = start[stem] + step[stem] * np.arange(item.shape[-1])
    return {f"{name} [{unit}]" if unit else name: axis}


def _unit_beside(key: str, attributes: Any) -> str:
    """Return the unit in an attribute such as wavelength_units beside wavelengths."""
    names = [f"{stem}{end}" for stem in (key, key.removesuffix("s")) for end in ("_units", "_unit")]
    return next((as_text(attributes[name]).strip() for name in names if name in attributes), "")


def as_text(value: Any) -> str:
    """Return an attribute that is a text, else an empty text."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else ""
