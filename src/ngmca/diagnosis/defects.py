"""What detectors do to data: spikes, saturated entries, channels that always say the same."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.data import InMemory, open_data
from ngmca.diagnosis.rank import Data

REACH = 2  # channels to both sides from which on a spike is over
ALONE = 5.0  # times that a spike stands further out than anything else in its channel
STEEP = 10.0  # times that it stands further out than the rest of its measurement varies
TALL = 0.5  # of the height of a usual measurement, from which on a spike matters
NEAR = 0.99  # of the largest value: of saturated data fewer entries lie from here to the top than at it
FEWEST = 5  # measurements from which on one can be told from the others
DEAD = 0.1  # share of constant channels up to which they are the exception
STEP = 0.05  # of the height of the mean spectrum, that a dead channel is away from its neighbours
NAMED = 20  # entries of one kind that are kept
CACHED = 1 << 17  # entries of whole rows that are looked at together


@dataclass(frozen=True)
class Defect:
    """One entry, or a measurement's or channel's worth of them, that no substance has caused."""

    kind: str  # "spike", "saturated" or "dead"
    measurement: int  # that holds it; -1 for a channel of all measurements
    channel: int  # the first, where there are several
    count: int  # entries
    share: float  # of the energy of the data, that is wrong


def defects(data: Data) -> list[Defect]:
    """Spikes, saturated measurements and dead channels of data (m, n), those of most energy first."""
    m, n = data.shape
    if m < FEWEST or n <= 4 * REACH:
        return []
    engine = open_data(data)
    seen = _Sight(engine)
    found = [*_spikes(engine, seen), *_saturated(engine, seen), *_dead(seen)]
    shares = [replace(one, share=one.share / engine.energy) for one in found]
    return sorted(shares, key=lambda one: -one.share)


class _Sight:
    """What one pass over the data sees of every row and column."""

    def __init__(self, engine: InMemory) -> None:
        m, n = engine.shape
        self.largest = np.zeros(m)  # entry of each row
        self.height, self.place = np.zeros(m), np.zeros(m, int)  # of what stands out most in each row
        self.low, self.high, self.mean = np.full(n, np.inf), np.full(n, -np.inf), np.zeros(n)
        line, work = np.empty(n), np.empty((max(1, CACHED // n), n))  # asked for once: that is slow
        for rows, block in engine.row_blocks(CACHED):
            y = np.ascontiguousarray(block)  # the first index may count fastest, as in MATLAB
            self.largest[rows] = y.max(axis=1)
            np.minimum(self.low, y.min(axis=0, out=line), out=self.low)
            np.maximum(self.high, y.max(axis=0, out=line), out=self.high)
            self.mean += y.sum(axis=0, dtype=float, out=line)
            self.height[rows], self.place[rows] = _steepest(y, work[: len(y)])
        self.mean /= m


def _steepest(y: NDArray, out: NDArray) -> tuple[NDArray, NDArray]:
    """How far the entry that stands out most of each row does, and where it is; `out` is written over.

    0 where the rest of the row does the like, as in one of sharp lines or of noise.
    """
    np.maximum(_standing_out(y, out), 0, out=out)
    place = out.argmax(axis=1)
    height = np.take_along_axis(out, place[:, None], axis=1)[:, 0]
    rest = np.sqrt(np.maximum(np.einsum("ij,ij->i", out, out) - height**2, 0) / y.shape[1])
    return np.where(height > STEEP * rest, height, 0), place


def _standing_out(y: NDArray, out: NDArray) -> NDArray:
    """How much every entry is above those at both sides of it, which are 0 beyond the ends: in `out`."""
    out[:, -REACH:] = 0
    out[:, :-REACH] = y[:, REACH:]
    np.maximum(out[:, REACH:], y[:, :-REACH], out=out[:, REACH:])
    np.maximum(out[:, :REACH], 0, out=out[:, :REACH])
    return np.subtract(y, out, out=out)


def _spikes(engine: InMemory, seen: _Sight) -> list[Defect]:
    """Entries of a channel or three that stand out of their measurement, and there of no other."""
    usual = float(np.median(seen.largest))
    tall = np.flatnonzero((seen.height > 0) & (seen.height > TALL * usual))
    tall = tall[np.argsort(-seen.height[tall], kind="stable")][:NAMED]
    entries = [(int(i), int(seen.place[i]), float(seen.height[i])) for i in tall]
    return [
        Defect("spike", i, j, 1, height**2)
        for i, j, height in entries
        if _is_alone(engine, i, j, height)
    ]


def _is_alone(engine: InMemory, i: int, j: int, height: float) -> bool:
    """Whether nothing like a spike is at channel j of the other measurements."""
    low = max(j - REACH, 0)
    around = engine.rows(slice(None))[:, low : j + REACH + 1]
    others = _standing_out(around, np.empty(around.shape))[:, j - low]
    others[i] = 0
    return bool(height > ALONE * others.max())


def _saturated(engine: InMemory, seen: _Sight) -> list[Defect]:
    """Measurements with several entries in a row at the largest value, if entries pile up there."""
    limit = float(seen.largest.max())
    found, near = [], 0
    for i in np.flatnonzero(seen.largest >= NEAR * limit) if limit > 0 else ():
        row = engine.rows(slice(i, i + 1))[0]
        full = row == limit
        near += int(np.count_nonzero(row >= NEAR * limit)) - int(full.sum())
        runs = full[2:] & full[1:-1] & full[:-2]
        if runs.any():
            count = int(full.sum())
            found.append(Defect("saturated", int(i), int(runs.argmax()), count, count * limit**2))
    total, size = sum(one.count for one in found), engine.shape[0] * engine.shape[1]
    return sorted(found, key=lambda one: -one.count)[:NAMED] if near < total < size / 2 else []


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
