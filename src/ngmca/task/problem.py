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
from ngmca.algorithms.constraint_arrays import Constraints
from ngmca.algorithms.first_guess import first_guess, unit_columns, with_background
from ngmca.algorithms.noiseless_data import least_noise, precision_of_noiseless
from ngmca.algorithms.restarts import Fit
from ngmca.algorithms.reweighted_channels import iterate_reweighted
from ngmca.algorithms.reweighting import SPIKE_LEVEL, Reweighting, reweighed
from ngmca.algorithms.soft_and_hard import relaxed
from ngmca.algorithms.wavelets.domain_choice import decide
from ngmca.algorithms.wavelets.wavelet_start import bands_after
from ngmca.constraints import constraint_arrays, transposed
from ngmca.constraints.arrays import fixes_size
from ngmca.engines import Engine, Levels, by_part, everything, fetched, weighing, without
from ngmca.engines.neighbouring_channels import residual_correlation
from ngmca.result import Background, Domain, Separation, State
from ngmca.task.methods import Rival, options_of
from ngmca.task.task import Task

MIN_MEASUREMENTS_FOR_LEVELS = 2.0  # for each source: fewer do not tell their noise levels
MAX_CORRELATION_OF_NOISE = 0.2  # of neighbouring channels in the residual
UNEQUAL_NOISE = 0.25  # standard deviation of the logarithms of noise levels that clearly differ
WEIGHT_RANGE_OF_COUNTS = 4.0  # factor from their median
WEIGHT_RANGE_IN_WAVELETS = 4.0  # factor up to which weights of a channel differ


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
            known=arrays,
        )
        whitened = levels.applied(engine)
        if start is not None:
            start = _inside(start[0], start[1], levels, whitened)
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

    def _repeats(self, A: NDArray, S: NDArray, noise: NDArray) -> bool:
        """Whether a second fit follows: levels clearly differ, and the residual is noise.

        A residual whose neighbouring channels are correlated holds signal that the fit missed. Its size
        says nothing about the noise.
        """
        if not self._may_repeat or not unequal(noise):
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
        for engine, state, last in self._direct(rng, resume):
            if last or fetch:
                state = replace(state, S=fetched(state.S))
            following = self._finished(engine, state) if last else [self._as_it_is(engine, state)]
            snapshot: Snapshot | None = state
            for found in following:
                yield found, snapshot, last
                snapshot = None

    def after(self, state: State) -> Iterator[State]:
        """Yield the last state channel by channel of plain data, and what follows it."""
        yield from self._finished(self.engine, state)

    def compared(self, runs: list[Separation]) -> tuple[Engine, Options, list[Fit] | None]:
        """Return what several runs are compared by: data, options, and the runs in units of these data.

        The data are in units of their noise, with the weights of the fits.
        """
        noise = np.mean([run.noise for run in runs], axis=0)
        if self._repeats(*self._fitted(runs[0]), noise):
            assert self.again is not None
            return self.again(replace(Levels.of_rows(noise), level=None)).compared(runs)
        if self.plain:
            return self.engine, self.options, None
        factors = [self._fitted(run) for run in runs]
        engine = self.engine
        if self.levels.counts is not None:  # weights of the mean fit
            A, S = zip(*factors, strict=True)
            engine = self.levels.following(engine, np.hstack(A), np.vstack(S) / len(runs))
        banded = all(run.domain.name == "wavelet" for run in runs)
        fits = [
            self._fit(run, engine, *unit_columns(A, S), banded=banded)
            for run, (A, S) in zip(runs, factors, strict=True)
        ]
        return engine, self.options, fits

    def _fitted(self, run: Separation) -> tuple[NDArray, NDArray]:
        """Return the factors of a run, and those of its baseline, in units of the engine."""
        A, S = run.A, run.in_memory().S
        if run.background is not None:
            A, S = np.hstack([A, run.background.weights]), np.vstack([S, run.background.basis])
        return _inside(*((A, S) if self.exchanged is None else (S.T, A.T)), self.levels, self.engine)

    def _fit(self, run: Separation, engine: Engine, A: NDArray, S: NDArray, *, banded: bool) -> Fit:
        """Return a run with the data that it was fitted to: without its spikes, and in own channels."""
        sigma, left_out = self._own_noise(run, engine), 0.0
        if run.outliers is not None and len(run.outliers):
            rows, columns = run.outliers.T if self.exchanged is None else run.outliers.T[::-1]
            spikes = np.zeros(engine.shape, dtype=bool)
            spikes[rows, columns] = True
            engine = without(engine, spikes)
            left_out = float(np.sum((SPIKE_LEVEL * sigma[rows]) ** 2)) / 2
        if banded:
            state = State(0, A, S, np.zeros(A.shape[1]), sigma, 0.0, 0.0, 0.0)
            options = replace(self.options, noise=sigma)
            engine, state, _, options = in_channels(engine, state, self.levels, options)
            return Fit(A, state.S, np.asarray(options.noise), engine, left_out)
        return Fit(A, S, sigma, engine, left_out)

    def _own_noise(self, run: Separation, engine: Engine) -> NDArray:
        """Return the noise (m,) of entries of weight 1 in units of the engine."""
        if self.options.noise is not None:
            return self.options.noise
        units = self.levels.spread(engine.weights, engine.shape)
        if self.exchanged is None:
            return np.asarray(run.noise / units)
        return np.full(len(units), np.sqrt(np.mean(run.noise**2) / np.mean(units**2)))

    def _as_it_is(self, engine: Engine, state: State) -> State:
        """Return a state on the way; that one of several fits settled does not end the run."""
        return self._returned(engine, replace(state, settled=False), engine, self.levels, self.options)

    def _finished(self, engine: Engine, state: State) -> Iterator[State]:
        """Yield the last state channel by channel and what follows it."""
        if self._repeats(state.A, state.S, state.noise):
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
            following = bands_after(own, replace(state, noise=seen), domain, options)
        else:
            following = _without_wavelets(engine, state, domain, options)
            if self.exchanged is None and reweighted_channels.suits(engine, state, options):
                following = _reweighted(engine, state, domain, options)
        for one in following:
            noise = state.noise if options.noiseless else one.noise
            found = replace(one, noise=noise, outliers=state.outliers)
            yield self._returned(engine, found, own, levels, options)

    def _repeated(self, state: State) -> Iterator[State]:
        """Yield the states of a second fit, in which each measurement counts by its noise."""
        assert self.again is not None
        levels = replace(Levels.of_rows(state.noise), level=None)
        second = self.again(levels)
        A, S = _inside(state.A, state.S, levels, second.engine)
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
        return found if self.exchanged is None else _exchanged(found, self.exchanged)

    def _direct(
        self, rng: np.random.Generator, resume: Snapshot | None
    ) -> Iterator[tuple[Engine, Snapshot, bool]]:
        """Yield states channel by channel, with their engine, and whether one is the last."""
        # a closure holds for sources that are not shrunk: see `relaxed`
        options = self.options.without_closure()
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
        if self.start is not None:
            return with_background(engine, *self.start, self.options.known)
        if self.options.warm:
            return start_on_part.start_on_part(engine, self.r, rng, replace(self.options, warm=False))
        return first_guess(engine, self.r, rng, self.options.known)


