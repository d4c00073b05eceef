"""Weights that follow from the fit: counting noise, and spikes that no source explains."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.snapshot import Round, Snapshot
from ngmca.engines import Engine, Levels, everything, without
from ngmca.engines.blocks import row_blocks

MAX_ROUNDS = 4  # after the first fit
SETTLED_CHANGE = 0.02  # root mean square change of the logarithms of the weights
SPIKE_LEVEL = 6.0  # noise levels beyond which an entry is a spike
MAX_SPIKES_IN_CHANNEL = 0.05  # share of the measurements; more of them are a source
SPIKE_SOURCE_ENERGY, SPIKE_SOURCE_CHANNELS = 0.9, 3  # a source with that energy in so few channels
LOWEST_NOISE = 1e-4  # of the root mean square of the data
CHANGE_ENTRIES = 1 << 23  # that the change of weights is judged by
MAX_SPIKE_WIDTH = 8  # neighbouring channels; more of them are a peak

Run = Callable[[Engine, NDArray, NDArray, Snapshot | None], Iterator[Snapshot]]
Guess = Callable[[Engine], tuple[NDArray, NDArray]]


@dataclass(frozen=True, eq=False)
class Reweighting:
    """What the weights follow from; `engine` holds the data as they are, in units of their noise."""

    engine: Engine
    levels: Levels
    robust: bool
    noise: NDArray | None = None  # (m,) levels of whitened data, if they are known

    @property
    def needed(self) -> bool:
        """Whether weights follow from a fit at all."""
        return self.robust or self.levels.counts is not None

    def following(self, fit: "Snapshot | Round", before: NDArray) -> tuple[Engine, NDArray]:
        """Return the data with weights that follow from a fit, and where spikes are.

        `before` says where spikes were in that fit.
        """
        engine = self.engine
        if self.levels.counts is not None:
            engine = self.levels.following(engine, fit.A, fit.S)
        if not self.robust:
            return engine, np.zeros(engine.shape, dtype=bool)
        spikes = outliers(engine, fit.A, fit.S, before, self.noise)
        return without(engine, spikes), spikes


def outliers(
    engine: Engine, A: NDArray, S: NDArray, before: NDArray, noise: NDArray | None = None
) -> NDArray:
    """Return (m, n), True at spikes: single entries that neither noise nor sources explain.

    A spike distorts the fit, so that its neighbours in the same measurement and channel seem to be
    spikes too. An entry counts only if its residual is at least half of the largest one there. Spikes
    can also have a source of their own, which explains nothing else.
    """
    sigma = engine.noise(A, S, final=True) if noise is None else noise
    size = np.sqrt(engine.energy / max(engine.shape[0] * engine.shape[1], 1))
    sigma = np.maximum(sigma, LOWEST_NOISE * size)  # what rounding leaves of clean data is no outlier
    rest = np.abs(everything(engine) - A @ S) / np.maximum(sigma, 1e-300)[:, None]
    if engine.weights is not None:
        rest *= np.sqrt(engine.weights)
    counted = np.where(before, 0, rest)
    farthest = np.where(before, 0, np.maximum(counted.max(axis=1, keepdims=True), counted.max(axis=0)))
    far = rest > np.maximum(SPIKE_LEVEL, farthest / 2)
    far[:, far.sum(axis=0) > max(MAX_SPIKES_IN_CHANNEL * len(far), min(3, len(far) // 4), 1)] = False
    return (far & ~_long(far)) | _own_sources(engine, A, S, sigma)


def _own_sources(engine: Engine, A: NDArray, S: NDArray, sigma: NDArray) -> NDArray:
    """Return (m, n), True at the entries of sources that consist of a few channels."""
    found = np.zeros(engine.shape, dtype=bool)
    stands_out = max(0.1, min(8 / len(found), 0.4))
    for k in np.flatnonzero(S.any(axis=1)):
        share, energy = A[:, k] ** 2, S[k] ** 2
        few = np.argsort(energy)[::-1][:SPIKE_SOURCE_CHANNELS]
        if energy[few].sum() > SPIKE_SOURCE_ENERGY * energy.sum():
            rows = np.flatnonzero(share > stands_out * share.sum())
            part = np.outer(A[rows, k], S[k, few])
            found[np.ix_(rows, few)] |= part > SPIKE_LEVEL * sigma[rows, None]
    return found if engine.weights is None else found & (engine.weights > 0)


def _long(far: NDArray) -> NDArray:
    """Where more than `MAX_SPIKE_WIDTH` neighbouring samples are far together."""
    n = far.shape[1]
    if n <= MAX_SPIKE_WIDTH:
        return np.zeros_like(far)
    count = np.cumsum(np.pad(far, ((0, 0), (1, 0))), axis=1)
    full = (
        count[:, MAX_SPIKE_WIDTH + 1 :] - count[:, : -MAX_SPIKE_WIDTH - 1] == MAX_SPIKE_WIDTH + 1
    )  # windows that are all far
    found = np.zeros_like(far)
    for shift in range(MAX_SPIKE_WIDTH + 1):
        found[:, shift : shift + full.shape[1]] |= full
    return found


def reweighed(
    run: Run, rule: Reweighting, guess: Guess, resume: Snapshot | None = None
) -> Iterator[tuple[Engine, Snapshot, bool]]:
    """Yield the states of one fit after the other, their engine, and whether one is the last of all.

    Each fit starts from the last one, with low thresholds. After new spikes were found it starts anew,
    since they may have misled the last fit.
    """
    engine, spikes = rule.engine, np.zeros(rule.engine.shape, dtype=bool)
    last_round = None if resume is None else resume.round
    if last_round is not None:
        engine, spikes = rule.following(last_round, last_round.spikes)
    A, S = guess(engine) if resume is None else (resume.A, resume.S)
    for index in range(0 if last_round is None else last_round.index, MAX_ROUNDS + 1):
        done = 0 if last_round is None else last_round.done
        inside = None if resume is None else replace(resume, k=resume.k - done)
        last: Snapshot | None = None
        for state in run(engine, A, S, inside):
            if last is not None:
                yield engine, last, False
            last = replace(state, k=state.k + done, round=last_round)
        assert last is not None
        following, found = rule.following(last, spikes)
        if index == MAX_ROUNDS or _change(engine, following) <= SETTLED_CHANGE:
            yield engine, replace(last, outliers=np.argwhere(spikes) if rule.robust else None), True
            return
        yield engine, last, False
        last_round = Round(index + 1, last.k, last.A, last.S, spikes)
        anew = not np.array_equal(spikes, found)
        engine, spikes, resume = following, found, None
        A, S = guess(engine) if anew else (last.A, last.S)


def _change(before: Engine, after: Engine) -> float:
    """Root mean square change of the logarithms of weights; infinite where other entries are 0.

    For large data it is that of every second, third, ... measurement.
    """
    if before.weights is None and after.weights is None:
        return 0.0
    old, new = (
        np.broadcast_to(1.0, e.shape) if e.weights is None else e.weights for e in (before, after)
    )
    if not all(np.array_equal(part > 0, new[rows] > 0) for rows, part in row_blocks(old)):
        return np.inf
    every = slice(None, None, max(1, old.size // CHANGE_ENTRIES))
    old, new = old[every], new[every]
    seen = old > 0
    change = np.log(new[seen] / old[seen])
    return float(np.sqrt(np.mean(change**2))) if change.size else 0.0
