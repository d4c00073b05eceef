"""From arguments to states: into units of the noise on the way in, back to those of the data."""

import warnings
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.algorithms import start_on_part as subset
from ngmca.algorithms.constraint_arrays import Constraints
from ngmca.algorithms.domain_choice import decide
from ngmca.algorithms.first_guess import first_guess, unit_columns, with_background
from ngmca.algorithms.naive import iterate_naive
from ngmca.algorithms.options import Options
from ngmca.algorithms.reweighting import Reweighting, reweighed
from ngmca.algorithms.soft_and_hard import iterate_thresholded, relaxed
from ngmca.algorithms.wavelet_stage import bands_after, resumed_bands
from ngmca.engines import (
    Engine,
    Levels,
    by_part,
    everything,
    fetched,
    require_local,
    require_whole,
    weighing,
)
from ngmca.result import Background, State
from ngmca.task.checkpoints import Keeper
from ngmca.task.known import NOTHING, Known

MILD = 2.0  # factor from their median up to which weights are kept in wavelets


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked arguments, in the units of the engine, which holds the data in units of their noise."""

    engine: Engine
    r: int
    options: Options
    levels: Levels
    robust: bool
    start: tuple[NDArray, NDArray] | None
    resume: State | None = None
    exchanged: NDArray | None = None  # (r,) if measurements and samples are: whose sizes are known
    keeper: Keeper | None = None

    @classmethod
    def of(
        cls,
        engine: Engine,
        r: int,
        options: Options,
        noise: Any = None,
        start: Any = None,
        resume: State | None = None,
        known: Known = NOTHING,
        robust: bool = False,
    ) -> "Problem":
        """The problem, or an error that says which argument is wrong."""
        r = arguments.check_rank(r, engine.shape)
        shape = arguments.check_shape(options.sample_shape, engine.shape[1])
        levels = Levels.of(by_part(noise, engine), engine)
        if resume is not None:
            _check_resumed(resume, engine, r, options)
            resume = resume.scaled(1 / engine.unit)
        if start is not None:
            start = arguments.check_start(start, engine, r)
        _warn_of_gaps(engine)
        exchanged = known.sized(r) if known.penalised == "A" else None
        if exchanged is not None:
            engine, levels, known = engine.transposed(), levels.transposed(), known.transposed()
            start = None if start is None else (start[1].T, start[0].T)
            resume = None if resume is None else _exchanged(resume, exchanged)
            options, shape = options.in_channels(), None
        known = replace(known, closure=by_part(known.closure, engine))
        constraints = known.constraints(engine, r, levels, engine.parts)
        options = replace(
            options, noise=levels.noise(engine.shape[0]), sample_shape=shape, known=constraints
        )
        _check_place(engine, options, levels, robust)
        plain = engine.weights is None and levels.weights is None and levels.counts is None
        check_heeded(options, plain=plain and not robust)
        whitened = levels.applied(engine)
        if start is not None:
            start = _inside(start[0], start[1], levels, whitened)
        if resume is not None:
            resume = _resumed(resume, r, options, levels, whitened)
        if start is None and not robust and levels.counts is None:
            options = replace(options, warm=subset.suits(whitened, options))
        return cls(whitened, r, options, levels, robust, start, resume, exchanged)

    @property
    def plain(self) -> bool:
        """Whether all entries count alike, and nothing is known beforehand."""
        weighted = self.engine.weights is not None or self.levels.counts is not None
        turned = self.exchanged is not None
        return not (weighted or turned or self.robust or self.options.known.any) and self.levels.equal

    def states(self, rng: np.random.Generator, *, fetch: bool = True) -> Iterator[State]:
        """The iterations from the start, or from a guess drawn by rng, for the data as they are.

        Without `fetch`, sources of all but the last stay where the engine has them.
        """
        for engine, levels, known, state in self._states(rng, fetch or not self.levels.equal):
            found = restored(state, levels, known, engine.weights)
            yield found if self.exchanged is None else _exchanged(found, self.exchanged)

    def after(self, state: State) -> Iterator[State]:
        """The last state channel by channel of plain data, and what comes after it."""
        for _, _, _, following in self._finished(self.engine, state):
            yield following

    def _states(
        self, rng: np.random.Generator, fetch: bool
    ) -> Iterator[tuple[Engine, Levels, Constraints, State]]:
        """States in units of the noise, with the engine, units and knowledge that they belong to."""
        resume = self.resume
        if resume is not None and resume.domain.name == "wavelet":
            rule = Reweighting(self.engine, self.levels, self.robust, self.options.noise)
            yield from self._finished(rule.resumed(resume), resume)
            return
        for engine, state, last in self._direct(rng):
            if last or fetch:
                state = replace(state, S=fetched(state.S))
            if self.keeper is not None:
                self.keeper.note(state, last=last)
            if last:
                yield from self._finished(engine, state)
            else:
                yield engine, self.levels, self.options.known, state

    def _finished(
        self, engine: Engine, state: State
    ) -> Iterator[tuple[Engine, Levels, Constraints, State]]:
        """The last state channel by channel and what comes after it, as `_states` gives them."""
        levels, options = self.levels, self.options
        if options.transformed:
            engine, state, levels, options = in_channels(engine, state, levels, options)
        for following in finished(engine, state, options):
            yield engine, levels, options.known, replace(following, outliers=state.outliers)

    def _direct(self, rng: np.random.Generator) -> Iterator[tuple[Engine, State, bool]]:
        """States channel by channel, with their engine, and whether one is the last of them."""
        # a closure holds for sources that are not shrunk: see `relaxed`
        options, resume = self.options.without_closure(), self.resume
        algorithm = iterate_naive if options.method == "naive" else iterate_thresholded
        rule = Reweighting(self.engine, self.levels, self.robust, options.noise)
        if rule.needed:
            yield from reweighed(
                lambda engine, A, S: algorithm(engine, A, S, options),
                rule,
                lambda engine: self._guess(engine, deepcopy(rng)),
            )
            return
        A, S = self._guess(self.engine, rng)
        for state in algorithm(self.engine, A, S, options, resume):
            yield self.engine, state, state.settled or state.k >= options.schedule.n_iter

    def _guess(self, engine: Engine, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
        """The first factors: those given, of a state to resume from, or drawn."""
        if self.resume is not None:
            return self.resume.A, self.resume.S
        if self.start is not None:
            return with_background(engine, *self.start, self.options.known)
        if self.options.warm:
            return subset.start_on_part(engine, self.r, rng, replace(self.options, warm=False))
        return first_guess(engine, self.r, rng, self.options.known)


def finished(engine: Engine, state: State, options: Options) -> Iterator[State]:
    """The last state channel by channel, and what comes after it: wavelets, or a fit without thresholds.

    One in wavelets already is gone on from.
    """
    if state.domain.name == "wavelet":
        yield from resumed_bands(engine, options, state)
        return
    domain = decide(state, options) if options.transformed else state.domain
    if domain.name == "wavelet":
        yield from bands_after(engine, state, domain, options)
        return
    rigid = options.known.holds_norms
    yield replace(state, domain=domain, settled=state.settled and not rigid)
    if rigid:
        yield from (replace(one, domain=domain) for one in relaxed(engine, state, options))


def in_channels(
    engine: Engine, state: State, levels: Levels, options: Options
) -> tuple[Engine, State, Levels, Options]:
    """Whitened data and a state for wavelets: samples in their own units, and weights of at most 1.

    Weights, which single samples cannot be solved with there, slow the iterations down by their range:
    they are kept near their median. Most of what they gain is gained by then.
    """
    if engine.weights is None and levels.columns is None:
        return engine, state, levels, options
    weights = np.ones(engine.shape) if engine.weights is None else engine.weights
    columns = levels.units(engine.shape)[1]
    true = weights / columns**2
    seen, middle = true > 0, float(np.median(true[true > 0]))
    mild = np.where(seen, np.clip(true, middle / MILD, middle * MILD), 0)
    most = float(mild.max())
    # thresholds follow the noise of correlations with these weights
    own = np.divide(mild**2, true, out=np.full(engine.shape, middle), where=seen) / most
    even = levels.columns is None and engine.noise_weights is None
    Y = everything(engine) * columns.astype(engine.dtype)
    found = weighing(engine, mild / most, None if even else own, Y)
    sigma = None if options.noise is None else options.noise / np.sqrt(most)
    known = options.known
    if known.sources is not None:
        known = replace(known, sources=known.sources * columns)
    state = replace(state, S=state.S * columns.astype(state.S.dtype))
    return found, state, replace(levels, columns=None), replace(options, noise=sigma, known=known)


def check_heeded(options: Options, *, plain: bool) -> None:
    """Refuse methods that would not heed what is known, missing or weighted."""
    if not plain and (options.method in ("naive", "hard") or options.solver == "fista"):
        which = f"method={options.method!r}" if options.method != "soft" else "solver='fista'"
        raise ValueError(
            f"{which} needs data that are whole and equally noisy: missing entries, levels of entries, "
            "noise='poisson' and robust go with the methods soft and anls, and solver='pivot'."
        )
    known = options.known
    if options.domain == "wavelet" and known.zero_sources is not None:
        raise ValueError("zero_sources and domain='wavelet' do not go together: take domain='direct'.")
    if options.domain == "wavelet" and known.closes_known:
        raise ValueError(
            "closure, known_sources and domain='wavelet' do not go together: take domain='direct', or "
            "known_scale='free'."
        )
    if options.known.any and (options.method == "naive" or options.solver == "fista"):
        which = "method='naive'" if options.method == "naive" else "solver='fista'"
        raise ValueError(f"{which} heeds nothing that is known beforehand: use soft and pivot.")


def restored(state: State, levels: Levels, known: Constraints, weights: NDArray | None) -> State:
    """A state in units of the noise as one of the data, without the baseline among the sources.

    Columns of A have norm 1, but for those whose size is known: under a closure, of known columns, and
    of known sources, unless these are free in scale.
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
        S[:, ~(weights > 0).any(axis=0)] = 0  # neighbours would suggest something, but nothing was seen
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
    """Factors of the data as factors of the whitened data."""
    rows, columns = levels.units(engine.shape)
    return (A / rows[:, None]).astype(engine.dtype), (S / columns).astype(engine.dtype)


