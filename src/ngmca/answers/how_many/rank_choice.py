"""The number of sources that was chosen, and the three criteria behind it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many.stability import STABLE
from ngmca.plotting import rank_plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class RankChoice:
    """The number of sources that `ngmca.choose_rank` chose, and the criteria behind it.

    Attributes
    ----------
    rank : int
        The number of sources.
    perhaps : tuple of int
        Other numbers that cannot be excluded.
    advice : str
        The number and the reasons for it in words.
    criteria : dict of str to int
        The number that each criterion suggests: ``"held_out"``, ``"singular_values"``, ``"stability"``.
    ranks : ndarray of shape (k,)
        The numbers of sources that were tried: 0, 1, 2, ...
    held_out : ndarray of shape (folds, k)
        Mean squared error of the predicted entries in each fold; 1 is the error without sources.
    better_folds : ndarray of shape (k,)
        Number of folds that are predicted better with the last source than without it.
    stability : ndarray of shape (k,)
        How well the least stable source is found again in other measurements: 1 is perfect. NaN for
        0 sources.
    singular_values : ndarray
        Singular values of all data, the largest first.
    edge : float
        The largest singular value of white noise alone.
    fitted_shape : tuple of int
        Measurements and channels of the part of the data that was fitted.

    Examples
    --------
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=20, n=200, r=2, snr=30, seed=0)
    >>> choice = ngmca.choose_rank(mixture.Y, 4, seed=0)
    >>> choice.rank, choice.criteria
    (2, {'held_out': 2, 'singular_values': 2, 'stability': 2})
    >>> [name for name, column in choice.table()][:4]
    ['sources', 'held_out', 'better_folds', 'stability']
    """

    rank: int
    perhaps: tuple[int, ...]
    advice: str
    criteria: dict[str, int]
    ranks: NDArray = field(repr=False)
    held_out: NDArray = field(repr=False)
    better_folds: NDArray = field(repr=False)
    stability: NDArray = field(repr=False)
    singular_values: NDArray = field(repr=False)
    edge: float
    fitted_shape: tuple[int, int]

    def plot(self) -> "Figure":
        """Return a matplotlib figure with one panel for each criterion."""
        return rank_plot.picture(self, STABLE)

    def table(self) -> list[tuple[str, NDArray]]:
        """Return names and columns of a table with one row for each number of sources."""
        values = np.full(len(self.ranks), np.nan)
        known = self.singular_values[: len(values) - 1]
        values[1 : len(known) + 1] = known
        folds = [(f"held_out_{i + 1}", errors) for i, errors in enumerate(self.held_out)]
        return [
            ("sources", self.ranks),
            ("held_out", self.held_out.mean(axis=0)),
            ("better_folds", self.better_folds),
            ("stability", self.stability),
            ("singular_value", values),
            ("noise_edge", np.full(len(self.ranks), self.edge)),
            *folds,
        ]
