"""A smooth background in every measurement."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag

from ngmca.domains import backgrounds

AUTO, NONE = "auto", "none"


@dataclass(frozen=True, eq=False)
class Baseline:
    """Each measurement has a smooth non-negative background that belongs to no source.

    The background is a non-negative sum of fixed smooth curves. `Separation.background` holds it. Each
    of several techniques has curves of its own.

    Parameters
    ----------
    kind : {"auto", "none", "constant", "linear", "quadratic", "polynomial", "splines"} or (q, n) array
        The curves: made by `ngmca.backgrounds`, or given, one curve in each row. A polynomial has degree
        4, and there are 8 splines. "auto" looks at the data before the separation and takes the
        stiffest of these kinds that fits, or no baseline if there is none. It is decided for `Soft` with
        automatic iterations, and for complete data in memory. In all other cases it is no baseline.
    found : bool
        Whether the data showed this kind; "auto" says so.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y + 0.5, 2, constraints=[ngmca.Baseline("polynomial")])
    >>> found.background.values.shape
    (20, 80)
    """

    kind: str | ArrayLike = "splines"
    found: bool = False

    @property
    def is_decided(self) -> bool:
        """Whether the curves are known; those of "auto" are not."""
        return not (isinstance(self.kind, str) and self.kind == AUTO)

    @property
    def is_none(self) -> bool:
        """Whether there is no baseline."""
        return isinstance(self.kind, str) and self.kind == NONE

    def basis(self, n: int, borders: Sequence[int] = ()) -> NDArray:
        """Return the curves (q, n); made curves begin anew at each border."""
        if not isinstance(self.kind, str) or not borders:
            return backgrounds.basis(self.kind, n)
        sizes = np.diff([0, *borders, n])
        return np.asarray(block_diag(*(backgrounds.basis(self.kind, int(size)) for size in sizes)))

    def __repr__(self) -> str:
        shown = repr(self.kind) if isinstance(self.kind, str) else f"{len(np.asarray(self.kind))} curves"
        return f"Baseline({shown})"


def baseline_of(constraints: Iterable[object]) -> Baseline | None:
    """Return the baseline among constraints, or None."""
    return next((one for one in constraints if isinstance(one, Baseline)), None)