def unequal(noise: NDArray) -> bool:
    """Whether the noise levels of the measurements clearly differ."""
    return bool((noise > 0).all()) and float(np.std(np.log(noise))) > UNEQUAL_NOISE


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


def in_channels(
    engine: Engine, state: State, levels: Levels, options: Options
) -> tuple[Engine, State, Levels, Options]:
    """Return data and a state for wavelets: channels in their own units, and weights of at most 1.

    Weights that differ within a channel slow the iterations in wavelets down. They are kept within a
    factor of the largest one there, which keeps most of their gain. Weights of counts follow from a fit
    and are uncertain, so they are also kept within a factor of their median.
    """
    if engine.weights is None and levels.columns is None:
        return engine, state, levels, options
    weights = np.ones(engine.shape) if engine.weights is None else engine.weights
    columns = levels.units(engine.shape)[1]
    true = weights / columns**2
    seen, mild = true > 0, true
    if levels.counts is not None:
        middle = float(np.median(true[true > 0]))
        mild = np.clip(true, middle / WEIGHT_RANGE_OF_COUNTS, middle * WEIGHT_RANGE_OF_COUNTS)
    mild = np.where(seen, np.maximum(mild, mild.max(axis=0) / WEIGHT_RANGE_IN_WAVELETS), 0)
    most = float(mild.max())
    # thresholds follow the noise of correlations with these weights
    usual = np.sum(mild, axis=0) / np.maximum(np.sum(seen, axis=0), 1)
    own = np.divide(mild**2, true, out=np.broadcast_to(usual, engine.shape).copy(), where=seen) / most
    even = levels.columns is None and engine.noise_weights is None
    Y = everything(engine) * columns.astype(engine.dtype)
    found = weighing(engine, mild / most, None if even else own, Y)
    sigma = None if options.noise is None else options.noise / np.sqrt(most)
    known = options.known
    if known.sources is not None:
        known = replace(known, sources=known.sources * columns)
    state = replace(state, S=state.S * columns.astype(state.S.dtype))
    return found, state, replace(levels, columns=None), replace(options, noise=sigma, known=known)


