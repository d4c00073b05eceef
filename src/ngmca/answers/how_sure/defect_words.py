"""Defects of the data in plain words: what, where, how many, and what to do."""

from collections.abc import Sequence

import numpy as np

from ngmca.answers.how_sure.defects import Defect
from ngmca.answers.how_sure.finding import Finding, listed
from ngmca.io import Dataset
from ngmca.io.axis_units import NO_AXIS
from ngmca.result import Separation

HARMLESS = 1e-4  # share of the energy up to which nobody need know of them: one pixel of a large map
SPOILED = 0.1  # share of the energy from which on defects decide what is found
WHOLE = 0.5  # share of the energy of a source in one measurement, whose defect it then describes


def spoiled(defects: Sequence[Defect]) -> bool:
    """Whether defects hold so much that what was found says little about the number of sources."""
    return sum(defect.share for defect in defects if defect.kind != "empty") > SPOILED


def about_defects(
    separation: Separation, data: Dataset | None, defects: Sequence[Defect]
) -> list[Finding]:
    """One warning for each kind of defect that there is enough of to matter."""
    kinds = {"spike": _spikes, "saturated": _saturated, "dead": _dead, "empty": _empty}
    by_kind = {kind: [one for one in defects if one.kind == kind] for kind in kinds}
    found = [tell(separation, data, by_kind[kind]) for kind, tell in kinds.items() if by_kind[kind]]
    return [one for one in found if one.cost > HARMLESS]


def place_of(data: Dataset | None, i: int) -> str:
    """What measurement i is called."""
    if data is not None and data.image_shape:
        row, column = divmod(i, data.image_shape[1])
        return f"the pixel in row {row}, column {column}"
    return f"measurement {i + 1 if data is None else data.names[i]}"


def _position(data: Dataset | None, j: int) -> str:
    if data is None or data.axis_name == NO_AXIS:
        return f"channel {j}"
    return f"{data.positions[j]:.6g}" + (f" {data.axis_unit}" if data.axis_unit else "")


def _spikes(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    places = [f"{place_of(data, d.measurement)} at {_position(data, d.channel)}" for d in found]
    text = (
        f"{_capital(listed(places))}: neither the channels around nor the other measurements, but for "
        "one at most, have the like, as with cosmic rays or a faulty detector. "
        f"{_described(separation, found)}Put the mean of the neighbours there, or leave the measurement "
        "out, and separate again."
    )
    title = "One entry is a spike" if len(found) == 1 else f"{len(found)} entries are spikes"
    return Finding("spike", title, text, sum(one.share for one in found))


def _saturated(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    places = [
        f"{place_of(data, d.measurement)} ({d.count} entries, from {_position(data, d.channel)} on)"
        for d in found
    ]
    text = (
        f"{_capital(listed(places, 3))}: entries lie at the largest value of all, where the detector "
        f"cannot say more. {_described(separation, found)}Leave these measurements or channels out "
        "(Dataset.crop), or measure them again with less light."
    )
    return Finding("saturated", "The data are cut off at the top", text, sum(one.share for one in found))


def _dead(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    named = listed([_position(data, one.channel) for one in found])
    text = (
        f"At {named} all measurements have one and the same value, another than around it. Leave the "
        "channel out, or put the mean of its neighbours there."
    )
    title = "A channel is dead" if len(found) == 1 else f"{len(found)} channels are dead"
    return Finding("dead", title, text, sum(one.share for one in found))


def _empty(separation: Separation, data: Dataset | None, found: list[Defect]) -> Finding:
    named = listed([place_of(data, one.measurement) for one in found])
    text = f"{_capital(named)}: all entries are 0, as if nothing had been measured. Leave this out."
    title = "One measurement is empty" if len(found) == 1 else f"{len(found)} measurements are empty"
    return Finding("empty-measurement", title, text, sum(one.share for one in found))


def _described(separation: Separation, found: list[Defect]) -> str:
    """Which sources describe nothing but the defects, as a sentence."""
    A = separation.A
    size = np.linalg.norm(A, axis=0)
    rows = sorted({one.measurement for one in found})
    held = np.square(A[rows] / np.where(size > 0, size, 1)).sum(axis=0)
    which = np.flatnonzero(held > WHOLE)
    if not which.size or len(rows) > WHOLE * len(A):
        return ""
    return f"Source{'s' if which.size > 1 else ''} {listed([i + 1 for i in which])} " + (
        "describes this alone. " if which.size == 1 else "describe this alone. "
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
