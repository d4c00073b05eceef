"""Measures of the factors that a method found, and tables that show one simulation in detail."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ngmca import metrics
from ngmca.algorithms.first_guess import unit_columns
from ngmca.metrics import unit_rows
from ngmca.nnqp import prox
from ngmca.paper.methods import METHODS, Trial
from ngmca.result import HasFactors

Row = dict[str, Any]
LAST_ITERATIONS = 100  # of 500, with a constant threshold
MIN_PEAK = 0.02  # of the largest value: a true peak
MIN_SIGNAL = 1e-6  # of the largest value
MIN_HEIGHT_FOUND = 0.5  # of its true height, for a peak that was found


def quality(trial: Trial, found: HasFactors) -> Row:
    """Return SDR_S and its parts in dB."""
    score = metrics.evaluate(trial.mixture.S, found.S, noise=trial.mixture.noise)
    return {"sdr": score.mean_sdr, "sir": score.mean_sir, "snr_s": score.mean_snr, "sar": score.mean_sar}


def conditioning(trial: Trial, found: HasFactors) -> Row:
    """Return cond(A) for unit columns; the method has no influence."""
    unit, _ = unit_columns(trial.mixture.A, trial.mixture.S)
    return {"cond": float(np.linalg.cond(unit))}


def convergence(trial: Trial, found: HasFactors) -> Row:
    """Return the final cost, and the share of the last iterations that raise it."""
    cost = 2 * found.history.cost  # type: ignore[attr-defined]
    steps = np.diff(cost[-LAST_ITERATIONS - 1 :])
    rises = steps > 1e-9 * cost[0]
    return quality(trial, found) | {"cost": float(cost[-1]), "rises": float(rises.mean())}


def compensation(trial: Trial, found: HasFactors) -> Row:
    """Return how far one estimate compensates for the thresholds of the others.

    `leak` is the mean correlation of an estimate with the references of other sources, less that of
    its own reference with them; `offset` is its mean where its reference is zero, over the mean of
    the reference. Both for the source that leaks most, and the median over the sources.
    """
    score = metrics.evaluate(trial.mixture.S, found.S)
    leak = leaks(trial.mixture.S, score.S)
    idle = trial.mixture.S == 0
    offset = np.sum(score.S * idle, axis=1) / idle.sum(axis=1) / trial.mixture.S.mean(axis=1)
    worst = int(np.argmax(leak))
    return quality(trial, found) | {
        "leak_worst": float(leak[worst]),
        "leak_median": float(np.median(leak)),
        "offset_worst": float(offset[worst]),
        "offset_median": float(np.median(offset)),
    }


def leaks(S: NDArray, found: NDArray) -> NDArray:
    """Return the mean correlation of each estimate with other references, minus that of its own."""
    true, estimated = unit_rows(S), unit_rows(found)
    excess = (estimated - true) @ true.T
    return (excess.sum(axis=1) - np.diag(excess)) / (len(S) - 1)


def spectra(trial: Trial, found: HasFactors) -> Row:
    """Return quality, conditioning, estimated over true noise level, and the share of peaks found."""
    score = metrics.evaluate(trial.mixture.S, found.S)
    unit, _ = unit_columns(trial.mixture.A, trial.mixture.S)
    empty = trial.mixture.S / trial.mixture.S.max() < MIN_SIGNAL
    noise = getattr(found, "noise", None)
    true = np.sqrt(np.mean(trial.mixture.noise**2))
    return quality(trial, found) | {
        "log_cond": float(2 * np.log10(np.linalg.cond(unit))),
        "noise_ratio": np.nan if noise is None else float(np.sqrt(np.mean(noise**2)) / true),
        "peaks": peaks_found(trial.mixture.S, score.S),
        "idle": float(np.mean(score.S[empty] > 0)),
    }


def peaks_found(S: NDArray, estimated: NDArray) -> float:
    """Return the share of true peaks at which the scaled estimate is at least half as high."""
    inner = S[:, 1:-1]
    is_peak = (
        (inner > S[:, :-2]) & (inner >= S[:, 2:]) & (inner > MIN_PEAK * S.max(axis=1, keepdims=True))
    )
    return float(np.mean(estimated[:, 1:-1][is_peak] >= MIN_HEIGHT_FOUND * inner[is_peak]))


POINTS = ((1.5, 2.6), (0.45, 2.0), (2.4, 0.6))  # two large coefficients, or one


def cost_curves(trial: Trial) -> pd.DataFrame:
    """Return the cost after each iteration of the nGMCA methods."""

    curves = []
    for method in ("soft", "hard", "naive"):
        cost = 2 * METHODS[method].run(trial).history.cost  # type: ignore[attr-defined]
        iteration = np.arange(1, len(cost) + 1)
        curves.append(pd.DataFrame({"method": method, "iteration": iteration, "cost": cost}))
    return pd.concat(curves)


def correlation_matrix(trial: Trial) -> pd.DataFrame:
    """Return normalised scalar products of estimates with references."""

    S, found = _estimates(trial)
    value = unit_rows(found) @ unit_rows(S).T
    estimated, reference = np.indices(value.shape) + 1
    return pd.DataFrame(
        {"estimated": estimated.ravel(), "reference": reference.ravel(), "value": value.ravel()}
    )


def biased_sources(trial: Trial) -> pd.DataFrame:
    """Return the source that leaks most and the next one, true and found, in the first 80 channels."""

    S, found = _estimates(trial)
    worst = int(np.argmax(leaks(S, found)))
    sample = np.arange(1, 81)
    return pd.concat(
        pd.DataFrame({"source": i + 1, "sample": sample, "true": S[i, :80], "found": found[i, :80]})
        for i in (worst, (worst + 1) % len(S))
    )


def _estimates(trial: Trial) -> tuple[NDArray, NDArray]:
    """Return references, and the estimates of nGMCA^S in their order and scale."""
    score = metrics.evaluate(trial.mixture.S, METHODS["soft"].run(trial).S)
    return trial.mixture.S, score.S


def thresholded_points(trial: Trial) -> pd.DataFrame:
    """Return three points before and after thresholds of 1; the simulation has no influence."""

    x = np.array(POINTS)
    columns = np.hstack([x, prox.nonnegative_soft(x, 1.0), prox.nonnegative_hard(x, 1.0)])
    return pd.DataFrame(columns, columns=["x1", "x2", "soft1", "soft2", "hard1", "hard2"])


def nmr_spectra(trial: Trial) -> pd.DataFrame:
    """Return all spectra."""

    data = trial.mixture
    return pd.concat(
        pd.DataFrame({"compound": name, "ppm": data.axis, "intensity": row})
        for name, row in zip(data.names, data.S, strict=True)
    )


def nmr_mixture(trial: Trial) -> pd.DataFrame:
    """Return the measurement in which one compound has the largest share, and that compound."""

    data = trial.mixture
    amount = data.A * np.linalg.norm(data.S, axis=1)
    share = amount / amount.sum(axis=1, keepdims=True)
    i, j = np.unravel_index(np.argmax(share), share.shape)
    main = data.A[i, j] * data.S[j]
    return pd.DataFrame(
        {"ppm": data.axis, "measured": data.Y[i], "main": main, "compound": data.names[j]}
    )


def nmr_reconstruction(trial: Trial) -> pd.DataFrame:
    """Return a true spectrum and two estimates of it: the one with the median gain, not the best."""

    data = trial.mixture
    scores = {
        name: metrics.evaluate(data.S, METHODS[name].run(trial).S) for name in ("soft", "sparse_hals")
    }
    gain = scores["soft"].sdr - scores["sparse_hals"].sdr
    j = int(np.argsort(gain)[len(gain) // 2])
    found = {name: score.S[j] for name, score in scores.items()}
    sdr = {f"sdr_{name}": score.sdr[j] for name, score in scores.items()}
    return pd.DataFrame({"ppm": data.axis, "compound": data.names[j], "true": data.S[j]} | found | sdr)
