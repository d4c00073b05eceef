"""Comparison of sources with library spectra on one grid."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, option
from ngmca._support.progress import progress_bar
from ngmca.answers.which import similarity as spectra
from ngmca.answers.which.library import Reference, nothing_to_compare

MAX_GRID = 2048  # channels; finer axes are averaged
MIN_COMMON_CHANNELS = 8


@dataclass(frozen=True, eq=False)
class Comparison:
    """Structure of sources and library spectra on one grid, and their similarity.

    Attributes
    ----------
    references : tuple of Reference
        The k library spectra that cover the grid.
    grid : ndarray of shape (g,)
        Rising positions.
    H, L : ndarray of shape (r, g) and (k, g)
        Structure of the sources and of the library, without noise and baseline.
    V, U : ndarray of shape (r, g) and (k, g)
        The same with weak bands made stronger.
    shifts : ndarray
        Shifts that were tried.
    similarity, where : ndarray of shape (r, k)
        Similarity with its sign, and the shift at which it is largest.
    kinds : ndarray of shape (k,)
        The number of the substance of each spectrum.
    nearest : ndarray of shape (k,)
        Similarity to the most similar other substance.
    left_out : tuple of str
        Why other spectra were not compared.
    """

    references: tuple[Reference, ...]
    grid: NDArray
    H: NDArray
    L: NDArray
    V: NDArray
    U: NDArray
    shifts: NDArray
    similarity: NDArray
    where: NDArray
    kinds: NDArray
    nearest: NDArray
    left_out: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the spectra."""
        return tuple(reference.name for reference in self.references)

    @property
    def substances(self) -> int:
        """Number of substances."""
        return int(self.kinds.max()) + 1

    @property
    def few(self) -> bool:
        """Whether there are too few substances to say how similar others would be."""
        return self.substances < spectra.MIN_SUBSTANCES

    @property
    def needed(self) -> float:
        """The similarity that a confident match needs; 0 if there are enough substances."""
        if not self.few:
            return 0.0
        return max(
            spectra.MIN_SIMILARITY, 1 - spectra.MIN_GAIN * (1 - float(self.nearest.max(initial=0)))
        )

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the grid."""
        return float(self.grid[0]), float(self.grid[-1])


def compare(
    S: NDArray,
    axis: NDArray,
    references: Sequence[Reference],
    tolerance: float,
    *,
    progress: bool = False,
) -> Comparison:
    """Compare all sources with all references, on the channels that most references cover."""
    grid, rows = _coarse(axis, S)
    _check_size(grid)
    library = np.stack([spectra.averaged(one.axis, one.values, grid) for one in references])
    if not any(np.isfinite(one.values).any() for one in references):
        raise nothing_to_compare(f"{references[0].name} has no numbers.")
    covered = _covered(np.isfinite(library), grid, references)
    grid, rows, library = grid[covered], rows[:, covered], library[:, covered]
    L = spectra.structure(library)
    reasons = [_reason(one, row, known) for one, row, known in zip(references, L, library, strict=True)]
    kept = [k for k, reason in enumerate(reasons) if not reason]
    if not kept:
        raise nothing_to_compare(reasons[0])
    H, L = spectra.structure(rows), L[kept]
    V, U = spectra.levelled(H), spectra.levelled(L)
    shifts = spectra.moves(grid, tolerance)
    similarity, where = spectra.alike(V, U, grid, shifts)
    with progress_bar(len(shifts), show=progress, label="comparing spectra") as shown:
        among = spectra.alike(U, U, grid, shown(shifts))[0]
    kinds = spectra.kinds_of([references[k].name for k in kept], among)
    return Comparison(
        tuple(references[k] for k in kept), grid, H, L, V, U, shifts, similarity, where, kinds,
        spectra.nearest_other(among, kinds), tuple(reason for reason in reasons if reason),
    )  # fmt: skip


def _check_size(grid: NDArray) -> None:
    if len(grid) < MIN_COMMON_CHANNELS:
        raise ArgumentError(
            "sources and {} have {} channels in common, but a comparison needs at least {}.",
            *(option("library"), len(grid), MIN_COMMON_CHANNELS),
        )


def _coarse(axis: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
    """Return a rising axis and the sources on it, averaged if there are very many channels."""
    order = np.argsort(axis)
    starts = np.arange(0, len(axis), -(-len(axis) // MAX_GRID))
    counts = np.diff(np.r_[starts, len(axis)])
    peaks = np.abs(S).max(axis=1, keepdims=True)
    rows = S[:, order] / np.where(peaks > 0, peaks, 1)
    means = (np.add.reduceat(part, starts, axis=-1) / counts for part in (axis[order], rows))
    grid, rows = means
    return grid, rows


def _covered(known: NDArray, grid: NDArray, references: Sequence[Reference]) -> NDArray:
    """Return the channels that most references cover, of those that cover much of the axis, if any."""
    shares = known.mean(axis=1)
    if not shares.any():
        low = min(float(one.axis[0]) for one in references)
        high = max(float(one.axis[-1]) for one in references)
        raise ArgumentError(
            "{} and sources have no common range: the spectra go from {:g} to {:g}, the sources from "
            "{:g} to {:g}. Check that both axes have the same unit.",
            *(option("library"), low, high, grid[0], grid[-1]),
        )
    much = known[shares >= min(0.5, shares.max())]
    covered = np.asarray(much.mean(axis=0) >= 0.5)
    _check_size(grid[covered])
    return covered


def _reason(reference: Reference, row: NDArray, values: NDArray) -> str:
    """Return why a reference cannot be compared, or ""."""
    known = np.isfinite(reference.values)
    if not known.any():
        return f"{reference.name} has no numbers."
    if np.isfinite(values).mean() < 0.5:
        low, high = reference.axis[known][[0, -1]]
        return (
            f"{reference.name}, {low:g} to {high:g}, covers less than half of the range of the others."
        )
    return "" if row.any() else f"{reference.name} is flat."
