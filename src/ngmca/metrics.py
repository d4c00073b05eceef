"""How well sources were found: SDR and its decomposition (Vincent, Gribonval and Fevotte, 2006).

An estimate is split into orthogonal parts: its projection on the source it stands for (target), what
the other sources add (interferences), what the noise adds (noise), and the rest (artifacts).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.result.large_sources import in_memory

__all__ = ["CEILING", "FLOOR", "Evaluation", "evaluate", "sdr_matrix"]

CEILING = 250.0  # dB, above the rounding error: a perfect estimate
FLOOR = -100.0  # dB: nothing of the source was found
CLOSE = 1e-4  # squared distance of unit vectors below which 1 - cos^2 has lost digits


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One value per reference source, in dB, and the estimates in the order of the references.

    The measures do not depend on the scale of an estimate, which includes its sign.

    `order[i]` is the row of the estimate that stands for reference i, -1 if there is none. `S` holds
    the matched estimates, scaled to fit the references in the least-squares sense.

    Values lie between `FLOOR` and `CEILING`, so that means are always finite. A perfect estimate has
    the ceiling. A silent (all-zero) estimate, a missing one, one orthogonal to its source, and any
    estimate of a silent source have the floor: nothing was found.
    """

    sdr: NDArray
    sir: NDArray
    snr: NDArray
    sar: NDArray
    order: NDArray
    S: NDArray

    @property
    def mean_sdr(self) -> float:
        """Mean SDR over the sources, the paper's SDR_S."""
        return float(self.sdr.mean())

    @property
    def mean_sir(self) -> float:
        """Mean ratio of target to interferences."""
        return float(self.sir.mean())

    @property
    def mean_snr(self) -> float:
        """Mean ratio of target and interferences to noise."""
        return float(self.snr.mean())

    @property
    def mean_sar(self) -> float:
        """Mean ratio of target, interferences and noise to artifacts."""
        return float(self.sar.mean())


@one_blas_thread
def evaluate(S_ref: ArrayLike, S_est: ArrayLike, *, noise: ArrayLike | None = None) -> Evaluation:
    """Pair estimates with references for the best mean SDR and decompose each pair.

    `noise` (any number of rows, n), the noise added to the measurements, tells noise from artifacts;
    without it all of the part outside the span of the references counts as artifacts.
    """
    ref, est = _rows(S_ref, "S_ref"), _rows(S_est, "S_est")
    if not len(ref):
        raise ValueError("S_ref has no rows: there is nothing to compare with.")
    extra = np.zeros((0, ref.shape[1])) if noise is None else _rows(noise, "noise")
    for name, rows in (("S_est", est), ("noise", extra)):
        if rows.shape[1] != ref.shape[1]:
            raise ValueError(
                f"{name} has {rows.shape[1]} channels a row and S_ref {ref.shape[1]}: make them equal."
            )
    order, _ = matched_rows(ref, est)
    matched = np.zeros_like(ref)
    matched[order >= 0] = unit_rows(est)[order[order >= 0]]
    directions = unit_rows(ref)
    target = np.einsum("ij,ij->i", matched, directions)[:, None] * directions
    in_sources = _project(matched, ref)
    both = np.vstack([directions, unit_rows(extra)])
    in_both = in_sources if noise is None else _project(matched, both)
    interference, from_noise, artifacts = (
        in_sources - target,
        in_both - in_sources,
        matched - in_both,
    )
    return Evaluation(
        sdr=_decibels(target, matched - target, target),
        sir=_decibels(target, interference, target),
        snr=_decibels(in_sources, from_noise, target),
        sar=_decibels(in_both, artifacts, target),
        order=order,
        S=_rescale(matched, ref),
    )


@one_blas_thread
def sdr_matrix(S_ref: ArrayLike, S_est: ArrayLike) -> NDArray:
    """SDR of every estimate (columns) as an estimate of every reference (rows)."""
    ref, est = unit_rows(_rows(S_ref, "S_ref")), unit_rows(_rows(S_est, "S_est"))
    cosine = ref @ est.T
    distance = 1 - cosine**2
    i, j = np.nonzero(distance < CLOSE)  # where that is lost to rounding, the distance itself
    distance[i, j] = np.sum((est[j] - cosine[i, j][:, None] * ref[i]) ** 2, axis=1)
    return _ratio_in_decibels(cosine**2, distance)


def matched_rows(S_ref: ArrayLike, S_est: ArrayLike) -> tuple[NDArray, NDArray]:
    """`order` and `sdr` of `evaluate`: for each reference its estimate, for the best mean SDR."""
    table = sdr_matrix(S_ref, S_est)
    order, sdr = np.full(len(table), -1), np.full(len(table), FLOOR)
    rows, columns = linear_sum_assignment(table, maximize=True)
    order[rows], sdr[rows] = columns, table[rows, columns]
    return order, sdr


def _decibels(wanted: NDArray, unwanted: NDArray, target: NDArray) -> NDArray:
    """Energy ratio of rows; the floor where there is no target at all."""
    ratio = _ratio_in_decibels(np.sum(wanted**2, axis=1), np.sum(unwanted**2, axis=1))
    return np.where(np.sum(target**2, axis=1) > 0, ratio, FLOOR)


def _ratio_in_decibels(wanted: NDArray, unwanted: NDArray) -> NDArray:
    """10 log10(wanted / unwanted) within the limits; nothing wanted is the floor, even over nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 10 * (np.log10(wanted) - np.log10(unwanted))
    return np.where(wanted > 0, np.clip(ratio, FLOOR, CEILING), FLOOR)


def _rescale(matched: NDArray, ref: NDArray) -> NDArray:
    """Each row, of norm 1 or 0, times the factor that brings it closest to its reference."""
    peak = np.frexp(np.abs(ref).max(axis=1, keepdims=True))[1] - 1
    ref = np.ldexp(ref, -peak)  # so that no sum overflows
    return np.ldexp(np.einsum("ij,ij->i", matched, ref)[:, None] * matched, peak)


def unit_rows(X: NDArray) -> NDArray:
    """Rows of norm 1, without overflow or underflow; zero rows stay."""
    peak = np.abs(X).max(axis=1, keepdims=True, initial=0)
    X = np.divide(X, peak, out=np.zeros_like(X), where=peak > 0)
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norm, out=np.zeros_like(X), where=norm > 0)


def _project(X: NDArray, span: NDArray) -> NDArray:
    """Rows of X projected on the row space of `span`, whose rank may be short."""
    _, singular, basis = np.linalg.svd(unit_rows(span), full_matrices=False)
    basis = basis[singular > 1e-10 * singular.max(initial=0)]
    return (X @ basis.T) @ basis


def _rows(values: Any, name: str) -> NDArray:
    if hasattr(values, "chunks"):  # on disk, or on a cluster
        values = in_memory(values, name)
    X = arguments.as_array(values, name).astype(np.float64)
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(f"{name} must be two-dimensional, sources x channels, got shape {X.shape}.")
    if not np.isfinite(X).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return X
