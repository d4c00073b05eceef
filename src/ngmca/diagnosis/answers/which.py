"""Which substance each source is: found spectra against those of a library."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.diagnosis.answers.comparison import Comparison, compare
from ngmca.diagnosis.answers.identification import Blend, Identification, Match, Split
from ngmca.diagnosis.answers.library import open_library
from ngmca.diagnosis.answers.likeness import (
    FEW,
    HIGH,
    SURE,
    averaged,
    by_two,
    chance,
    chance_by_turning,
    moved,
)
from ngmca.diagnosis.answers.which_words import cautions, doubts, sentences
from ngmca.result import Separation

__all__ = ["Blend", "Identification", "Match", "Split", "identify"]

BEST = 5  # matches that are told of each source
MOST = 300  # spectra of which every pair is tried for a source that may be two substances
FAR_BETTER = 0.25  # two spectra leave at most that share of what one leaves
LEAST = 0.1  # share of the lesser of two


@one_blas_thread
def identify(
    S: Any, library: Any, *, axis: Any = None, unit: str = "", tolerance: float = 0.0
) -> Identification:
    """Compare sources with the spectra of a library, and say which are like them beyond chance.

    Parameters
    ----------
    S
        Sources (r, n), or a Separation.
    library
        A file or folder in any format that `ngmca.io.read` reads, a Dataset, a list of these, or a
        dictionary of names with a Dataset or a pair (axis, values) each. Axes may differ from each
        other and from that of the sources, in their unit too where one follows from the other.
    axis
        The positions of the n channels, or the Dataset whose axis they are.
    unit
        That of the positions, such as "cm-1" or "ppm"; a Dataset knows its own.
    tolerance
        How far a source may lie from its reference, in units of the axis.
    """
    sources = arguments.check_data(S.answer[1] if isinstance(S, Separation) else S, "S").astype(float)
    positions, name, unit = _positions(axis, unit, sources.shape[1])
    tolerance = arguments.check_number(tolerance, "tolerance", high=float(np.ptp(positions)) / 10)
    found = open_library(library, unit, name)
    compared = compare(sources, positions, found.references, tolerance)
    matches = tuple(_matches(compared, i) for i in range(len(sources)))
    blends = tuple(one for i in range(len(sources)) for one in _blend(compared, i))
    splits = tuple(_splits(compared, matches))
    left_out = found.left_out + compared.left_out
    warnings = cautions(matches, blends, splits)
    words = [*sentences(matches), *warnings, *doubts(compared, positions, left_out), *found.notes]
    return Identification(
        matches, blends, splits, _references(compared, sources, positions), sources, positions,
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
    few = compared.substances < FEW
    if few:
        chances = chance_by_turning(
            compared.V[i], signed[best], compared.U, compared.grid, compared.shifts
        )
    else:
        chances = chance(signed, compared.nearest, compared.kinds)[best]
    least = max(HIGH, compared.nearest.max(initial=0)) if few else 0.0
    return tuple(
        Match(
            compared.names[k], abs(float(signed[k])), float(compared.where[i, k]), float(p),
            bool(p <= SURE and abs(signed[k]) >= least), bool(signed[k] < 0),
        )
        for k, p in zip(best, chances, strict=True)
    )  # fmt: skip


def _far_better(two: NDArray, one: NDArray | float, share: NDArray) -> NDArray:
    """Where a sum of two is as good as a match, and one of them alone is none and leaves far more."""
    far = (1 - two**2) <= FAR_BETTER * (1 - np.maximum(one, 0) ** 2)
    lesser = np.minimum(share, 1 - share)
    return np.asarray(far & (two >= HIGH) & (np.asarray(one) < HIGH) & (lesser >= LEAST))


def _blend(compared: Comparison, i: int) -> list[Blend]:
    """The two substances that a source is made of, where that is so."""
    best = np.argsort(-np.abs(compared.similarity[i]), kind="stable")[:MOST]
    rows = np.vstack([moved(compared.L[k : k + 1], compared.grid, compared.where[i, k]) for k in best])
    products, among = rows @ compared.H[i], rows @ rows.T
    two, share = by_two(products[:, None], products[None, :], among)
    kinds = compared.kinds[best]
    two = np.where(kinds[:, None] != kinds[None, :], two, 0)
    a, b = (int(place) for place in np.unravel_index(two.argmax(), two.shape))
    if not _far_better(two[a, b], products.max(), share[a, b]):
        return []
    a, b = (b, a) if share[a, b] > 0.5 else (a, b)  # the greater part first
    names = compared.names[int(best[a])], compared.names[int(best[b])]
    return [Blend(i, names, (float(1 - share[a, b]), float(share[a, b])), float(two[a, b]))]


def _splits(compared: Comparison, matches: tuple[tuple[Match, ...], ...]) -> list[Split]:
    """Pairs of sources that are parts of one substance."""
    claims = [found[0].name if found and found[0].confident else "" for found in matches]
    products, among = compared.H @ compared.L.T, compared.H @ compared.H.T
    found = []
    for i, j in combinations(range(len(claims)), 2):
        if claims[i] and claims[j] and claims[i] != claims[j]:
            continue
        two, share = by_two(products[i], products[j], among[i, j])
        k = int(two.argmax())
        if _far_better(two[k], products[[i, j], k].max(), share[k]):
            found.append(Split((i, j), compared.names[k], float(two[k])))
    return found


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
