"""Choose the number of sources by three criteria: held-out entries, singular values, stability."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ngmca._support import arguments
from ngmca._support.messages import ArgumentTypeError, option
from ngmca._support.progress import progress_bar
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import available, one_blas_thread
from ngmca.answers.how_many import cross_validation, rank_choice
from ngmca.answers.how_many.part_to_fit import MAX_RANK, NoiseModel, fold_labels, part_to_fit, rank_limit
from ngmca.answers.how_many.singular_values import Spectrum, noise_edge, spectrum
from ngmca.answers.how_many.spikes import spikes, with_sides
from ngmca.answers.how_many.stability import STABLE, stability
from ngmca.answers.missing_entries import bridged, without
from ngmca.engines import Engine, Levels, by_part, magnitude, open_data
from ngmca.io import Dataset

DEFAULT_FOLDS = 5


@one_blas_thread
def choose_rank(
    Y: ArrayLike | Engine,
    max_rank: int | None = None,
    *,
    mask: ArrayLike | None = None,
    noise: NoiseModel = None,
    folds: int = DEFAULT_FOLDS,
    entries: int | None = None,
    seed: Seed = None,
    threads: int | None = None,
    progress: bool = False,
    kept: cross_validation.Kept | None = None,
) -> rank_choice.RankChoice:
    """Choose the number of sources in Y by three criteria, with one sentence of advice.

    The criteria are the prediction of held-out entries, singular values above the noise, and sources
    that are found again in other measurements. If the last two agree, their number is taken, otherwise
    that of the held-out entries.

    Parameters
    ----------
    Y : array-like of shape (m, n), or an engine
        Measurements x channels; NaN is a missing entry. Clear spikes, as of cosmic rays, count as
        missing. The advice says how many there are.
    max_rank : int or None
        Largest number of sources to try. None is 20, or fewer if the data are small. The search stops
        earlier when more sources do not predict better.
    mask : array-like of shape (m, n) or None
        As in `ngmca.separate`.
    noise : float, array-like, "poisson", Counts or None
        As in `ngmca.separate`.
    folds : int
        How many times a tenth of the entries is held out (a smaller part with more than ten folds).
    entries : int or None
        Number of entries to fit. Of larger data a random part is taken. None is 100,000, or a sixteenth
        of all entries if that is more. Singular values are always those of all data.
    seed : int, SeedSequence, Generator or None
        The same integer or sequence gives the same answer on the same machine.
    threads : int or None
        Number of fits at the same time; None uses all cores. The answer does not depend on it.
    progress : bool
        Show a progress bar.
    kept : Kept or None
        A place to keep the search on its way, so that a stopped search can continue.

    Returns
    -------
    RankChoice
        The number of sources, the advice, and the criteria.

    Raises
    ------
    ValueError
        If an argument is wrong, or if Y is too small.

    Examples
    --------
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=20, n=200, r=2, snr=30, seed=0)
    >>> choice = ngmca.choose_rank(mixture.Y, 4, seed=0)
    >>> choice.rank
    2
    >>> choice.advice
    '2: all criteria agree.'
    """
    if isinstance(Y, Dataset):
        raise ArgumentTypeError("{} is a Dataset: pass its matrix, data.Y.", option("Y"))
    engine = open_data(Y, mask=mask, threads=threads)
    arguments.check_count(folds, "folds", low=2)
    threads = available() if threads is None else arguments.check_count(threads, "threads")
    if max_rank is not None:
        arguments.check_count(max_rank, "max_rank")
    rng, part_rng, *children = generator(seed).spawn(2 + (max_rank or MAX_RANK))
    noise = by_part(noise, engine)
    missing = engine.weights is not None
    spiky = spikes(engine)
    engine = without(engine, with_sides(spiky, engine.shape[1]))
    levels = Levels.of(noise, engine)  # warns once of what every fold would warn of
    values, noise = part_to_fit(engine, noise, entries, part_rng)
    limit = rank_limit(max_rank, values, folds)
    above_noise = _spectrum(engine if missing else bridged(engine), levels)
    if not magnitude(engine):
        return _without_signal(above_noise, values.shape, len(spiky))
    # the values that stand in for missing entries have singular values of their own
    required = 0 if missing else above_noise.above + 1
    hidden = fold_labels(values, folds, rng)
    with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")  # of each of many fits; threads share the filters
        every = [cross_validation.Fold.of(values, hidden == i, noise) for i in range(folds)]
        before = kept.last() if kept is not None else None
        search = (
            cross_validation.without_sources(every) if before is None or before.rank > limit else before
        )
        with progress_bar(limit, show=progress, label="counting sources") as shown:
            for rank in shown(range(search.rank + 1, limit + 1)):
                if search.is_over(required):
                    break
                stable = pool.submit(stability, values, rank, noise, children[rank - 1])
                search = cross_validation.with_one_more(search, every, pool.map, stable.result)
                if kept is not None:
                    kept.keep(search)
    return _chosen(search, above_noise, limit, values.shape, missing=missing, spikes=len(spiky))


def _chosen(
    search: cross_validation.Search,
    above_noise: Spectrum,
    limit: int,
    shape: tuple[int, int],
    *,
    missing: bool,
    spikes: int,
) -> rank_choice.RankChoice:
    """Return the number on which two criteria agree, or else that of the held-out entries."""
    held_out, singular = cross_validation.most_useful(search.errors), above_noise.above
    again = int(np.flatnonzero(search.stability >= STABLE).max(initial=0))
    criteria = {"held_out": held_out, "singular_values": singular, "stability": again}
    rank = singular if singular == again else held_out
    better = cross_validation.better_folds(search.errors)
    evidence = rank_choice.Evidence(rank, criteria, better, len(search.errors), missing, spikes)
    perhaps: tuple[int, ...] = ()
    if rank == search.rank == limit:
        text = rank_choice.advice_at_limit(evidence)
    else:
        perhaps = rank_choice.alternatives(rank, criteria, cross_validation.floored(search.errors))
        text = rank_choice.advice(evidence, perhaps)
    return _choice(rank, perhaps, text, criteria, search, above_noise, shape)


def _without_signal(
    above_noise: Spectrum, shape: tuple[int, int], spikes: int
) -> rank_choice.RankChoice:
    """Return the choice for data that are 0 except for spikes."""
    search = cross_validation.Search(np.ones((1, 1)), np.array([np.nan]), ())
    text = f"0: all entries are 0.{rank_choice.left_out(spikes)}"
    criteria = dict.fromkeys(("held_out", "singular_values", "stability"), 0)
    return _choice(0, (), text, criteria, search, above_noise, shape)


def _choice(
    rank: int,
    perhaps: tuple[int, ...],
    text: str,
    criteria: dict[str, int],
    search: cross_validation.Search,
    above_noise: Spectrum,
    shape: tuple[int, int],
) -> rank_choice.RankChoice:
    """Return the choice with the numbers of a search."""
    return rank_choice.RankChoice(
        *(rank, perhaps, text, criteria),
        ranks=np.arange(search.rank + 1),
        held_out=search.errors / (search.errors[:, 0].mean() or 1.0),  # 0 if all hidden entries are 0
        better_folds=cross_validation.better_folds(search.errors),
        stability=search.stability,
        singular_values=above_noise.values,
        edge=above_noise.edge,
        fitted_shape=shape,
    )


def _spectrum(engine: Engine, levels: Levels) -> Spectrum:
    """Return singular values of all data and the edge of the noise, in units of known noise levels."""
    found = spectrum(levels.applied(engine), min(engine.shape))
    if levels.level is None:
        return found
    sigma = levels.level * engine.unit
    return replace(found, noise=sigma, edge=noise_edge(*engine.shape, sigma))
