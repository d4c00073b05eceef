"""What the data allow: the range of factorisations that fit as well."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngmca.plotting import sources_plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Ambiguity:
    """The range of sources and mixing that fit as well (rotational ambiguity); see `ngmca.ambiguity`.

    The contribution of source k is |a_k s_k| / |A S| (Frobenius norms), as in MCR-BANDS. There are 2 r
    ends: for each source the factorisation in which it contributes least, and that in which it
    contributes most. Ranges are over all ends and the separation. In each of them, a source has the norm
    that it has in the separation, so that bands show shapes and not scales. With `Closure` or
    `KnownMixing` the scale is known and stays.

    Attributes
    ----------
    lowest, found, highest : (r,) arrays
        Smallest contribution of each source, that in the separation, and the largest.
    S_low, S_high : (r, n) arrays
        Lowest and highest value of the sources.
    A_low, A_high : (m, r) arrays
        Lowest and highest value of the mixing.
    T : (2, r, r, r) array
        The ends as transformations: A T and T^-1 S. T[0, k] is that of the smallest contribution of
        source k, T[1, k] that of the largest.
    deviance : (2, r) array
        How far the signal of each end is from that of the separation, as a sum of squares in units of
        the noise.
    converged : (2, r) array of bool
        Whether each end is a minimum or a maximum. If not, the range may be wider.
    limit : float
        Largest allowed deviance.
    level : float
        Probability to which the limit belongs.
    variance_growth : float
        How much larger the variance of the noise counts, because neighbouring channels are correlated;
        1 for white noise.
    """

    lowest: NDArray
    found: NDArray
    highest: NDArray
    S_low: NDArray = field(repr=False)
    S_high: NDArray = field(repr=False)
    A_low: NDArray = field(repr=False)
    A_high: NDArray = field(repr=False)
    T: NDArray = field(repr=False)
    deviance: NDArray = field(repr=False)
    converged: NDArray = field(repr=False)
    limit: float = 0.0
    level: float = 0.9
    variance_growth: float = 1.0

    @property
    def width(self) -> NDArray:
        """Half the range of each contribution, divided by that in the separation (r,)."""
        half = (self.highest - self.lowest) / 2
        return np.divide(half, self.found, out=np.zeros_like(half), where=self.found > 0)

    def relative(self, S: NDArray) -> NDArray:
        """Return half the width of the band of each source, over the source, root mean square (r,)."""
        return relative_width(S, self.S_low, self.S_high)

    def factors(self, separation: Any, source: int, *, largest: bool = True) -> tuple[NDArray, NDArray]:
        """Return A and S in which a source contributes most, or least.

        Entries that the noise allows to be below 0 are set to 0.

        Parameters
        ----------
        separation : Separation
            The separation to which this belongs.
        source : int
            Index of the source, from 0.
        largest : bool
            Whether its contribution is the largest or the smallest one.

        Returns
        -------
        A, S : arrays
            The mixing (m, r) and the sources (r, n).
        """
        T = self.T[int(largest), source]
        return np.maximum(separation.A @ T, 0), np.maximum(np.linalg.solve(T, separation.S), 0)

    def part(self, rows: NDArray, columns: NDArray) -> "Ambiguity":
        """Return the same for some measurements and channels."""
        return replace(
            self,
            **{name: getattr(self, name)[:, columns] for name in ("S_low", "S_high")},
            **{name: getattr(self, name)[rows] for name in ("A_low", "A_high")},
        )

    def scaled(self, unit: float) -> "Ambiguity":
        """Return the same for data that are `unit` times as large."""
        return replace(self, S_low=self.S_low * unit, S_high=self.S_high * unit)

    def plot(self, data: Any = None) -> "Figure":
        """Return a matplotlib figure: the band of each source, and that of its mixing.

        Parameters
        ----------
        data : Dataset, DataFrame or DataArray, optional
            The data that were separated, for the axis and the names.
        """
        return sources_plot.bands_picture(self, data)

    def __repr__(self) -> str:
        widest = f"{100 * float(self.width.max(initial=0)):.2g} %"
        doubt = "" if self.converged.all() else f", {int((~self.converged).sum())} ends not converged"
        return f"Ambiguity: {len(self.found)} sources, contributions within +-{widest}{doubt}"


def relative_width(values: NDArray, low: NDArray, high: NDArray) -> NDArray:
    """Return half the width of each row of a band, over the row, root mean square."""
    peak = np.abs(high).max(axis=1, initial=0)
    peak = np.where(np.isfinite(peak) & (peak > 0), peak, 1)[:, None]  # squares must not overflow
    half, size = (np.linalg.norm(X / peak, axis=1) for X in ((high - low) / 2, values))
    return np.divide(half, size, out=np.zeros_like(half), where=size > 0)
