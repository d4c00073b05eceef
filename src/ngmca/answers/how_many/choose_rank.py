"""How many sources there are: three witnesses, and one sentence about them.

Entries that were held out, singular values above the noise, and sources that come again from other
measurements may disagree: what two of them say is taken, and all three are shown.
"""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.progress import progress_bar
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import available, one_blas_thread
from ngmca.answers.how_many.clear_spikes import spikes, with_sides
from ngmca.answers.how_many.cross_validation import (
    PATIENCE,
    Factors,
    Fold,
    floored,
    most_useful,
    seen_in,
)
from ngmca.answers.how_many.data_used import MOST as MOST
from ngmca.answers.how_many.data_used import labels, most, part
from ngmca.answers.how_many.rank_words import advice, at_the_end, maybe, of_zeros
from ngmca.answers.how_many.singular_values import Spectrum, noise_edge, spectrum
from ngmca.answers.how_many.stability import STABLE, stability
from ngmca.answers.how_sure.missing_entries import bridged, without
from ngmca.engines import Engine, Levels, by_part, magnitude, open_data
from ngmca.io import Dataset
from ngmca.plotting import rank_plot as rank_view

FOLDS = 5  # how often entries are held out


@dataclass(frozen=True, eq=False)
class RankChoice:
    """How many sources there are, and what each witness says."""

    rank: int
    perhaps: tuple[int, ...]  # other numbers that cannot be excluded
    advice: str  # one sentence
    witnesses: dict[str, int]  # "held_out", "edge", "stability": the number that each would choose
    ranks: NDArray = field(repr=False)  # (k,) numbers of sources that were tried, from 0 on
    held_out: NDArray = field(repr=False)  # (folds, k) mean squared errors; 1 is that of no source
    seen: NDArray = field(repr=False)  # (k,) folds that predict better with the last source
    stability: NDArray = field(repr=False)  # (k,) of the least sure source, 1 is surely; NaN for none
    singular_values: NDArray = field(repr=False)  # of the whole data, the largest first
    edge: float  # singular values up to here may be noise, if it is white
    looked_at: tuple[int, int]  # measurements and channels that were predicted

    def plot(self) -> Any:
        """A matplotlib figure: what each witness says."""
        return rank_view.picture(self, STABLE)

    def table(self) -> list[tuple[str, NDArray]]:
        """Names and columns of a table with one row for each number of sources."""
        values = np.full(len(self.ranks), np.nan)
        known = self.singular_values[: len(values) - 1]
        values[1 : len(known) + 1] = known
        folds = [(f"held_out_{i + 1}", errors) for i, errors in enumerate(self.held_out)]
        return [
            ("sources", self.ranks),
            ("held_out", self.held_out.mean(axis=0)),
            ("seen_in_folds", self.seen),
            ("stability", self.stability),
            ("singular_value", values),
            ("noise_edge", np.full(len(self.ranks), self.edge)),
            *folds,
        ]


@dataclass(frozen=True, eq=False)
class Search:
    """What is known on the way: errors and stability for 0, 1, ... sources, and the last factors."""

    errors: NDArray  # (folds, k)
    stability: NDArray  # (k,)
    factors: tuple[Factors, ...]  # one a fold

    @property
    def rank(self) -> int:
        """The largest number of sources so far."""
        return len(self.stability) - 1


class Kept(Protocol):
    """A place for a search on its way."""

    def last(self) -> Search | None:
        """What was kept of the same search before, if anything was."""

    def keep(self, search: Search) -> None:
        """Keep it in place of the last one."""


