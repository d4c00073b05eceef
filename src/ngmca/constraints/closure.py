"""Closure: concentrations of every measurement sum to a known total."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.arguments import as_array, check_choice, check_count
from ngmca._support.messages import ArgumentError, option

KINDS = ("equal", "at most", "at least")


@dataclass(frozen=True, eq=False)
class Closure:
    """Rows of A sum to a known total, as mass fractions and closed reactions do.

    A and S are then in physical units: columns of A do not have norm 1. A baseline is not part of the
    sum.

    Parameters
    ----------
    totals : float, (m,) array, or a list with one entry for each data set
        The sum of every row of A, above 0.
    kind : {"equal", "at most", "at least"}
        Whether the sum is the total, or at most or at least that. An inequality does not fix the scale:
        every source that is summed up then needs known values of A, or a known spectrum.
    sources : sequence of int, optional
        The sources that are summed up; all of them by default.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.Closure()])
    >>> bool(np.allclose(found.A.sum(axis=1), 1))
    True
    """

    totals: float | ArrayLike | Sequence[ArrayLike] = 1.0
    kind: str = "equal"
    sources: Sequence[int] | None = None

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", KINDS)
        if self.sources is not None:
            summed = tuple(check_count(k, "sources of Closure", low=0) for k in self.sources)
            object.__setattr__(self, "sources", summed)
        parts = self.totals if isinstance(self.totals, list | tuple) else [self.totals]
        for part in parts:
            found = as_array(part, "Closure").astype(np.float64)
            if not np.isfinite(found).all() or (found <= 0).any():
                raise ArgumentError(
                    "{} needs totals above 0: leave out measurements that contain nothing.",
                    option("Closure"),
                )

    def totals_of(self, totals: ArrayLike, m: int) -> NDArray:
        """Return one total for each of m measurements."""
        found = as_array(totals, "Closure").astype(np.float64)
        if found.ndim > 1 or found.size not in (1, m):
            raise ArgumentError(
                "{} needs one total, or one for each measurement ({}), got shape {}.",
                *(option("Closure"), m, found.shape),
            )
        return np.asarray(np.broadcast_to(found, (m,)))

    def error_of(self, A: NDArray, totals: ArrayLike) -> float:
        """Return how far sums of rows of A (m, r) are from what their totals allow, over the totals."""
        wanted, summed = self.totals_of(totals, len(A)), self.summed(A.shape[1])
        above = (A if summed is None else A[:, list(summed)]).sum(axis=1) / wanted - 1
        away = {"equal": np.abs(above), "at most": above, "at least": -above}[self.kind]
        return float(np.maximum(away, 0).max(initial=0))

    @property
    def sums_up_all(self) -> bool:
        """Whether all sources together are equal to the total."""
        return self.kind == "equal" and self.sources is None

    def summed(self, r: int) -> tuple[int, ...] | None:
        """Return the sources that are summed up; None stands for all."""
        if self.sources is not None and max(self.sources, default=r) >= r:
            raise ArgumentError(
                "sources of {} must name some of {} sources by their index from 0, got {}.",
                *(option("Closure"), r, tuple(self.sources)),
            )
        return None if self.sources is None else tuple(self.sources)