def _check_place(engine: Engine, options: Options, levels: Levels, robust: bool) -> None:
    """Refuse what cannot be done where the data, or the sources, are."""
    if robust:
        require_whole(engine, "robust=True")
    if levels.weights is not None:
        require_whole(engine, "noise with a level for every entry")
    if levels.columns is not None and options.transformed:
        require_whole(engine, "noise with a level for every channel")
        if engine.place == "gpu":
            raise ValueError(
                "noise with a level for every channel goes with domain='direct' on device='cuda': give "
                "that, or take device='cpu'."
            )
    if options.known.any:
        require_local(engine, "what is known beforehand")
    if options.method == "naive":
        require_local(engine, "method='naive'")
    if options.domain == "wavelet":
        require_local(engine, "domain='wavelet'")


def _warn_of_gaps(engine: Engine) -> None:
    """Tell of measurements and samples of which nothing was observed."""
    if engine.weights is None:
        return
    for axis, what, told in ((1, "measurement", "weights"), (0, "sample", "sources")):
        empty = np.flatnonzero(~(engine.weights > 0).any(axis=axis))
        if empty.size:
            some = ", ".join(map(str, empty[:5])) + (", ..." if empty.size > 5 else "")
            plural = "s" if empty.size > 1 else ""
            warnings.warn(
                f"nothing was observed of {what}{plural} {some}: {told} are 0 there.",
                UserWarning,
                stacklevel=5,
            )