def restored(state: State, levels: Levels, known: Constraints, weights: NDArray | None) -> State:
    """Return a state in the units of the data, with the baseline apart from the sources.

    Columns of A have norm 1, except where their size is known: with a closure, for known columns, and
    for known sources of a fixed scale.
    """
    if levels.equal and weights is None and not known.any:
        return state
    rows, columns = levels.units((len(state.A), state.S.shape[1]))
    A, S = state.A * rows[:, None], state.S * columns
    norm = np.linalg.norm(A, axis=0)
    factor = 1 / np.where(norm > 0, norm, 1)
    if known.any:
        factor = np.where(known.sized, known.sizes_of(state.A, state.S), factor)
    A, S = A * factor, S / np.where(factor > 0, factor, 1)[:, None]
    if weights is not None:
        S[:, ~(weights > 0).any(axis=0)] = 0  # wavelets would fill channels without observed entries
    r = known.r if known.any else len(S)
    background = None
    if known.baseline:
        basis = known.sources[r:] * columns  # type: ignore[index]
        scale = np.einsum("ij,ij->i", S[r:], basis) / np.einsum("ij,ij->i", basis, basis)
        background = Background(A[:, r:] * scale, basis)
    return replace(
        state,
        A=np.ascontiguousarray(A[:, :r], dtype=state.A.dtype),
        S=S[:r].astype(state.S.dtype),
        lam=state.lam[:r] * factor[:r],
        noise=state.noise * levels.spread(weights, (len(A), S.shape[1])),
        background=background,
    )


def _inside(A: NDArray, S: NDArray, levels: Levels, engine: Engine) -> tuple[NDArray, NDArray]:
    """Return factors of the data in units of the noise."""
    rows, columns = levels.units(engine.shape)
    return (A / rows[:, None]).astype(engine.dtype), (S / columns).astype(engine.dtype)


def features_of_data(engine: Engine) -> dict[str, Option | str]:
    """Return what the data add to the features of a task."""
    names: list[str] = [engine.place]
    names += ["missing entries"] if engine.weights is not None else []
    names += ["several"] if len(engine.parts) > 1 else []
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


def _exchanged(state: State, sized: NDArray) -> State:
    """Return a state of the transposed data as a state of the data."""
    A, S = np.ascontiguousarray(state.S.T), np.ascontiguousarray(state.A.T)
    norm = np.linalg.norm(A, axis=0)
    norm[sized | (norm == 0)] = 1
    level = np.sqrt(np.mean(state.noise**2))
    outliers = None if state.outliers is None else state.outliers[:, ::-1]
    A, S = A / norm, S * norm[:, None]
    noise = np.full(len(A), level)
    return replace(state, A=A, S=S, noise=noise, outliers=outliers)
