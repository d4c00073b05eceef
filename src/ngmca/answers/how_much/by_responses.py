"""Amounts from spectra of pure substances of known concentration."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from ngmca import io
from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, message, option
from ngmca.algorithms.mixing_for_sources import weights_of
from ngmca.answers.how_much import calibration
from ngmca.answers.how_much.amounts import Amounts, about_limits, about_unseen, without
from ngmca.answers.how_much.source_weights import Sources, scaled, spread
from ngmca.answers.wording import listed, percent
from ngmca.engines import Levels, open_data

MIN_COSINE = 0.7  # between a source and its reference
MAX_MISFIT = 0.2  # share of the norm of a source that references may leave unexplained
MIN_REMAINDER = 0.05  # share of the noise of an entry that a fit leaves at least

Responses = str | PathLike[str] | io.Dataset | Mapping[str, ArrayLike] | ArrayLike


def by_responses(sources: Sources, responses: Responses, unit: str, level: float) -> Amounts:
    """Return amounts from spectra of pure substances for one unit of concentration.

    References replace the sources that they belong to, and all measurements are fitted again. It then
    does not matter if a source contained some of another substance.
    """
    names, K = _references(responses, sources)
    chosen, alike = _matched(names, K, sources)
    tops = K.max(axis=1)
    B = sources.S.copy()
    B[chosen] = K / tops[:, None]
    sizes = np.linalg.norm(B, axis=1)
    B = np.divide(B, sizes[:, None], out=np.zeros_like(B), where=sizes[:, None] > 0)
    target = sources.A @ sources.S if sources.Y is None else sources.Y / sources.unit
    basis = None if sources.Y is None else sources.background
    unit_of = sources.unit / tops / sizes[chosen]  # amount of a weight of 1
    W, rows = _fitted(target, B, basis)
    values = W[:, chosen] * unit_of
    deviations, misfit = _deviations(sources, B, basis)
    if sources.Y is not None:  # noise may differ between channels, as with counts
        deviations = np.maximum(deviations, by_residual(target, rows, W)[:, : sources.r])
    sd = deviations[:, chosen] * unit_of
    found = sources.blank(values, (unit,) * len(chosen), level, "spectra of known response", chosen)
    limit = calibration.CURRIE * sd
    found = replace(
        found, substances=names, detection=calibration.median_limit(limit), below=values < limit
    )
    warnings = _without_intervals(names, chosen, misfit, sources)
    if not warnings:
        half = float(ndtri((1 + level) / 2)) * sd
        found = replace(found, low=np.maximum(values - half, 0), high=values + half)
    found = without(found, np.isinf(sd))
    warnings += about_unseen(found)
    found.factors[:] = np.sum(sources.S * B, axis=1)[chosen] * unit_of / sources.sizes[chosen]
    matches = [
        f"{name} is source {i + 1}: the cosine with its reference spectrum is {cosine:.3f}."
        for name, i, cosine in zip(names, chosen, alike, strict=True)
    ]
    first = "Amounts were calculated from spectra of known response."
    words = (first, *matches, *about_limits(found), *warnings)
    return replace(found, words=words, warnings=tuple(warnings))


def _without_intervals(
    names: tuple[str, ...], chosen: list[int], misfit: NDArray, sources: Sources
) -> list[str]:
    """Return why there are no intervals; an empty list if there are."""
    reasons: list[str] = [
        f"The references do not explain {percent(float(misfit[i]))} of source {i + 1}: it may not be "
        f"{name}, or the spectrum of this substance differs here. There are no intervals."
        for name, i in zip(names, chosen, strict=True)
        if misfit[i] > MAX_MISFIT
    ]
    r = sources.r
    if len(chosen) < r and not reasons:
        reasons = [
            message(
                "{} of {} sources have no reference, and may contain some {}. There are no intervals. "
                "Give the references of all sources, or {}.",
                *(r - len(chosen), r, listed(names), option("standards")),
            )
        ]
    if sources.Y is None and not reasons:  # an interval would miss how much S and A were reduced
        reasons = [message("There are no intervals without the measurements: give {}.", option("data"))]
    return reasons


def _fitted(Y: NDArray, B: NDArray, background: NDArray | None) -> tuple[NDArray, NDArray]:
    """argmin_{W >= 0} |Y - W B|, with a background, and all rows that W are weights of."""
    engine = open_data(Y)
    rows = B if background is None else np.vstack([B, background])
    extra = 0 if background is None else len(background)
    W = weights_of(engine, rows, Levels(), background=extra)
    return W * engine.unit, rows


def by_residual(Y: NDArray, rows: NDArray, W: NDArray) -> NDArray:
    """Return (m, k) standard deviations of weights W of rows (k, n), from the residual of each entry.

    Noise may differ between entries. This is the estimate HC3, which corrects for the part of the noise
    that the fit follows.
    """
    seen = np.isfinite(Y)
    if seen.all():
        return _sandwich(Y, rows, W)
    found = np.empty(W.shape)
    for i, observed in enumerate(seen):
        found[i] = _sandwich(Y[i : i + 1, observed], rows[:, observed], W[i : i + 1])[0]
    return found


def _sandwich(Y: NDArray, rows: NDArray, W: NDArray) -> NDArray:
    """Return the standard deviations if all channels were observed."""
    inverse = np.linalg.pinv(rows @ rows.T, hermitian=True) @ rows
    own = np.einsum("kn,kn->n", rows, inverse)
    rest = (Y - W @ rows) / np.maximum(1 - own, MIN_REMAINDER)
    return np.asarray(np.sqrt(rest**2 @ (inverse**2).T))


def _deviations(sources: Sources, B: NDArray, background: NDArray | None) -> tuple[NDArray, NDArray]:
    """Return (m, r) standard deviations of weights of B, and the share of each source outside B."""
    inverse = np.linalg.pinv(B)
    rest = sources.S - sources.S @ inverse @ B
    size = np.linalg.norm(sources.S, axis=1)
    misfit = np.divide(np.linalg.norm(rest, axis=1), size, out=np.zeros(len(size)), where=size > 0)
    variance = sources.level**2 + np.mean((sources.A @ rest) ** 2, axis=1)
    seen = None if sources.Y is None else ~np.isnan(sources.Y)
    return np.sqrt(scaled(spread(B, background, seen), variance)), misfit


def _references(responses: Responses, sources: Sources) -> tuple[tuple[str, ...], NDArray]:
    """Return names and spectra (q, n) of references."""
    if isinstance(responses, str | PathLike):
        responses = io.read(responses)
    given: Any
    if isinstance(responses, io.Dataset):
        given = _aligned(responses, sources)
    elif isinstance(responses, Mapping):
        given = list(responses.values())
    else:
        given = responses
    K = arguments.check_data(given, "responses").astype(np.float64)
    names = tuple(f"substance {j + 1}" for j in range(len(K)))
    if isinstance(responses, io.Dataset | Mapping):
        names = responses.names if isinstance(responses, io.Dataset) else tuple(map(str, responses))
    if K.shape[1] != sources.S.shape[1]:
        raise ArgumentError(
            "{} have {} channels and the sources {}: use the same axis for both, or give {} and {} as "
            "Datasets with axes.",
            *(option("responses"), K.shape[1], sources.S.shape[1], option("data"), option("responses")),
        )
    if len(K) > sources.r:
        raise ArgumentError(
            "{} have {} spectra, but there are {} sources: leave some out.",
            *(option("responses"), len(K), sources.r),
        )
    for name, row in zip(names, K, strict=True):
        if not row.max() > 0:
            raise ArgumentError(
                "{}: that of {} is 0 everywhere. Give its spectrum, or leave it out.",
                *(option("responses"), name),
            )
    return names, K


def _aligned(data: io.Dataset, sources: Sources) -> NDArray:
    """Return references interpolated at the channels of the data that were separated."""
    own = sources.axis
    if own is None or own.axis is None or data.axis is None:
        return data.Y
    if own.axis_unit != data.axis_unit:
        raise ArgumentError(
            "{} have the axis {}, and the data {}: convert one of them first.",
            *(option("responses"), data.axis_label, own.axis_label),
        )
    low, high = data.axis.min(), data.axis.max()
    step = np.abs(np.diff(data.axis)).max(initial=0)
    if own.axis.min() < low - step or own.axis.max() > high + step:
        raise ArgumentError(
            "{} go from {:g} to {:g}, and the data from {:g} to {:g}: separate the common range only "
            "({}).",
            *(option("responses"), low, high, own.axis.min(), own.axis.max(), option("Dataset.crop")),
        )
    order = np.argsort(data.axis)
    return np.stack([np.interp(own.axis, data.axis[order], row[order]) for row in data.Y])


def _matched(names: tuple[str, ...], K: NDArray, sources: Sources) -> tuple[list[int], list[float]]:
    """Return the source of each reference, and the cosines between them."""
    rows, columns = (
        part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-300)
        for part in (K / K.max(axis=1, keepdims=True), sources.S)
    )
    cosines = rows @ columns.T
    chosen, _, _ = calibration.assigned(cosines, [sources.index_of(name) for name in names])
    alike = [float(cosines[j, i]) for j, i in enumerate(chosen)]
    for name, i, cosine in zip(names, chosen, alike, strict=True):
        if cosine < MIN_COSINE:
            raise ArgumentError(
                "{}: no source is similar to that of {}. The most similar is source {} (cosine {:.2f}). "
                "Leave it out, or check that it has the same axis.",
                *(option("responses"), name, i + 1, cosine),
            )
    return chosen, alike
