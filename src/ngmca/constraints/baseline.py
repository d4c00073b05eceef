"""A smooth background in every measurement."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag

from ngmca.domains import backgrounds


@dataclass(frozen=True, eq=False)
class Baseline:
    """Each measurement has a smooth non-negative background that belongs to no source.

    The background is a non-negative sum of fixed smooth curves. `Separation.background` holds it. Each
    of several techniques has curves of its own.

    Parameters
    ----------
    kind : {"polynomial", "splines"} or (q, n) array
        The curves: made by `ngmca.backgrounds`, or given, one curve in each row.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y + 0.5, 2, constraints=[ngmca.Baseline("polynomial")])
    >>> found.background.values.shape
    (20, 80)
    """

    kind: str | ArrayLike = "splines"

    def basis(self, n: int, borders: Sequence[int] = ()) -> NDArray:
        """Return the curves (q, n); made curves begin anew at each border."""
        if not isinstance(self.kind, str) or not borders:
            return backgrounds.basis(self.kind, n)
        sizes = np.diff([0, *borders, n])
        return np.asarray(block_diag(*(backgrounds.basis(self.kind, int(size)) for size in sizes)))


def baseline_of(constraints: Iterable[object]) -> Baseline | None:
    """Return the baseline among constraints, or None."""
    return next((one for one in constraints if isinstance(one, Baseline)), None)
