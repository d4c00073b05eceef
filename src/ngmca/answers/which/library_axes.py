"""The units of the axes of a library and of the sources, and their conversion."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option
from ngmca.io import Dataset
from ngmca.io.axis_units import MASS, is_unit, known_unit, meaning

# Factor and power that convert a position to 1/cm. Shifts in ppm and Hz cannot be converted.
TO_WAVENUMBER = {"nm": (1e7, -1), "um": (1e4, -1), "cm-1": (1.0, 1), "eV": (8065.543937, 1)}
TO_WAVENUMBER["keV"] = (8065543.937, 1)


def axis_unit(unit: str, name: str) -> str:
    """Return the unit of an axis, or that in its name; m/z counts as a unit of its own."""
    known = meaning(name) or ("", "")
    return known_unit(unit) or ("m/z" if known == MASS else known[1])


def common_unit(sets: list[Dataset]) -> str:
    """Return the unit of the library, for sources of unknown unit."""
    units = sorted({axis_unit(data.axis_unit, data.axis_name) for data in sets} - {""})
    if len(units) > 1:
        raise ArgumentError(
            "{} has axes in {}: pass {}, the unit of the axis of the sources.",
            *(option("library"), " and ".join(units), option("unit")),
        )
    return units[0] if units else ""


def axis_warnings(sets: list[Dataset], given: str, unit: str, axis_name: str) -> Iterator[str]:
    """Yield assumptions about the axes that may be wrong."""
    if unit and not given:
        yield (
            f"The axis of the sources has no unit. That of the library, {unit}, was assumed. If this is "
            "wrong, all names are wrong."
        )
    owns = [(axis_unit(data.axis_unit, data.axis_name), data.axis_name) for data in sets]
    if unit and not meaning(unit) and not is_unit(unit) and any(not own for own, _ in owns):
        yield (
            f'The unit "{unit}" is unknown. It was assumed for axes of the library without a unit: '
            "check that this is right."
        )
    names = [name for own, name in owns if own == unit == "cm-1" and _method(name)]
    if _method(axis_name) and any(_method(name) != _method(axis_name) for name in names):
        sides = ("sources", "spectra of the library")
        raman, other = sides if _method(axis_name) == "Raman" else sides[::-1]
        yield (
            f"The {raman} have Raman shifts and the {other} have wavenumbers. If the latter are "
            "infrared spectra, the matches mean nothing."
        )


def _method(axis_name: str) -> str:
    """Return the kind of spectroscopy that the name of an axis in 1/cm tells, or ""."""
    if "raman" in axis_name.lower():
        return "Raman"
    return "absorption" if meaning(axis_name) else ""


def in_unit(data: Dataset, name: str, unit: str, axis_name: str, notes: list[str]) -> Dataset:
    """Return data with the axis in another unit; raise an error if it cannot be converted."""
    called = name or (data.row_names[0] if len(data.Y) == 1 and data.row_names else "the library")
    if data.axis is None:
        raise ValueError(f"{called} has no axis: give one in the unit of the sources.")
    positions = arguments.as_array(data.axis, f"the axis of {called}").astype(float)
    own = axis_unit(data.axis_unit, data.axis_name)
    if not own and unit:
        notes.append(f"Axes of the library without a unit were assumed to be in {unit}.")
    if not own or own == unit:
        return replace(data, axis=positions)
    # shifts are relative to the laser line
    relative = "raman" in f"{data.axis_name} {axis_name}".lower()
    if relative or not {own, unit} <= set(TO_WAVENUMBER):
        raise ValueError(
            f"{called} has an axis in {own}, which cannot be converted to {unit}, the unit of the "
            "sources: convert one of them first."
        )
    if not (positions > 0).all():
        raise ValueError(f"{called} has positions in {own} that are not positive: correct its axis.")
    wavenumbers = _turned(positions, *TO_WAVENUMBER[own])
    notes.append(f"Axes in {own} were converted to {unit}.")
    factor, power = TO_WAVENUMBER[unit]
    return replace(data, axis=_turned(wavenumbers, factor if power < 0 else 1 / factor, power))


def _turned(x: NDArray, factor: float, power: int) -> NDArray:
    return np.asarray(factor * x if power > 0 else factor / x)
