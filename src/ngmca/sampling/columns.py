"""Some of the channels, for data that are too large to sample completely."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import rules
from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.engines import Counts, Engine, by_part, stretches
from ngmca.sampling.target import Factorisation

NEIGHBOURS = 4  # channels sampled on each side of a channel that was named
SPREAD_CHANNELS = 1024  # channels spread over the data, from which the mixing is learnt


@dataclass(frozen=True, eq=False)
class Columns:
    """Sorted channels that were asked for, and those that are sampled for them.

    Attributes
    ----------
    wanted : ndarray of int
        Channels of the result.
    sampled : ndarray of int
        These channels and, if they were named one by one, their neighbours and others spread over the
        data.
    """

    wanted: NDArray
    sampled: NDArray

    @classmethod
    def of(cls, columns: int | ArrayLike, engine: Engine) -> "Columns":
        """Return the channels, or raise an error that says what is wrong with the argument."""
        if engine.weights is not None:
            raise ArgumentError("{} does not support missing entries: leave it out.", option("columns"))
        n = engine.shape[1]
        wanted = chosen_columns(columns, n)
        if np.ndim(columns) == 0:
            return cls(wanted, wanted)
        near = wanted[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS + 1)
        spread = np.arange(n) if n <= SPREAD_CHANNELS else stretches(n, SPREAD_CHANNELS)
        return cls(wanted, np.union1d(np.clip(near, 0, n - 1), spread))

    def noise(
        self, noise: str | ArrayLike | Counts | None, engine: Engine
    ) -> str | ArrayLike | Counts | None:
        """Return the noise of the sampled channels: levels of channels and of entries are cut."""
        noise = by_part(noise, engine)
        if noise is None or isinstance(noise, str | Counts):
            return noise
        (m, n), levels = engine.shape, arguments.as_array(noise, "noise")
        if levels.shape == (n,) != (m,):
            return levels[None, self.sampled]  # a vector of m numbers would be taken for measurements
        return levels[:, self.sampled] if levels.ndim == 2 and levels.shape[1] == n else noise

    def separation(self, separation: Factorisation | None) -> Factorisation | None:
        """Return the start of the chains at the sampled channels."""
        if getattr(separation, "background", None) is not None:
            rules.check(rules.written(["columns", "Baseline"]))
        outliers = getattr(separation, "outliers", None)
        if outliers is not None and len(outliers):
            rules.check(rules.written(["columns", "robust"]))
        if separation is None:
            return None
        S = np.ascontiguousarray(separation.S[:, self.sampled])
        return SimpleNamespace(
            A=separation.A, S=S, noise=separation.noise, outliers=None, background=None
        )


def chosen_columns(columns: int | ArrayLike, n: int) -> NDArray:
    """Return sorted indices: those given, or that many in stretches spread over the data."""
    if isinstance(columns, int | np.integer) and not isinstance(columns, bool):
        return stretches(n, min(arguments.check_count(columns, "columns", low=64), n))
    indices = np.asarray(columns)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or not indices.size:
        raise ArgumentTypeError(
            "{} must be a number of channels, or a list of their indices.", option("columns")
        )
    if indices[0] < 0 or indices[-1] >= n or (np.diff(indices) <= 0).any():
        raise ArgumentError(
            "{} must be different indices from 0 to {} in rising order.", option("columns"), n - 1
        )
    return indices
