"""Defects of the data in words: what, where, how many, and what to do."""

from collections.abc import Sequence

import numpy as np

from ngmca._support.messages import message, option
from ngmca.answers.how_sure.defects import Defect
from ngmca.answers.wording import Finding, capitalised, listed
from ngmca.io import Dataset
from ngmca.io.axis_units import NO_AXIS
from ngmca.result import Separation

NEGLIGIBLE_ENERGY = 1e-4  # share of the energy without a warning: one pixel of a large map
SPOILING_ENERGY = 0.1  # share of the energy in defects, above which they decide the result


def spoiled(defects: Sequence[Defect]) -> bool:
    """Return whether defects have so much energy that the result says little about the sources."""
    wrong = ("spike", "saturated", "dead")
    return sum(defect.share for defect in defects if defect.kind in wrong) > SPOILING_ENERGY


def about_defects(
    separation: Separation, data: Dataset | None, defects: Sequence[Defect]
) -> list[Finding]:
    """Return one warning for each kind of defect that matters."""
    kinds = {
        "spike": _spikes,
        "saturated": _saturated,
        "dead": _dead,
        "empty": _empty,
        "copy": _copies,
        "axis": _axis,
        "column": _column,
    }
    if data is None or data.axis is None:  # an axis shows which side the channels are on
        kinds["transposed"] = _transposed
    by_kind = {kind: [one for one in defects if one.kind == kind] for kind in kinds}
    found = [
        describe(separation, data, by_kind[kind]) for kind, describe in kinds.items() if by_kind[kind]
    ]
    return [one for one in found if one.cost > NEGLIGIBLE_ENERGY]


def place_of(data: Dataset | None, i: int) -> str:
    """Return the name of measurement i, or the place of pixel i."""
    if data is not None and data.image_shape:
        row, column = divmod(i, data.image_shape[1])
        return f"the pixel in row {row}, column {column}"
    return f"measurement {i + 1 if data is None else data.names[i]}"


def places_of(data: Dataset | None, rows: Sequence[int]) -> str:
    """Return the names of some measurements, or the places of some pixels."""
    if len(rows) == 1 or (data is not None and data.image_shape):
        return listed([place_of(data, i) for i in rows])
    return f"measurements {listed([i + 1 if data is None else data.names[i] for i in rows])}"


def _position(data: Dataset | None, j: int) -> str:
    if data is None or data.axis_name == NO_AXIS:
        return f"channel {j}"
    return f"{data.positions[j]:.6g}" + (f" {data.axis_unit}" if data.axis_unit else "")


def _spikes(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    places = [f"{place_of(data, d.measurement)} at {_position(data, d.channel)}" for d in found]
    entry = "the entry" if len(found) == 1 else "these entries"
    text = (
        f"{capitalised(listed(places))}: neither the neighbouring channels nor the other measurements "
        "(except at most one) have a similar value. Cosmic rays and faulty detectors do this. "
        f"{_sources_of(separation, found)}Replace {entry} by the mean of the neighbours, or leave the "
        "measurement out, and separate again."
    )
    title = "One entry is a spike" if len(found) == 1 else f"{len(found)} entries are spikes"
    grade = "red" if _energy(found) > SPOILING_ENERGY else "amber"
    return Finding("spike", title, text, _energy(found), grade)


def _saturated(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    places = [
        f"{place_of(data, d.measurement)} ({d.count} entries, from {_position(data, d.channel)} on)"
        for d in found
    ]
    text = message(
        "{}: several neighbouring entries have the largest value of all data, so the detector seems to "
        "be saturated. {}Leave these measurements or channels out ({}), or measure them again with less "
        "light.",
        capitalised(listed(places, 3)), _sources_of(separation, found), option("Dataset.crop"),
    )  # fmt: skip
    return Finding("saturated", "Some entries are saturated", text, _energy(found))


def _dead(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    named = listed([_position(data, one.channel) for one in found])
    text = (
        f"At {named} all measurements have the same value, unlike the neighbouring channels. Leave the "
        "channel out, or replace it by the mean of its neighbours."
    )
    title = "A channel is dead" if len(found) == 1 else f"{len(found)} channels are dead"
    return Finding("dead", title, text, _energy(found))


def _empty(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    named = capitalised(places_of(data, [one.measurement for one in found]))
    this = "this measurement" if len(found) == 1 else "these measurements"
    text = f"{named}: all entries are 0, as if nothing was measured. Leave {this} out."
    title = "One measurement is empty" if len(found) == 1 else f"{len(found)} measurements are empty"
    return Finding("empty-measurement", title, text, _energy(found))


def _copies(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    named = capitalised(places_of(data, [one.measurement for one in found]))
    text = (
        f"{named}: every entry is equal to that of another measurement. Copies count twice in the fit "
        "and make error bars too narrow. Leave them out."
    )
    many = "One measurement is a copy" if len(found) == 1 else f"{len(found)} measurements are copies"
    return Finding("copied", many, text, _energy(found))


def _axis(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    named = capitalised(places_of(data, [one.measurement for one in found]))
    text = (
        f"{named}: the entries rise or fall in equal steps, as wavelengths or times do. They were read "
        "as a measurement. Tell the reader where the axis is, or leave the measurement out."
    )
    return Finding("axis", "An axis was read as data", text, 1.0, "red")


def _column(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    named = listed([_position(data, one.channel) for one in found])
    text = message(
        "The entries at {} are far from those of the neighbouring channel in most measurements. They "
        "may be numbers of another kind, such as concentrations or times. Leave them out ({}).",
        named, option("Dataset.crop"),
    )  # fmt: skip
    return Finding("column", "A column may be no channel", text, 1.0, "red")


def _transposed(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    text = message(
        "Neighbouring measurements are much alike, and neighbouring channels are not. Spectra are "
        "usually smooth along the channels. If each column of the data is one measurement, use {}.",
        option("transpose", True),
    )  # fmt: skip
    return Finding("transposed", "Measurements and channels may be exchanged", text, 1.0)


def _energy(found: list[Defect]) -> float:
    return sum(one.share for one in found)


def _sources_of(separation: Separation, found: list[Defect]) -> str:
    """Return a sentence about the sources that describe only these defects, or ""."""
    A = separation.A
    size = np.linalg.norm(A, axis=0)
    rows = sorted({one.measurement for one in found})
    held = np.square(A[rows] / np.where(size > 0, size, 1)).sum(axis=0)
    which = np.flatnonzero(held > 0.5)
    if not which.size or len(rows) > 0.5 * len(A):
        return ""
    numbers = listed([i + 1 for i in which])
    subject = f"Source {numbers} describes" if which.size == 1 else f"Sources {numbers} describe"
    return f"{subject} only this. "
