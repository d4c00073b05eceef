"""Amounts without standards: from spectra of known response, or from what the amounts add up to."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ngmca import io
from ngmca._support import arguments
from ngmca.algorithms.mixing_for_sources import weights_of
from ngmca.answers.how_much import calibration
from ngmca.answers.how_much.amounts import Amounts, about_limits, about_unseen, without
from ngmca.answers.how_much.source_weights import Sources, entire, scaled, spread
from ngmca.answers.wording import listed, percent
from ngmca.engines import Levels, open_data
from ngmca.io import ReadError
from ngmca.nnqp import pivot

ALIKE = 0.7  # cosine below which a reference is not the spectrum of any source
MISFIT = (
    0.2  # share of a source's norm that references leave unexplained, above which bars are not drawn
)
LOOSE = 0.1  # relative misfit of totals that is spoken of
LEAST = 0.05  # share of an entry's noise that a fit leaves, at least
CONDITION = 1e6  # of weights, from which on totals cannot be shared out


def by_responses(sources: Sources, responses: Any, unit: str, level: float) -> Amounts:
    """Amounts from spectra of pure substances for one unit of concentration.

    References take the place of the sources they belong to, and all measurements are fitted anew. What
    a source held of other substances then counts no more.
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
    if sources.Y is not None:  # noise may differ from channel to channel, as that of counts
        deviations = np.maximum(deviations, by_residual(target, rows, W)[:, : sources.r])
    sd = deviations[:, chosen] * unit_of
    found = sources.blank(values, (unit,) * len(chosen), level, "spectra of known response", chosen)
    limit = calibration.CURRIE * sd
    found = replace(found, substances=names, detection=_middle(limit), below=values < limit)
    doubts = _doubts(names, chosen, misfit, sources)
    if not doubts:
        half = float(ndtri((1 + level) / 2)) * sd
        found = replace(found, low=np.maximum(values - half, 0), high=values + half)
    found = without(found, np.isinf(sd))
    doubts += about_unseen(found)
    found.factors[:] = np.sum(sources.S * B, axis=1)[chosen] * unit_of / sources.sizes[chosen]
    told = [
        f"{name} is source {i + 1}: its spectrum is like the reference ({cosine:.3f})."
        for name, i, cosine in zip(names, chosen, alike, strict=True)
    ]
    words = ("Amounts come from spectra of known response.", *told, *about_limits(found), *doubts)
    return replace(found, words=words, warnings=tuple(doubts))


def _doubts(names: tuple[str, ...], chosen: list[int], misfit: NDArray, sources: Sources) -> list[str]:
    """Why there are no intervals, where there are none."""
    doubts = [
        f"{percent(float(misfit[i]))} of source {i + 1} is unlike the references: it may not be {name}, "
        "or that has another spectrum here. There are no intervals."
        for name, i in zip(names, chosen, strict=True)
        if misfit[i] > MISFIT
    ]
    r = sources.r
    if len(chosen) < r and not doubts:
        doubts = [
            f"{r - len(chosen)} of {r} sources have no reference: nothing says how much of "
            f"{listed(names)} they hold, and there are no intervals. Give all references, or standards."
        ]
    if sources.Y is None and not doubts:  # what S and A were shrunk by is in no interval
        doubts = ["There are no intervals without the measurements themselves: give data=."]
    return doubts


def _fitted(Y: NDArray, B: NDArray, background: NDArray | None) -> tuple[NDArray, NDArray]:
    """argmin_{W >= 0} |Y - W B|, with a background besides, and all rows that W are weights of."""
    engine = open_data(Y)
    rows = B if background is None else np.vstack([B, background])
    extra = 0 if background is None else len(background)
    W = weights_of(engine, rows, Levels(), background=extra)
    return W * engine.unit, rows


