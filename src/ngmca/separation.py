"""`separate` and `iterate`: from measurements to sources."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import baselines, inputs, metrics, sampling
from ngmca import noise as levels
from ngmca.comparison import Rival
from ngmca.engine import InMemory
from ngmca.exact import iterate_exact
from ngmca.naive import iterate_naive
from ngmca.nnqp.pivot import solve_rows
from ngmca.progress import progress_bar
from ngmca.records import METHODS, History, Options, Restart, Separation, State
from ngmca.start import Seed, first_guess, generator
from ngmca.threads import one_blas_thread

Result = TypeVar("Result", State, Separation)


def separate(
    Y: ArrayLike,
    r: int,
    *,
    method: str = "soft",
    tau: float = 1.0,
    n_iter: int | str = "auto",
    refinement: float = 0.2,
    bounded: bool = True,
    solver: str = "pivot",
    max_sub_iter: int = 80,
    noise: ArrayLike | None = None,
    tol: float | None = None,
    start: Any = None,
    n_init: int = 1,
    posterior: bool = False,
    seed: Seed = None,
    threads: int | None = None,
    progress: bool = False,
) -> Separation:
    """Find r non-negative sparse sources S and their mixing A in noisy measurements Y ~ A S.

    Parameters
    ----------
    Y : (m, n)
        Measurements x samples. Negative entries are normal: they are noise.
    r : int
        Number of sources.
    method : "soft", "hard", "naive", "anls" or the name of a rival in `ngmca.baselines`
        nGMCA^S (exact l1-penalised steps), nGMCA^H (hard thresholds inside the steps), nGMCA^naive
        (projected least squares and hard thresholds), or plain non-negative matrix factorisation by
        exact alternating least squares, without any threshold. A rival is run with its own defaults, and
        refuses options that mean nothing to it; among n_init of its runs the lowest cost is kept.
    tau : float
        The threshold falls to tau standard deviations of the noise: 1 is a good compromise, 2 when
        measurements are hardly more than sources, 0 for noiseless data.
    n_iter : int or "auto"
        Number of iterations, at most. With a number, `soft` follows the paper: the threshold falls along
        a straight line. With "auto" it gets to the same sources in about a sixth of 500 iterations: the
        threshold falls faster at first, A is extrapolated between iterations, and they end when it does
        not move any more. For the other methods, and for tau = 0, "auto" is 500.
    refinement : float
        Share of a given number of iterations, at the end, during which the threshold stays at its final
        value.
    bounded : bool
        Whether the columns of A are kept from growing during the refinement of `soft`, where they would
        make up for the shrinkage of S.
    solver : "pivot" or "fista"
        Exact sub-problems, or the paper's iterations for them, `max_sub_iter` at most.
    noise : float or (m,)
        Standard deviation of the noise, if it is known; otherwise it is estimated all along. `naive`
        looks at the noise in its own estimates of the sources instead, and has no use for it.
    tol : float
        The iterations end early once the threshold has arrived and the columns of A, of norm 1, move by
        less than this.
    start : (A, S) or anything with these attributes
        A first guess; otherwise one is drawn.
    n_init : int
        Number of first guesses to try. The one whose mixing directions have the lowest penalised cost,
        all at one common threshold, is kept; `restarts` tells how far the answers differ.
    posterior : bool
        Sample around the answer, for error bars and better sources: `Separation.posterior` is what
        `ngmca.posterior`, which has more options, returns.
    seed : int, SeedSequence, Generator or None
        The same integer or sequence gives the same answer, to the bit, on the same machine. A generator
        moves on with every call.
    threads : int or None
        Threads over blocks of large data; None takes all cores. The answer does not depend on it.
    progress : bool
        Show a progress bar.
    """
    inputs.check_choice(method, "method", (*METHODS, *baselines.METHODS))
    if inputs.check_count(n_init, "n_init") > 1 and start is not None:
        raise ValueError("start fixes the first guess: leave n_init at 1, or leave out start.")
    if threads is not None:
        inputs.check_count(threads, "threads")
    if inputs.check_switch(posterior, "posterior"):
        check_sampling(method)
    rng = generator(seed)
    if method in baselines.METHODS:
        options = Options("soft", tau, n_iter, refinement, bounded, solver, max_sub_iter, tol)
        found = Rival.of(method, options).separate(
            Y, r, noise=noise, start=start, n_init=n_init, seed=rng, progress=progress
        )
    else:
        options = Options(method, tau, n_iter, refinement, bounded, solver, max_sub_iter, tol)
        problem = Problem.of(Y, r, options, noise, start, threads)
        with one_blas_thread, progress_bar(options.schedule.n_iter * n_init, show=progress) as shown:
            runs = [_collect(shown(problem.states(child))) for child in rng.spawn(n_init)]
            penalty = 0.0 if method == "anls" else tau
            best = runs[0] if n_init == 1 else _choose(problem.engine, runs, penalty)
        found = _in_units_of_data(best, problem.unit)
    if not posterior:
        return found
    sampled = sampling.posterior(Y, found, noise=noise, seed=seed, threads=threads, progress=progress)
    return replace(found, posterior=sampled)


def check_sampling(method: str) -> None:
    """Refuse methods whose sources no posterior can be sampled around."""
    if method in baselines.SIGNED:
        raise ValueError(f"method={method!r} has sources of any sign: the posterior's are not negative.")


def iterate(
    Y: ArrayLike,
    r: int,
    *,
    noise: ArrayLike | None = None,
    start: Any = None,
    seed: Seed = None,
    threads: int | None = None,
    **options: Any,
) -> Iterator[State]:
    """Yield every state on the way, the last of which `separate` would return.

    Takes the keyword arguments of `separate`, except `n_init`, `posterior` and `progress`.
    """
    if options.get("method") in baselines.METHODS:
        raise ValueError(f"method={options['method']!r} has no states to yield: use separate.")
    unknown = options.keys() - {field.name for field in fields(Options)}
    if unknown:
        raise TypeError(f"iterate has no option {', '.join(map(repr, sorted(unknown)))}.")
    problem = Problem.of(Y, r, Options(**options), noise, start, threads)
    return _iterate(problem, generator(seed).spawn(1)[0])


def _iterate(problem: "Problem", rng: np.random.Generator) -> Iterator[State]:
    states: Iterator[State] | None = None
    while True:
        with one_blas_thread:  # only while we compute, not while the caller looks at the state
            states = states or problem.states(rng)
            state = next(states, None)
        if state is None:
            return
        yield _in_units_of_data(state, problem.unit)


@dataclass(frozen=True)
class Problem:
    """Checked arguments. The engine holds Y / unit, so that squares neither overflow nor vanish."""

    engine: InMemory
    r: int
    options: Options
    start: tuple[NDArray, NDArray] | None
    unit: float

    @classmethod
    def of(
        cls,
        data: ArrayLike,
        r: int,
        options: Options,
        noise: ArrayLike | None = None,
        start: Any = None,
        threads: int | None = None,
    ) -> "Problem":
        """The problem, or an error that says which argument is wrong."""
        Y = inputs.check_data(data)
        r = inputs.check_rank(r, Y.shape)
        sigma = inputs.check_noise(noise, len(Y))
        unit = inputs.unit_of(Y)
        if unit != 1.0:
            Y = Y / Y.dtype.type(unit)
            sigma = None if sigma is None else sigma / unit
        if start is not None:
            A, S = inputs.check_start(start, Y.shape, r)
            start = A.astype(Y.dtype), (S / unit).astype(Y.dtype)
        return cls(InMemory(Y, threads=threads), r, replace(options, noise=sigma), start, unit)

    def states(self, rng: np.random.Generator) -> Iterator[State]:
        """The iterations from the start, or from a guess drawn by rng."""
        A, S = self.start or first_guess(self.engine, self.r, rng)
        algorithm = iterate_naive if self.options.method == "naive" else iterate_exact
        return algorithm(self.engine, A, S, self.options)


def _collect(states: Iterable[State]) -> Separation:
    """Run to the end, keeping the last state and one line of history for each."""
    lines = []
    for state in states:
        last = state
        lines.append((state.cost, state.lam, state.active, state.violation))
    history = History(*(np.array(column) for column in zip(*lines, strict=True)))
    return Separation(
        A=last.A,
        S=last.S,
        lam=last.lam,
        noise=last.noise,
        n_iter=last.k,
        stopped="settled" if last.settled else "iterations",
        violation=last.violation,
        history=history,
    )


def _choose(engine: InMemory, runs: list[Separation], tau: float) -> Separation:
    """The run whose directions have the lowest penalised cost, and how far the others are from it."""
    common = tau * np.mean([levels.in_gradient(run.A, run.noise) for run in runs])
    costs = [_penalised_cost(engine, run, common) for run in runs]
    best = runs[int(np.argmin(costs))]
    agreement = [metrics.evaluate(best.S, run.S).mean_sdr for run in runs]
    restarts = tuple(Restart(*pair) for pair in zip(costs, agreement, strict=True))
    return replace(best, restarts=restarts)


def _penalised_cost(engine: InMemory, run: Separation, lam: float) -> float:
    """min_{S >= 0} 1/2 |Y - AS|^2 + lam |S|_1 for the directions A of a run."""
    shift = np.full(run.A.shape[1], lam)
    sweep = engine.sweep(run.A, run.S, lambda G, C, X: solve_rows(G, C, X, shift))
    return sweep.cost + lam * float(sweep.S.sum())


def _in_units_of_data(result: Result, unit: float) -> Result:
    """S, thresholds, noise and cost as they are for Y instead of Y / unit."""
    if unit == 1.0:
        return result
    changes: dict[str, Any] = {
        "S": result.S * result.S.dtype.type(unit),
        "lam": result.lam * unit,
        "noise": result.noise * unit,
    }
    if isinstance(result, State):
        changes["cost"] = _times(result.cost, unit)
    else:
        history = result.history
        changes["history"] = replace(
            history, cost=_times(history.cost, unit), threshold=history.threshold * unit
        )
        changes["restarts"] = tuple(
            replace(restart, cost=_times(restart.cost, unit)) for restart in result.restarts
        )
    return replace(result, **changes)


def _times(cost: Any, unit: float) -> Any:
    """A cost in squared units; infinite where that is beyond the largest float."""
    with np.errstate(over="ignore"):
        return cost * np.float64(unit) * unit
