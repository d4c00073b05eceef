"""Defects of a table: copied measurements, an axis or other numbers read as data, exchanged sides."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import Engine

MAX_ENTRIES = 100_000  # in the first measurements
MIN_CHANNELS = 8
MIN_DIFFERENT_VALUES = 8  # of a measurement and its copy
EVEN_STEP = 1e-4  # of the step, by which an axis with few digits may differ from even steps
JUMP = 5.0  # times the largest usual step between neighbouring channels
ALIKE_MEASUREMENTS, UNLIKE_CHANNELS = 0.7, 0.4  # correlations of neighbours in transposed data


@dataclass(frozen=True)
class Place:
    """Where a defect is: a kind, a measurement and a channel, -1 for all of them."""

    kind: str
    measurement: int
    channel: int


def layout_defects(engine: Engine) -> list[Place]:
    """Return copies, axes, odd columns and exchanged sides; of large data in the first measurements."""
    n = engine.shape[1]
    if n < MIN_CHANNELS or engine.weights is not None or engine.place != "memory":
        return []
    Y = engine.pick(slice(0, max(MAX_ENTRIES // n, 1)), slice(None))
    found = [Place("axis", int(i), 0) for i in np.flatnonzero(_evenly_stepped(Y))]
    found += [Place("copy", i, 0) for i in _copies(Y)]
    found += [Place("column", -1, j) for j in _odd_columns(Y)]
    if len(Y) > n >= MIN_CHANNELS and _transposed(Y):
        found.append(Place("transposed", -1, 0))
    return found


def _evenly_stepped(Y: NDArray) -> NDArray:
    """Return which measurements rise or fall in equal steps, as an axis does."""
    steps = np.diff(Y, axis=1)
    mean = steps.mean(axis=1)
    return np.asarray(
        (mean != 0) & (np.abs(steps - mean[:, None]).max(axis=1) < EVEN_STEP * np.abs(mean))
    )


def _copies(Y: NDArray) -> list[int]:
    """Return measurements that are equal to an earlier one, entry by entry.

    Those of few different values, such as single counts, may be equal by chance.
    """
    first: dict[bytes, int] = {}
    for i, row in enumerate(np.ascontiguousarray(Y)):
        first.setdefault(hashlib.blake2b(row).digest(), i)
    earliest = set(first.values())
    return [
        i for i, row in enumerate(Y) if i not in earliest and len(np.unique(row)) >= MIN_DIFFERENT_VALUES
    ]


def _odd_columns(Y: NDArray) -> list[int]:
    """Return the first or the last channel, if it is far from its neighbour in most measurements."""
    steps = np.median(np.abs(np.diff(Y, axis=1)), axis=0)
    usual = float(np.max(steps[1:-1]))
    return [j for j, step in ((0, steps[0]), (Y.shape[1] - 1, steps[-1])) if step > JUMP * usual > 0]


def _transposed(Y: NDArray) -> bool:
    """Return whether neighbouring measurements are much alike and neighbouring channels are not."""
    down, across = (_correlation(X) for X in (Y.T, Y))
    return down > ALIKE_MEASUREMENTS and across < UNLIKE_CHANNELS


def _correlation(X: NDArray) -> float:
    """Return the correlation of neighbours in a row, beyond the mean of each row."""
    X = X - X.mean(axis=1, keepdims=True)
    energy = float(np.sum(np.square(X, dtype=float)))
    return float(np.sum(X[:, 1:] * X[:, :-1], dtype=float)) / energy if energy > 0 else 0.0
