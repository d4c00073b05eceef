"""Quality of estimated sources: SDR and its decomposition (Vincent, Gribonval and Fevotte, 2006).

An estimate is split into orthogonal parts: its projection on the true source (target), on the other
sources (interferences), on the noise (noise), and the rest (artifacts).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.assignment import cheapest_pairs
from ngmca._support.messages import ArgumentError, option
from ngmca._support.threads import one_blas_thread
from ngmca.result.large_sources import in_memory

__all__ = ["CEILING", "FLOOR", "Evaluation", "evaluate", "sdr_matrix"]

CEILING = 250.0  # dB of a perfect estimate, above the rounding error
FLOOR = -100.0  # dB if nothing of the source was found


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Quality of estimated sources: one value for each reference, in dB, independent of scale and sign.

    Values lie between `FLOOR` and `CEILING`, so that means are always finite. A perfect estimate has
    the ceiling. An estimate of zeros, a missing one, one orthogonal to its source, and any estimate of
    a source of zeros have the floor.

    Attributes
    ----------
    sdr : ndarray of shape (r,)
        Source-to-distortion ratio: target to everything else.
    sir : ndarray of shape (r,)
        Source-to-interferences ratio.
    snr : ndarray of shape (r,)
        Ratio of target and interferences to noise.
    sar : ndarray of shape (r,)
        Ratio of target, interferences and noise to artifacts.
    order : ndarray of int of shape (r,)
        Row of the estimate for each reference, -1 if there is none.
    S : ndarray of shape (r, n)
        Estimates in the order of the references, each scaled to fit its reference by least squares.

    Examples
    --------
    >>> import ngmca
    >>> found = ngmca.evaluate([[1, 0, 0], [0, 1, 0]], [[0, 2, 0], [3, 0, 0]])
    >>> found.order.tolist(), found.mean_sdr
    ([1, 0], 250.0)
    """

    sdr: NDArray
    sir: NDArray
    snr: NDArray
    sar: NDArray
    order: NDArray
    S: NDArray = field(repr=False)

    @property
    def mean_sdr(self) -> float:
        """Mean SDR over the sources, SDR_S in the paper."""
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
    """Pair estimates with references for the best mean SDR, and measure the quality of each pair.

    Parameters
    ----------
    S_ref : array_like of shape (r, n)
        True sources.
    S_est : array_like of shape (k, n)
        Estimates, in any order and scale.
    noise : array_like of shape (m, n), optional
        Noise of the measurements, which distinguishes noise from artifacts. Without it, the whole part
        outside the span of the references counts as artifacts.

    Returns
    -------
    Evaluation
        SDR, SIR, SNR and SAR of each reference, and the estimates in the order of the references.

    Raises
    ------
    ValueError
        If S_ref has no rows, if the numbers of channels differ, or if a value is not finite.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=20, n=100, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(data.Y, 2, seed=0)
    >>> bool(ngmca.evaluate(data.S, found.S).mean_sdr > 20)
    True
    """
    ref, est = _rows(S_ref, "S_ref"), _rows(S_est, "S_est")
    if not len(ref):
        raise ArgumentError("{} has no rows: there is nothing to compare with.", option("S_ref"))
    extra = np.zeros((0, ref.shape[1])) if noise is None else _rows(noise, "noise")
    for name, rows in (("S_est", est), ("noise", extra)):
        if rows.shape[1] != ref.shape[1]:
            raise ArgumentError(
                "{} has {} channels and {} has {}: make them equal.",
                *(option(name), rows.shape[1], option("S_ref"), ref.shape[1]),
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
    """Return the SDR of each estimate (columns) for each reference (rows), in dB.

    Parameters
    ----------
    S_ref : array_like of shape (r, n)
        True sources.
    S_est : array_like of shape (k, n)
        Estimates.

    Returns
    -------
    ndarray of shape (r, k)
        Ratios between `FLOOR` and `CEILING`.

    Examples
    --------
    >>> from ngmca.metrics import sdr_matrix
    >>> sdr_matrix([[1, 0]], [[2, 0], [0, 1]])
    array([[ 250., -100.]])
    """
    ref, est = unit_rows(_rows(S_ref, "S_ref")), unit_rows(_rows(S_est, "S_est"))
    cosine = ref @ est.T
    distance = 1 - cosine**2
    i, j = np.nonzero(distance < 1e-4)  # 1 - cos^2 has lost digits: compute the distance itself
    distance[i, j] = np.sum((est[j] - cosine[i, j][:, None] * ref[i]) ** 2, axis=1)
    return _ratio_in_decibels(cosine**2, distance)


def matched_rows(S_ref: ArrayLike, S_est: ArrayLike) -> tuple[NDArray, NDArray]:
    """Return `order` and `sdr` of `evaluate`: the estimate for each reference with the best mean SDR."""
    table = sdr_matrix(S_ref, S_est)
    order, sdr = np.full(len(table), -1), np.full(len(table), FLOOR)
    rows, columns = cheapest_pairs(-table)
    order[rows], sdr[rows] = columns, table[rows, columns]
    return order, sdr


def _decibels(wanted: NDArray, unwanted: NDArray, target: NDArray) -> NDArray:
    """Return the energy ratio of rows; the floor if there is no target."""
    ratio = _ratio_in_decibels(np.sum(wanted**2, axis=1), np.sum(unwanted**2, axis=1))
    return np.where(np.sum(target**2, axis=1) > 0, ratio, FLOOR)


def _ratio_in_decibels(wanted: NDArray, unwanted: NDArray) -> NDArray:
    """Return 10 log10(wanted / unwanted) within the limits; the floor if `wanted` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 10 * (np.log10(wanted) - np.log10(unwanted))
    return np.where(wanted > 0, np.clip(ratio, FLOOR, CEILING), FLOOR)


def _rescale(matched: NDArray, ref: NDArray) -> NDArray:
    """Return each row, of norm 1 or 0, scaled to fit its reference by least squares."""
    peak = np.frexp(np.abs(ref).max(axis=1, keepdims=True))[1] - 1
    ref = np.ldexp(ref, -peak)  # so that no sum overflows
    return np.ldexp(np.einsum("ij,ij->i", matched, ref)[:, None] * matched, peak)


def unit_rows(X: NDArray) -> NDArray:
    """Return rows scaled to norm 1, without overflow or underflow; zero rows stay."""
    peak = np.abs(X).max(axis=1, keepdims=True, initial=0)
    X = np.divide(X, peak, out=np.zeros_like(X), where=peak > 0)
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norm, out=np.zeros_like(X), where=norm > 0)


def _project(X: NDArray, span: NDArray) -> NDArray:
    """Return the rows of X projected on the row space of `span`, which may be rank-deficient."""
    _, singular, basis = np.linalg.svd(unit_rows(span), full_matrices=False)
    basis = basis[singular > 1e-10 * singular.max(initial=0)]
    return (X @ basis.T) @ basis


def _rows(values: ArrayLike, name: str) -> NDArray:
    if hasattr(values, "chunks"):  # on disk, or on a cluster
        values = in_memory(values, name)
    X = arguments.as_array(values, name).astype(np.float64)
    if X.ndim != 2 or X.shape[1] == 0:
        raise ArgumentError(
            "{} must be two-dimensional, sources x channels, got shape {}.", option(name), X.shape
        )
    if not np.isfinite(X).all():
        raise ArgumentError("{} contains NaN or infinity.", option(name))
    return X
