"""Weights that follow from the fit: counting noise, and entries that no source explains."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import Engine, Levels, everything, without
from ngmca.result import State

ROUNDS = 4  # at most, after the first fit
SETTLED = 0.02  # root mean square change of the logarithms of the weights
FAR = 6.0  # noise levels beyond which an entry is an outlier
TOGETHER = 0.05  # share of the measurements of a sample that may have one: more of them are a source
OWN, FEW = 0.9, 3  # share of a source's energy in so few samples: it may be made of outliers
NOISELESS = 1e-4  # of the root mean square of the data: the least noise that outliers are judged by
LONGEST = 8  # samples in a row that an outlier may take: more of them are a peak

Run = Callable[[Engine, NDArray, NDArray], Iterator[State]]
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

    def following(self, state: State, before: NDArray) -> tuple[Engine, NDArray]:
        """The data with weights that follow from a fit, and where the outliers are; `before`, were."""
        engine = self.engine
        if self.levels.counts is not None:
            engine = self.levels.following(engine, state.A, state.S)
        if not self.robust:
            return engine, np.zeros(engine.shape, dtype=bool)
        spikes = outliers(engine, state, before, self.noise)
        return without(engine, spikes), spikes

    def resumed(self, state: State) -> Engine:
        """The data with the weights that a state was found with, or with those that follow from it."""
        engine = self.engine
        if self.levels.counts is not None:
            engine = self.levels.following(engine, state.A, state.S)
        if not self.robust or state.outliers is None:
            return engine
        spikes = np.zeros(engine.shape, dtype=bool)
        spikes[tuple(state.outliers.T)] = True
        return without(engine, spikes)


def outliers(engine: Engine, state: State, before: NDArray, noise: NDArray | None = None) -> NDArray:
    """(m, n) where single entries are farther from the fit than noise and sources explain.

    An outlier bends the fit, and entries beside it in its measurement and its sample seem far too: only
    those count that are at least half as far as the farthest one there that had a weight. A few of them
    may have a source of their own, which explains nothing else.
    """
    sigma = engine.noise(state.A, state.S, final=True) if noise is None else noise
    size = np.sqrt(engine.energy / max(engine.shape[0] * engine.shape[1], 1))
    sigma = np.maximum(sigma, NOISELESS * size)  # what rounding leaves of clean data is no outlier
    rest = np.abs(everything(engine) - state.A @ state.S) / np.maximum(sigma, 1e-300)[:, None]
    if engine.weights is not None:
        rest *= np.sqrt(engine.weights)
    counted = np.where(before, 0, rest)
    farthest = np.where(before, 0, np.maximum(counted.max(axis=1, keepdims=True), counted.max(axis=0)))
    far = rest > np.maximum(FAR, farthest / 2)
    far[:, far.sum(axis=0) > max(TOGETHER * len(far), min(3, len(far) // 4), 1)] = False
    return (far & ~_long(far)) | _own_sources(engine, state, sigma)


def _own_sources(engine: Engine, state: State, sigma: NDArray) -> NDArray:
    """Entries that stand out of a source which is nothing but a few samples."""
    found = np.zeros(engine.shape, dtype=bool)
    stands_out = max(0.1, min(8 / len(found), 0.4))
    for k in np.flatnonzero(state.S.any(axis=1)):
        share, energy = state.A[:, k] ** 2, state.S[k] ** 2
        few = np.argsort(energy)[::-1][:FEW]
        if energy[few].sum() > OWN * energy.sum():
            rows = np.flatnonzero(share > stands_out * share.sum())
            part = np.outer(state.A[rows, k], state.S[k, few])
            found[np.ix_(rows, few)] |= part > FAR * sigma[rows, None]
    return found if engine.weights is None else found & (engine.weights > 0)


def _long(far: NDArray) -> NDArray:
    """Where more than `LONGEST` neighbouring samples are far together."""
    n = far.shape[1]
    if n <= LONGEST:
        return np.zeros_like(far)
    count = np.cumsum(np.pad(far, ((0, 0), (1, 0))), axis=1)
    full = count[:, LONGEST + 1 :] - count[:, : -LONGEST - 1] == LONGEST + 1  # windows that are all far
    found = np.zeros_like(far)
    for shift in range(LONGEST + 1):
        found[:, shift : shift + full.shape[1]] |= full
    return found


def reweighed(run: Run, rule: Reweighting, guess: Guess) -> Iterator[tuple[Engine, State, bool]]:
    """The states of one fit after the other, their engine, and whether one is the last of all.

    Each fit goes on from the last, whose residual is small: its thresholds are down at once. Where
    outliers were found it begins anew, since they may have led the last one astray.
    """
    engine, done = rule.engine, 0
    A, S = guess(engine)
    spikes = np.zeros(engine.shape, dtype=bool)
    for round_ in range(ROUNDS + 1):
        last: State | None = None
        for state in run(engine, A, S):
            if last is not None:
                yield engine, last, False
            last = replace(state, k=state.k + done)
        assert last is not None
        following, found = rule.following(last, spikes)
        if round_ == ROUNDS or _change(engine, following) <= SETTLED:
            yield engine, replace(last, outliers=np.argwhere(spikes) if rule.robust else None), True
            return
        yield engine, replace(last, settled=False), False
        anew = not np.array_equal(spikes, found)
        engine, spikes, done = following, found, last.k
        A, S = guess(engine) if anew else (last.A, last.S)


def _change(before: Engine, after: Engine) -> float:
    """Root mean square change of the logarithms of weights; infinite where other entries are 0."""
    if before.weights is None and after.weights is None:
        return 0.0
    old, new = (np.ones(e.shape) if e.weights is None else e.weights for e in (before, after))
    seen = old > 0
    if not np.array_equal(seen, new > 0):
        return np.inf
    change = np.log(new[seen] / old[seen])
    return float(np.sqrt(np.mean(change**2))) if change.size else 0.0
