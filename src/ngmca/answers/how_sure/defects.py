"""Defects of the data: spikes, saturated entries, dead channels, empty measurements."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many import spikes as spike_search
from ngmca.answers.how_many.singular_values import Data
from ngmca.answers.how_sure.layout_defects import layout_defects
from ngmca.answers.missing_entries import bridged
from ngmca.engines import Engine, everything, open_data, row_blocks, row_energies

SATURATED_RANGE = 0.99  # of the largest value: saturated data have more entries at the top than near it
NEXT_VALUE_SHARE = (
    0.25  # entries at the next lower value over those at the largest: rounded data have more
)
EXCEPTIONS = 0.1  # at most this share of the channels is dead, or of the measurements empty
MIN_STEP = 0.05  # of the height of the mean spectrum, between a dead channel and its neighbours
MAX_PER_KIND = 20


@dataclass(frozen=True)
class Defect:
    """One or several entries of a measurement or a channel that no substance has caused.

    Attributes
    ----------
    kind : str
        ``"spike"``, ``"saturated"``, ``"dead"`` or ``"empty"``; of the table ``"copy"``, ``"axis"``,
        ``"column"`` or ``"transposed"``, see `layout_defects`.
    measurement : int
        The measurement; -1 for a channel of all measurements.
    channel : int
        The channel, or the first of several.
    count : int
        Number of entries.
    share : float
        Share of the energy of the data that is wrong or missing.
    """

    kind: str
    measurement: int
    channel: int
    count: int
    share: float


def defects(data: Data) -> list[Defect]:
    """Return spikes, saturated entries, dead channels and empty measurements, most energy first."""
    if spike_search.too_small(data.shape):
        return []
    engine = bridged(open_data(data))
    seen = _Extremes(engine)
    found = [*_spikes(engine, seen), *_saturated(engine, seen), *_dead(seen), *_empty(engine)]
    found += _layout(engine)
    shares = [replace(one, share=one.share / engine.energy) for one in found]
    return sorted(shares, key=lambda one: -one.share)


class _Extremes:
    """The extremes of every row and column, from one pass over the data."""

    def __init__(self, engine: Engine) -> None:
        m, n = engine.shape
        self.largest = np.zeros(m)  # of each row
        spikes = (m, spike_search.SPIKES_PER_MEASUREMENT)
        self.height, self.place = np.zeros(spikes), np.zeros(spikes, int)  # of what stands out most
        self.low, self.high, self.mean = np.full(n, np.inf), np.full(n, -np.inf), np.zeros(n)
        line, work = (
            np.empty(n),
            np.empty((2, max(1, spike_search.BLOCK_ENTRIES // n), n)),
        )  # allocating is slow
        for rows, block in row_blocks(engine, spike_search.BLOCK_ENTRIES):
            y = np.ascontiguousarray(block)  # the first index may count fastest, as in MATLAB
            self.largest[rows] = y.max(axis=1)
            np.minimum(self.low, y.min(axis=0, out=line), out=self.low)
            np.maximum(self.high, y.max(axis=0, out=line), out=self.high)
            self.mean += y.sum(axis=0, dtype=float, out=line)
            self.height[rows], self.place[rows] = _steepest(y, work[:, : len(y)])
        self.mean /= m


def _steepest(y: NDArray, work: NDArray) -> tuple[NDArray, NDArray]:
    """Return heights and places (rows, 3) of the entries of each row that stand out most.

    The height is 0 if the rest of the row varies as much, as with sharp lines or noise.
    """
    out = spike_search.standing_out(y, work)
    height, place = spike_search.take_highest(out)
    rest = np.sqrt(np.einsum("ij,ij->i", out, out) / y.shape[1])[:, None]
    return np.where(height > spike_search.OVER_OWN_MEASUREMENT * rest, height, 0), place


def _layout(engine: Engine) -> list[Defect]:
    """Return defects of the table, each with the energy of a usual measurement or channel."""
    m, n = engine.shape
    return [
        Defect(one.kind, one.measurement, one.channel, m, engine.energy / n)
        if one.measurement < 0
        else Defect(one.kind, one.measurement, one.channel, n, engine.energy / m)
        for one in layout_defects(engine)
    ]


def _spikes(engine: Engine, seen: _Extremes) -> list[Defect]:
    """Return spikes, the highest first."""
    height = seen.height.ravel()
    tall = np.flatnonzero(
        (height > 0) & (height > spike_search.MIN_HEIGHT * float(np.median(seen.largest)))
    )
    tall = tall[np.argsort(-height[tall], kind="stable")][:MAX_PER_KIND]
    entries = [
        (int(k) // spike_search.SPIKES_PER_MEASUREMENT, int(seen.place.flat[k]), float(height[k]))
        for k in tall
    ]
    return [
        Defect("spike", i, j, 1, height**2) for i, j, height in entries if _is_rare(engine, i, j, height)
    ]


def _is_rare(engine: Engine, i: int, j: int, height: float) -> bool:
    """Return whether at most one other measurement has a similar entry at channel j."""
    low = max(j - spike_search.REACH, 0)
    around = everything(engine)[:, low : j + spike_search.REACH + 1]
    others = spike_search.standing_out(around, np.empty((2, *around.shape)))[:, j - low]
    others[i] = 0
    return bool(height > spike_search.OVER_OTHER_MEASUREMENTS * np.partition(others, -2)[-2])


def _empty(engine: Engine) -> list[Defect]:
    """Return measurements of zeros, if they are the exception; each misses the energy of a usual one."""
    m, n = engine.shape
    rows = np.flatnonzero(row_energies(engine) == 0)
    if len(rows) > max(1, EXCEPTIONS * m) or engine.energy == 0:
        return []
    return [Defect("empty", int(i), 0, n, engine.energy / m) for i in rows[:MAX_PER_KIND]]


def _saturated(engine: Engine, seen: _Extremes) -> list[Defect]:
    """Return measurements with several neighbouring entries at the largest value, if many are there.

    Smooth peaks of few digits have equal entries too, but nearly as many at the next lower value: a
    parabola has at least 0.41 as many there.
    """
    limit = float(seen.largest.max())
    found, near, next_below = [], 0, 0
    for i in np.flatnonzero(seen.largest >= SATURATED_RANGE * limit) if limit > 0 else ():
        row = engine.pick(slice(i, i + 1), slice(None))[0]
        full = row == limit
        near += int(np.count_nonzero(row >= SATURATED_RANGE * limit)) - int(full.sum())
        runs = full[2:] & full[1:-1] & full[:-2]
        if runs.any():
            count = int(full.sum())
            found.append(Defect("saturated", int(i), int(runs.argmax()), count, count * limit**2))
            rest = row[~full]
            next_below += int(np.count_nonzero(rest == rest.max(initial=-np.inf))) - 1
    total, size = sum(one.count for one in found), engine.shape[0] * engine.shape[1]
    piled = near < total < size / 2 and next_below < NEXT_VALUE_SHARE * total
    return sorted(found, key=lambda one: -one.count)[:MAX_PER_KIND] if piled else []


def _dead(seen: _Extremes) -> list[Defect]:
    """Return channels with the same value in all measurements that differ from their neighbours.

    A channel of zeros only counts if its neighbours are never 0: counts may be 0 by chance.
    """
    same, mean, m = seen.low == seen.high, seen.mean, len(seen.largest)
    places, live = np.flatnonzero(same), np.flatnonzero(~same)
    if not 0 < len(places) <= EXCEPTIONS * len(mean):
        return []
    step = np.abs(mean[places] - np.interp(places, live, mean[live]))
    far = step > MIN_STEP * np.abs(mean[live]).max()
    far &= (seen.low[places] != 0) | (np.interp(places, live, seen.low[live]) > 0)
    return [
        Defect("dead", -1, int(j), m, m * float(gap) ** 2)
        for j, gap in zip(places[far][:MAX_PER_KIND], step[far], strict=False)
    ]
