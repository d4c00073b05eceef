"""Name and unit of an axis: as the user says, or guessed from its range and steps."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.arguments import check_choice
from ngmca._support.messages import message, option
from ngmca.io.axis_units import NO_AXIS, SHIFT, WAVENUMBER, heading, known_name, known_unit, meaning
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, printable

NAMING = ("axis_name", "axis_unit", "axis_direction")  # options of `read`
DIRECTIONS = ("rising", "falling")
WAVELENGTH = ("wavelength", "nm")
UNNAMED = (NO_AXIS, "x")
SHORTEST_GUESS = 20  # points of an axis whose quantity is guessed
ROUND_STEPS = (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 8.0, 10.0)


def with_axis_words(data: Dataset, options: dict[str, Any]) -> Dataset:
    """Return the data set with the name, unit and direction that the user gives, or with a guess."""
    name, unit, direction = (options.get(key) for key in NAMING)
    if data.axis is None:
        given = [key for key in NAMING if options.get(key) is not None]
        if given:
            raise ReadError("the data have no axis: leave out {}.", option(given[0]))
        return data
    if name is None and known_name(data.axis_name) != data.axis_name:  # Wavenumber
        data = replace(data, axis_name=known_name(data.axis_name))
    if direction is not None:
        check_choice(direction, "axis_direction", DIRECTIONS)
        data = replace(data, meta={**data.meta, "axis_direction": direction})
    if name is None and unit is None:
        return _guessed(data)
    if name is not None:
        known = heading(name)
        data = replace(data, axis_name=printable(known[0]), axis_unit=printable(known[1]))
    elif data.axis_name in UNNAMED:
        data = replace(data, axis_name=(meaning(str(unit)) or (data.axis_name,))[0])
    return data if unit is None else replace(data, axis_unit=printable(known_unit(unit)))


def _guessed(data: Dataset) -> Dataset:
    """Return the data set with the quantity that its axis is by its range and steps, with a note."""
    axis = data.axis
    if axis is None or data.axis_unit or data.axis_name not in UNNAMED or len(axis) < SHORTEST_GUESS:
        return data
    found = usual_quantity(axis)
    if found is None:
        return data
    note = message(
        "the axis has no name. {} in {} is a guess from its numbers, {:g} to {:g} in steps of {:.4g}: "
        "give {} and {} if it is another.",
        *(found[0].capitalize(), found[1], float(axis[0]), float(axis[-1])),
        float(np.median(np.abs(np.diff(axis)))),
        *(option("axis_name"), option("axis_unit")),
    )
    return replace(data, axis_name=found[0], axis_unit=found[1]).with_notes(note)


def usual_quantity(axis: NDArray) -> tuple[str, str] | None:
    """Return name and unit of an axis whose range and ends are usual for one quantity, else None."""
    found = quantity_of(axis)
    return None if found == WAVELENGTH and not _as_set(axis) else found


def _as_set(axis: NDArray) -> bool:
    """Return whether an axis goes from 200 to 800 or the like, as set in a program of UV or NIR spectra.

    Energies in eV may be in the same range, but they rarely begin and end at such round numbers and
    include the visible.
    """
    low, high = float(axis.min()), float(axis.max())
    step = float(np.median(np.abs(np.diff(axis))))
    last = (high, high + step) if step >= 1 else (high,)  # the end itself may be left out
    whole = low % 5 == 0 and any(end % 5 == 0 for end in last)
    return whole and ((low <= 450 and high >= 600) or (low <= 250 and high >= 400) or low >= 800)


def quantity_of(axis: NDArray) -> tuple[str, str] | None:
    """Return name and unit of an axis that only one quantity usually has; None if several do."""
    low, high = float(axis.min()), float(axis.max())
    falls = bool(axis[0] > axis[-1])
    step = float(np.median(np.abs(np.diff(axis))))
    whole = any(abs(step - one) < 1e-3 * one for one in ROUND_STEPS)
    if low >= 40 and 3400 <= high <= 15000 and low <= 4500:
        return WAVENUMBER
    if falls and low >= 40 and 1000 <= high < 3400 and not whole:
        return WAVENUMBER
    if low >= 170 and high <= 1150 and (not falls or whole) and high - low >= 100:
        return WAVELENGTH
    if low >= 240 and 2400 <= high <= 2600 and whole and not falls:  # near infrared
        return WAVELENGTH
    if falls and low >= -5 and 4 <= high <= 20 and len(axis) >= 1000:
        return SHIFT
    return None
