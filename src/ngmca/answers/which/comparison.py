"""Sources and the spectra of a library on one grid, and how alike they are there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca._support.progress import progress_bar
from ngmca.answers.which.library import Reference
from ngmca.answers.which.similarity import (
    FEW,
    HIGH,
    NEARER,
    alike,
    averaged,
    kinds_of,
    levelled,
    moves,
    nearest_other,
    structure,
)

FINEST = 2048  # channels of the grid: finer axes are averaged
NOTHING = "the library has no spectrum that can be compared."
LEAST = 8  # channels with which a comparison means something


@dataclass(frozen=True, eq=False)
class Comparison:
    """Structure of sources and spectra of a library, and their similarity."""

    references: tuple[Reference, ...]  # (k,) those that cover the grid
    grid: NDArray  # (g,) rising
    H: NDArray  # (r, g) structure of the sources
    L: NDArray  # (k, g) that of the library
    V: NDArray  # (r, g) and both with weak bands made stronger
    U: NDArray  # (k, g)
    shifts: NDArray
    similarity: NDArray  # (r, k) with its sign
    where: NDArray  # (r, k) shift at which it is largest
    kinds: NDArray  # (k,) the number of each substance
    nearest: NDArray  # (k,) similarity to the nearest other substance
    left_out: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the spectra."""
        return tuple(reference.name for reference in self.references)

    @property
    def substances(self) -> int:
        """How many substances there are."""
        return int(self.kinds.max()) + 1

    @property
    def few(self) -> bool:
        """Whether these are too few to say how alike others are."""
        return self.substances < FEW

    @property
    def needed(self) -> float:
        """The similarity that a sure match needs: from a few, far more than that of any two of them."""
        return max(HIGH, 1 - NEARER * (1 - float(self.nearest.max(initial=0)))) if self.few else 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the grid."""
        return float(self.grid[0]), float(self.grid[-1])


def compare(
    S: NDArray,
    axis: NDArray,
    references: Sequence[Reference],
    tolerance: float,
    *,
    progress: bool = False,
) -> Comparison:
    """All sources against all references, on the channels that most of the references cover."""
    grid, rows = _coarse(axis, S)
    _check_size(grid)
    library = np.stack([averaged(one.axis, one.values, grid) for one in references])
    if not any(np.isfinite(one.values).any() for one in references):
        raise ValueError(f"{NOTHING} The first: {references[0].name} holds no numbers.")
    covered = _covered(np.isfinite(library), grid, references)
    grid, rows, library = grid[covered], rows[:, covered], library[:, covered]
    L = structure(library)
    reasons = [_reason(one, row, known) for one, row, known in zip(references, L, library, strict=True)]
    kept = [k for k, reason in enumerate(reasons) if not reason]
    if not kept:
        raise ValueError(f"{NOTHING} The first: {reasons[0]}")
    H, L = structure(rows), L[kept]
    V, U = levelled(H), levelled(L)
    shifts = moves(grid, tolerance)
    similarity, where = alike(V, U, grid, shifts)
    with progress_bar(len(shifts), show=progress, label="comparing spectra") as shown:
        among = alike(U, U, grid, shown(shifts))[0]
    kinds = kinds_of([references[k].name for k in kept], among)
    return Comparison(
        tuple(references[k] for k in kept), grid, H, L, V, U, shifts, similarity, where, kinds,
        nearest_other(among, kinds), tuple(reason for reason in reasons if reason),
    )  # fmt: skip


def _check_size(grid: NDArray) -> None:
    if len(grid) < LEAST:
        raise ValueError(
            f"sources and library have {len(grid)} channels in common: at least {LEAST} are needed."
        )


def _coarse(axis: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
    """A rising axis and sources on it, means of neighbours where there are very many channels."""
    order = np.argsort(axis)
    starts = np.arange(0, len(axis), -(-len(axis) // FINEST))
    counts = np.diff(np.r_[starts, len(axis)])
    peaks = np.abs(S).max(axis=1, keepdims=True)
    rows = S[:, order] / np.where(peaks > 0, peaks, 1)
    means = (np.add.reduceat(part, starts, axis=-1) / counts for part in (axis[order], rows))
    grid, rows = means
    return grid, rows


def _covered(known: NDArray, grid: NDArray, references: Sequence[Reference]) -> NDArray:
    """The channels that most references cover, of those that cover much of the axis if there are any."""
    shares = known.mean(axis=1)
    if not shares.any():
        low = min(float(one.axis[0]) for one in references)
        high = max(float(one.axis[-1]) for one in references)
        raise ValueError(
            f"the library goes from {low:g} to {high:g}, the sources from {grid[0]:g} to {grid[-1]:g}: "
            "nothing is common. Check that both axes have the same unit."
        )
    much = known[shares >= min(0.5, shares.max())]
    covered = np.asarray(much.mean(axis=0) >= 0.5)
    _check_size(grid[covered])
    return covered


def _reason(reference: Reference, row: NDArray, values: NDArray) -> str:
    """Why a reference cannot be compared; "" where it can."""
    known = np.isfinite(reference.values)
    if not known.any():
        return f"{reference.name} holds no numbers."
    if np.isfinite(values).mean() < 0.5:
        low, high = reference.axis[known][[0, -1]]
        return f"{reference.name}, {low:g} to {high:g}, covers less than half of what others cover."
    return "" if row.any() else f"{reference.name} is flat."
