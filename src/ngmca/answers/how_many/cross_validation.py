"""Prediction of entries that were held out: sources that are there tell what was not shown to them.

Every fold hides a speckled tenth of the entries. Factors are fitted to the others, exactly, with one
source more each time, and predict what was hidden. A source that only follows the noise makes the
prediction worse.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.constraint_arrays import exact_rows
from ngmca.algorithms.first_guess import unit_columns
from ngmca.algorithms.momentum import Momentum
from ngmca.engines import Engine, Levels, open_data

HIDDEN = 10  # a fold hides one of so many entries, or one of as many as there are folds
RUN = 4  # neighbouring channels that are hidden together; lines that are narrower would vanish
ROUNDS = 150  # at most, for each number of sources
CHANGE = 1e-3  # of the cost, below which a round has changed nothing
CALM = 2  # such rounds in a row end the fit
PATIENCE = 3  # numbers of sources without a better prediction that end a search
EXPLAINED = 1e-8  # of the energy of the data: what is left then is not worth a source


@dataclass(frozen=True, eq=False)
class Factors:
    """A (m, k) and S (k, n) of one fold, in its units."""

    A: NDArray
    S: NDArray


@dataclass(frozen=True, eq=False)
class Fold:
    """Data of which some entries are hidden, and what these are."""

    engine: Engine  # knows nothing of the hidden entries, neither of their values nor of their noise
    scale: NDArray  # (m, n) noise of each entry, up to a factor
    back: NDArray  # (m, n) from units of the engine to those of the values
    values: NDArray
    hidden: NDArray

    @classmethod
    def of(cls, values: NDArray, hidden: NDArray, noise: Any) -> "Fold":
        """The fold of values (NaN where they are missing) that hides some of them."""
        engine = open_data(shown(values, hidden), threads=1)
        levels = Levels.of(noise, engine)
        rows, columns = levels.units(engine.shape)
        units = rows[:, None] * columns
        weights = 1.0 if levels.weights is None else np.sqrt(levels.weights)
        return cls(levels.applied(engine), units / weights, units * engine.unit, values, hidden)

    def nothing(self) -> Factors:
        """No source at all."""
        m, n = self.engine.shape
        return Factors(np.zeros((m, 0)), np.zeros((0, n)))

    def with_one_more(self, factors: Factors) -> Factors:
        """argmin_{A, S >= 0} |Y - AS| over what is shown, from these factors and what they leave."""
        A = np.hstack([factors.A, self.engine.leftover(factors.A, factors.S, 1)])
        S = np.vstack([factors.S, np.zeros((1, factors.S.shape[1]))])
        return fitted(self.engine, A, S)

    def error(self, factors: Factors) -> float:
        """Mean square of what is hidden less its prediction, in units of its noise up to a factor.

        Nothing is predicted that is more than twice as large as all that was shown: where hardly
        anything of a sample was, a tiny weight may stretch a source beyond measure.
        """
        hidden = self.hidden
        largest = max(float(np.nanmax(shown(self.values, hidden))), 0.0)
        predicted = np.minimum((factors.A @ factors.S * self.back)[hidden], 2 * largest)
        return float(np.mean(((self.values[hidden] - predicted) / self.scale[hidden]) ** 2))


def speckles(observed: NDArray, folds: int, rng: np.random.Generator) -> NDArray:
    """(m, n) the number of the fold that hides each entry, -1 for those that none does.

    A few neighbouring channels are hidden together, of each measurement others: noise that they have in
    common would tell what is hidden between them.
    """
    m, n = observed.shape
    run = max(1, min(RUN, n // HIDDEN))
    runs = n // run + 2
    drawn = rng.permutation(m * runs).reshape(m, runs) % max(folds, HIDDEN)
    which = (np.arange(n) + rng.integers(run, size=(m, 1))) // run
    drawn = np.take_along_axis(drawn, which, axis=1)
    return np.where(observed & (drawn < folds), drawn, -1)


def shown(values: NDArray, hidden: NDArray) -> NDArray:
    """All that a fit is told: the values, and NaN for those that are hidden."""
    return np.where(hidden, np.nan, values)


def fitted(engine: Engine, A: NDArray, S: NDArray) -> Factors:
    """argmin_{A, S >= 0} |Y - AS| near a start, by exact steps in turn, with momentum."""
    A, S = unit_columns(A, S)
    momentum, lowest, best, calm = Momentum(), np.inf, Factors(A, S), 0
    for _ in range(ROUNDS):
        sweep = engine.sweep(A, S, lambda G, C, X, _: exact_rows(G, C, X))
        S = sweep.S
        calm = calm + 1 if lowest - sweep.cost <= CHANGE * lowest else 0
        if sweep.cost < lowest:
            lowest, best = sweep.cost, Factors(A, S)
        if calm >= CALM:
            break
        A = np.array(A)
        A, _ = engine.solve_mixing(sweep.SS, sweep.YS, A)
        A, S = unit_columns(A, S)
        A, momentum = momentum.accelerate(A, sweep.cost)
    return best


def floored(errors: NDArray) -> NDArray:
    """Errors (folds, ranks) of 0, 1, 2, ... sources, those alike that are too small to tell apart."""
    return np.maximum(errors, EXPLAINED * errors[:, :1].mean())


def most_useful(errors: NDArray) -> int:
    """The fewest sources that predict no worse than the best number, by one standard error.

    `errors` (folds, ranks) are those of 0, 1, 2, ... sources. Folds are compared with themselves.
    """
    errors = floored(errors)
    best = int(errors.mean(axis=0).argmin())
    loss = errors - errors[:, [best]]
    bearable = loss.mean(axis=0) <= loss.std(axis=0, ddof=1) / np.sqrt(len(errors))
    return int(bearable.argmax())


def seen_in(errors: NDArray) -> NDArray:
    """(ranks,) how many folds predict better with this many sources than with one fewer."""
    better = np.diff(floored(errors), axis=1) < 0
    return np.concatenate([[0], np.count_nonzero(better, axis=0)])
