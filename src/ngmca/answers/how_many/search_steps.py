"""The search for the number of sources, one source more in each step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many.cross_validation import PATIENCE, Factors, Fold, most_useful


@dataclass(frozen=True, eq=False)
class Search:
    """A search on its way: errors and stability for 0, 1, ... sources, and the last factors.

    Attributes
    ----------
    errors : ndarray of shape (folds, k)
        Mean squared errors of held-out entries.
    stability : ndarray of shape (k,)
        Stability of the least stable source.
    factors : tuple of Factors
        The factors with the most sources so far, one pair for each fold.
    """

    errors: NDArray
    stability: NDArray
    factors: tuple[Factors, ...]

    @property
    def rank(self) -> int:
        """The largest number of sources so far."""
        return len(self.stability) - 1

    def is_over(self, required: int) -> bool:
        """Return whether more sources did not predict better for a while, after `required` sources."""
        return self.rank >= max(most_useful(self.errors) + PATIENCE, required)


class Kept(Protocol):
    """A place that keeps a search on its way, so that a stopped search can continue."""

    def last(self) -> Search | None:
        """Return the kept state of the same search, or None."""

    def keep(self, search: Search) -> None:
        """Keep this state instead of the last one."""


def without_sources(folds: list[Fold]) -> Search:
    """Return the search before the first source."""
    factors = tuple(fold.nothing() for fold in folds)
    errors = [[fold.error(one)] for fold, one in zip(folds, factors, strict=True)]
    return Search(np.array(errors), np.array([np.nan]), factors)


def with_one_more(
    search: Search, folds: list[Fold], run_all: Callable[..., Any], stability: Callable[[], float]
) -> Search:
    """Return the search with one source more; `run_all` is a map over the folds, in parallel or not."""

    def step(fold: Fold, before: Factors) -> tuple[Factors, float]:
        found = fold.with_one_more(before)
        return found, fold.error(found)

    steps = list(run_all(step, folds, search.factors))
    errors = np.column_stack([search.errors, [error for _, error in steps]])
    stable = np.append(search.stability, stability())
    return Search(errors, stable, tuple(factors for factors, _ in steps))
