"""Measures of the factors that a method found."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca import metrics
from ngmca.algorithms.first_guess import unit_columns
from ngmca.metrics import unit_rows
from ngmca.paper.methods import Found, Trial

Row = dict[str, Any]
LAST_ITERATIONS = 100  # of 500, with a constant threshold
MIN_PEAK = 0.02  # of the largest value: a true peak
MIN_SIGNAL = 1e-6  # of the largest value
MIN_HEIGHT_FOUND = 0.5  # of its true height, for a peak that was found


def quality(trial: Trial, found: Found) -> Row:
    """Return SDR_S and its parts in dB."""
    score = metrics.evaluate(trial.mixture.S, found.S, noise=trial.mixture.noise)
    return {"sdr": score.mean_sdr, "sir": score.mean_sir, "snr_s": score.mean_snr, "sar": score.mean_sar}


def conditioning(trial: Trial, found: Found) -> Row:
    """Return cond(A) for unit columns; the method has no influence."""
    unit, _ = unit_columns(trial.mixture.A, trial.mixture.S)
    return {"cond": float(np.linalg.cond(unit))}


def convergence(trial: Trial, found: Found) -> Row:
    """Return the final cost, and the share of the last iterations that raise it."""
    cost = 2 * found.history.cost  # type: ignore[attr-defined]
    steps = np.diff(cost[-LAST_ITERATIONS - 1 :])
    rises = steps > 1e-9 * cost[0]
    return quality(trial, found) | {"cost": float(cost[-1]), "rises": float(rises.mean())}


def compensation(trial: Trial, found: Found) -> Row:
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


def spectra(trial: Trial, found: Found) -> Row:
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
