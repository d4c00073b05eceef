"""Many first guesses of small data at once, on a GPU: the iterations of `soft_and_hard` in step.

Every line here does for a stack of factors what is done for one of them there, and in `start`, `steps`
and `momentum`. What is rare (a source that died, a system that the GPU cannot solve) is done for that
one start by the code for one. A start that has settled leaves the stack.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.first_guess import EXACT_ROUNDS, LEAST_SQUARES_ROUNDS, revive, unit_columns
from ngmca.algorithms.options import Options
from ngmca.algorithms.schedule import falling
from ngmca.engines import Engine, Seen, Stacks, Sweeps, in_own_units
from ngmca.nnqp.gram import BOUNDED_ROUNDS, BOUNDED_TOL, FAR_FROM_MINIMUM, Gram
from ngmca.result import State

Lines = list[tuple[float, NDArray, float, float, float]]


def run_together(
    engine: Engine,
    stacks: Stacks,
    options: Options,
    rngs: Sequence[np.random.Generator],
    advance: Callable[[int], None],
) -> Iterator[tuple[State, Lines]]:
    """Yield the last state channel by channel of every start, and a line of history for each iteration.

    As many starts as there is room for run in one batch. `advance` is called with numbers of iterations.
    """
    for first in range(0, len(rngs), stacks.room):
        batch = _Batch(engine, stacks, options, rngs[first : first + stacks.room])
        for done in batch.iterations():
            advance(done)
        yield from batch.ended()


@dataclass(frozen=True, eq=False)
class _Going:
    """The starts that have not settled, as they go into the next iteration."""

    which: NDArray  # (k,) among all, in memory
    quality: NDArray  # (k,) certificate of the last A-step, in memory
    bounded: NDArray  # (k,) whether columns of A are bounded once thresholds stay, in memory
    seen: Seen
    X: Any  # (k, n, r) the last sources, whose supports are the guess
    lam: Any  # (k, r)
    last: Any = None  # (k, m, r), t and cost: `Momentum`
    t: Any = None  # (k,)
    cost: Any = None  # (k,)

    def only(self, keep: NDArray, there: Any) -> "_Going":
        """Some of them; `there` is the same choice on the GPU."""
        parts: dict[str, Any] = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, Seen):
                parts[part.name] = value.only(there)
            elif value is not None:
                parts[part.name] = value[keep if part.name in ("which", "quality", "bounded") else there]
        return _Going(**parts)


class _Batch:
    """Starts that run in step."""

    def __init__(
        self, engine: Engine, stacks: Stacks, options: Options, rngs: Sequence[np.random.Generator]
    ) -> None:
        self._engine, self._stacks, self._device = engine, stacks, stacks.device
        self._options, self._rngs, self._r = options, rngs, stacks.r
        self._log: list[tuple[NDArray, Any, Any, NDArray, NDArray]] = []
        self._last: list[State | None] = [None] * len(rngs)

    def iterations(self) -> Iterator[int]:
        """Run to the end; yields how many starts made an iteration."""
        going, schedule = self._first(), self._options.schedule
        for k in range(1, schedule.n_iter + 1):
            solve = partial(self._device.solve_each, shift=going.lam)
            sweep = self._stacks.sweep(going.seen, going.X, solve)
            self._note(going, sweep)
            yield len(going.which)
            if k == schedule.n_iter:
                self._end(going, sweep, k, settled=False)
                return
            if k == schedule.n_decrease:
                going = replace(going, bounded=self._bounded(going.lam))
            following, settled = self._next(going, sweep, k)
            if settled.any():
                there = self._device.xp.asarray(np.flatnonzero(settled))
                ended = going if settled.all() else going.only(settled, there)
                self._end(ended, self._of(sweep, settled, there), k, settled=True)
                if settled.all():
                    return
                following = following.only(~settled, self._device.xp.asarray(np.flatnonzero(~settled)))
            going = following

    def _next(self, going: _Going, sweep: Sweeps, k: int) -> tuple[_Going, NDArray]:
        """The A-step, thresholds and extrapolation; and which starts moved no more."""
        xp, schedule, A = self._device.xp, self._options.schedule, going.seen.A
        bounded = going.bounded if k >= schedule.n_decrease else np.zeros(len(A), dtype=bool)
        found, quality = self._a_step(sweep, A, bounded)
        found, X = self._sound(found.astype(A.dtype, copy=False), sweep.X, scale=False)
        following = replace(going, X=X, quality=quality)
        if k < schedule.n_decrease:
            unsettled = np.zeros(len(going.which), dtype=bool)
            target = self._target(self._noise(going.seen, sweep.X), found)
            lam = falling(going.lam, target, schedule.n_decrease - k, schedule.power)
            A = self._pulled(found, going.last)
            return replace(following, seen=self._stacks.see(A), lam=lam, last=found), unsettled
        distance = xp.sqrt(((found - A) ** 2).sum(axis=(1, 2)) / self._r)
        settled = self._device.host(distance <= schedule.tol) & schedule.settles
        if not schedule.accelerated:
            A = self._pulled(found, going.last)
            following = replace(following, lam=schedule.decay * going.lam, last=found)
            return replace(following, seen=self._stacks.see(A)), settled
        cost = sweep.cost + (going.lam * sweep.total).sum(axis=1)
        before = xp.where(cost > going.cost, 1.0, going.t)
        t = (1 + xp.sqrt(1 + 4 * before**2)) / 2
        last = found if going.last is None else going.last
        A, _ = self._device.moved(found, last, (before - 1) / t)
        return replace(following, seen=self._stacks.see(A), last=found, t=t, cost=cost), settled

    def _pulled(self, found: Any, last: Any) -> Any:
        """A moved on by a share of its last move: `Momentum.pull`."""
        share = self._options.schedule.pull
        if last is None or share == 0:
            return found
        return self._device.moved(found, last, self._device.xp.full(len(found), share))[0]

    # The first guesses, and thresholds.

    def _first(self) -> _Going:
        """First guesses, their noise, and the thresholds to begin with."""
        xp, (m, n) = self._device.xp, self._engine.shape
        A = xp.asarray(np.stack([rng.random((m, self._r)) for rng in self._rngs]))
        A = A.astype(self._stacks.dtype)
        X = xp.zeros((len(A), n, self._r), dtype=A.dtype)
        for k in range(LEAST_SQUARES_ROUNDS + EXACT_ROUNDS):
            A, X = self._sound(A, X)
            solve = self._device.solve_each if k >= LEAST_SQUARES_ROUNDS else self._projected
            sweep = self._stacks.sweep(self._stacks.see(A), X, solve)
            X, found = sweep.X, solve(sweep.SS, sweep.YS, A.astype(np.float64, copy=False))[0]
            A = found.astype(A.dtype, copy=False)
        A, X = self._sound(A, X)
        seen = self._stacks.see(A)
        lam = self._target(self._noise(seen, X), A)
        schedule = self._options.schedule
        if schedule.begins_high:
            lam = xp.maximum(self._stacks.peak(seen, X)[:, None], lam)
        if schedule.begins_at:
            silent = self._stacks.peak(seen, xp.zeros_like(X))[:, None]
            lam = xp.maximum(lam, schedule.begins_at * silent)
        count = len(A)
        which, quality = np.arange(count), np.full(count, np.nan)
        numbers = {"t": xp.ones(count), "cost": xp.full(count, np.inf)}
        return _Going(which, quality, np.zeros(count, dtype=bool), seen, X, lam, **numbers)

    def _projected(self, G: Any, C: Any, guess: Any) -> tuple[Any, NDArray]:
        """[C G^+]_+ for all: least squares projected on the orthant."""
        xp, out = self._device.xp, self._device.xp.empty_like(C)
        inverse = np.linalg.pinv(self._device.host(G), rcond=1e-10, hermitian=True)
        self._device.multiply(C, xp.asarray(inverse, dtype=C.dtype), out)
        return xp.maximum(out, 0), np.zeros(len(G))

    def _noise(self, seen: Seen, X: Any, *, final: bool = False) -> Any:
        """Noise of the measurements, (k, m); NaN where none is asked for."""
        options, xp = self._options, self._device.xp
        if options.noise is None and (final or options.method != "anls"):
            return self._stacks.noise(seen, X)
        known = np.full(seen.A.shape[1], np.nan) if options.noise is None else options.noise
        return xp.broadcast_to(xp.asarray(known), seen.A.shape[:2])

    def _target(self, sigma: Any, A: Any) -> Any:
        """Where the thresholds for the sources of A are to arrive, (k, r)."""
        xp = self._device.xp
        if self._options.method == "anls":
            return xp.zeros((len(A), self._r))
        # squares of noise that is estimated neither overflow nor vanish in units of the engine
        unit = 1.0 if self._options.noise is None else in_own_units(self._options.noise)[1]
        squares = ((A * (sigma / unit)[:, :, None]) ** 2).sum(axis=1)
        return self._options.tau * unit * xp.sqrt(squares)

    def _bounded(self, lam: Any) -> NDArray:
        """For which starts the columns of A are bounded: as long as there is a threshold."""
        wanted = self._options.bounded and self._options.method == "soft"
        return self._device.host(lam.any(axis=1)) & wanted

    # Steps.

    def _a_step(self, sweep: Sweeps, A: Any, bounded: NDArray) -> tuple[Any, NDArray]:
        """argmin_{A >= 0} 1/2 |Y - AS|^2 in double precision, and the certificates."""
        if not bounded.any():
            return self._device.solve_each(sweep.SS, sweep.YS, A.astype(np.float64, copy=False))
        found, quality = self._bounded_step(sweep, A)
        if not bounded.all():
            free, exact = self._device.solve_each(sweep.SS, sweep.YS, A.astype(np.float64, copy=False))
            found = self._device.xp.where(self._device.xp.asarray(bounded)[:, None, None], found, free)
            quality = np.where(bounded, quality, exact)
        return found, quality

    def _bounded_step(self, sweep: Sweeps, A: Any) -> tuple[Any, NDArray]:
        """The same with column norms of at most 1."""
        xp, SS = self._device.xp, sweep.SS
        size = xp.sqrt(xp.diagonal(SS, axis1=1, axis2=2))
        inverse = xp.where(size > 0, 1 / xp.where(size > 0, size, 1), 0)
        G = SS * inverse[:, None] * inverse[:, :, None]
        C, X = (
            xp.ascontiguousarray((part * by[:, None]).swapaxes(1, 2))
            for part, by in ((sweep.YS, inverse), (A, size))
        )
        self._device.bounded(G, C, size, X, BOUNDED_ROUNDS, BOUNDED_TOL)
        found = xp.ascontiguousarray((X * inverse[:, :, None]).swapaxes(1, 2))
        least = [Gram(one).least_eigenvalue for one in self._device.host(G)]
        far = self._residual(G, C, size, X, inverse) / np.array(least)
        for i in np.flatnonzero(far > FAR_FROM_MINIMUM):
            small, rest, exact = (self._device.host(one[i]) for one in (SS, sweep.YS, found))
            far[i] = Gram(small).finish_bounded(rest, exact, np.ones(self._r, dtype=bool))
            found[i] = xp.asarray(exact)
        return found, far

    def _residual(self, G: Any, C: Any, size: Any, X: Any, inverse: Any) -> NDArray:
        """`residual_shaped` of all A = X' * inverse with column norms of at most 1."""
        xp, stepped = self._device.xp, self._device.xp.empty_like(X)
        self._device.multiply(G, X, stepped)
        stepped = xp.maximum(X + C - stepped, 0)
        norm = xp.sqrt((stepped**2).sum(axis=2))
        shrink = xp.where(norm > size, size / xp.where(norm > 0, norm, 1), 1)
        moved = xp.abs(stepped * shrink[:, :, None] - X) * inverse[:, :, None]
        peak = (X * inverse[:, :, None]).max(axis=(1, 2))
        return self._device.host(moved.max(axis=(1, 2)) / xp.maximum(peak, 1e-300))

    def _sound(self, A: Any, X: Any, *, scale: bool = True) -> tuple[Any, Any]:
        """`revive` and `unit_columns`: every source has a direction of norm 1."""
        xp, engine, (found, norm) = self._device.xp, self._engine, self._device.moved(A)
        size = self._device.host(norm)
        plain = ((size > 1e-18) & (size < 1e18)).all(axis=1)
        sources = X * norm[:, None] if scale else X if plain.all() else X.copy()
        for i in np.flatnonzero(~plain):
            one, S = revive(
                engine, self._device.host(A[i]), np.ascontiguousarray(self._device.host(X[i]).T)
            )
            one, S = unit_columns(one, S, scale=scale)
            found[i], sources[i] = xp.asarray(one), xp.asarray(np.ascontiguousarray(S.T))
        return found, sources

    # What comes out.

    def _note(self, going: _Going, sweep: Sweeps) -> None:
        """A line of history of every start, which stays on the GPU until the end."""
        self._log.append((going.which, sweep.summary, going.lam, sweep.violation, going.quality))

    def _of(self, sweep: Sweeps, some: NDArray, there: Any) -> Sweeps:
        """Sources and what tells of them, of some starts."""
        if some.all():
            return sweep
        return replace(
            sweep,
            **{name: getattr(sweep, name)[there] for name in ("X", "summary")},
            violation=sweep.violation[some],
        )

    def _end(self, going: _Going, sweep: Sweeps, k: int, *, settled: bool) -> None:
        """Keep the last states of some starts, with their final noise."""
        sigma = self._noise(going.seen, sweep.X, final=True)
        arrays = (going.seen.A, sweep.X, going.lam, sigma, sweep.summary)
        A, X, lam, noise, told = (self._device.host(one) for one in arrays)
        S = np.ascontiguousarray(X.swapaxes(1, 2))
        for i, which in enumerate(going.which):
            self._last[which] = State(
                *(k, A[i], S[i], lam[i], noise[i], float(told[i, 0]), float(told[i, 1])),
                *(float(sweep.violation[i]), float(going.quality[i])),
                settled=settled,
            )

    def ended(self) -> Iterator[tuple[State, Lines]]:
        """The last state of every start, and a line of history for each of its iterations."""
        lines: list[Lines] = [[] for _ in self._rngs]
        for which, summary, thresholds, violation, quality in self._log:
            told, lam = self._device.host(summary), self._device.host(thresholds)
            cost, active = told[:, 0].tolist(), told[:, 1].tolist()
            columns = zip(cost, lam, active, violation.tolist(), quality.tolist(), strict=True)
            for start, line in zip(which, columns, strict=True):
                lines[start].append(line)
        for state, own in zip(self._last, lines, strict=True):
            assert state is not None
            yield state, own