def by_residual(Y: NDArray, rows: NDArray, W: NDArray) -> NDArray:
    """(m, k) standard deviations of weights W of rows (k, n), from what the fit leaves of each entry.

    Noise may differ from entry to entry (the estimate called HC3: what a fit follows of its own noise
    is made up for).
    """
    seen = np.isfinite(Y)
    if seen.all():
        return _sandwich(Y, rows, W)
    found = np.empty(W.shape)
    for i, observed in enumerate(seen):
        found[i] = _sandwich(Y[i : i + 1, observed], rows[:, observed], W[i : i + 1])[0]
    return found


def _sandwich(Y: NDArray, rows: NDArray, W: NDArray) -> NDArray:
    """The same where all channels were observed."""
    inverse = np.linalg.pinv(rows @ rows.T, hermitian=True) @ rows
    own = np.einsum("kn,kn->n", rows, inverse)
    rest = (Y - W @ rows) / np.maximum(1 - own, LEAST)
    return np.asarray(np.sqrt(rest**2 @ (inverse**2).T))


def _deviations(sources: Sources, B: NDArray, background: NDArray | None) -> tuple[NDArray, NDArray]:
    """(m, r) standard deviations of weights of B, and the share of each source that B cannot explain."""
    inverse = np.linalg.pinv(B)
    rest = sources.S - sources.S @ inverse @ B
    size = np.linalg.norm(sources.S, axis=1)
    misfit = np.divide(np.linalg.norm(rest, axis=1), size, out=np.zeros(len(size)), where=size > 0)
    variance = sources.level**2 + np.mean((sources.A @ rest) ** 2, axis=1)
    seen = None if sources.Y is None else ~np.isnan(sources.Y)
    return np.sqrt(scaled(spread(B, background, seen), variance)), misfit


def _middle(limits: NDArray) -> NDArray:
    """(k,) limits of detection in the middle one of the measurements in which there is any."""
    kept = [column[np.isfinite(column)] for column in limits.T]
    return np.array([np.median(column) if column.size else np.nan for column in kept])


def _references(responses: Any, sources: Sources) -> tuple[tuple[str, ...], NDArray]:
    """Names and spectra (q, n) of references."""
    if isinstance(responses, str | PathLike):
        responses = io.read(responses)
    given: Any = responses
    if isinstance(responses, io.Dataset):
        given = _aligned(responses, sources)
    elif isinstance(responses, Mapping):
        given = list(responses.values())
    K = arguments.check_data(given, "responses").astype(np.float64)
    names = tuple(f"substance {j + 1}" for j in range(len(K)))
    if isinstance(responses, io.Dataset | Mapping):
        names = responses.names if isinstance(responses, io.Dataset) else tuple(map(str, responses))
    if K.shape[1] != sources.S.shape[1]:
        raise ValueError(
            f"responses have {K.shape[1]} channels and the sources {sources.S.shape[1]}: bring them to "
            "the same axis, or give data and responses with their axes, as Datasets."
        )
    if len(K) > sources.r:
        raise ValueError(f"there are {len(K)} responses and {sources.r} sources: leave some out.")
    for name, row in zip(names, K, strict=True):
        if not row.max() > 0:
            raise ValueError(
                f"the response of {name} is 0 everywhere: give its spectrum, or leave it out."
            )
    return names, K


def _aligned(data: io.Dataset, sources: Sources) -> NDArray:
    """References at the channels of the data that were separated."""
    own = sources.axis
    if own is None or own.axis is None or data.axis is None:
        return data.Y
    if own.axis_unit != data.axis_unit:
        raise ReadError(
            f"responses are along {data.axis_label}, and the data along {own.axis_label}: convert them "
            "first."
        )
    low, high = data.axis.min(), data.axis.max()
    step = np.abs(np.diff(data.axis)).max(initial=0)
    if own.axis.min() < low - step or own.axis.max() > high + step:
        raise ReadError(
            f"responses go from {low:g} to {high:g}, and the data from {own.axis.min():g} to "
            f"{own.axis.max():g}: separate the common range (Dataset.crop)."
        )
    order = np.argsort(data.axis)
    return np.stack([np.interp(own.axis, data.axis[order], row[order]) for row in data.Y])


