"""Lines and bands: alternation in a wavelet frame, from the start that `wavelet_start` finds.

1. Steps of ADMM for S and bounded steps for A in turn. The thresholds are tau times the noise from the
   beginning, and weighted by 1 / (1 + |coefficient| / noise): a coefficient that is clearly there is not
   shrunk, and sum log(1 + |W S| / noise) decreases. After half of the iterations, or when A settles,
   the weights have half the noise, so that coefficients are shrunk less. From the beginning, that would
   lead to worse minima.
2. For the last A, S to a duality gap.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.messages import warn_user
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms.momentum import nesterov
from ngmca.algorithms.options import Options
from ngmca.algorithms.sources_for_mixing import sources_for
from ngmca.algorithms.steps import a_step
from ngmca.algorithms.wavelets.wavelet_data import WaveletData, noise_and_weights
from ngmca.algorithms.wavelets.wavelet_last_step import (
    GAP,
    GAP_STEPS,
    followed_to_the_end,
    free_part,
    with_free,
)
from ngmca.domains import Frame, analyse, analysis, frame_of, noise_under
from ngmca.engines import (
    Engine,
    Sweep,
    cost,
    fetched,
    open_whole,
    residual_energy,
    threads_for,
)
from ngmca.engines.neighbouring_channels import noise_of_differences
from ngmca.nnqp.gram import Gram
from ngmca.result import State

TAU = 3.0  # threshold of a coefficient in standard deviations of its noise, for tau = 1
FIRST_SCALE, LAST_SCALE = 1.0, 0.5  # of the noise in the weights of thresholds
ADMM_STEPS = 4  # for every step of A
REWEIGHT_EVERY, NOISE_EVERY = 5, 25  # iterations
NOISE_FLOOR = 0.5  # of the noise of the first stage, or of differences if that is lower
SETTLED = 5e-5  # root mean square move of the columns of A over REWEIGHT_EVERY iterations, at the end
LINE_WINDOW = 9  # channels around a line in which the threshold on channels is lower
EMPTY_FROM, EMPTY_FULLY = 0.5, 0.8  # share of empty channels from which, and at which, it is applied
LARGEST = 1e15  # entry of S over the largest one of the data: A is below rounding where it is observed
EMPTY_LEVEL = 0.3  # noise levels below which a channel of a denoised source is empty


@dataclass(frozen=True)
class SourceStep:
    """How the S-step in a frame is done: thresholds, a few ADMM steps, and the last solution.

    Attributes
    ----------
    weigh : callable
        ``weigh(W, S, noise, tau, scale)`` returns thresholds (r, bands, period) for noise (r, bands).
    descend : callable
        Takes a few ADMM steps, as `analysis.descend` does.
    solve : callable
        Solves to a duality gap, as `analysis.solve` does.
    tau : float
        Threshold of a coefficient in standard deviations of its noise, for ``tau=1``.
    channels : bool
        Whether line spectra have a threshold on channels too.
    """

    weigh: Callable[..., NDArray] = analysis.weigh
    descend: Callable[..., None] = analysis.descend
    solve: Callable[..., Any] = analysis.solve
    tau: float = TAU
    channels: bool = True


ANALYSIS_STEP = SourceStep()


@dataclass(frozen=True, eq=False)
class Weights:
    """Thresholds of coefficients (r, bands, period) and of channels (r, n), of lam (r,) for norm 1."""

    Lam: NDArray
    direct: NDArray
    lam: NDArray
    empty: float  # share of empty channels


def iterate_bands(
    engine: Engine,
    A: NDArray,
    S: NDArray,
    options: Options,
    before: State,
    *,
    known: bool = False,
    step: SourceStep = ANALYSIS_STEP,
) -> Iterator[State]:
    """Yield the state after every iteration in a frame, from (A, S), counted on from the state before.

    The iterations are made in the precision of `WaveletData`, the last S-step in that of the data. A
    known A stays, with the certificate that it had before.
    """
    W = frame_of(S.shape[1], options.sample_shape, options.borders)
    data = WaveletData.of(engine, W, len(S))
    W, fast = data.W, data.engine
    exact = fast if options.known.kinetics is None else engine  # a rate law is fitted to the data
    change = engine.unit / fast.unit
    if options.known.sources is not None:  # their scale counts beside known amounts
        options = replace(options, known=replace(options.known, sources=options.known.sources * change))
    domain = replace(before.domain, levels=W.levels)
    free = options.known.free
    A, S = A.astype(np.float64), S * change
    S = np.ascontiguousarray(with_free(S, np.minimum(S[free], LARGEST), free), dtype=fast.dtype)
    S = data.there(S)
    given = None if options.noise is None else options.noise * change
    floor = change * _noise_floor(engine, before.noise, options)
    duals, momentum = analysis.start(W, S[free]), _Momentum(A)
    moved, most, k = np.inf, options.most_in_wavelets, 0
    scale = FIRST_SCALE if most > 1 else LAST_SCALE
    while k < most and moved > SETTLED:
        if k % NOISE_EVERY == 0:
            sigma = np.maximum(data.noise(A.astype(fast.dtype), S), floor) if given is None else given
        if k % REWEIGHT_EVERY == 0:
            levels = noise_and_weights(A[:, free], sigma, data.noise_weights)
            weights = weighted(W, S[free], levels, options, step, scale)
            corner = momentum.last
        k += 1
        data.follow(A, S)
        G, C = free_part(A, data.correlate(A), S, options.known, data.weights)
        C = C - weights.direct
        threads = threads_for(fast, len(S))
        step.descend(G, C, W, weights.Lam, duals, ADMM_STEPS, data.rho, threads, data.weights)
        S = with_free(S, np.clip(duals.samples, 0, LARGEST), free)
        data.follow(A, S)
        SS, YS = data.moments(S)
        stepped, quality = A, before.mixing_violation
        if not known:
            stepped, quality = _mixing(exact, SS, YS, A, S, sigma, options)
        active = float(np.count_nonzero(S)) / S.size
        state = State(
            domain.begun + k, A.astype(engine.dtype), data.shown(S.astype(engine.dtype)),
            _all(weights.lam, options), sigma, data.cost(A, S, SS, YS), active, np.nan, quality,
            domain=domain,
        )  # fmt: skip
        A = stepped if options.known.shaped else momentum.next(A, stepped)
        if options.known.shaped:
            momentum.last = A
        if k % REWEIGHT_EVERY == 0 and not known:
            moved = float(np.linalg.norm(momentum.last - corner) / np.sqrt(A.shape[1]))
        if scale == FIRST_SCALE and (k >= most // 2 or moved <= SETTLED):
            scale, moved = LAST_SCALE, np.inf
        if k < most and moved > SETTLED:
            yield state.scaled(1 / change)
    state = state.scaled(1 / change)
    yield _certified(engine, data, momentum.last, S, duals, options, state, k < most, floor, step)


def _all(lam: NDArray, options: Options) -> NDArray:
    """Thresholds of the free sources among those of all."""
    if options.known.sources is None:
        return lam
    found = np.zeros(options.known.total)
    found[options.known.free] = lam
    return found


def _certified(
    engine: Engine,
    data: WaveletData,
    A: NDArray,
    S: NDArray,
    duals: analysis.Duals,
    options: Options,
    state: State,
    settled: bool,
    floor: NDArray,
    step: SourceStep,
) -> State:
    """The last state: S for the final A, in the precision of the data, to a duality gap."""
    change, known, W = engine.unit / data.engine.unit, options.known, data.W
    if options.noise is None:
        sigma = data.noise(A.astype(S.dtype), S, final=True)
        if not options.noiseless:
            _warn_of_lost_noise(sigma, floor)
        sigma = np.maximum(sigma, floor)
    else:
        sigma = options.noise * change
    levels = noise_and_weights(A[:, known.free], sigma, data.noise_weights)
    weights = weighted(W, S[known.free], levels, options, step, LAST_SCALE)
    state_of = analysis.Duals(
        *(part.astype(engine.dtype) for part in (duals.coefficients, duals.samples))
    )
    S = S.astype(engine.dtype)
    if known.sources is not None:  # many steps in single precision rounded them
        S = known.imposed(A, S)[1]
    if engine.weights is not None:
        S, violation = followed_to_the_end(
            engine, data.engine.unit / engine.unit, A, S, W, weights.Lam, weights.direct, state_of, known
        )
    else:
        C = data.correlations(engine, A) * engine.dtype.type(change)
        G, C = free_part(A, C, S, known)
        C = (C - weights.direct).astype(engine.dtype, copy=False)
        found = step.solve(
            G, C, W, weights.Lam, duals=state_of, tol=GAP, max_iter=GAP_STEPS, rho=data.rho
        )
        S = with_free(S, found.S, known.free)
        violation = found.gap / max(abs(found.objective), 1e-300)
    S = data.shown(S / engine.dtype.type(change))
    SS, YS = engine.moments(S)
    S = fetched(S)
    return replace(
        state,
        A=A.astype(engine.dtype),
        S=S,
        lam=_all(weights.lam / change, options),
        noise=sigma / change if options.noise is None else options.noise,
        cost=cost(engine, A, SS, YS),
        active=np.count_nonzero(S) / S.size,
        violation=violation,
        settled=settled,
        domain=replace(state.domain, empty=weights.empty),
    )


def _noise_floor(engine: Engine, noise: NDArray, options: Options) -> NDArray:
    """Return levels below which the fit follows the noise; 0 where that cannot be told.

    The noise of the first stage counts as far as second differences show it too. Without noise they are
    those of smooth curves, and under constraints the first stage may leave more than the noise.
    """
    if options.noise is not None or options.known.any:
        return np.zeros(len(noise))
    differences, white = noise_of_differences(engine)
    return NOISE_FLOOR * np.minimum(np.nan_to_num(noise), differences) * white


def _warn_of_lost_noise(sigma: NDArray, floor: NDArray) -> None:
    """Warn where the residual is far below the noise."""
    lost = int(np.count_nonzero(sigma < floor))
    if 2 * lost > len(sigma):
        warn_user(
            f"the fit in wavelets follows the noise in {lost} of {len(sigma)} measurements: its "
            "residual is less than half of the noise that was estimated before. There may be too many "
            "sources for these measurements."
        )


def weighted(
    W: Frame,
    S: NDArray,
    levels: tuple[NDArray, NDArray],
    options: Options,
    step: SourceStep = ANALYSIS_STEP,
    scale: float = 1.0,
) -> Weights:
    """Thresholds that fall with what is there: tau noise / (1 + |coefficient| / (scale noise)).

    `levels` are the noise of correlations and the weights of sources, see `noise_and_weights`.
    """
    most = float(np.finfo(S.dtype).max) ** 0.25  # above it, nothing is left of a source anyway
    least = np.finfo(S.dtype).tiny ** 0.5  # clean data: hardly a threshold
    pull, level = (np.clip(one, least, most).astype(S.dtype) for one in _noise(*levels))
    tau = step.tau * options.tau
    lam = tau * np.sqrt(np.mean(pull.astype(np.float64) ** 2, axis=1))
    if level.shape[1] == 1:
        Lam = step.weigh(W, S, level * W.norms.astype(S.dtype), tau, scale)
    else:
        here, there = _noise_of_coefficients(W, *levels)
        Lam = tau * here / (1 + np.abs(analyse(W, S)) / np.maximum(scale * there, least))
        Lam[:, -1] = 0
        Lam = Lam.astype(S.dtype)
    if W.on is not None:
        pull, level = W.on.there(pull), W.on.there(level)
    empty = float(np.mean(EMPTY_LEVEL * level > S))
    gate = step.channels * np.clip((empty - EMPTY_FROM) / (EMPTY_FULLY - EMPTY_FROM), 0, 1)
    direct = np.zeros_like(pull[:1, :1])
    if gate > 0:
        near = _neighbourhood(W, S, options.sample_shape)
        direct = (S.dtype.type(options.tau * gate) * pull / (1 + near / level)).astype(S.dtype)
    return Weights(Lam, direct, lam, empty)


def _noise(pull: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """The noise of correlations, and that of sources."""
    return pull, pull / np.maximum(weights, np.finfo(float).tiny)


def _noise_of_coefficients(W: Frame, pull: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """The same (r, bands, period) for coefficients, whose weight is the mean under the wavelet."""
    mean = (noise_under(W, weights) / W.norms[:, None]) ** 2
    return _noise(noise_under(W, pull**2), mean)


def _neighbourhood(W: Frame, S: NDArray, shape: tuple[int, int] | None) -> NDArray:
    """The largest entry near each channel of each source."""
    if W.on is not None:
        return W.on.largest_near(S, LINE_WINDOW)
    from scipy.ndimage import maximum_filter  # takes its time to load: not before it is needed

    if shape is None:
        return np.asarray(maximum_filter(S, (1, LINE_WINDOW), mode="reflect"))
    return np.asarray(
        maximum_filter(S.reshape(-1, *shape), (1, LINE_WINDOW, LINE_WINDOW), mode="reflect")
    ).reshape(S.shape)


class _Momentum:
    """Nesterov's extrapolation of A, which starts again when a step turns back.

    `Momentum` starts again when the cost rises. Here the cost is not known: a few ADMM steps do not
    solve for S, so the cost after them may rise although A moves in the right direction.
    """

    def __init__(self, A: NDArray) -> None:
        self.last = A
        self._t = 1.0

    def next(self, A: NDArray, stepped: NDArray) -> NDArray:
        """Where to go on from, after the step from A to `stepped`."""
        t, share = nesterov(self._t)
        if np.vdot(A - stepped, stepped - self.last) > 0:
            t, share = 1.0, 0.0
        move, self.last, self._t = stepped - self.last, stepped, t
        ahead = np.maximum(stepped + share * move, 0)
        return np.asarray(ahead / np.maximum(np.linalg.norm(ahead, axis=0), 1e-300))


def _mixing(
    engine: Engine,
    SS: Gram,
    YS: NDArray,
    A: NDArray,
    S: NDArray,
    sigma: NDArray,
    options: Options,
) -> tuple[NDArray, float]:
    """argmin_{A >= 0} 1/2 |Y - AS|^2, column norms at most 1, then brought to it; its certificate.

    Known sources take over the norms of their columns, in place of S.
    """
    YS = YS.astype(np.float64)
    if options.known.any:
        sweep = Sweep(S, SS, YS, np.nan, np.nan, np.nan)
        X, quality = a_step(engine, sweep, A, options, bounded=True, noise=sigma)
    else:
        X, quality = engine.solve_mixing(SS, YS, A, np.ones(A.shape[1], dtype=bool))
    norm = np.linalg.norm(X, axis=0)
    given = options.known.given
    if given.any():
        S[given] *= np.where(norm > 0, norm, 1)[given, None].astype(S.dtype)
    return np.where(norm > 0, X / np.where(norm > 0, norm, 1), A), quality


def log_cost(engine: Engine, A: NDArray, S: NDArray, sigma: NDArray, options: Options) -> float:
    """1/2 |Y - AS|^2 + tau sum noise^2 / 2 log(1 + 2 |S W'| / noise): what the weighted steps lower."""
    W, n = frame_of(S.shape[1], options.sample_shape, options.borders), S.shape[1]
    levels = (np.broadcast_to(x, (len(S), n)) for x in noise_and_weights(A, sigma, engine.noise_weights))
    pull, noise = (np.maximum(one[:, :-1], 1e-300) for one in _noise_of_coefficients(W, *levels))
    coefficients = np.abs(analyse(W, np.ascontiguousarray(S, dtype=np.float64)))[:, :-1]
    noise = noise * LAST_SCALE
    penalties = pull * noise * np.log1p(coefficients / noise)
    penalty = TAU * options.tau * np.sum(penalties[options.known.free])
    return residual_energy(engine, A, S) / 2 + float(penalty)


@one_blas_thread
def sources_for_mixing(Y: ArrayLike | Engine, A: ArrayLike) -> State:
    """What iterations in a frame find for a mixing A that is known: the limit for this prior."""
    engine = open_whole(Y)
    mixing = arguments.check_mixing(A, engine.shape[0])
    mixing = mixing / np.linalg.norm(mixing, axis=0)
    options = Options(domain="wavelet")
    first = sources_for(engine, mixing, tau=1.0)
    before = State(0, mixing, first.S, np.zeros(mixing.shape[1]), np.zeros(len(mixing)), 0, 0, 0)
    for state in iterate_bands(engine, mixing, first.S, options, before, known=True):
        last = state
    return last.scaled(engine.unit)