def _check_resumed(resume: State, engine: Engine, r: int, options: Options) -> None:
    """Refuse a state that does not belong to the data, or to the options."""
    arguments.check_start(resume, engine, r, name="resume")
    if resume.domain.name == "wavelet" and (not options.transformed or options.domain == "direct"):
        raise ValueError("resume is a state in wavelets: go on with the options it was found with.")


def _resumed(resume: State, r: int, options: Options, levels: Levels, whitened: Engine) -> State:
    """A state to go on from, in units of the whitened data."""
    if levels.equal and not options.known.any:
        return resume
    A, S = _inside(resume.A, resume.S, levels, whitened)
    norm = np.linalg.norm(A, axis=0)
    A, S = with_background(whitened, *unit_columns(A, S), options.known)
    lam = np.pad(resume.lam / np.where(norm > 0, norm, 1), (0, A.shape[1] - r))
    spread = levels.spread(whitened.weights, whitened.shape)
    noise = resume.noise / spread if options.noise is None else options.noise
    return replace(resume, A=A, S=S, lam=lam, noise=noise, momentum=None, sums=None)


def _exchanged(state: State, sized: NDArray) -> State:
    """A state of the transposed data for the data, or back: the columns of A are what was sparse."""
    A, S = np.ascontiguousarray(state.S.T), np.ascontiguousarray(state.A.T)
    norm = np.linalg.norm(A, axis=0)
    norm[sized | (norm == 0)] = 1
    level = np.sqrt(np.mean(state.noise**2))
    outliers = None if state.outliers is None else state.outliers[:, ::-1]
    A, S = A / norm, S * norm[:, None]
    noise = np.full(len(A), level)
    return replace(state, A=A, S=S, noise=noise, outliers=outliers, momentum=None, sums=None)
