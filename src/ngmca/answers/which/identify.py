"""Identify sources: compare them with the spectra of a reference library."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca._support.threads import one_blas_thread
from ngmca.answers.which.comparison import Comparison, compare
from ngmca.answers.which.identification import Blend, Identification, Match, Split
from ngmca.answers.which.library import LibraryLike, open_library
from ngmca.answers.which.similarity import MAX_CHANCE, averaged, chance, chance_by_turning
from ngmca.answers.which.two_substances import blends, splits
from ngmca.answers.wording import counted, listed, percent
from ngmca.io import Dataset, as_dataset
from ngmca.io.conversion import is_dataframe
from ngmca.result import Separation

if TYPE_CHECKING:
    from pandas import DataFrame

MATCHES_PER_SOURCE = 5


@one_blas_thread
def identify(
    S: ArrayLike | Separation,
    library: LibraryLike,
    *,
    axis: "ArrayLike | Dataset | DataFrame | None" = None,
    unit: str = "",
    tolerance: float = 0.0,
    progress: bool = False,
) -> Identification:
    """Compare sources with the spectra of a library, and say which match better than by chance.

    Parameters
    ----------
    S : array-like of shape (r, n), or Separation
        The sources.
    library : path, Dataset, DataFrame, list or dict
        A file or folder in any format that `ngmca.io.read` reads, a Dataset, a DataFrame whose index or
        columns are positions (the others are names), a list of these, or a dictionary of names with a
        Dataset or a pair (axis, values) each. Axes may differ from each other and from that of the
        sources. Units are converted if possible.
    axis : array-like of shape (n,), Dataset or DataFrame
        Positions of the channels, or the Dataset with this axis, or the DataFrame with these columns.
    unit : str
        Unit of the positions, such as "cm-1" or "ppm"; a Dataset has its own.
    tolerance : float
        Largest shift between a source and its reference, in units of the axis.
    progress : bool
        Show a progress bar: thousands of spectra with a tolerance take minutes.

    Returns
    -------
    Identification
        The best matches of each source, and sentences about them.

    Raises
    ------
    ValueError
        If an argument is wrong, or if no spectrum of the library can be compared.

    Examples
    --------
    >>> import numpy as np
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=20, n=300, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(mixture.Y, 2, seed=0)
    >>> axis = np.linspace(400, 4000, 300)
    >>> library = {"first": (axis, mixture.S[0]), "second": (axis, mixture.S[1])}
    >>> sorted(ngmca.identify(found, library, axis=axis, unit="cm-1").claims)
    ['first', 'second']
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
        *limitations(compared, positions, left_out),
        *found.notes,
    ]
    return Identification(
        matches, mixed, parts, _references(compared, sources, positions), sources, positions,
        f"{name} [{unit}]" if unit else name, compared.ends, compared.substances, left_out, tuple(words),
        tuple(warnings),
    )  # fmt: skip


def _positions(
    axis: "ArrayLike | Dataset | DataFrame | None", unit: str, n: int
) -> tuple[NDArray, str, str]:
    """Return the axis of the sources, its name and its unit."""
    if not isinstance(unit, str):
        raise ArgumentTypeError('{} must be text such as "cm-1", got {!r}.', option("unit"), unit)
    values: Any = axis
    name = "position"
    if isinstance(axis, Dataset):
        if unit:
            raise ArgumentError(
                "{} must be left out if {} is a Dataset, which has its own unit.",
                *(option("unit"), option("axis")),
            )
        values, name, unit = axis.axis, axis.axis_name, axis.axis_unit
    elif is_dataframe(values):
        table = as_dataset(values, "axis")
        if table.axis is None:
            raise ArgumentError(
                "{} is a DataFrame whose columns are not positions: pass the positions.", option("axis")
            )
        values, name, unit = table.axis, table.axis_name, unit or table.axis_unit
    if values is None:
        raise ArgumentError(
            "channels without positions cannot be compared with a library: pass {}, the position of "
            "each channel, and {}.",
            *(option("axis"), option("unit")),
        )
    positions: NDArray = arguments.as_array(values, "axis").astype(float)
    if positions.shape != (n,):
        raise ArgumentError("{} must have one position for each of the {} channels.", option("axis"), n)
    if not np.isfinite(positions).all() or len(np.unique(positions)) < n:
        raise ArgumentError("{} must have finite positions, and each only once.", option("axis"))
    return positions, name, unit


