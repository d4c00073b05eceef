"""Error bars of rate constants, and a comparison of the rate law with free profiles."""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.kinetics.kinetic_step import KineticFit, KineticModel, residual_variance
from ngmca.engines import Engine, Sweep, everything
from ngmca.result import Rates

NORMAL_90 = 1.6448536269514722  # standard deviations from the middle to the ends of a 90 % interval
CLUSTERS = 20  # of neighbouring channels, whose residuals may be related
CLEARLY_WIDER = 1.5  # ratio of variances from which the residual counts as structured
FLAT = 1e-12  # curvature, as a share of the largest, below which parameters are not determined
EQUAL_FIT = 3.84  # difference in chi squared up to which another order fits as well
SAME_RATES = 0.01  # relative difference up to which rate constants are the same
MOST_EXCHANGED = 3  # rate constants whose orders are all tried


def rates_of(
    engine: Engine,
    A: NDArray,
    S: NDArray,
    model: KineticModel,
    known_sources: NDArray | None,
    noise: NDArray | None = None,
) -> Rates:
    """Return the parameters of the best profiles, with intervals."""
    fit = KineticFit(engine, A, S, model, known_sources)
    begin = model.nearest(A[:, model.columns])[0]
    if model.expected is not None:
        own = residual_variance(engine, fit.sweep(begin), A.shape[1]) if noise is None else noise**2
        fit.weigh_known_values(own)
    theta, here = fit.descend(begin)
    A, D = fit.mixing(theta), fit.derivatives(theta)
    curvature, scores = _sums_of_channels(engine, A, here, D, known_sources)
    D = D[:, :, list(model.columns)]
    curvature += fit.curvature_of_known(D)
    unknown = known_sources is None and model.expected is None
    freedom = max(_observed(engine) - len(theta) - int(np.count_nonzero(here.S)), 1)
    variance = 2 * here.cost / freedom
    values, vectors = np.linalg.eigh(curvature)
    inverse = vectors / np.maximum(values, FLAT * max(values[-1], 1e-100)) @ vectors.T
    plain = variance * np.diagonal(inverse)
    groups = np.array_split(scores, min(CLUSTERS, len(scores)))
    sums = np.vstack([*(group.sum(axis=0) for group in groups), fit.slopes_of_known(theta, D)])
    robust = np.diagonal(inverse @ (sums.T @ sums) @ inverse)
    ratio = float(np.max(robust / np.maximum(plain, 1e-300)))
    widened = np.sqrt(ratio) if ratio > CLEARLY_WIDER else 1.0
    sd = np.sqrt(plain) * widened
    values, positive = model.parameters(theta), model.guess > 0
    columns, unit = list(model.columns), model.rows[:, None]
    free, _ = engine.solve_mixing(here.SS, here.YS.astype(np.float64), A)
    return Rates(
        names=model.names,
        values=values,
        sd=sd * np.where(positive, values, 1.0),
        low=model.parameters(theta - NORMAL_90 * sd),
        high=model.parameters(theta + NORMAL_90 * sd),
        widened=float(widened),
        free_fit=_free_fit(engine, here, freedom) if unknown else np.nan,
        exchangeable=_exchangeable(fit, model, theta, here, variance),
        columns=model.columns,
        times=model.times,
        profiles=A[:, columns] * unit,
        amounts=free[:, columns] * unit,
    )


def _observed(engine: Engine) -> int:
    return int(np.prod(engine.shape) if engine.weights is None else np.count_nonzero(engine.weights))


def _sums_of_channels(
    engine: Engine, A: NDArray, here: Sweep, D: NDArray, known_sources: NDArray | None
) -> tuple[NDArray, NDArray]:
    """Return the curvature (p, p) with S eliminated, and the slope of each channel (n, p).

    In every channel, only sources that are above 0 and not known follow the parameters.
    """
    S = np.asarray(here.S, dtype=np.float64)
    W = np.ones(engine.shape) if engine.weights is None else engine.weights
    rest = W * (np.nan_to_num(everything(engine)) - A @ S)
    moves = np.einsum("jik,kc->jic", D, S)  # (p, m, n): how the fit moves
    free = S > 0 if known_sources is None else (S > 0) & np.isnan(known_sources)
    G = np.einsum("ik,ic,il->ckl", A, W, A) * free.T[:, :, None] * free.T[:, None, :]
    ridge = FLAT * np.einsum("ckk->ck", G).max(axis=1, initial=1e-100)  # columns of A may be 0, or equal
    G[:, np.arange(len(S)), np.arange(len(S))] += ~free.T + ridge[:, None]
    pull = np.einsum("ik,ic,jic->cjk", A, W, moves) * free.T[:, None, :]
    follow = np.linalg.solve(G, pull.swapaxes(1, 2))  # (n, r, p)
    curvature = np.einsum("jic,ic,hic->jh", moves, W, moves) - np.einsum("cjk,ckh->jh", pull, follow)
    return curvature, np.einsum("jic,ic->cj", moves, rest)


def _free_fit(engine: Engine, here: Sweep, freedom: int) -> float:
    """Return the probability, by an F-test, that free profiles fit so much better by chance.

    Free profiles of r sources fit as well as the first r singular vectors. Entries of S that are 0 are
    no parameters of the law: its residual has so many degrees of freedom more.
    """
    from scipy.stats import f  # takes its time to load: not before it is needed

    if engine.weights is not None:
        return float("nan")
    (m, n), r = engine.shape, len(here.S)
    values = np.linalg.svd(everything(engine).astype(np.float64), compute_uv=False)
    free, left = float(np.sum(values[r:] ** 2)), (m - r) * (n - r)
    more = freedom - left
    if more <= 0 or left <= 0 or free <= 0:
        return float("nan")
    ratio = max(2 * here.cost - free, 0.0) / more / (free / left)
    return float(f.sf(ratio, more, left))


def _exchangeable(
    fit: KineticFit, model: KineticModel, theta: NDArray, here: Sweep, variance: float
) -> bool:
    """Return whether another order of the parameters leads to a fit that is as good."""
    if not 1 < len(theta) <= MOST_EXCHANGED or not model.searched:
        return False
    for order in permutations(range(len(theta))):
        if order == tuple(range(len(theta))):
            continue
        other, there = fit.descend(theta[list(order)])
        differs = np.abs(other - theta).max() > SAME_RATES
        if differs and 2 * (fit.cost(other, there) - fit.cost(theta, here)) < EQUAL_FIT * variance:
            return True
    return False
