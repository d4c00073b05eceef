"""A task together with its data: into units of the noise on the way in, back to those of the data."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ngmca import rules
from ngmca._support import arguments
from ngmca._support.messages import Option, warn_user
from ngmca.algorithms import (
    Options,
    Snapshot,
    iterate_naive,
    iterate_thresholded,
    reweighted_channels,
    start_on_part,
)
from ngmca.algorithms.first_guess import first_guess, with_background
from ngmca.algorithms.kinetics.kinetic_errors import rates_of
from ngmca.algorithms.noiseless_data import least_noise, precision_of_noiseless
from ngmca.algorithms.reweighted_channels import iterate_reweighted
from ngmca.algorithms.reweighting import Reweighting, reweighed
from ngmca.algorithms.soft_and_hard import relaxed
from ngmca.algorithms.steps import fitted_mixing
from ngmca.algorithms.wavelets.domain_choice import decide
from ngmca.algorithms.wavelets.wavelet_start import bands_after
from ngmca.constraints import constraint_arrays, transposed
from ngmca.constraints.arrays import fixes_size
from ngmca.engines import Engine, Levels, by_part, everything, fetched, in_memory
from ngmca.engines.neighbouring_channels import residual_correlation
from ngmca.io.technique import borders
from ngmca.result import Domain, State
from ngmca.task.begin_with_part import rows_of_part
from ngmca.task.methods import Rival, options_of
from ngmca.task.task import Task
from ngmca.task.units_of_noise import exchanged, in_channels, inside, restored

MIN_MEASUREMENTS_FOR_LEVELS = 2.0  # for each source: fewer do not tell their noise levels
MAX_CORRELATION_OF_NOISE = 0.2  # of neighbouring channels in the residual
ROUNDS_WITHOUT_SHAPES = 60  # to see which source has which shape
UNEQUAL_NOISE = 0.25  # standard deviation of the logarithms of noise levels that clearly differ
CHANCE_OF_LEVELS = 2.7  # over the channels: twice the variance of the logarithm of a level by chance


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked task for an engine, which holds the data in units of their noise.

    Attributes
    ----------
    engine : Engine
        The data.
    r : int
        Number of sources.
    options : Options
        How to separate, in units of the engine.
    levels : Levels
        Known noise levels.
    robust : bool
        Whether spikes get no weight.
    start : (A, S) or None
        A given first guess.
    exchanged : (r,) array of bool or None
        Where measurements and channels are exchanged: which columns of A have a known size.
    again : callable, optional
        Returns the same problem for other noise levels.
    """

    engine: Engine
    r: int
    options: Options
    levels: Levels
    robust: bool
    start: tuple[NDArray, NDArray] | None
    exchanged: NDArray | None = None
    again: "Callable[[Levels], Problem] | None" = None
    sources: NDArray | None = None  # that a part of the measurements has told, in units of the data

    @classmethod
    def of(cls, task: Task, engine: Engine) -> "Problem":
        """Return the problem, or raise an error that names the argument that does not suit the data."""
        assert not isinstance(task.method, Rival)
        r = arguments.check_rank(task.r, engine.shape)
        shape = arguments.check_shape(task.sample_shape, engine.shape[1])
        rules.check(task.features | features_of_data(engine))
        levels = Levels.of(by_part(task.noise, engine), engine)
        _warn_of_empty_rows_and_columns(engine)
        return cls._with_levels(task, engine, r, shape, levels)

    @classmethod
    def _with_levels(
        cls, task: Task, engine: Engine, r: int, shape: tuple[int, int] | None, levels: Levels
    ) -> "Problem":
        """Return the problem for noise levels, which are given or were found by a first fit."""
        assert not isinstance(task.method, Rival)
        known = features_of_levels(levels)
        if not options_of(task.method).transformed:
            known.pop("noise of channels", None)  # only Soft needs all data in memory for it
        rules.check(task.features | features_of_data(engine) | known)
        start = None if task.start is None else arguments.check_start(task.start, engine, r)
        constraints, domain = task.constraints, task.domain
        penalised = getattr(task.method, "penalised", "S")
        exchanged = fixes_size(constraints, engine.shape, r) if penalised == "A" else None
        if exchanged is not None:
            engine, levels, constraints = (
                engine.transposed(),
                levels.transposed(),
                transposed(constraints),
            )
            start = None if start is None else (start[1].T, start[0].T)
            domain, shape = "direct", None  # columns of A have no order
        arrays = constraint_arrays(
            constraints, engine, r, levels, engine.parts, penalise_both=penalised == "both"
        )
        options = replace(
            options_of(task.method),
            noise=levels.noise(engine.shape[0]),
            domain=domain,
            sample_shape=shape,
            borders=borders(engine.techniques),
            known=arrays,
        )
        whitened = levels.applied(engine)
        if start is not None:
            start = inside(start[0], start[1], levels, whitened)
        if start is None and not task.robust and levels.counts is None:
            options = replace(options, warm=start_on_part.suits(whitened, options))
        if not options.warm and not task.robust and levels.equal and levels.counts is None:
            options = replace(options, noiseless=precision_of_noiseless(whitened, r, options))
        again = partial(cls._with_levels, task, engine, r, shape) if exchanged is None else None
        return cls(whitened, r, options, levels, task.robust, start, exchanged, again)

    @property
    def plain(self) -> bool:
        """Whether all entries have equal weights and there are no constraints."""
        weighted = self.engine.weights is not None or self.levels.counts is not None
        turned = self.exchanged is not None
        return not (weighted or turned or self.robust or self.options.known.any) and self.levels.equal

    @property
    def noise_model(self) -> str:
        """Between what noise levels differ, see `Separation.noise_model`."""
        if self.levels.counts is not None:
            return "counts"
        channels = self.levels.columns if self.exchanged is None else self.levels.rows
        return "measurements" if channels is None and self.levels.weights is None else "entries"

    @property
    def runs_in_batches(self) -> bool:
        """Whether several starts can run in one batch, where the engine supports that."""
        options, begun = self.options, self.start is not None or self.options.warm
        exact = options.method in ("soft", "anls") and options.solver == "pivot"
        return self.plain and exact and not begun

    @property
    def most(self) -> int:
        """Largest possible number of iterations."""
        return self.options.most + (self.options.schedule.n_iter if self._may_repeat else 0)

    @property
    def _may_repeat(self) -> bool:
        """Whether a second fit may follow: all is automatic, and noise levels are estimated."""
        options = self.options
        estimated = self.levels.equal and options.noise is None and not self.robust
        enough = self.engine.shape[0] >= MIN_MEASUREMENTS_FOR_LEVELS * self.r
        automatic = options.transformed and options.n_iter == "auto" and not options.noiseless
        return estimated and enough and automatic and self.again is not None

    def repeats(self, A: NDArray, S: NDArray, noise: NDArray) -> bool:
        """Whether a second fit follows: levels clearly differ, and the residual is noise.

        A residual whose neighbouring channels are correlated holds signal that the fit missed. Its size
        says nothing about the noise.
        """
        if not self._may_repeat or not unequal(noise, self.engine.shape[1]):
            return False
        return residual_correlation(self.engine, A, S) < MAX_CORRELATION_OF_NOISE

    def states(
        self, rng: np.random.Generator, resume: Snapshot | None = None, *, fetch: bool = True
    ) -> Iterator[tuple[State, Snapshot | None, bool]]:
        """Yield every state in the units of the data, and the snapshot to continue from.

        A snapshot comes with states channel by channel, not with those in wavelets, which are repeated
        after a stop. The third item says whether a snapshot is the last one. Without `fetch`, sources
        of all but the last state stay where the engine has them.
        """
        fetch = fetch or not self.levels.equal
        sources = self._sources_of_part(rng)
        if sources is not None:
            yield from replace(self, sources=sources).states(rng, resume, fetch=fetch)
            return
        for engine, state, last in self._direct(rng, resume):
            if last or fetch:
                state = replace(state, S=fetched(state.S))
            following = self._finished(engine, state) if last else [self._as_it_is(engine, state)]
            snapshot: Snapshot | None = state
            for found in following:
                yield (replace(found, S=fetched(found.S)) if fetch else found), snapshot, last
                snapshot = None

    def _sources_of_part(self, rng: np.random.Generator) -> NDArray | None:
        """Return the sources that a part of the measurements tells, or None if all are needed."""
        weighted = self.levels.counts is not None or self.levels.weights is not None
        given = self.sources is not None or self.start is not None or self.options.known.any
        if not weighted or given or self.robust or self.exchanged is not None:
            return None
        rows = rows_of_part(self.engine, self.r) if self.options.n_iter == "auto" else None
        if rows is None:
            return None
        levels, noise = self.levels.of_part(rows), self.options.noise
        options = replace(self.options, noise=None if noise is None else noise[rows])
        part = replace(self, engine=self.engine.part(rows, slice(None)), levels=levels, options=options)
        for found, _, _ in part.states(deepcopy(rng)):
            last = found
        return last.S

    def after(self, state: State) -> Iterator[State]:
        """Yield the last state channel by channel of plain data, and what follows it.

        The data are small, as in any batch on a GPU: what is not batched is done faster by the CPU.
        """
        yield from self._finished(in_memory(everything(self.engine), like=self.engine), state)

    def _as_it_is(self, engine: Engine, state: State) -> State:
        """Return a state on the way; that one of several fits settled does not end the run."""
        return self._returned(engine, replace(state, settled=False), engine, self.levels, self.options)

    def _finished(self, engine: Engine, state: State) -> Iterator[State]:
        """Yield the last state channel by channel and what follows it."""
        if self.repeats(state.A, state.S, state.noise):
            yield self._as_it_is(engine, state)
            yield from self._repeated(state)
            return
        levels, options, own = self.levels, self.options, engine
        domain = state.domain
        if options.transformed:
            in_own_units = state
            if levels.columns is not None:
                in_own_units = replace(state, S=state.S * levels.columns.astype(state.S.dtype))
            domain = decide(in_own_units, options)
        if domain.name == "wavelet":
            own, state, levels, options = in_channels(engine, state, levels, options)
            seen = np.maximum(state.noise, least_noise(own, options))
            begun = replace(state, noise=seen)
            following = bands_after(own, begun, domain, options, sources=self.sources)
        else:
            following = _without_wavelets(engine, state, domain, options)
            if self.exchanged is None and reweighted_channels.suits(engine, state, options):
                following = _reweighted(engine, state, domain, options)
        for one in followed_by_rates(engine, following, options):
            noise = state.noise if options.noiseless else one.noise
            S = one.S if levels.equal else fetched(one.S)
            found = replace(one, S=S, noise=noise, outliers=state.outliers)
            yield self._returned(engine, found, own, levels, options)

    def _repeated(self, state: State) -> Iterator[State]:
        """Yield the states of a second fit, in which each measurement counts by its noise."""
        assert self.again is not None
        levels = replace(Levels.of_rows(state.noise), level=None)
        second = self.again(levels)
        A, S = inside(state.A, state.S, levels, second.engine)
        second = replace(second, start=(A, S), again=None, options=replace(second.options, warm=False))
        for found, _, _ in second.states(np.random.default_rng(0)):
            begun = found.domain.begun and found.domain.begun + state.k
            yield replace(found, k=found.k + state.k, domain=replace(found.domain, begun=begun))

    def _returned(
        self, engine: Engine, state: State, own: Engine, levels: Levels, options: Options
    ) -> State:
        """Return a state in the units of the data, and the noise that was given as it was given."""
        found = restored(state, levels, options.known, own.weights)
        if self.options.noise is not None and not self.levels.equal:
            found = replace(
                found, noise=self.options.noise * self.levels.spread(engine.weights, engine.shape)
            )
        return found if self.exchanged is None else exchanged(found, self.exchanged)

    def _direct(
        self, rng: np.random.Generator, resume: Snapshot | None
    ) -> Iterator[tuple[Engine, Snapshot, bool]]:
        """Yield states channel by channel, with their engine, and whether one is the last."""
        # a closure holds for sources that are not shrunk: see `relaxed`
        options = self.options.without_closure()
        options = options if self.sources is None else replace(options, warm=True)
        algorithm = iterate_naive if options.method == "naive" else iterate_thresholded
        rule = Reweighting(self.engine, self.levels, self.robust, options.noise)
        if rule.needed:
            yield from reweighed(
                lambda engine, A, S, resume: algorithm(engine, A, S, options, resume),
                rule,
                lambda engine: self._guess(engine, deepcopy(rng)),
                resume,
            )
            return
        A, S = self._guess(self.engine, rng) if resume is None else (resume.A, resume.S)
        for state in algorithm(self.engine, A, S, options, resume):
            yield self.engine, state, state.settled or state.k >= options.schedule.n_iter

    def _guess(self, engine: Engine, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
        """Return the first factors: those given, or drawn."""
        if self.sources is not None:
            return self._fitted_to(engine, self.sources)
        if self.start is not None:
            return with_background(engine, *self.start, self.options.known)
        if self.options.warm:
            return start_on_part.start_on_part(engine, self.r, rng, replace(self.options, warm=False))
        return self._in_order(engine, *first_guess(engine, self.r, rng, self.options.known))

    def _fitted_to(self, engine: Engine, sources: NDArray) -> tuple[NDArray, NDArray]:
        """Return sources in units of the noise, and the mixing that fits them best."""
        S = np.ascontiguousarray(sources / self.levels.units(engine.shape)[1], dtype=engine.dtype)
        return fitted_mixing(engine, S)[0].astype(engine.dtype), S

    def _in_order(self, engine: Engine, A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
        """Return the first factors, where shapes differ between sources, with each source at its shape.

        Which source is which is not known beforehand: a short fit without shapes shows it.
        """
        known = self.options.known
        if not known.exchangeable.size:
            return A, S
        free = replace(known, profiles=None, totals=None)
        options = replace(self.options, known=free, method="soft", n_iter=ROUNDS_WITHOUT_SHAPES)
        *_, last = iterate_thresholded(engine, A, S, options)
        return known.matched(last.A, fetched(last.S))


def followed_by_rates(engine: Engine, states: Iterator[State], options: Options) -> Iterator[State]:
    """Yield states, the last one with the rate constants of a rate law."""
    known, state = options.known, None
    for following in states:
        if state is not None:
            yield state
        state = following
    assert state is not None
    if known.kinetics is not None:
        values = known.physical_sources(state.A, state.S)
        rates = rates_of(engine, state.A, fetched(state.S), known.kinetics, values, options.noise)
        state = replace(state, rates=rates)
    yield state


def unequal(noise: NDArray, channels: int) -> bool:
    """Whether the noise levels of the measurements clearly differ, by more than chance.

    A median deviation of n entries has an efficiency of 0.37, so its logarithm has a variance of 1.36/n.
    """
    if not (noise > 0).all():
        return False
    return float(np.var(np.log(noise))) > UNEQUAL_NOISE**2 + CHANCE_OF_LEVELS / channels


def _without_wavelets(engine: Engine, state: State, domain: Domain, options: Options) -> Iterator[State]:
    """Yield the last state channel by channel, and a fit without thresholds where norms are held."""
    rigid = options.known.holds_norms
    yield replace(state, domain=domain, settled=state.settled and not rigid)
    if rigid:
        yield from (replace(one, domain=domain) for one in relaxed(engine, state, options))


def _reweighted(engine: Engine, state: State, domain: Domain, options: Options) -> Iterator[State]:
    """Yield the last state of `soft`, and those with reweighted thresholds."""
    yield replace(state, domain=domain, settled=False)
    for found in iterate_reweighted(engine, replace(state, domain=domain), options):
        yield replace(found, S=fetched(found.S))


def features_of_data(engine: Engine) -> dict[str, Option | str]:
    """Return what the data add to the features of a task."""
    names: list[str] = [engine.place]
    names += ["missing entries"] if engine.weights is not None else []
    names += ["several"] if len(engine.parts) > 1 else []
    names += ["techniques"] if engine.techniques else []
    return rules.written(names)


def features_of_levels(levels: Levels) -> dict[str, Option | str]:
    """Return what known noise levels add to the features of a task."""
    names = ["noise of entries"] if levels.weights is not None else []
    names += ["noise of channels"] if levels.columns is not None and levels.counts is None else []
    return rules.written(names)


def _warn_of_empty_rows_and_columns(engine: Engine) -> None:
    """Warn of measurements and channels without observed entries."""
    if engine.weights is None:
        return
    for axis, kind, factor in ((1, "measurement", "A"), (0, "channel", "S")):
        empty = np.flatnonzero(~(engine.weights > 0).any(axis=axis))
        if empty.size:
            some = ", ".join(map(str, empty[:5])) + (", ..." if empty.size > 5 else "")
            subject = f"{kind} {some} has" if empty.size == 1 else f"{kind}s {some} have"
            warn_user(f"{subject} no observed entries: {factor} is 0 there.")
