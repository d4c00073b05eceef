"""Entries of S or A that are known to be 0."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.messages import ArgumentError, option


@dataclass(frozen=True, eq=False)
class ZeroSources:
    """Sources are known to be 0 at some channels: a substance without signal there.

    Parameters
    ----------
    where : (r, n) array of bool
        True where S is 0.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.ZeroSources(x.S == 0)])
    >>> float(found.S[x.S == 0].max())
    0.0
    """

    where: ArrayLike

    def flags(self, r: int, n: int) -> NDArray:
        """Return (r, n), True where S is 0."""
        return _checked(self.where, "ZeroSources", (r, n), axis=1)

    def transposed(self) -> "ZeroMixing":
        """Return the same for the transposed data."""
        return ZeroMixing(np.asarray(self.where).T)


@dataclass(frozen=True, eq=False)
class ZeroMixing:
    """Some substances are known to be absent from some measurements.

    Parameters
    ----------
    where : (m, r) or (k, r) array of bool
        True where A is 0. For k data sets, one row for each says which sources are absent from it.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> absent = np.zeros((20, 2), dtype=bool)
    >>> absent[:5, 0] = True  # the first source is not in the first five measurements
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.ZeroMixing(absent)])
    >>> float(found.A[:5, 0].max())
    0.0
    >>> absent = ngmca.ZeroMixing(np.array([[True, False], [False, False]]))  # from the first data set
    >>> found = ngmca.separate([x.Y[:8], x.Y[8:]], 2, constraints=[absent])
    >>> float(found.A[:8, 0].max())
    0.0
    """

    where: ArrayLike

    def flags(self, m: int, r: int, parts: Sequence[slice] = (slice(None),)) -> NDArray:
        """Return (m, r), True where A is 0, for data sets that are these parts of the measurements."""
        where = np.asarray(self.where)
        if len(parts) > 1 and where.shape == (len(parts), r):
            sizes = [len(range(*part.indices(m))) for part in parts]
            where = np.repeat(where, sizes, axis=0)
        return _checked(where, "ZeroMixing", (m, r), axis=0)

    def transposed(self) -> ZeroSources:
        """Return the same for the transposed data."""
        return ZeroSources(np.asarray(self.where).T)


def _checked(where: ArrayLike, name: str, shape: tuple[int, int], *, axis: int) -> NDArray:
    """Return booleans of a shape that leave something of every source."""
    flags = np.asarray(where)
    if flags.dtype != bool or flags.shape != shape:
        raise ArgumentError(
            "{} must be booleans of shape {}, got {} of shape {}.",
            *(option(name), shape, flags.dtype, flags.shape),
        )
    if flags.all(axis=axis).any():
        raise ArgumentError("{} sets a whole source to 0: use fewer sources instead.", option(name))
    return flags
