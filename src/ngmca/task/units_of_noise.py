"""Changes between units: those of the data, those of their noise, and those of wavelets."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms import Options
from ngmca.algorithms.constraint_arrays import Constraints
from ngmca.engines import Engine, Levels, everything, weighing
from ngmca.engines.blocks import row_blocks
from ngmca.result import Background, State

WEIGHT_RANGE_OF_COUNTS = 4.0  # factor from their median
MEDIAN_ENTRIES = 1 << 23  # of every second, third, ... measurement of large data
WEIGHT_RANGE_IN_WAVELETS = 4.0  # factor up to which weights of a channel differ


def inside(A: NDArray, S: NDArray, levels: Levels, engine: Engine) -> tuple[NDArray, NDArray]:
    """Return factors of the data in units of the noise."""
    rows, columns = levels.units(engine.shape)
    return (A / rows[:, None]).astype(engine.dtype), (S / columns).astype(engine.dtype)


def in_channels(
    engine: Engine, state: State, levels: Levels, options: Options
) -> tuple[Engine, State, Levels, Options]:
    """Return data and a state for wavelets: channels in their own units, and weights of at most 1.

    Weights that differ within a channel slow the iterations in wavelets down. They are kept within a
    factor of the largest one there, which keeps most of their gain. Weights of counts follow from a fit
    and are uncertain, so they are also kept within a factor of their median.
    """
    if engine.weights is None and levels.columns is None:
        return engine, state, levels, options
    weights = np.broadcast_to(1.0, engine.shape) if engine.weights is None else engine.weights
    columns = levels.units(engine.shape)[1]
    mild, own = _mild_weights(weights, columns**2, counts=levels.counts is not None)
    even = levels.columns is None and engine.noise_weights is None
    Y = everything(engine) * columns.astype(engine.dtype)
    most = float(mild.max())
    found = weighing(engine, np.divide(mild, most, out=mild), None if even else own, Y)
    sigma = None if options.noise is None else options.noise / np.sqrt(most)
    known = options.known
    if known.sources is not None:
        known = replace(known, sources=known.sources * columns)
    state = replace(state, S=state.S * columns.astype(state.S.dtype))
    return found, state, replace(levels, columns=None), replace(options, noise=sigma, known=known)


def _mild_weights(weights: NDArray, units: NDArray, *, counts: bool) -> tuple[NDArray, NDArray]:
    """Return weights (m, n) of channels in their own units, milder than they are; 0 for missing entries.

    The second ones are those that thresholds follow: the noise of correlations with the first ones.
    """
    top, low, high = weights.max(axis=0) / units, 0.0, np.inf
    if counts:
        some = weights[:: max(1, weights.size // MEDIAN_ENTRIES)] / units
        middle = float(np.median(some[some > 0]))
        low, high = middle / WEIGHT_RANGE_OF_COUNTS, middle * WEIGHT_RANGE_OF_COUNTS
    least = np.clip(top, low, high) / WEIGHT_RANGE_IN_WAVELETS
    most = float(np.clip(top, low, high).max())
    mild, own = np.empty(weights.shape), np.empty(weights.shape)
    total, count = np.zeros(len(units)), np.zeros(len(units))
    for rows, part in row_blocks(weights):
        true = part / units
        seen = true > 0
        mild[rows] = np.where(seen, np.maximum(np.clip(true, low, high), least), 0)
        np.divide(mild[rows] ** 2, most * true, out=own[rows], where=seen)
        total += mild[rows].sum(axis=0)
        count += seen.sum(axis=0)
    if count.min() < len(weights):
        usual = total / np.maximum(count, 1) / most
        own = np.where(weights > 0, own, usual)
    return mild, own


def restored(state: State, levels: Levels, known: Constraints, weights: NDArray | None) -> State:
    """Return a state in the units of the data, with the baseline apart from the sources.

    Columns of A have norm 1, except where their size is known: with a closure, for known columns, and
    for known sources of a fixed scale.
    """
    if levels.equal and weights is None and not known.any:
        return state
    rows, columns = levels.units((len(state.A), state.S.shape[1]))
    A, S = state.A * rows[:, None], state.S * columns
    norm = np.linalg.norm(A, axis=0)
    factor = 1 / np.where(norm > 0, norm, 1)
    if known.any:
        size = known.within_sums(state.A, known.sizes_of(state.A, state.S))
        factor = np.where(known.sized, size, factor)
    A, S = A * factor, S / np.where(factor > 0, factor, 1)[:, None]
    if weights is not None:
        # wavelets would fill channels without observed entries; known sources are as given there
        found = ~known.given if known.any else np.ones(len(S), dtype=bool)
        S[np.ix_(found, ~(weights > 0).any(axis=0))] = 0
    r = known.r if known.any else len(S)
    background = None
    if known.baseline:
        basis = known.sources[r:] * columns  # type: ignore[index]
        scale = np.einsum("ij,ij->i", S[r:], basis) / np.einsum("ij,ij->i", basis, basis)
        background = Background(A[:, r:] * scale, basis)
    return replace(
        state,
        A=np.ascontiguousarray(A[:, :r], dtype=state.A.dtype),
        S=S[:r].astype(state.S.dtype),
        lam=state.lam[:r] * factor[:r],
        noise=state.noise * levels.spread(weights, (len(A), S.shape[1])),
        background=background,
    )


def exchanged(state: State, sized: NDArray) -> State:
    """Return a state of the transposed data as a state of the data."""
    A, S = np.ascontiguousarray(state.S.T), np.ascontiguousarray(state.A.T)
    norm = np.linalg.norm(A, axis=0)
    norm[sized | (norm == 0)] = 1
    level = np.sqrt(np.mean(state.noise**2))
    outliers = None if state.outliers is None else state.outliers[:, ::-1]
    A, S = A / norm, S * norm[:, None]
    noise = np.full(len(A), level)
    return replace(state, A=A, S=S, noise=noise, outliers=outliers)
