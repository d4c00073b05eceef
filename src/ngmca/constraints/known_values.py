"""Known spectra and known concentrations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.arguments import as_array, check_choice, check_count
from ngmca._support.messages import ArgumentError, option


@dataclass(frozen=True, eq=False)
class KnownSources:
    """Some sources are known: they stay as given, and their amounts are fitted.

    Parameters
    ----------
    spectra : (k, n) array
        Known spectra, at the channels of the data. A row of NaN is unknown.
    scale : {"fixed", "free"}
        With "fixed", the spectra come back as given, and columns of A are their amounts. With "free",
        only their shape is known, and columns of A have norm 1 like all others.
    sources : sequence of int, optional
        Which sources the rows are; the first k by default.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.KnownSources(x.S[:1])])
    >>> bool(np.allclose(found.S[0], x.S[0]))
    True
    """

    spectra: ArrayLike
    scale: str = "fixed"
    sources: Sequence[int] | None = None

    def __post_init__(self) -> None:
        check_choice(self.scale, "scale", ("fixed", "free"))
        object.__setattr__(self, "sources", _indices(self.sources, "KnownSources"))

    def rows(self, r: int, n: int) -> NDArray:
        """Return (r, n): known sources, NaN where a source is unknown."""
        return _placed(self.spectra, "KnownSources", r, n, self.sources, wide=True)

    def transposed(self) -> "KnownMixing":
        """Return the same for the transposed data, whose mixing these sources are."""
        return KnownMixing(np.asarray(self.spectra).T, self.sources)


@dataclass(frozen=True, eq=False)
class KnownMixing:
    """Some columns of A are known, such as concentrations from another method.

    Parameters
    ----------
    amounts : (m, k) array
        Known columns of A. A column of NaN is unknown.
    sources : sequence of int, optional
        Which sources the columns belong to; the first k by default.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.KnownMixing(x.A[:, :1])])
    >>> bool(np.allclose(found.A[:, 0], x.A[:, 0]))
    True
    """

    amounts: ArrayLike
    sources: Sequence[int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", _indices(self.sources, "KnownMixing"))

    def columns(self, m: int, r: int) -> NDArray:
        """Return (m, r): known columns, NaN where a column is unknown."""
        return _placed(np.asarray(self.amounts).T, "KnownMixing", r, m, self.sources, wide=False).T

    def transposed(self) -> KnownSources:
        """Return the same for the transposed data, whose sources these columns are."""
        return KnownSources(np.asarray(self.amounts).T, sources=self.sources)


def _indices(sources: Sequence[int] | None, name: str) -> tuple[int, ...] | None:
    """Return different indices as a tuple."""
    if sources is None:
        return None
    found = tuple(check_count(k, f"sources of {name}", low=0) for k in sources)
    if len(set(found)) < len(found):
        raise ArgumentError("sources of {} names a source twice: {}.", option(name), found)
    return found


def _placed(
    values: ArrayLike, name: str, r: int, length: int, sources: Sequence[int] | None, *, wide: bool
) -> NDArray:
    """Return the k given profiles (k, length) at their places among r, NaN elsewhere."""
    given = _checked(values, name, r, length, wide=wide)
    places = range(len(given)) if sources is None else sources
    if len(places) != len(given) or max(places) >= r:
        raise ArgumentError(
            "sources of {} must name {} of {} sources by their index from 0, got {}.",
            *(option(name), len(given), r, tuple(places)),
        )
    found = np.full((r, length), np.nan)
    found[list(places)] = given
    return found


def _checked(values: ArrayLike, name: str, r: int, length: int, *, wide: bool) -> NDArray:
    """Return profiles (k, length) that are non-negative, or all NaN where unknown."""
    found = as_array(values, name).astype(np.float64)
    if found.ndim != 2 or found.shape[1] != length or not 1 <= len(found) <= r:
        expected = f"(k, {length})" if wide else f"({length}, k)"
        shape = found.shape if wide else found.shape[::-1]
        raise ArgumentError(
            "{} must have shape {} with k at most {}, got {}.", option(name), expected, r, shape
        )
    known = found[~np.isnan(found).all(axis=1)]
    if not np.isfinite(known).all():
        raise ArgumentError(
            "{} has NaN or infinity in a known profile: give all of it, or all of it as NaN.",
            option(name),
        )
    if (known < 0).any():
        raise ArgumentError("{} has negative entries: use np.maximum(values, 0).", option(name))
    if not known.any(axis=1).all():
        raise ArgumentError("{} has a profile of zeros: leave it out.", option(name))
    return found
