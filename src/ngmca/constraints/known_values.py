"""Known spectra and known concentrations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.arguments import as_array, check_choice, check_count
from ngmca._support.messages import ArgumentError, option


@dataclass(frozen=True, eq=False)
class KnownSources:
    """Some sources are known, or some of their channels: these values stay, amounts are fitted.

    Parameters
    ----------
    spectra : (k, n) array
        Known spectra, at the channels of the data. NaN is unknown: single channels, a window, or a row.
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

    @property
    def in_windows(self) -> bool:
        """Whether a source is known at some channels only."""
        unknown = np.isnan(as_array(self.spectra, "KnownSources").astype(np.float64))
        return bool((unknown.any(axis=-1) & ~unknown.all(axis=-1)).any())

    def rows(self, r: int, n: int) -> NDArray:
        """Return (r, n): known values of sources, NaN where they are unknown."""
        return _placed(self.spectra, "KnownSources", r, n, self.sources, wide=True)

    def transposed(self) -> "KnownMixing":
        """Return the same for the transposed data, whose mixing these sources are."""
        return KnownMixing(np.asarray(self.spectra).T, self.sources)


@dataclass(frozen=True, eq=False)
class KnownMixing:
    """Some values of A are known, such as concentrations from another method.

    Values above 0 fix the scale of their source: its column of A is in their units.

    Parameters
    ----------
    amounts : (m, k) array
        Known values of A. NaN is unknown: single values, or a column.
    sources : sequence of int, optional
        Which sources the columns belong to; the first k by default.
    sd : float or (m, k) array, optional
        Standard deviations of the values. The fit weighs a value by its standard deviation against the
        data by their noise. Where it is 0 or NaN, the value is exact. All are exact by default.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.KnownMixing(x.A[:, :1])])
    >>> bool(np.allclose(found.A[:, 0], x.A[:, 0]))
    True
    >>> some = np.full((20, 1), np.nan)
    >>> some[[2, 7]] = x.A[[2, 7], :1]  # two measurements with a reference value
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.KnownMixing(some)])
    >>> bool(np.allclose(found.A[[2, 7], 0], x.A[[2, 7], 0]))
    True
    """

    amounts: ArrayLike
    sources: Sequence[int] | None = None
    sd: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", _indices(self.sources, "KnownMixing"))
        if self.sd is not None:
            sd = as_array(self.sd, "sd").astype(np.float64)
            if np.isinf(sd).any() or (sd < 0).any():
                raise ArgumentError(
                    "sd of {} must not be negative, nor infinite.", option("KnownMixing")
                )

    def columns(self, m: int, r: int) -> NDArray:
        """Return (m, r): known values, NaN where they are unknown."""
        return _placed(np.asarray(self.amounts).T, "KnownMixing", r, m, self.sources, wide=False).T

    def deviations(self, m: int, r: int) -> NDArray:
        """Return (m, r): standard deviations of the known values, 0 where they are exact."""
        values, found = self.columns(m, r), np.zeros((m, r))
        if self.sd is None:
            return found
        shape = np.asarray(self.amounts).shape
        sd = as_array(self.sd, "sd").astype(np.float64)
        if sd.ndim and sd.shape != shape:
            raise ArgumentError(
                "sd of {} must be one number, or of the shape of its values, {}: got {}.",
                *(option("KnownMixing"), shape, sd.shape),
            )
        places = range(shape[1]) if self.sources is None else self.sources
        found[:, list(places)] = np.nan_to_num(sd)
        found[np.isnan(values)] = 0
        return found

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
    """Return profiles (k, length) that are non-negative, NaN where unknown."""
    found = as_array(values, name).astype(np.float64)
    if found.ndim != 2 or found.shape[1] != length or not 1 <= len(found) <= r:
        expected = f"(k, {length})" if wide else f"({length}, k)"
        shape = found.shape if wide else found.shape[::-1]
        raise ArgumentError(
            "{} must have shape {} with k at most {}, got {}.", option(name), expected, r, shape
        )
    if np.isinf(found).any():
        raise ArgumentError("{} has infinity: put NaN where a value is unknown.", option(name))
    if (found < 0).any():
        raise ArgumentError("{} has negative entries: use np.maximum(values, 0).", option(name))
    if (found == 0).all(axis=1).any():
        raise ArgumentError("{} has a profile of zeros: leave it out.", option(name))
    return found
