"""The units of the axes of a library and of sources: converted, or doubted where not known."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.io import Dataset
from ngmca.io.axis_units import MASS, is_unit, known_unit, meaning

# What takes a position to 1/cm: these follow from each other, as a shift in ppm and one in Hz do not.
TO_WAVENUMBER = {"nm": (1e7, -1), "um": (1e4, -1), "cm-1": (1.0, 1), "eV": (8065.543937, 1)}
TO_WAVENUMBER["keV"] = (8065543.937, 1)


def axis_unit(unit: str, name: str) -> str:
    """The unit of an axis, which its name may say; m/z has none and is like no other axis."""
    known = meaning(name) or ("", "")
    return known_unit(unit) or ("m/z" if known == MASS else known[1])


def common_unit(sets: list[Dataset]) -> str:
    """The unit for sources of which nothing is known: the one that the library has."""
    units = sorted({axis_unit(data.axis_unit, data.axis_name) for data in sets} - {""})
    if len(units) > 1:
        raise ValueError(
            f"the library has axes in {' and '.join(units)}: pass unit=, that of the sources' axis."
        )
    return units[0] if units else ""


def doubts(sets: list[Dataset], given: str, unit: str, axis_name: str) -> tuple[str, ...]:
    """What was taken for granted about the axes though it may be wrong."""
    said = []
    if unit and not given:
        said.append(
            f"The sources' axis has no unit: the library's, {unit}, was taken. If it is another, all of "
            "the names are wrong."
        )
    owns = [(axis_unit(data.axis_unit, data.axis_name), data.axis_name) for data in sets]
    if unit and not meaning(unit) and not is_unit(unit) and any(not own for own, _ in owns):
        said.append(
            f'The unit "{unit}" is not known here, and axes of the library that have none were taken '
            "for it: check that it is theirs."
        )
    names = [name for own, name in owns if own == unit == "cm-1" and _method(name)]
    if _method(axis_name) and any(_method(name) != _method(axis_name) for name in names):
        sides = ("sources", "library's spectra")
        raman, other = sides if _method(axis_name) == "Raman" else sides[::-1]
        said.append(
            f"The {raman} lie on Raman shifts and the {other} on wavenumbers: if these "
            "are infrared spectra, the matches mean nothing."
        )
    return tuple(said)


def _method(axis_name: str) -> str:
    """What an axis in 1/cm says about how spectra were measured; "" where it says nothing."""
    if "raman" in axis_name.lower():
        return "Raman"
    return "absorption" if meaning(axis_name) else ""


def in_unit(data: Dataset, name: str, unit: str, axis_name: str, notes: list[str]) -> Dataset:
    """The same with its axis in another unit; an error where one does not follow from the other."""
    called = name or (data.row_names[0] if len(data.Y) == 1 and data.row_names else "the library")
    if data.axis is None:
        raise ValueError(f"{called} has no axis: give one with it, in the unit of the sources.")
    positions = arguments.as_array(data.axis, f"the axis of {called}").astype(float)
    own = axis_unit(data.axis_unit, data.axis_name)
    if not own and unit:
        notes.append(f"Axes of the library that have no unit were taken for {unit}.")
    if not own or own == unit:
        return replace(data, axis=positions)
    relative = "raman" in f"{data.axis_name} {axis_name}".lower()  # counted from a laser's line
    if relative or not {own, unit} <= set(TO_WAVENUMBER):
        raise ValueError(
            f"{called} has its axis in {own} and the sources theirs in {unit}, which does not follow "
            "from it: convert one of them first."
        )
    if not (positions > 0).all():
        raise ValueError(f"{called} has positions in {own} that are not positive: correct its axis.")
    wavenumbers = _turned(positions, *TO_WAVENUMBER[own])
    notes.append(f"Axes in {own} were converted to {unit}.")
    return replace(data, axis=_turned(wavenumbers, *_inverse(*TO_WAVENUMBER[unit])))


def _turned(x: NDArray, factor: float, power: int) -> NDArray:
    return np.asarray(factor * x if power > 0 else factor / x)


def _inverse(factor: float, power: int) -> tuple[float, int]:
    return (factor, -1) if power < 0 else (1 / factor, 1)
