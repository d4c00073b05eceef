"""Which substance each source is: found spectra against those of a library."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.answers.which.comparison import Comparison, compare
from ngmca.answers.which.identification import Blend, Identification, Match, Split
from ngmca.answers.which.identification_words import cautions, doubts, sentences
from ngmca.answers.which.library import open_library
from ngmca.answers.which.similarity import SURE, averaged, chance, chance_by_turning
from ngmca.answers.which.two_substances import blends, splits
from ngmca.io.dataframes import axis_of, is_frame
from ngmca.result import Separation

__all__ = ["Blend", "Identification", "Match", "Split", "identify"]

BEST = 5  # matches that are told of each source


@one_blas_thread
def identify(
    S: Any,
    library: Any,
    *,
    axis: Any = None,
    unit: str = "",
    tolerance: float = 0.0,
    progress: bool = False,
) -> Identification:
    """Compare sources with the spectra of a library, and say which are like them beyond chance.

    Parameters
    ----------
    S
        Sources (r, n), or a Separation.
    library
        A file or folder in any format that `ngmca.io.read` reads, a Dataset, a DataFrame whose index or
        columns are positions (the others are names), a list of these, or a
        dictionary of names with a Dataset or a pair (axis, values) each. Axes may differ from each
        other and from that of the sources, in their unit too where one follows from the other.
    axis
        The positions of the n channels, or the Dataset whose axis they are, or the DataFrame whose
        columns they are.
    unit
        That of the positions, such as "cm-1" or "ppm"; a Dataset knows its own.
    tolerance
        How far a source may lie from its reference, in units of the axis.
    progress
        Show a bar: thousands of spectra with a tolerance take minutes.
    """
    sources = arguments.check_data(S.answer[1] if isinstance(S, Separation) else S, "S").astype(float)
    positions, name, unit = _positions(axis, unit, sources.shape[1])
    tolerance = arguments.check_number(tolerance, "tolerance", high=float(np.ptp(positions)) / 10)
    found = open_library(library, unit, name)
    compared = compare(sources, positions, found.references, tolerance, progress=progress)
    matches = tuple(_matches(compared, i) for i in range(len(sources)))
    mixed, parts = blends(compared), splits(compared, matches)
    left_out = found.left_out + compared.left_out
    warnings = [*found.warnings, *cautions(matches, mixed, parts)]
    words = [
        *sentences(matches, few=compared.few),
        *warnings,
        *doubts(compared, positions, left_out),
        *found.notes,
    ]
    return Identification(
        matches, mixed, parts, _references(compared, sources, positions), sources, positions,
        f"{name} [{unit}]" if unit else name, compared.ends, compared.substances, left_out, tuple(words),
        tuple(warnings),
    )  # fmt: skip


def _positions(axis: Any, unit: str, n: int) -> tuple[NDArray, str, str]:
    """The axis of the sources, its name and its unit."""
    if not isinstance(unit, str):
        raise TypeError(f'unit must be a word such as "cm-1", got {unit!r}.')
    name = "position"
    if hasattr(axis, "positions"):
        if unit:
            raise ValueError("unit is that of positions: leave it out where axis is a Dataset.")
        axis, name, unit = axis.axis, axis.axis_name, axis.axis_unit
    elif is_frame(axis):
        labels = axis_of(axis.columns, name)
        if labels is None:
            raise ValueError("axis is a DataFrame whose columns are no positions: pass the positions.")
        axis, name, unit = labels[0], labels[1], unit or labels[2]
    if axis is None:
        raise ValueError(
            "channels without positions cannot be compared with a library: pass axis=, the position of "
            "each of them, and unit=."
        )
    positions: NDArray = arguments.as_array(axis, "axis").astype(float)
    if positions.shape != (n,):
        raise ValueError(f"axis must have a position for each of the {n} channels of S.")
    if not np.isfinite(positions).all() or len(np.unique(positions)) < n:
        raise ValueError("axis must have a finite position for each channel, and no two the same.")
    return positions, name, unit


def _matches(compared: Comparison, i: int) -> tuple[Match, ...]:
    """The best substances for a source, one spectrum each."""
    signed = compared.similarity[i]
    if not signed.any():
        return ()
    order = np.argsort(-np.abs(signed), kind="stable")
    firsts = np.unique(np.array(compared.names)[order], return_index=True)[1]
    best = order[np.sort(firsts)[:BEST]]
    if compared.few:
        chances = chance_by_turning(
            compared.V[i], signed[best], compared.U, compared.grid, compared.shifts
        )
    else:
        chances = chance(signed, compared.nearest, compared.kinds)[best]
    return tuple(
        Match(
            compared.names[k], abs(float(signed[k])), float(compared.where[i, k]), float(p),
            bool(p <= SURE and abs(signed[k]) >= compared.needed), bool(signed[k] < 0),
        )
        for k, p in zip(best, chances, strict=True)
    )  # fmt: skip


def _references(compared: Comparison, S: NDArray, axis: NDArray) -> NDArray:
    """The best match of each source on its axis, with the scale, offset and slope of the source."""
    order = np.argsort(axis)
    drawn = np.full(S.shape, np.nan)
    for i, row in enumerate(S):
        if not compared.similarity[i].any():
            continue
        k = int(np.abs(compared.similarity[i]).argmax())
        reference = compared.references[k]
        values = averaged(reference.axis + compared.where[i, k], reference.values, axis[order])
        known = np.isfinite(values)
        peaks = float(np.abs(row).max()), float(np.abs(values[known]).max(initial=0)) or 1.0
        line = np.linspace(-1, 1, len(axis))[known]
        basis = np.stack([values[known] / peaks[1], np.ones(line.size), line], axis=1)
        fit = np.linalg.lstsq(basis, row[order][known] / peaks[0], rcond=None)[0]
        drawn[i, order[known]] = basis @ fit * peaks[0]
    return drawn