def _matches(compared: Comparison, i: int) -> tuple[Match, ...]:
    """Return the best substances for a source, with one spectrum each."""
    signed = compared.similarity[i]
    if not signed.any():
        return ()
    order = np.argsort(-np.abs(signed), kind="stable")
    firsts = np.unique(np.array(compared.names)[order], return_index=True)[1]
    best = order[np.sort(firsts)[:MATCHES_PER_SOURCE]]
    if compared.few:
        chances = chance_by_turning(
            compared.V[i], signed[best], compared.U, compared.grid, compared.shifts
        )
    else:
        chances = chance(signed, compared.nearest, compared.kinds)[best]
    return tuple(
        Match(
            compared.names[k], abs(float(signed[k])), float(compared.where[i, k]), float(p),
            bool(p <= MAX_CHANCE and abs(signed[k]) >= compared.needed), bool(signed[k] < 0),
        )
        for k, p in zip(best, chances, strict=True)
    )  # fmt: skip


def _references(compared: Comparison, S: NDArray, axis: NDArray) -> NDArray:
    """Return the best match of each source with the scale, offset and slope of the source."""
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


def sentences(matches: tuple[tuple[Match, ...], ...], *, few: bool) -> list[str]:
    """Return one sentence for each source; with `few` library spectra chance means something else."""
    subject = "its bands at other positions" if few else "another substance"
    return [_sentence(i + 1, found, subject) for i, found in enumerate(matches)]


def _sentence(number: int, found: tuple[Match, ...], subject: str) -> str:
    if not found:
        return f"Source {number} has no bands in the range of the library: there is no match."
    best = found[0]
    inverted = ", inverted" if best.inverted else ""
    quality = (
        f"similarity {best.similarity:.2f}{inverted}; {subject} would match as well in "
        f"{percent(best.chance)} of cases"
    )
    if not best.confident:
        return f"Source {number} is most similar to {best.name}, but this is uncertain ({quality})."
    others = [one.name for one in found[1:] if one.similarity > best.similarity - 0.01]
    rivals = f" (or {listed(others)}, equally similar)" if others else ""
    return f"Source {number} is {best.name}{rivals}: {quality}."


def cautions(
    matches: tuple[tuple[Match, ...], ...], blends: tuple[Blend, ...], splits: tuple[Split, ...]
) -> Iterator[str]:
    """Yield sentences about sources that look like two substances, or like parts of one."""
    for blend in blends:
        pairs = zip(blend.names, blend.weights, strict=True)
        parts = listed([f"{name} ({percent(weight)})" for name, weight in pairs])
        yield (
            f"Source {blend.source + 1} looks like two substances, {parts}: the similarity to their sum "
            f"is {blend.similarity:.2f}. Try one source more to separate them."
        )
    for split in splits:
        i, j = (k + 1 for k in split.sources)
        yield (
            f"Sources {i} and {j} look like parts of one substance, {split.name}: the similarity of "
            f"their sum is {split.similarity:.2f}. Try one source less to join them."
        )
    claims = [best[0].name if best and best[0].confident else "" for best in matches]
    twice = {name for name in claims if claims.count(name) > 1}
    for name in sorted(twice - {""} - {split.name for split in splits}):
        same = [i + 1 for i, claim in enumerate(claims) if claim == name]
        yield f"Sources {listed(same)} all match {name}: they may be one substance."


def limitations(compared: Comparison, axis: NDArray, left_out: tuple[str, ...]) -> Iterator[str]:
    """Yield reasons why all matches are less certain."""
    low, high = compared.ends
    inside = float(np.mean((axis >= low) & (axis <= high)))
    if inside < 0.9:
        yield (
            f"Only the range from {low:g} to {high:g} was compared, {percent(inside)} of the channels: "
            "most spectra of the library do not cover more."
        )
    if compared.few:
        yield (
            f"The library has only {counted(compared.substances, 'substance')}. The chance therefore "
            "only says how often bands at other positions match as well, and a confident match needs a "
            f"similarity of at least {compared.needed:.3g}."
        )
    if left_out:
        more = f" And {len(left_out) - 1} more." if len(left_out) > 1 else ""
        yield f"Not compared: {left_out[0]}{more}"
