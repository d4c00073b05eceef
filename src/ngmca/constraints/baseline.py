"""A smooth background in every measurement."""

from collections.abc import Iterable
from dataclasses import dataclass

from numpy.typing import ArrayLike, NDArray

from ngmca.domains import backgrounds


@dataclass(frozen=True, eq=False)
class Baseline:
    """Each measurement has a smooth non-negative background that belongs to no source.

    The background is a non-negative sum of fixed smooth curves. `Separation.background` holds it.

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

    def basis(self, n: int) -> NDArray:
        """Return the curves (q, n)."""
        return backgrounds.basis(self.kind, n)


def baseline_of(constraints: Iterable[object]) -> Baseline | None:
    """Return the baseline among constraints, or None."""
    return next((one for one in constraints if isinstance(one, Baseline)), None)
