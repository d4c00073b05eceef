"""What an engine is: the facts about the data, and the fifteen questions that it answers about Y.

An engine holds Y (m, n), measurements x channels, in memory, on disk, on a Dask cluster or on a GPU. The
rest of the library asks these questions and never asks which engine it is. What follows from the answers
(costs, norms of rows, products with the whole array) is in `engines.derived`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ngmca.engines.blocks import Choice
from ngmca.engines.gpu.stacks import Stacks
from ngmca.io.technique import Technique
from ngmca.nnqp.gram import Gram

Place = Literal["memory", "disk", "dask", "gpu"]

# S (r, n) where the engine keeps it: a NumPy array, a Dask array, or columns on a GPU
Sources = Any

DType = np.dtype
Units = NDArray | None  # of rows or columns; None stands for 1

# How often noise levels were estimated, and the level of each row over the mean level
NoiseMemory = tuple[int, NDArray] | None

# Solves the S-step for a block of samples: (G, C (b, r), X (b, r) in place, which they are) -> violation
Solve = Callable[[Gram, NDArray, NDArray, slice], float]


@dataclass(frozen=True)
class Sweep:
    """New sources for a given mixing, with the sums that the A-step needs.

    Attributes
    ----------
    S : array of shape (r, n)
        The sources, where the engine keeps them.
    SS : Gram
        S S'; for data with weights, one matrix for each measurement.
    YS : array of shape (m, r)
        Y S'.
    cost : float
        1/2 |Y - A S|^2, to the rounding error of |Y|^2 in the precision of Y.
    active : float
        Share of the entries of S that are not 0.
    violation : float
        The largest violation of the optimality conditions.
    total : array of shape (r,), optional
        Sum of each source.
    """

    S: Sources
    SS: Gram
    YS: NDArray
    cost: float
    active: float
    violation: float
    total: NDArray | None = None


class Engine(Protocol):
    """Measurements Y (m, n), and answers to questions about them.

    All numbers are in units of `unit`: Y / unit has squares that neither overflow nor vanish.

    Attributes
    ----------
    shape, dtype
        Those of Y.
    unit : float
        Value of the original data that is 1 here.
    parts : tuple of slice
        Measurements of each of several data sets.
    techniques : tuple of Technique
        Channels of each of several techniques; empty for one.
    energy : float
        |Y|^2, weighted if there are weights.
    weights : array of shape (m, n), optional
        Weights of the entries, 0 for missing ones. None: all entries count alike.
    noise_weights : array of shape (m, n), optional
        Weights that entries have by their noise, observed or not. None stands for 1.
    place : {"memory", "disk", "dask", "gpu"}
        Where Y is.
    whole : bool
        Whether all of Y can be in memory at once.
    concurrent : bool
        Whether several runs may use the engine at the same time.
    corrected : bool
        Whether `noise` is corrected for the share of the noise that the fit follows.
    threads : int, optional
        Threads to use. None: as many as there are.
    seed : int
        Seed of the columns and rows that noise levels are estimated from.
    array_module : module
        NumPy, or CuPy if Y came as a CuPy array and results go back as such.
    noise_memory : tuple, optional
        What the next answer of `noise` depends on besides its arguments; to be set when a run resumes.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    energy: float
    unit: float = 1.0
    parts: tuple[slice, ...] = (slice(None),)
    techniques: tuple[Technique, ...] = ()
    weights: NDArray | None = None
    noise_weights: NDArray | None = None
    place: Place = "memory"
    whole: bool = True
    concurrent: bool = False
    corrected: bool = True
    threads: int | None = None
    seed: int = 0
    array_module: Any = np
    noise_memory: NoiseMemory

    # What the outer loop asks.

    def sweep(self, A: NDArray, S: Sources, solve: Solve) -> Sweep:
        """Solve the S-step from the support of S, and collect S S' and Y S', in one pass over Y."""

    def moments(self, S: Sources) -> tuple[Gram, NDArray]:
        """Return S S' and Y S'."""

    def correlate(self, A: NDArray) -> NDArray:
        """Return A'Y, (r, n), as an array in memory."""

    def peak(self, A: NDArray, S: Sources) -> float:
        """Return the largest entry of |A'(AS - Y)|."""

    def noise(
        self, A: NDArray, S: Sources, *, final: bool = False, held: NDArray | None = None
    ) -> NDArray:
        """Return the robust noise level of each measurement (m,), from a seeded set of entries.

        Sources that are `held` (r,) were not fitted. The `final` levels come from more entries.
        """

    def leftover(self, A: NDArray, S: Sources, k: int) -> NDArray:
        """Return k different unit directions (m, k) that the residual points to, or zeros."""

    def solve_mixing(
        self, G: Gram, C: NDArray, A: NDArray, bounded: NDArray | None = None
    ) -> tuple[NDArray, float]:
        """argmin_{X >= 0} 1/2 <X, XG> - <C, X> for the rows of C (m, r), from A; X and its certificate.

        Columns that are `bounded` (r,) have norms of at most 1.
        """

    def zero_sources(self, r: int) -> Sources:
        """Return sources (r, n) that are 0, where the engine keeps sources."""

    def stacks(self, r: int) -> Stacks | None:
        """Return the same questions for many starts at once; None if they run one after the other."""

    # Parts of Y.

    def pick(self, rows: Choice, columns: Choice) -> NDArray:
        """Return some measurements at some channels, both sorted, as an array in memory."""

    def part(self, rows: Choice, columns: Choice) -> "Engine":
        """Return an engine for some measurements at some channels; this one if both are slices."""

    def blocks(self, rows: int | None = None) -> Iterator[tuple[tuple[slice, slice], NDArray]]:
        """Yield all of Y once, in blocks, each with its rows and columns.

        With `rows`, a block is that many whole measurements. Without, the order is that of every engine.
        """

    def fingerprint(self) -> str:
        """Return a checksum of all numbers, to tell these data from others."""

    # The same data in another form.

    def transposed(self) -> "Engine":
        """Return the data with measurements and channels exchanged."""

    def divided(
        self, rows: Units = None, columns: Units = None, *, unit: float = 1.0, dtype: DType | None = None
    ) -> "Engine":
        """Return the data divided by units of rows (m,) and columns (n,), and by a unit for all.

        `unit` becomes part of the engine's unit; those of rows and columns do not.
        """
