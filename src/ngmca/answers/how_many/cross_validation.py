"""Cross-validation: real sources predict entries that were held out.

Each fold hides a tenth of the entries, scattered over the data. Factors are fitted exactly to the other
entries, with one source more each time, and predict the hidden ones. A source that only follows the
noise makes the prediction worse.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.constraint_arrays import exact_rows
from ngmca.algorithms.first_guess import unit_columns
from ngmca.algorithms.momentum import Momentum
from ngmca.engines import Counts, Engine, Levels, open_data

HIDDEN_PART = 10  # each fold hides one of ten entries, or one of `folds` if there are more folds
HIDDEN_CHANNELS = 4  # neighbouring channels are hidden together; narrower lines are hidden as a whole
MAX_ITERATIONS = 150  # for each number of sources
RELATIVE_CHANGE = 1e-3  # of the cost: two iterations in a row with less end the fit
PATIENCE = 3  # a search ends after so many more sources without a better prediction
NEGLIGIBLE_ERROR = 1e-8  # of the error without sources: smaller errors count as equal

PartNoise = NDArray | Counts | None  # noise of the fitted part, in units of its engine


@dataclass(frozen=True, eq=False)
class Factors:
    """A (m, k) and S (k, n) of one fold, in the units of its engine."""

    A: NDArray
    S: NDArray


@dataclass(frozen=True, eq=False)
class Fold:
    """Data with some hidden entries.

    Attributes
    ----------
    engine : Engine
        The other entries. It knows neither the values of hidden entries nor their noise.
    scale : ndarray of shape (m, n)
        Noise of each entry, up to a factor.
    back : ndarray of shape (m, n)
        Factors from units of the engine to those of the values.
    values : ndarray of shape (m, n)
        All entries, NaN if missing.
    hidden : ndarray of bool, shape (m, n)
        Which entries are hidden.
    """

    engine: Engine
    scale: NDArray
    back: NDArray
    values: NDArray
    hidden: NDArray

    @classmethod
    def of(cls, values: NDArray, hidden: NDArray, noise: PartNoise) -> "Fold":
        """Return the fold of values (NaN where they are missing) with these entries hidden."""
        engine = open_data(shown(values, hidden), threads=1)
        levels = Levels.of(noise, engine)
        rows, columns = levels.units(engine.shape)
        units = rows[:, None] * columns
        weights = 1.0 if levels.weights is None else np.sqrt(levels.weights)
        return cls(levels.applied(engine), units / weights, units * engine.unit, values, hidden)

    def nothing(self) -> Factors:
        """Return factors without sources."""
        m, n = self.engine.shape
        return Factors(np.zeros((m, 0)), np.zeros((0, n)))

    def with_one_more(self, factors: Factors) -> Factors:
        """argmin_{A, S >= 0} |Y - AS| over the shown entries, from these factors and their residual."""
        A = np.hstack([factors.A, self.engine.leftover(factors.A, factors.S, 1)])
        S = np.vstack([factors.S, np.zeros((1, factors.S.shape[1]))])
        return fitted(self.engine, A, S)

    def error(self, factors: Factors) -> float:
        """Return the mean squared error of the prediction, in units of the noise up to a factor.

        A prediction is at most twice the largest shown entry. If hardly any entry of a channel is shown,
        a tiny weight could make the prediction arbitrarily large.
        """
        hidden = self.hidden
        largest = max(float(np.nanmax(shown(self.values, hidden))), 0.0)
        predicted = np.minimum((factors.A @ factors.S * self.back)[hidden], 2 * largest)
        return float(np.mean(((self.values[hidden] - predicted) / self.scale[hidden]) ** 2))


def speckles(observed: NDArray, folds: int, rng: np.random.Generator) -> NDArray:
    """Return (m, n) the fold that hides each entry, -1 for entries that are never hidden.

    A few neighbouring channels are hidden together, others in each measurement. Correlated noise of
    neighbours could otherwise predict a hidden entry between them.
    """
    m, n = observed.shape
    run = max(1, min(HIDDEN_CHANNELS, n // HIDDEN_PART))
    runs = n // run + 2
    drawn = rng.permutation(m * runs).reshape(m, runs) % max(folds, HIDDEN_PART)
    which = (np.arange(n) + rng.integers(run, size=(m, 1))) // run
    drawn = np.take_along_axis(drawn, which, axis=1)
    return np.where(observed & (drawn < folds), drawn, -1)


def shown(values: NDArray, hidden: NDArray) -> NDArray:
    """Return the values with NaN in place of hidden entries."""
    return np.where(hidden, np.nan, values)


def fitted(engine: Engine, A: NDArray, S: NDArray) -> Factors:
    """argmin_{A, S >= 0} |Y - AS| near a start, by exact alternating steps with momentum."""
    A, S = unit_columns(A, S)
    momentum, lowest, best, calm = Momentum(), np.inf, Factors(A, S), 0
    for _ in range(MAX_ITERATIONS):
        sweep = engine.sweep(A, S, lambda G, C, X, _: exact_rows(G, C, X))
        S = sweep.S
        calm = calm + 1 if lowest - sweep.cost <= RELATIVE_CHANGE * lowest else 0
        if sweep.cost < lowest:
            lowest, best = sweep.cost, Factors(A, S)
        if calm == 2:
            break
        A = np.array(A)
        A, _ = engine.solve_mixing(sweep.SS, sweep.YS, A)
        A, S = unit_columns(A, S)
        A, momentum = momentum.accelerate(A, sweep.cost)
    return best


def floored(errors: NDArray) -> NDArray:
    """Return errors (folds, ranks) of 0, 1, 2, ... sources, with negligible ones made equal."""
    return np.maximum(errors, NEGLIGIBLE_ERROR * errors[:, :1].mean())


def most_useful(errors: NDArray) -> int:
    """Return the smallest number of sources within one standard error of the best prediction.

    `errors` (folds, ranks) are those of 0, 1, 2, ... sources. Differences are taken within each fold.
    """
    errors = floored(errors)
    best = int(errors.mean(axis=0).argmin())
    loss = errors - errors[:, [best]]
    bearable = loss.mean(axis=0) <= loss.std(axis=0, ddof=1) / np.sqrt(len(errors))
    return int(bearable.argmax())


def better_folds(errors: NDArray) -> NDArray:
    """Return (ranks,) how many folds are predicted better with this many sources than with one fewer."""
    better = np.diff(floored(errors), axis=1) < 0
    return np.concatenate([[0], np.count_nonzero(better, axis=0)])


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
