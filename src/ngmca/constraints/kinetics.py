"""Kinetics: concentration profiles that follow a rate law."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.arguments import as_array, check_count
from ngmca._support.messages import ArgumentError, option
from ngmca.algorithms.kinetics.kinetic_step import KineticModel
from ngmca.constraints.rate_law import RateLaw

Law = Callable[[NDArray, NDArray], NDArray]


@dataclass(frozen=True, eq=False)
class Kinetics:
    """Columns of A follow a rate law, whose rate constants are fitted.

    Columns of A are amounts in the units of the starting amounts. `Separation.rates` has the rate
    constants with their error bars. Amounts that are known up to a standard deviation
    (``KnownMixing(..., sd=...)``) enter the fit of the rate constants. With `Closure`, one source that
    is outside of the law has what the law leaves of the total.

    Parameters
    ----------
    law : str, sequence of str, or callable
        Steps such as "A -> B -> C", "A + B -> C", "2 A -> B" or "A <-> B"; several strings, or parts
        separated by a comma, are parallel steps. A callable ``law(times, parameters)`` returns amounts
        (m, k).
    start : mapping or sequence, optional
        Amounts at time 0, by name or for each species in the order in which they appear. By default 1
        for the first species, and 0 for the others.
    times : (m,) array, optional
        Time of each measurement, not negative and not decreasing. By default those of the data set, if
        it has times, otherwise 0, 1, 2, ...
    sources : sequence of int or None, optional
        Which source each species is, None for one that the data do not show. The first sources by
        default.
    guess : sequence of float, optional
        First guess of the parameters. A callable needs it; those above 0 stay above 0. Rate laws in
        words are searched without.
    names : sequence of str, optional
        Names of the parameters of a callable.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> t = np.linspace(0, 5, 30)
    >>> A = np.column_stack([np.exp(-0.7 * t), 1 - np.exp(-0.7 * t)])
    >>> S = ngmca.simulate.bands(n=200, r=2, seed=0).S
    >>> Y = A @ S + 0.01 * np.random.default_rng(0).standard_normal((30, 200))
    >>> found = ngmca.separate(Y, 2, constraints=[ngmca.Kinetics("A -> B", times=t)])
    >>> found.rates.names, found.rates.values.round(2)
    (('A -> B',), array([0.7]))
    """

    law: str | Sequence[str] | Law
    start: Mapping[str, float] | Sequence[float] | None = None
    times: ArrayLike | None = None
    sources: Sequence[int | None] | None = None
    guess: Sequence[float] | None = None
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if callable(self.law):
            if self.guess is None:
                raise ArgumentError(
                    "{} of a function needs a guess of its parameters.", option("Kinetics")
                )
        else:
            self._amounts_at_start(RateLaw.of(self.law))
        for k in self.sources or ():
            if k is not None:
                check_count(k, "sources of Kinetics", low=0)

    def model(self, m: int, r: int, rows: NDArray) -> KineticModel:
        """Return the model for m measurements in units of `rows`, and r sources."""
        times, scale = self._times(m)
        if callable(self.law):
            law, guess = self.law, np.asarray(self.guess, dtype=np.float64)
            found = np.asarray(law(times, guess), dtype=np.float64)
            names = tuple(self.names or (f"parameter {i + 1}" for i in range(len(guess))))
            where = self._columns(found.shape[1] if found.ndim == 2 else 0, r)
            kept = [i for i, k in enumerate(where) if k is not None]

            def profiles(parameters: NDArray) -> NDArray:
                return np.asarray(law(times, parameters), dtype=np.float64)[:, kept] / rows[:, None]

            columns = tuple(k for k in where if k is not None)
            return KineticModel(profiles, columns, names, guess, False, times, rows)
        steps = RateLaw.of(self.law)
        start, where = self._amounts_at_start(steps), self._columns(len(steps.species), r)
        kept = [i for i, k in enumerate(where) if k is not None]
        usual = 1 / (scale * start.max() ** (steps.orders - 1.0))
        guess = usual if self.guess is None else np.asarray(self.guess, dtype=np.float64)
        if guess.shape != usual.shape or not (guess > 0).all():
            raise ArgumentError(
                "{} needs {} guesses above 0, one for each of {}.",
                *(option("Kinetics"), len(usual), ", ".join(steps.names)),
            )

        def amounts(rates: NDArray) -> NDArray:
            return steps.amounts(times, rates, start)[:, kept] / rows[:, None]

        columns = tuple(k for k in where if k is not None)
        searched = self.guess is None
        return KineticModel(amounts, columns, steps.names, guess, searched, times, rows)

    def modelled(self, m: int, r: int) -> NDArray:
        """Return (r,) which columns of A follow the law."""
        found = np.zeros(r, dtype=bool)
        found[list(self.model(m, r, np.ones(m)).columns)] = True
        return found

    def _amounts_at_start(self, steps: RateLaw) -> NDArray:
        """Return the amount of each species at time 0."""
        species, given = steps.species, self.start
        found = np.zeros(len(species))
        if given is None:
            found[0] = 1.0
            needed = steps.steps[0][0]
            if len(needed) > 1:
                raise ArgumentError(
                    "{} needs the starting amounts of {}: give start={{...}}.",
                    *(option("Kinetics"), " and ".join(needed)),
                )
            return found
        if isinstance(given, Mapping):
            if not set(given) <= set(species):
                raise ArgumentError(
                    "start of {} names {}, but the species are {}.",
                    *(
                        option("Kinetics"),
                        ", ".join(sorted(set(given) - set(species))),
                        ", ".join(species),
                    ),
                )
            found[[species.index(name) for name in given]] = list(given.values())
        elif len(given) == len(species):
            found[:] = np.asarray(given, dtype=np.float64)
        else:
            raise ArgumentError(
                "start of {} must have {} amounts, of {}.",
                *(option("Kinetics"), len(species), ", ".join(species)),
            )
        if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
            raise ArgumentError("start of {} must not be negative, nor all 0.", option("Kinetics"))
        return found

    def _times(self, m: int) -> tuple[NDArray, float]:
        """Return the times of m measurements, and how long they last."""
        times = np.arange(m, dtype=np.float64)
        if self.times is not None:
            times = as_array(self.times, "times").astype(np.float64)
        right = times.shape == (m,) and np.isfinite(times).all()
        if not right or times[0] < 0 or (np.diff(times) < 0).any() or times[-1] == 0:
            raise ArgumentError(
                "times of {} must be one for each of {} measurements, not negative, in their order.",
                *(option("Kinetics"), m),
            )
        return times, float(times[-1])

    def _columns(self, count: int, r: int) -> tuple[int | None, ...]:
        """Return the source of each species."""
        where = tuple(range(count)) if self.sources is None else tuple(self.sources)
        known = [k for k in where if k is not None]
        if len(where) != count or len(set(known)) < len(known) or not known or max(known) >= r:
            raise ArgumentError(
                "sources of {} must give a different one of {} sources, or None, to each of {} species: "
                "got {}.",
                *(option("Kinetics"), r, count, where),
            )
        return where
