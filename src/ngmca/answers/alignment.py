"""Alignment: measurements whose lines moved along the axis are moved back before they are separated."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import rules
from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, Message, message, option
from ngmca._support.threads import one_blas_thread
from ngmca.answers.how_many.spikes import spikes, with_sides
from ngmca.answers.missing_entries import bridged
from ngmca.answers.wording import counted
from ngmca.domains.shifts import Movable, Shifts, found_shifts
from ngmca.engines import Engine, everything, in_memory, open_data, without_outliers
from ngmca.io import Dataset
from ngmca.task.problem import features_of_data

SHIFTS, WORDS = "shifts", "alignment"  # where `Dataset.meta` has them
MOST_OF_CHANNELS = 20  # the largest shift is one of so many parts of the channels
MIN_MOST = 2.0  # channels
LEAST_MOST = 0.1  # channels: smaller shifts are hardly more than their error
SPARE = 3  # measurements and channels more than sources, without which every shift fits
ROUNDING = 0.05  # of a channel: shifts by whole channels leave out as many
EVEN = 0.01  # of the mean step of an axis: smaller differences count as rounding
ROOM = 4  # the channels are at least so many times the largest shift


@dataclass(frozen=True, eq=False)
class Alignment:
    """Measurements that were moved back along the axis, and by how much.

    Attributes
    ----------
    data : (m, k) array or Dataset
        The aligned measurements, a `Dataset` if one was given. Channels at the ends, which spectra
        were moved into or out of, are left out: there are as many as before only if nothing was moved.
    shifts : (m,) array
        How many channels the lines of each measurement were too far towards later channels, against
        the median measurement. All are 0 if noise alone explains the differences.
    sd : (m,) array
        Standard deviations of the shifts.
    channels : slice
        The channels of the measurements that `data` has.
    lowers : float
        How many times the shifts lower what the sources cannot explain; 1 without any.
    too_far : (m,) array of bool
        Measurements that stay where they are, because no allowed shift brings their lines to the others.
    words : str
        All this in a sentence.
    """

    data: NDArray | Dataset = field(repr=False)
    shifts: NDArray = field(repr=False)
    sd: NDArray = field(repr=False)
    channels: slice
    lowers: float
    too_far: NDArray = field(repr=False)
    words: str

    def __repr__(self) -> str:
        return f"Alignment: {self.words}"

    def undone(self, X: ArrayLike) -> NDArray:
        """Return aligned rows (m, k), such as a fit A S, moved to where they were measured.

        Lines come back to their places. Channels that nothing is known about are at the ends, as many
        as the shift.
        """
        X = arguments.as_array(X, "X").astype(float)
        shape = (len(self.shifts), self.channels.stop - self.channels.start)
        if X.shape != shape:
            raise ArgumentError(
                "{} must have the shape of the aligned data, {}, got {}.", option("X"), shape, X.shape
            )
        return Movable.of(X).moved(self.shifts)


@one_blas_thread
def align(data: Any, r: int, *, most: float | None = None) -> Alignment:
    """Move measurements back whose lines shifted along the axis, for example in NMR or Raman spectra.

    Each measurement has one shift, a fraction of a channel or many channels, for all of its lines.
    Mixtures of r spectra have rank r, and a shift of single measurements raises it: the shifts are
    those for which r directions leave the least. Nothing is moved if noise alone explains as much. Only
    shifts between measurements can be found: the median measurement stays where it is. Spikes, as of
    cosmic rays, are replaced by straight lines if anything is moved.

    Lines that move one by one, for example with the pH, cannot be aligned in this way: align or leave
    out a part of the axis.

    Parameters
    ----------
    data : array-like of shape (m, n), Dataset, DataFrame or DataArray
        Measurements x channels in memory, without missing entries.
    r : int
        Number of sources.
    most : float or None
        Largest shift, in channels; None allows a twentieth of the channels.

    Returns
    -------
    Alignment
        The aligned data and the shifts.

    Raises
    ------
    ValueError
        If an argument has a wrong value, if there are hardly more measurements or channels than
        sources, or if the data are an image, several techniques, a list of peaks, or not in memory.

    Examples
    --------
    >>> import numpy as np
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=20, n=400, r=2, snr=30, seed=0)
    >>> Y = mixture.Y.copy()
    >>> Y[3] = np.roll(Y[3], 4)
    >>> aligned = ngmca.align(Y, 2)
    >>> float(aligned.shifts[3].round())
    4.0
    >>> ngmca.separate(aligned.data, 2)  # doctest: +ELLIPSIS
    Separation: 2 sources in 20 x 392 data...
    """
    engine = open_data(data)
    rules.check(features_of_data(engine) | rules.written(["align"]))
    m, n = engine.shape
    arguments.check_rank(r, engine.shape, warn=False)
    known = data if isinstance(data, Dataset) else None
    image = len(getattr(data, "shape", ())) > 2 if known is None else known.image_shape
    if image or (known is not None and known.meta.get("peaks")):
        raise ArgumentError(
            "{} is for spectra one after the other, and these are {}: leave it out.",
            *(option("ngmca.align"), "pixels of an image" if image else "lists of peaks"),
        )
    if most is None:
        most = max(MIN_MOST, n / MOST_OF_CHANNELS)
    else:
        arguments.check_number(most, "most", low=LEAST_MOST, high=n / ROOM)
    least = {"measurements": r + SPARE, "channels": r + SPARE + 2 * int(np.ceil(most))}
    for have, name in ((m, "measurements"), (n, "channels")):
        if have < least[name]:
            raise ArgumentError(
                "{} needs at least {} {} for {}, got {}: with fewer, any shift fits.",
                *(option("ngmca.align"), least[name], name, counted(r, "source"), have),
            )
    Y = everything(engine)
    found, spiky = _beside_spikes(engine, r, float(most))
    edge = int(np.ceil(max(float(np.abs(found.values).max()) - ROUNDING, 0.0)))
    channels = slice(edge, n - edge)
    if found.values.any():
        clean = _bridged(engine, spiky)  # a spike that is moved by half a channel rings along the axis
        Y = Movable.of(clean).moved(-found.values)[:, channels].astype(Y.dtype)
    Y = Y * Y.dtype.type(engine.unit)
    words = _words(found, known, n, edge, len(spiky))
    moved = Y if known is None else _with_shifts(known, Y, channels, found.values, words)
    return Alignment(moved, found.values, found.sd, channels, found.lowers, found.too_far, words)


def aligned(data: Dataset, r: int) -> Dataset:
    """Return aligned data, which know their shifts."""
    found = align(data, r).data
    assert isinstance(found, Dataset)
    return found


def _beside_spikes(engine: Engine, r: int, most: float) -> tuple[Shifts, NDArray]:
    """Return the shifts, and the spikes (k, 2) without which they were found.

    A few tall spikes would decide about all shifts. Lines that are far from those of the others look
    like spikes too, until all lines are at the same place to half a channel.
    """
    n, spiky = engine.shape[1], spikes(engine)
    found = found_shifts(_bridged(engine, spiky), r, most)
    if not len(spiky):
        return found, spiky
    far = np.rint(found.values).astype(int)
    rows = zip(everything(engine), far, strict=True)
    again = spikes(in_memory(np.stack([np.roll(row, -by) for row, by in rows])))
    again[:, 1] = (again[:, 1] + far[again[:, 0]]) % n
    if np.array_equal(np.unique(again, axis=0), np.unique(spiky, axis=0)):
        return found, spiky
    return found_shifts(_bridged(engine, again), r, most), again


def _bridged(engine: Engine, spiky: NDArray) -> NDArray:
    """Return the data with straight lines in place of spikes."""
    places = with_sides(spiky, engine.shape[1])
    return everything(bridged(without_outliers(engine, places)) if len(spiky) else engine).astype(float)


def _with_shifts(data: Dataset, Y: NDArray, channels: slice, shifts: NDArray, words: str) -> Dataset:
    """Return the aligned data with their axis, and with the shifts among their facts."""
    meta = data.meta | {SHIFTS: shifts.tolist(), WORDS: words}
    cut = Y.shape[1] < len(data.positions)
    axis = data.positions[channels] if cut else data.axis
    return replace(data, Y=Y, axis=axis, meta=meta).with_notes(words)


def shifts_of(data: Dataset) -> list[float] | None:
    """Return the shifts of aligned data, None if they were not aligned."""
    return data.meta.get(SHIFTS)


def alignment_words(data: Dataset) -> Message | None:
    """Return a sentence about the alignment of data, None if they were not aligned."""
    words = data.meta.get(WORDS)
    return None if words is None else message("{} ({} did this.)", words, option("ngmca.align"))


def _words(found: Shifts, data: Dataset | None, n: int, edge: int, spiky: int) -> str:
    """Return what was moved, how far, and how many of n channels and of spikes are left out."""
    size, staying = np.abs(found.values), int(found.too_far.sum())
    most, left, replaced = float(size.max()), "", ""
    if staying:
        have = "has" if staying == 1 else "have"
        left = f" {counted(staying, 'measurement')} {have} lines too far from the others, and stayed."
    if spiky:
        were = "was" if spiky == 1 else "were"
        replaced = f" {counted(spiky, 'spike')} {were} replaced by straight lines."
    if not most:
        return f"No shifts between measurements were found.{left}"
    far = f"{most:.2g} channels"
    steps = np.diff(data.positions) if data is not None and data.axis is not None else np.zeros(0)
    if data is not None and data.axis_unit and np.ptp(steps) < EVEN * abs(steps.mean()):
        far += f" ({most * abs(steps.mean()):.2g} {data.axis_unit})"
    return (
        f"{np.count_nonzero(size)} of {counted(len(size), 'measurement')} were moved along the axis, by "
        f"up to {far}, and {2 * edge} of {n} channels at the ends were left out. Without "
        f"that, sources leave {found.lowers:.2g} times as much unexplained.{left}{replaced}"
    )
