"""Choose the number of sources: directions, held-out blocks, and sources that come again from halves."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.messages import message, option
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import one_blas_thread
from ngmca.answers.how_many import directions as above_rotated
from ngmca.answers.how_many import held_out_blocks as blocks
from ngmca.answers.how_many.condensed_data import Condensed, NoiseModel, condensed, rank_limits
from ngmca.answers.how_many.halves import WAYS, closeness_of_halves, come_again, separated
from ngmca.answers.how_many.negative_data import is_negative
from ngmca.answers.how_many.rank_choice import Evidence, RankChoice, advice, spikes_left_out
from ngmca.answers.how_many.spikes import spikes, with_sides
from ngmca.answers.missing_entries import bridged
from ngmca.constraints import Baseline, baseline_of, found_baseline
from ngmca.engines import Engine, by_part, magnitude, open_data, row_blocks, without_outliers
from ngmca.io import Dataset
from ngmca.task.automatic_baseline import may_be_found, with_baseline
from ngmca.task.task import Task

ALL_NUMBERS = 8  # all numbers of sources up to this one are tried on the way down
UNEQUAL = 3.0  # times that noise levels of measurements differ, if they are unequal
EMPTY_AMPLITUDE = 1e-3  # share of a source in the sum of all amplitudes below which it is empty
BLOCK_ENTRIES = 1 << 20  # that are looked at together
FEW_MEASUREMENTS = 3  # times the number of sources in half of the measurements


NEGATIVE = (
    "nearly all of the data is below 0, where non-negative sources explain nothing. If lines point "
    "down, change the sign of the data. If the data are centred or derivatives, use the spectra before "
    "that step."
)


@one_blas_thread
def choose_rank(
    Y: ArrayLike | Dataset | Engine,
    max_rank: int | None = None,
    *,
    mask: ArrayLike | None = None,
    noise: NoiseModel = None,
    baseline: Baseline | str | ArrayLike | None = "auto",
    seed: Seed = None,
    threads: int | None = None,
    device: str = "cpu",
) -> RankChoice:
    """Choose the number of sources in Y, with a range and the reasons for it.

    Two criteria need no separation: singular directions above those of rotated residuals, and the
    prediction of held-out blocks. If they agree, their number is taken. Otherwise it is the largest
    number, not above both, whose sources come again from halves of the data. A criterion whose
    assumptions do not hold for the data is left out.

    Parameters
    ----------
    Y : array-like of shape (m, n), Dataset, or an engine
        Measurements x channels; NaN is a missing entry. Clear spikes, as of cosmic rays, count as
        missing. The advice says how many there are. Large data are condensed first.
    max_rank : int or None
        Largest number of sources to try. None is 20, or fewer if the data are small.
    mask : array-like of shape (m, n) or None
        As in `ngmca.separate`.
    noise : float, array-like, "poisson", Counts or None
        As in `ngmca.separate`.
    baseline : Baseline, its kind, array-like of shape (q, n) or None
        The background of every measurement, which does not count as a source; see `ngmca.Baseline`.
        "auto" looks whether the data show one, None is none.
    seed : int, SeedSequence, Generator or None
        The same integer or sequence gives the same answer on the same machine.
    threads : int or None
        As in `ngmca.separate`.
    device : {"cpu", "cuda"}
        Where the data are condensed, as in `ngmca.separate`. What follows is of bounded size, and runs
        on the CPU.

    Returns
    -------
    RankChoice
        The number of sources, its range, the advice, and the criteria.

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
    engine = open_data(Y, mask=mask, threads=threads, device=device)
    if max_rank is not None:
        arguments.check_count(max_rank, "max_rank")
    if baseline is not None and not isinstance(baseline, Baseline):
        baseline = Baseline(baseline)
    count = partial(_counted, engine, max_rank, by_part(noise, engine), seed, threads)
    if baseline is None or baseline.is_decided:
        return count(baseline)
    numbers = quick_numbers(engine, Baseline("splines"))
    known = found_baseline(engine, max(min(numbers), 1)) if numbers else None
    choice = count(known)
    if known is None and choice.rank:  # the first number may have been too large
        known = found_baseline(engine, choice.rank)
        choice = choice if known is None else count(known)
    if known is None:
        return choice
    text = message(
        "{} A smooth background was found, which is no source ({}; {} switches it off).",
        choice.advice, option("Baseline", known.kind), option("Baseline", "none"),
    )  # fmt: skip
    return replace(choice, background=str(known.kind), advice=text)


def with_counted_sources(
    task: Task, engine: Engine, threads: int | None = None
) -> tuple[Task, RankChoice]:
    """Return a task with the number of sources, and the automatic baseline, that its data show."""
    asked = baseline_of(task.constraints)
    if asked is not None and not asked.is_decided and not may_be_found(task, engine):
        asked = None
    choice = choose_rank(engine, noise=task.noise, baseline=asked, seed=task.seed, threads=threads)
    found = Baseline(choice.background, found=True) if choice.background else None
    known = with_baseline(task.constraints, found)
    return replace(task, r=max(choice.rank, 1), constraints=known), choice


