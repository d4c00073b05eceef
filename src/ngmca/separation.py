"""`separate` and `iterate`: from measurements to sources."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ngmca import rivals, sampling
from ngmca._support import arguments
from ngmca._support.progress import progress_bar
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms import DEFAULTS, METHODS, Options
from ngmca.algorithms.batch_of_starts import room_for_starts, run_together
from ngmca.algorithms.on_card import check_on_card
from ngmca.algorithms.options import refuse
from ngmca.algorithms.problem import Problem
from ngmca.algorithms.restarts import at_once, choose, with_restarts
from ngmca.engines import (
    Counts,
    Engine,
    in_its_unit,
    is_engine,
    open_data,
    require_whole,
    returned,
    workers_for,
)
from ngmca.engines.opening import is_dask, is_several, is_sliceable
from ngmca.result import Separation, State
from ngmca.result.large_sources import check_room, check_target, scratch_beside, stored
from ngmca.task.checkpoints import Checkpoint, Keeper, facts_of, resumed
from ngmca.task.known import NOTHING, Known

MINUTES = 1.0  # between checkpoints
COPIES = 10  # of the sources, where those of two starts are compared


@one_blas_thread
def separate(
    Y: ArrayLike | Engine,
    r: int,
    *,
    method: str = DEFAULTS.method,
    tau: float = DEFAULTS.tau,
    n_iter: int | str = DEFAULTS.n_iter,
    refinement: float = DEFAULTS.refinement,
    bounded: bool = DEFAULTS.bounded,
    solver: str = DEFAULTS.solver,
    max_sub_iter: int = DEFAULTS.max_sub_iter,
    noise: Any = None,
    mask: ArrayLike | None = None,
    robust: bool = False,
    known_sources: ArrayLike | None = None,
    known_mixing: ArrayLike | None = None,
    known_scale: str = NOTHING.known_scale,
    zero_sources: ArrayLike | None = None,
    zero_mixing: ArrayLike | None = None,
    closure: Any = None,
    profiles: str | Sequence[str | None] | None = None,
    baseline: str | ArrayLike | None = None,
    penalised: str = NOTHING.penalised,
    tol: float | None = DEFAULTS.tol,
    domain: str = DEFAULTS.domain,
    sample_shape: tuple[int, int] | None = DEFAULTS.sample_shape,
    start: Any = None,
    n_init: int = 1,
    posterior: bool = False,
    seed: Seed = None,
    threads: int | None = None,
    device: str = "cpu",
    progress: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    checkpoint_minutes: float = MINUTES,
    resume: str | PathLike[str] | None = None,
    out: Any = None,
) -> Separation:
    """Find r non-negative sparse sources S and their mixing A in noisy measurements Y ~ A S.

    Parameters
    ----------
    Y : (m, n)
        Measurements x channels. Negative entries are normal: they are noise. NaN, and what is masked in
        a masked array, is missing. A list of such matrices, with the same channels, is several data sets
        with common sources: the rows of A follow each other, `Separation.parts` says whose they are,
        and `noise` and `closure` may be lists too.
    r : int
        Number of sources.
    method : "soft", "hard", "naive", "anls" or the name of a rival in `ngmca.rivals`
        nGMCA^S (exact l1-penalised steps), nGMCA^H (hard thresholds inside the steps), nGMCA^naive
        (projected least squares and hard thresholds), or plain non-negative matrix factorisation by
        exact alternating least squares, without any threshold. A rival is run with its own defaults;
        among n_init of its runs the lowest cost is kept. Options that a method would not heed are
        refused by name.
    tau : float
        The threshold falls to tau standard deviations of the noise: 1 is a good compromise, 0 for
        noiseless data.
    n_iter : int or "auto"
        Number of iterations, at most; in wavelets there are as many again, and at most 260. With a
        number, `soft` follows the paper: the threshold falls along a straight line. With "auto" it gets
        to the same sources in about a sixth of 500 iterations: the threshold falls faster at first, A is
        extrapolated between iterations, and they end when it does not move any more. For the other
        methods, and for tau = 0, "auto" is 500. Data of more than 5e8 entries are begun on a part of
        their columns (rows, of tall data): few iterations over all of them are left, and counted.
    refinement : float
        Share of a given number of iterations, at the end, during which the threshold stays at its final
        value.
    bounded : bool
        Whether the columns of A are kept from growing during the refinement of `soft`, where they would
        make up for the shrinkage of S.
    solver : "pivot" or "fista"
        Exact sub-problems, or the paper's iterations for them, `max_sub_iter` at most. (The bounded
        steps of the refinement, and those of `hard`, which no finite method solves, are iterations
        always; `History` has the certificates of all steps.)
    noise : float, (m,), (n,), (m, n), "poisson" or ngmca.Counts
        Standard deviation of the noise, if it is known: of all entries, of each measurement, of each
        sample (where there are as many of both, (n,) must be (1, n)) or of each entry. The fit is then
        weighted, and thresholds follow. "poisson" is for counts, whose variance is the signal itself;
        `ngmca.Counts` has a gain and a read-out level. Otherwise it is estimated all along, one level a
        measurement, and all count alike. `naive` looks at the noise in its own estimates of the sources
        instead, and has no use for it.
    mask : (m, n) of booleans
        True where an entry is missing, besides those that are NaN or masked in Y. Nothing is filled in:
        every sample is fitted to what was observed of it.
    robust : bool
        Give no weight to single entries far beyond the noise that no source explains, as cosmic rays;
        `Separation.outliers` lists them.
    known_sources : (k, n)
        The first k sources, if they are known; rows of NaN are not. They come back as they were given,
        and the columns of A have their amounts; with known_scale="free" columns of norm 1 as all others.
    known_mixing : (m, k)
        The first k columns of A, if they are known; columns of NaN are not.
    zero_sources, zero_mixing : (r, n), (m, r) of booleans
        True where S, or A, is known to be 0: a substance without a signal there, or absent.
    closure : True, float or (m,)
        Rows of A sum up to 1, or to these totals. The scales of A and S are then physical: columns of A
        do not have norm 1.
    profiles : "unimodal", "increasing", "decreasing", or one of them or None for each source
        Shapes of the columns of A along the measurements, as in elution or kinetics.
    baseline : "polynomial", "splines" or (q, n)
        A smooth non-negative background in each measurement that belongs to no source: a sum of such
        rows (`ngmca.backgrounds` makes them). `Separation.background` has it.
    penalised : "S", "A" or "both"
        What is sparse: the sources, the mixing instead, or both.
    tol : float
        The iterations end early once the threshold has arrived and the columns of A, of norm 1, move by
        less than this.
    domain : "auto", "direct" or "wavelet"
        Where the sources of `soft` are sparse: channel by channel, as in the paper ("direct"), or as
        lines and bands, which are a few wavelet coefficients ("wavelet"). "auto" looks at the sources
        that the first finds, and goes on with the second where that suits them better.
        `Separation.domain` says what was taken and why. The other methods know "direct" only.
    sample_shape : (h, w)
        If sources are images, h w channels in rows: their shape. Wavelets are then two-dimensional.
    start : (A, S) or anything with these attributes
        A first guess; otherwise one is drawn.
    n_init : int
        Number of first guesses to try. The one whose mixing directions have the lowest penalised cost,
        all at one common threshold, is kept; `restarts` tells how far the answers differ, and `others`
        where those lie that fit equally well. Small data have several run at the same time, on a card
        all of them in step.
    posterior : bool
        Sample around the answer, for error bars and, channel by channel, better sources:
        `Separation.posterior` is what `ngmca.posterior`, which has more options, returns. For lines and
        bands S stays the answer, and the posterior has its intervals.
    seed : int, SeedSequence, Generator or None
        The same integer or sequence gives the same answer, to the bit, on the same machine. A generator
        moves on with every call.
    threads : int or None
        Threads over blocks of large data, or over the `n_init` runs of small ones; None takes all
        cores. The answer does not depend on it.
    device : "cpu" or "cuda"
        Where to calculate: "cuda" is a card, through CuPy, for `soft`, `hard` and `anls` on data that
        are whole. Y may be a CuPy array, and A and S are then too. In wavelets the card makes products
        with the data only.
    progress : bool
        Show a progress bar.
    checkpoint : path
        A file for the state of the iterations, written every `checkpoint_minutes`, and every
        `checkpoint_every` iterations if that is given. It is whole or not there, whatever happens.
    resume : path
        Go on from such a file, with the same data and options, to the same bits as without a stop.
        Iterations in wavelets, and those without thresholds under a closure, are made again.
    out : path or array-like (r, n)
        Where S is put when it is too large for the memory: a Zarr store that is made, and has its name
        once all of S is in it, or anything that slices of floats can be assigned to. On the way `soft`
        and `anls` keep S in a file without a name in the same folder. Y is then read in blocks, whatever
        it is.
    """
    check_method(method)
    if arguments.check_count(n_init, "n_init") > 1 and start is not None:
        raise ValueError("start fixes the first guess: leave n_init at 1, or leave out start.")
    if arguments.check_switch(posterior, "posterior"):
        check_sampling(method)
    given = Options(
        DEFAULTS.method if method in rivals.METHODS else method,
        *(tau, n_iter, refinement, bounded, solver, max_sub_iter, tol, domain, sample_shape),
    )
    known = Known(
        *(known_sources, known_mixing, known_scale, zero_sources, zero_mixing),
        *(closure, profiles, baseline, penalised),
    )
    if posterior:
        sampling.check_known(known.given, bands=domain == "wavelet")
    _check_paths(checkpoint, checkpoint_every, checkpoint_minutes, out)
    scratch = None
    if out is not None:
        scratch, Y = scratch_beside(out), _sliceable(Y)
    engine = open_data(Y, mask=mask, threads=threads, scratch=scratch, device=device)
    arguments.check_switch(robust, "robust")
    check_on_card(engine, method, known, noise, robust=robust, posterior=posterior, out=out is not None)
    if out is not None:
        check_target(out, (r, engine.shape[1]), engine.dtype)
    kept = checkpoint is not None or resume is not None
    if kept:
        _check_kept(method, n_init, robust or isinstance(noise, str | Counts))
    if posterior:
        require_whole(engine, "posterior=True")
    if n_init > 1 and not engine.whole:
        size = 8.0 * arguments.check_rank(r, engine.shape, warn=False) * engine.shape[1]
        check_room((n_init + COPIES) * size, "n_init compares sources in memory: leave it at 1")
    if method in rivals.METHODS:
        _check_rival(method, engine, known, robust, noise)
        given_anyway = {"threads": threads is not None, "domain": domain == "wavelet"}
        given_anyway["sample_shape"] = sample_shape is not None
        refuse(method, [name for name, was in given_anyway.items() if was], "rivals do without")
        found = _best_rival(method, engine, r, given, noise=noise, start=start, seed=generator(seed),
                            n_init=n_init, progress=progress)  # fmt: skip
    else:
        problem = Problem.of(engine, r, given, noise, start, known=known, robust=robust)
        before = Checkpoint()
        if kept:
            facts = facts_of(engine, _told(given, known, r, noise, start, seed))
            if resume is not None:
                before = resumed(Path(resume), facts)
            keeper = None
            if checkpoint is not None:
                keeper = Keeper(Path(checkpoint), facts, checkpoint_every, checkpoint_minutes)
            problem = replace(problem, resume=before.state, keeper=keeper)
        found = _best_run(problem, n_init, generator(seed), threads, before, progress=progress)
        found = found.scaled(engine.unit)
    found = replace(found, parts=engine.parts)
    found = returned(engine, found)
    if out is not None:
        found = replace(found, S=stored(out, found.S))
    if not posterior:
        return found
    beforehand = {
        name: getattr(known, name)
        for name in ("known_sources", "known_mixing", "known_scale", "zero_sources", "zero_mixing")
    }
    sampled = sampling.posterior(
        engine, found, noise=noise, seed=seed, threads=threads, progress=progress, **beforehand
    )
    return replace(found, posterior=sampled)


def check_method(method: Any) -> str:
    """The name of an algorithm or of a rival."""
    return arguments.check_choice(method, "method", (*METHODS, *rivals.METHODS))


def check_sampling(method: str) -> None:
    """Refuse methods whose sources no posterior can be sampled around."""
    if method in rivals.SIGNED:
        raise ValueError(f"method={method!r} has sources of any sign: the posterior's are not negative.")


@one_blas_thread
def iterate(
    Y: ArrayLike | Engine,
    r: int,
    *,
    method: str = DEFAULTS.method,
    tau: float = DEFAULTS.tau,
    n_iter: int | str = DEFAULTS.n_iter,
    refinement: float = DEFAULTS.refinement,
    bounded: bool = DEFAULTS.bounded,
    solver: str = DEFAULTS.solver,
    max_sub_iter: int = DEFAULTS.max_sub_iter,
    noise: Any = None,
    mask: ArrayLike | None = None,
    robust: bool = False,
    known_sources: ArrayLike | None = None,
    known_mixing: ArrayLike | None = None,
    known_scale: str = NOTHING.known_scale,
    zero_sources: ArrayLike | None = None,
    zero_mixing: ArrayLike | None = None,
    closure: Any = None,
    profiles: str | Sequence[str | None] | None = None,
    baseline: str | ArrayLike | None = None,
    penalised: str = NOTHING.penalised,
    tol: float | None = DEFAULTS.tol,
    domain: str = DEFAULTS.domain,
    sample_shape: tuple[int, int] | None = DEFAULTS.sample_shape,
    start: Any = None,
    resume: State | None = None,
    seed: Seed = None,
    threads: int | None = None,
    device: str = "cpu",
) -> Iterator[State]:
    """Yield every state on the way, the last of which `separate` would return.

    The arguments are those of `separate`. With `resume`, a state that an earlier call with the same
    arguments yielded, the states after it. For `soft`, `naive` and `anls` with solver="pivot" they are
    the same, to the bit, as without a stop (above 2,048 measurements up to the noise on the way); in
    the wavelet domain the multipliers of the S-step are found anew. A and S are arrays in memory on
    every device; of a Dask array that is wider than high, S is one too.
    """
    if method in rivals.METHODS:
        raise ValueError(f"method={method!r} has no states to yield: use separate.")
    check_method(method)
    given = Options(
        method, tau, n_iter, refinement, bounded, solver, max_sub_iter, tol, domain, sample_shape
    )
    known = Known(
        *(known_sources, known_mixing, known_scale, zero_sources, zero_mixing),
        *(closure, profiles, baseline, penalised),
    )
    engine = open_data(Y, mask=mask, threads=threads, device=device)
    arguments.check_switch(robust, "robust")
    check_on_card(engine, method, known, noise, robust=robust)
    problem = Problem.of(engine, r, given, noise, start, resume, known, robust)
    return _iterate(problem, generator(seed).spawn(1)[0])


def _iterate(problem: "Problem", rng: np.random.Generator) -> Iterator[State]:
    states: Iterator[State] | None = None

    @one_blas_thread  # only while we compute, not while the caller looks at the state
    def following() -> State | None:
        nonlocal states
        states = states or problem.states(rng)
        return next(states, None)

    while (state := following()) is not None:
        yield state.scaled(problem.engine.unit)


def _check_rival(method: str, engine: Engine, known: Known, robust: bool, noise: Any) -> None:
    """Refuse what rivals would not heed."""
    unheeded = known.given | ({"robust"} if robust else set())
    if isinstance(noise, str | Counts):
        unheeded.add("noise")
    refuse(method, unheeded, "rivals do without")
    require_whole(engine, f"method={method!r}")
    if engine.weights is not None:
        raise ValueError(f"Y has missing entries, which method={method!r} cannot do without.")


def _check_paths(checkpoint: Any, every: int | None, minutes: float, out: Any) -> None:
    """Refuse a checkpoint in the place of S, and what would be said about none."""
    given = {"checkpoint_every": every is not None, "checkpoint_minutes": minutes != MINUTES}
    for name in (name for name, was in given.items() if was and checkpoint is None):
        raise ValueError(f"{name} says how often a checkpoint is written: give checkpoint, its file.")
    paths = [Path(path).resolve() for path in (checkpoint, out) if isinstance(path, str | PathLike)]
    if len(paths) == 2 and paths[0] == paths[1]:
        raise ValueError(f"checkpoint and out are both {checkpoint}: give them different names.")


def _sliceable(Y: Any) -> Any:
    """Data that can be read in blocks, arrays of lists and the like; several, or sparse, are refused."""
    there = isinstance(Y, np.ndarray) or is_engine(Y) or hasattr(Y, "__cuda_array_interface__")
    if there or is_dask(Y) or is_sliceable(Y):
        return Y
    if is_several(Y):
        raise ValueError("out does not go with several data sets: give one array of all their rows.")
    return arguments.as_array(Y, "Y")


def _check_kept(method: str, n_init: int, reweighted: bool) -> None:
    """Refuse what no checkpoint can be gone on from to the same bits."""
    if method in rivals.METHODS:
        raise ValueError(f"checkpoint and resume have no meaning for method={method!r}: leave them out.")
    if n_init > 1:
        raise ValueError("checkpoint and resume go with one first guess: leave n_init at 1.")
    if reweighted:
        raise ValueError("checkpoint and resume do not go with robust and noise='poisson'.")


def _told(given: Options, known: Known, r: int, noise: Any, start: Any, seed: Seed) -> dict[str, Any]:
    """The options of a run, by name, to be compared with those of another."""
    told = {part.name: getattr(given, part.name) for part in fields(given)}
    told |= {part.name: getattr(known, part.name) for part in fields(known)}
    del told["known"], told["warm"]
    told |= {"r": r, "noise": noise, "start": start}
    return told | {"seed": seed if seed is None or isinstance(seed, int) else type(seed).__name__}


def _best_run(
    problem: Problem,
    n_init: int,
    rng: np.random.Generator,
    threads: int | None,
    before: Checkpoint,
    *,
    progress: bool,
) -> Separation:
    """The best of n_init runs, several at a time."""
    options, workers = problem.options, workers_for(problem.engine, problem.r, threads)
    with progress_bar(options.most * n_init, show=progress) as shown:

        def run(child: np.random.Generator, stopped: Callable[[], bool]) -> Separation:
            states = problem.states(child, fetch=False)
            return _collect(shown(states), stopped, before, problem.keeper)

        def tick(count: int) -> None:
            for _ in shown(range(count)):
                pass

        most = room_for_starts(problem) if n_init > 1 else 0
        if most:
            runs = run_together(problem, rng.spawn(n_init), most, tick)
        else:
            runs = at_once(run, rng.spawn(n_init), workers)
    return runs[0] if n_init == 1 else choose(problem.engine, runs, options, plain=problem.plain)


def _collect(
    states: Iterable[State],
    stopped: Callable[[], bool],
    before: Checkpoint | None = None,
    keeper: Keeper | None = None,
) -> Separation:
    """Run to the end, keeping the last state and one line of history for each."""
    so_far = Checkpoint(None, [] if before is None else list(before.lines))
    for state in states:
        so_far.add(state)
        if keeper is not None:
            keeper.keep(so_far.lines)
        if stopped():
            break
    return so_far.separation()


def _best_rival(
    method: str,
    engine: Engine,
    r: int,
    given: Options,
    *,
    noise: ArrayLike | None,
    start: Any,
    seed: np.random.Generator,
    n_init: int,
    progress: bool,
) -> Separation:
    """The factors with the lowest cost out of n_init runs of a rival, each from a child of the seed.

    They are compared in units of the engine, in which no cost overflows or vanishes.
    """
    if start is not None:
        start = arguments.check_start(start, engine, arguments.check_rank(r, engine.shape, warn=False))
    options = rivals.own_options(method, given) | {"start": start, "seed": seed}
    levels = arguments.check_noise(noise, engine)
    plain = in_its_unit(engine)
    with progress_bar(n_init, show=progress) as shown:
        runs = [rivals.as_separation(method, plain, r, levels, **options) for _ in shown(range(n_init))]
    costs = [float(run.history.cost[-1]) for run in runs]
    found = runs[0] if n_init == 1 else with_restarts(runs, costs, engine.energy)
    return found.scaled(engine.unit)
