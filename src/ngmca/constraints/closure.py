"""Closure: concentrations of every measurement sum to a known total."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.arguments import as_array
from ngmca._support.messages import ArgumentError, option


@dataclass(frozen=True, eq=False)
class Closure:
    """Rows of A sum to a known total, as mass fractions and closed reactions do.

    A and S are then in physical units: columns of A do not have norm 1. A baseline is not part of the
    sum.

    Parameters
    ----------
    totals : float, (m,) array, or a list with one entry for each data set
        The sum of every row of A, above 0.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.Closure()])
    >>> bool(np.allclose(found.A.sum(axis=1), 1))
    True
    """

    totals: float | ArrayLike | Sequence[ArrayLike] = 1.0

    def __post_init__(self) -> None:
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