def _counted(
    engine: Engine,
    max_rank: int | None,
    noise: NoiseModel,
    seed: Seed,
    threads: int | None,
    baseline: Baseline | None,
) -> RankChoice:
    """Return the number of sources beside a baseline that is known."""
    rng = generator(seed)
    spiky = spikes(engine)
    engine = without_outliers(engine, with_sides(spiky, engine.shape[1]))
    data = condensed(engine, noise, baseline, rng)
    limits = rank_limits(max_rank, data.averages)
    if not magnitude(engine):
        return _without_signal(f"all entries are 0.{spikes_left_out(len(spiky))}")
    if is_negative(block for _, block in row_blocks(engine, BLOCK_ENTRIES)):
        return _without_signal(NEGATIVE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of each of many separations
        return _Search(data, limits, rng, threads).choice(len(spiky))


def quick_numbers(engine: Engine, baseline: Baseline | None = None) -> list[int]:
    """Return the numbers of directions and of sources that predict blocks, as far as these apply."""
    if min(engine.shape) < 3 or not magnitude(engine):
        return []
    rng = np.random.default_rng(0)
    engine = bridged(without_outliers(engine, with_sides(spikes(engine), engine.shape[1])))
    data = condensed(engine, None, baseline, rng)
    if min(data.averages.shape) < 3:
        return []
    return _Search(data, rank_limits(None, data.averages), rng, None).quick_numbers()


class _Search:
    """The criteria for some data, each calculated as far as it is needed."""

    def __init__(
        self,
        data: Condensed,
        limits: tuple[int, int],
        rng: np.random.Generator,
        threads: int | None,
    ) -> None:
        self.data, self.rng, self.threads = data, rng, threads
        self.limit, self.most = limits
        limit = self.limit
        self.criteria: dict[str, int] = {}
        self.left_out: dict[str, str] = {}
        self.halves = np.full((limit + 2, WAYS), np.nan)
        values = data.averages
        self.ratios = above_rotated.directions(values, limit, data.noise, rng)
        complete = above_rotated.filled(values, above_rotated.number_above(self.ratios))
        self.errors = np.full(limit + 1, np.nan)
        if min(values.shape) >= blocks.MIN_MEASUREMENTS and values.shape[1] >= blocks.MIN_CHANNELS:
            equal = complete / _levels(complete, above_rotated.number_above(self.ratios), limit)
            self.errors = blocks.held_out(equal, ~np.isnan(values), limit, rng)
        singular = np.linalg.svd(complete, compute_uv=False)
        # Data without noise have no more sources than singular values above rounding.
        above = int(np.count_nonzero(singular > above_rotated.ROUNDING * singular[0]))
        self.most = max(min(self.most, above), 1)
        size = singular[: limit + 1] ** 2
        self.explained = np.concatenate([[np.nan], size / (np.sum(complete**2) or 1.0)])

    def choice(self, spikes: int) -> RankChoice:
        """Return the number of sources and everything that led to it."""
        rank = self._number()
        sources: tuple[NDArray, ...] = ()
        if rank:
            rank, sources = self._without_empty(rank)
        evidence = Evidence(
            *(rank, self.criteria, self.left_out, self.halves, self.explained, self.limit, spikes)
        )
        shown = min(self.limit, max(len(self.ratios) - 1, *evidence.range, rank + 1) + 1) + 1
        return RankChoice(
            *(rank, evidence.range, advice(evidence), self.criteria, self.left_out),
            ranks=np.arange(shown),
            directions=_padded(np.concatenate([[np.nan], self.ratios]), shown),
            held_out=self.errors[:shown],
            explained=_padded(self.explained, shown),
            halves=self.halves[:shown],
            sources=sources,
            channels=self.data.channels,
        )

    def quick_numbers(self) -> list[int]:
        """Return what the two criteria say that need no separation."""
        self._count_directions()
        self._count_predicted()
        return list(self.criteria.values())

    def _number(self) -> int:
        """Return the number of sources, and keep what each criterion says."""
        if self._is_noise():
            return 0
        self._count_directions()
        self._count_predicted()
        found = list(self.criteria.values())
        if len(found) == 2 and found[0] == found[1]:
            return self._confirmed(found[0]) if found[0] <= self.most else self.most
        most = max(found, default=self.limit)
        if len(found) == 2 and most <= self.most and self._come_again(most):
            self.criteria["halves"] = most
            return most
        return self._largest_that_comes_again(min([*found, self.most]))

    def _is_noise(self) -> bool:
        """Return whether neither criterion finds a source; the mean of dense data is no direction."""
        if np.isnan(self.errors).any() or blocks.number_that_predicts(self.errors):
            return False
        return bool(self.ratios[0] <= above_rotated.CLEARLY)

    def _count_directions(self) -> None:
        m, n = self.data.averages.shape
        number = above_rotated.number_above(self.ratios)
        if m < above_rotated.MIN_MEASUREMENTS or n < above_rotated.MIN_CHANNELS:
            few = f"measurements ({m})" if m < above_rotated.MIN_MEASUREMENTS else f"channels ({n})"
            self.left_out["directions"] = f"there are too few {few} to rotate residuals"
        elif number > self.limit:
            self.left_out["directions"] = (
                f"singular values were left out, because all of {self.limit} are above rotated residuals"
            )
        else:
            self.criteria["directions"] = number

    def _count_predicted(self) -> None:
        m, n = self.data.averages.shape
        number = blocks.number_that_predicts(self.errors)
        if np.isnan(self.errors).any():
            self.left_out["held_out"] = f"there are too few entries ({m} x {n}) to hold out blocks"
        elif not number:
            self.left_out["held_out"] = "the noise of single entries is too strong to predict them"
        else:
            self.criteria["held_out"] = number

    def _confirmed(self, rank: int) -> int:
        """Return the number on which two criteria agree; see whether its sources come again."""
        again = [number for number in (rank, rank + 1) if self._come_again(number)]
        if again:
            self.criteria["halves"] = again[-1]
        return rank

    def _largest_that_comes_again(self, most: int) -> int:
        """Return the largest number of sources, at most `most`, that come again from halves."""
        half = len(self.data.chosen) // 2
        alone = "held_out" in self.criteria and "directions" in self.left_out
        tried = not alone or half >= 2 * most
        numbers = _descending(most) if tried else ()
        found = next((number for number in numbers if self._come_again(number)), 1)
        if found == 1 < most and half < FEW_MEASUREMENTS * most:
            enough = max(half // FEW_MEASUREMENTS, 2)  # smaller numbers do not come again either
            found = min(most, enough) if tried and self.criteria else most
            more = f" for more than {found} sources" if found < most else ""
            self.left_out["halves"] = (
                f"there are too few measurements ({len(self.data.chosen)}) to compare halves of "
                f"them{more}"
            )
            return found
        if most > 1:
            self.criteria["halves"] = found
        return found

    def _come_again(self, number: int) -> bool:
        """Return whether so many sources come again from halves of the data; keep their closeness."""
        if number > self.most:
            return False
        self.halves[number] = closeness_of_halves(self.data, number, self.rng, self.threads)
        return come_again(self.halves[number])

    def _without_empty(self, rank: int) -> tuple[int, tuple[NDArray, ...]]:
        """Return the number without empty sources, and the sources of the numbers around it."""
        found: dict[int, NDArray] = {}
        while True:
            result = separated(self.data, rank, self.rng, self.threads)
            amplitude = np.linalg.norm(result.A, axis=0) * np.linalg.norm(result.S, axis=1)
            full = np.count_nonzero(amplitude > EMPTY_AMPLITUDE * amplitude.sum())
            found[rank] = np.asarray(result.S) * self.data.scale
            if full in (0, rank):
                break
            rank = int(full)
        for number in (rank - 1, rank + 1):
            if number > 0 and number not in found and number <= self.limit:
                result = separated(self.data, number, self.rng, self.threads)
                found[number] = np.asarray(result.S) * self.data.scale
        return rank, _around(found, rank)


def _levels(values: NDArray, rank: int, limit: int) -> NDArray:
    """Return (m, 1) noise levels of measurements if these are clearly unequal, otherwise 1.

    They are also 1 if directions do not tell signal from noise, if these are too many to leave levels
    of single measurements, or if there is no noise.
    """
    if rank > min(limit, len(values) // 4):
        return np.ones((len(values), 1))
    U = np.linalg.svd(values, full_matrices=False)[0][:, :rank]
    level = np.sqrt(np.mean((values - U @ (U.T @ values)) ** 2, axis=1, keepdims=True))
    level = np.maximum(level, np.median(level) / UNEQUAL)
    noisy = level.min() > above_rotated.ROUNDING * np.abs(values).max()
    return level if noisy and level.max() > UNEQUAL * level.min() else np.ones_like(level)


def _descending(most: int) -> Iterator[int]:
    """Yield numbers of sources from `most` down to 2; large numbers, which take long, with gaps."""
    number = most
    while number > 1:
        yield number
        number = min(number - 1, max(int(0.8 * number), ALL_NUMBERS))


def _around(found: dict[int, NDArray], rank: int) -> tuple[NDArray, ...]:
    numbers: Iterable[int] = (rank - 1, rank, rank + 1)
    return tuple(found[number] for number in numbers if number in found)


def _padded(values: NDArray, length: int) -> NDArray:
    """Return so many values, NaN where there are no more."""
    found = np.full(length, np.nan)
    found[: len(values)] = values[:length]
    return found


def _without_signal(reason: str) -> RankChoice:
    """Return the choice for data in which there is nothing to find."""
    nothing = np.full(1, np.nan)
    return RankChoice(
        *(0, (0, 0), f"0: {reason}", {}, {}),
        *(np.zeros(1, dtype=int), nothing, np.ones(1), nothing, np.full((1, WAYS), np.nan)),
        sources=(),
        channels=np.zeros(0),
    )