@one_blas_thread
def choose_rank(
    Y: ArrayLike | Engine,
    max_rank: int | None = None,
    *,
    mask: ArrayLike | None = None,
    noise: Any = None,
    folds: int = FOLDS,
    entries: int | None = None,
    seed: Seed = None,
    threads: int | None = None,
    progress: bool = False,
    kept: Kept | None = None,
) -> RankChoice:
    """How many sources are in Y, by three witnesses that can disagree, and one sentence of advice.

    Parameters
    ----------
    Y, mask, noise
        As in `ngmca.separate`. Clear spikes, as of cosmic rays, count as missing, and the advice says
        how many they are.
    max_rank : int
        Sources to look for at most, 20 if the data can tell as many; the search ends before where more
        sources predict no better.
    folds : int
        How often a speckled tenth of the entries is held out (a smaller part with more than ten folds).
    entries : int or None
        Of larger data a seeded part of so many entries is predicted: None is 100,000, or a sixteenth of
        all if that is more. Singular values are those of the whole data.
    seed : int, SeedSequence, Generator or None
        The same integer or sequence gives the same answer on the same machine.
    threads : int or None
        Fits at a time; None takes all cores. The answer does not depend on it.
    progress : bool
        Show a progress bar.
    kept : Kept
        Where a search is kept on its way, and found again if it was stopped: `ngmca rank` has files.
    """
    if isinstance(Y, Dataset):
        raise TypeError("Y is a Dataset, which has more than numbers: pass its matrix, data.Y.")
    engine = open_data(Y, mask=mask, threads=threads)
    arguments.check_count(folds, "folds", low=2)
    threads = available() if threads is None else arguments.check_count(threads, "threads")
    if max_rank is not None:
        arguments.check_count(max_rank, "max_rank")
    rng, part_rng, *children = generator(seed).spawn(2 + (max_rank or MOST))
    noise = by_part(noise, engine)
    missing = engine.weights is not None
    spiky = spikes(engine)
    engine = without(engine, with_sides(spiky, engine.shape[1]))
    levels = Levels.of(noise, engine)  # warns once of what every fold would
    values, noise = part(engine, noise, entries, part_rng)
    limit = most(max_rank, values, folds)
    edge = _spectrum(engine if missing else bridged(engine), levels)
    if not magnitude(engine):
        return _of_nothing(edge, values.shape, len(spiky))
    # where entries are missing, those that stand for them have singular values of their own
    further = 0 if missing else edge.above + 1
    hidden = labels(values, folds, rng)
    with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")  # of each of many fits; threads share the filters
        every = [Fold.of(values, hidden == i, noise) for i in range(folds)]
        before = kept.last() if kept is not None else None
        search = _begin(every) if before is None or before.rank > limit else before
        with progress_bar(limit, show=progress, label="counting sources") as shown:
            for rank in shown(range(search.rank + 1, limit + 1)):
                if _is_over(search, further):
                    break
                certainty = pool.submit(stability, values, rank, noise, children[rank - 1])
                search = _further(search, every, pool.map, certainty.result)
                if kept is not None:
                    kept.keep(search)
    return _judged(search, edge, limit, values.shape, missing=missing, spikes=len(spiky))


def _begin(every: list[Fold]) -> Search:
    """No source yet."""
    factors = tuple(fold.nothing() for fold in every)
    errors = [[fold.error(one)] for fold, one in zip(every, factors, strict=True)]
    return Search(np.array(errors), np.array([np.nan]), factors)


def _further(
    search: Search, every: list[Fold], at_once: Callable[..., Any], certainty: Callable[[], float]
) -> Search:
    """The search with one source more."""

    def step(fold: Fold, before: Factors) -> tuple[Factors, float]:
        found = fold.with_one_more(before)
        return found, fold.error(found)

    steps = list(at_once(step, every, search.factors))
    errors = np.column_stack([search.errors, [error for _, error in steps]])
    stable = np.append(search.stability, certainty())
    return Search(errors, stable, tuple(factors for factors, _ in steps))


def _is_over(search: Search, further: int) -> bool:
    """Whether more sources predict no better for a while, and no more are asked for."""
    return search.rank >= max(most_useful(search.errors) + PATIENCE, further)


def _judged(
    search: Search, edge: Spectrum, most: int, shape: tuple[int, int], **known: Any
) -> RankChoice:
    """The choice: what two witnesses say, or else what held-out entries do."""
    stable = np.flatnonzero(search.stability >= STABLE)
    witnesses = {
        "held_out": most_useful(search.errors),
        "edge": edge.above,
        "stability": int(stable.max(initial=0)),
    }
    held_out, singular, again = witnesses.values()
    rank = singular if singular == again else held_out
    seen, folds = seen_in(search.errors), len(search.errors)
    perhaps: tuple[int, ...] = ()
    if rank == search.rank == most:
        told = at_the_end(rank, witnesses, seen, folds, **known)
    else:
        perhaps = maybe(rank, witnesses, floored(search.errors))
        told = advice(rank, perhaps, witnesses, seen, folds, **known)
    return RankChoice(
        rank=rank,
        perhaps=perhaps,
        advice=told,
        witnesses=witnesses,
        ranks=np.arange(search.rank + 1),
        held_out=search.errors / (search.errors[:, 0].mean() or 1.0),  # 0: all that was hidden is 0
        seen=seen,
        stability=search.stability,
        singular_values=edge.values,
        edge=edge.edge,
        looked_at=shape,
    )


def _of_nothing(edge: Spectrum, shape: tuple[int, int], spikes: int) -> RankChoice:
    """The choice where all entries are 0."""
    nothing = dict.fromkeys(("held_out", "edge", "stability"), 0)
    told, none = of_zeros(spikes), np.zeros(1, dtype=int)
    errors, stable = np.ones((1, 1)), np.array([np.nan])
    return RankChoice(0, (), told, nothing, none, errors, none, stable, edge.values, edge.edge, shape)


def _spectrum(engine: Engine, levels: Levels) -> Spectrum:
    """Singular values of the whole data and the edge of the noise, in units of it where it is known."""
    found = spectrum(levels.applied(engine), min(engine.shape))
    if levels.level is None:
        return found
    sigma = levels.level * engine.unit
    return replace(found, noise=sigma, edge=noise_edge(*engine.shape, sigma))
