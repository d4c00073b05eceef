"""What detectors do to data: spikes, saturated entries, channels or measurements that say nothing."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many.singular_values import Data
from ngmca.answers.how_sure.missing_entries import bridged
from ngmca.engines import Engine, everything, open_data, row_blocks, row_energies

REACH = 2  # channels to both sides from which on a spike is over
ALONE = 5.0  # times that a spike stands further out than anything in its channel but one other
MOST = 3  # spikes of one measurement that are looked for
STEEP = 10.0  # times that it stands further out than the rest of its measurement varies
TALL = 0.5  # of the height of a usual measurement, from which on a spike matters
NEAR = 0.99  # of the largest value: of saturated data fewer entries lie from here to the top than at it
FEWEST = 5  # measurements from which on one can be told from the others
CROWD = 0.25  # entries at the next value below the largest, over those at it: more where digits end
DEAD = 0.1  # share of constant channels, or empty measurements, up to which they are the exception
STEP = 0.05  # of the height of the mean spectrum, that a dead channel is away from its neighbours
NAMED = 20  # entries of one kind that are kept
CACHED = 1 << 17  # entries of whole rows that are looked at together


@dataclass(frozen=True)
class Defect:
    """One entry, or a measurement's or channel's worth of them, that no substance has caused."""

    kind: str  # "spike", "saturated", "dead" or "empty"
    measurement: int  # that holds it; -1 for a channel of all measurements
    channel: int  # the first, where there are several
    count: int  # entries
    share: float  # of the energy of the data, that is wrong or missing


def defects(data: Data) -> list[Defect]:
    """Spikes, saturated and empty measurements, dead channels of data (m, n), most energy first."""
    m, n = data.shape
    if m < FEWEST or n <= 4 * REACH:
        return []
    engine = bridged(open_data(data))
    seen = _Sight(engine)
    found = [*_spikes(engine, seen), *_saturated(engine, seen), *_dead(seen), *_empty(engine)]
    shares = [replace(one, share=one.share / engine.energy) for one in found]
    return sorted(shares, key=lambda one: -one.share)


class _Sight:
    """What one pass over the data sees of every row and column."""

    def __init__(self, engine: Engine) -> None:
        m, n = engine.shape
        self.largest = np.zeros(m)  # entry of each row
        self.height, self.place = (
            np.zeros((m, MOST)),
            np.zeros((m, MOST), int),
        )  # of what stands out most
        self.low, self.high, self.mean = np.full(n, np.inf), np.full(n, -np.inf), np.zeros(n)
        line, work = np.empty(n), np.empty((2, max(1, CACHED // n), n))  # asked for once: that is slow
        for rows, block in row_blocks(engine, CACHED):
            y = np.ascontiguousarray(block)  # the first index may count fastest, as in MATLAB
            self.largest[rows] = y.max(axis=1)
            np.minimum(self.low, y.min(axis=0, out=line), out=self.low)
            np.maximum(self.high, y.max(axis=0, out=line), out=self.high)
            self.mean += y.sum(axis=0, dtype=float, out=line)
            self.height[rows], self.place[rows] = _steepest(y, work[:, : len(y)])
        self.mean /= m


def _steepest(y: NDArray, work: NDArray) -> tuple[NDArray, NDArray]:
    """How far the entries that stand out most of each row do, and where they are: (rows, MOST) both.

    0 where the rest of the row does the like, as in one of sharp lines or of noise.
    """
    out, rows = _standing_out(y, work), np.arange(len(y))
    height, place = np.empty((len(y), MOST)), np.empty((len(y), MOST), int)
    for k in range(MOST):
        place[:, k] = out.argmax(axis=1)
        height[:, k] = out[rows, place[:, k]]
        for step in range(-REACH, REACH + 1):  # a spike of several channels is one
            out[rows, np.clip(place[:, k] + step, 0, y.shape[1] - 1)] = 0
    rest = np.sqrt(np.einsum("ij,ij->i", out, out) / y.shape[1])[:, None]
    return np.where(height > STEEP * rest, height, 0), place


def _standing_out(y: NDArray, work: NDArray) -> NDArray:
    """How much every entry is above, or below, those at both sides of it, which are 0 beyond the ends.

    `work` (2, rows, n) is written over; the answer is in its first half.
    """
    out, below = work
    for one, more in ((out, np.maximum), (below, np.minimum)):
        one[:, -REACH:] = 0
        one[:, :-REACH] = y[:, REACH:]
        more(one[:, REACH:], y[:, :-REACH], out=one[:, REACH:])
        more(one[:, :REACH], 0, out=one[:, :REACH])
    np.subtract(y, out, out=out)
    np.subtract(below, y, out=below)
    return np.maximum(np.maximum(out, below, out=out), 0, out=out)


def _spikes(engine: Engine, seen: _Sight) -> list[Defect]:
    """Entries of a channel or three that stand out of their measurement, and there of hardly another."""
    height = seen.height.ravel()
    tall = np.flatnonzero((height > 0) & (height > TALL * float(np.median(seen.largest))))
    tall = tall[np.argsort(-height[tall], kind="stable")][:NAMED]
    entries = [(int(k) // MOST, int(seen.place.flat[k]), float(height[k])) for k in tall]
    return [
        Defect("spike", i, j, 1, height**2) for i, j, height in entries if _is_rare(engine, i, j, height)
    ]


def _is_rare(engine: Engine, i: int, j: int, height: float) -> bool:
    """Whether at most one other measurement has the like of a spike at channel j."""
    low = max(j - REACH, 0)
    around = everything(engine)[:, low : j + REACH + 1]
    others = _standing_out(around, np.empty((2, *around.shape)))[:, j - low]
    others[i] = 0
    return bool(height > ALONE * np.partition(others, -2)[-2])


def _empty(engine: Engine) -> list[Defect]:
    """Measurements of zeros alone, if they are the exception; each lacks the energy of a usual one."""
    m, n = engine.shape
    rows = np.flatnonzero(row_energies(engine) == 0)
    if len(rows) > max(1, DEAD * m) or engine.energy == 0:
        return []
    return [Defect("empty", int(i), 0, n, engine.energy / m) for i in rows[:NAMED]]


def _saturated(engine: Engine, seen: _Sight) -> list[Defect]:
    """Measurements with several entries in a row at the largest value, if entries pile up there.

    Smooth tops of few digits do so too, but at the value below it nearly as much: the smallest share
    that a parabola has there is 0.41.
    """
    limit = float(seen.largest.max())
    found, near, next_below = [], 0, 0
    for i in np.flatnonzero(seen.largest >= NEAR * limit) if limit > 0 else ():
        row = engine.pick(slice(i, i + 1), slice(None))[0]
        full = row == limit
        near += int(np.count_nonzero(row >= NEAR * limit)) - int(full.sum())
        runs = full[2:] & full[1:-1] & full[:-2]
        if runs.any():
            count = int(full.sum())
            found.append(Defect("saturated", int(i), int(runs.argmax()), count, count * limit**2))
            rest = row[~full]
            next_below += int(np.count_nonzero(rest == rest.max(initial=-np.inf))) - 1
    total, size = sum(one.count for one in found), engine.shape[0] * engine.shape[1]
    piled = near < total < size / 2 and next_below < CROWD * total
    return sorted(found, key=lambda one: -one.count)[:NAMED] if piled else []


def _dead(seen: _Sight) -> list[Defect]:
    """Channels that have one value in all measurements, and another one than those around them.

    One of zeros only counts where its neighbours never are 0: counts may well be, by chance.
    """
    same, mean, m = seen.low == seen.high, seen.mean, len(seen.largest)
    places, live = np.flatnonzero(same), np.flatnonzero(~same)
    if not 0 < len(places) <= DEAD * len(mean):
        return []
    step = np.abs(mean[places] - np.interp(places, live, mean[live]))
    far = step > STEP * np.abs(mean[live]).max()
    far &= (seen.low[places] != 0) | (np.interp(places, live, seen.low[live]) > 0)
    return [
        Defect("dead", -1, int(j), m, m * float(gap) ** 2)
        for j, gap in zip(places[far][:NAMED], step[far], strict=False)
    ]