def _matched(names: tuple[str, ...], K: NDArray, sources: Sources) -> tuple[list[int], list[float]]:
    """Which source each reference is, and how alike they are."""
    rows, columns = (
        part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-300)
        for part in (K / K.max(axis=1, keepdims=True), sources.S)
    )
    cosines = rows @ columns.T
    chosen, _, _ = calibration.assigned(cosines, [sources.called(name) for name in names])
    alike = [float(cosines[j, i]) for j, i in enumerate(chosen)]
    for name, i, cosine in zip(names, chosen, alike, strict=True):
        if cosine < ALIKE:
            raise ValueError(
                f"no source is like the response of {name}: source {i + 1} is nearest ({cosine:.2f}). "
                "Leave it out, or look whether it was measured along the same axis."
            )
    return chosen, alike


def by_closure(sources: Sources, closure: Any, unit: str, level: float) -> Amounts:
    """Amounts that add up to given totals: the non-negative factors that fit these best.

    A source that holds some of another substance fits totals as well as a pure one: there are no
    intervals.
    """
    totals = _totals(closure, sources.m)
    size = float(totals.max())
    whole = entire(sources.seen)  # a source that was not observed is missing in the sum
    A, totals = sources.A[whole], totals[whole]
    norms = np.linalg.norm(A, axis=0)
    A = np.divide(A, norms, out=np.zeros_like(A), where=norms > 0)
    if len(A) <= sources.r or np.linalg.cond(A) > CONDITION:
        raise ValueError(
            f"{len(A)} measurements do not say how totals are shared out among {sources.r} sources: "
            "more measurements of different composition are needed."
        )
    factors = pivot(A.T @ A, A.T @ (totals / size)[:, None]).X[:, 0] / norms
    values = sources.A * factors * size
    found = sources.blank(values, (unit,) * sources.r, level, "totals of the measurements")
    sd = np.sqrt(sources.noise) * factors * size
    limit = calibration.CURRIE * sd
    found.factors[:] = factors * size / sources.sizes
    found = replace(found, detection=_middle(limit), below=values < limit)
    found = without(found, ~sources.seen)
    doubts = _closure_doubts(values[whole], totals, found.substances) + about_unseen(found)
    words = ("Amounts come from what they add up to in each measurement.", *about_limits(found), *doubts)
    return replace(found, words=words, warnings=tuple(doubts))


def _totals(closure: Any, m: int) -> NDArray:
    """(m,) totals, all above 0."""
    totals = np.ones(1) if closure is True else arguments.as_array(closure, "closure").astype(float)
    if totals.ndim > 1 or totals.size not in (1, m):
        raise ValueError(f"closure must be True, a number or {m} totals, got shape {totals.shape}.")
    if not (np.isfinite(totals) & (totals > 0)).all():
        raise ValueError("closure: totals must be finite and above 0.")
    return np.broadcast_to(totals.ravel(), (m,)).astype(np.float64)


def _closure_doubts(values: NDArray, totals: NDArray, substances: tuple[str, ...]) -> list[str]:
    """What totals cannot say."""
    doubts = [
        "There are no intervals: a source that holds some of another substance fits the totals as well "
        "as a pure one. A few standards would show it."
    ]
    rest = float(np.sqrt(np.mean((values.sum(axis=1) / totals - 1) ** 2)))
    if rest > LOOSE:
        doubts.append(
            f"Amounts miss the totals by {percent(rest)}: is something there that no source shows?"
        )
    none = [name for name, column in zip(substances, values.T, strict=True) if not column.any()]
    if none:
        doubts.append(f"{listed(none)}: no part of the totals falls to it.")
    return doubts
