"""A data set: measurements x channels, with its axis and names."""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.html_cards import card, curves
from ngmca.io.axis_units import NO_AXIS
from ngmca.io.read_error import ReadError, printable
from ngmca.io.technique import Technique

Axis = tuple[NDArray | None, str, str]  # positions, name and unit


@dataclass(frozen=True)
class Dataset:
    """Measurements x channels, with everything that the file says about its rows and columns.

    `ngmca.io.read` returns one. A data set made by hand needs Y only.

    Attributes
    ----------
    Y : (m, n) array
        One row for each measurement, one column for each channel. NaN where an entry is missing.
    axis : (n,) array or None
        Position of each channel, in the order of the file. None if the file has no axis.
    axis_name, axis_unit : str
        Name and unit of the axis, such as "wavelength" and "nm".
    row_names : tuple of str
        One name for each measurement, or an empty tuple.
    row_axis : (m,) array or None
        Time, temperature or another coordinate of each measurement.
    row_label : str
        Name and unit of this coordinate, such as "time [h]".
    image_shape : (int, int) or None
        Rows and columns of an image whose pixels are the measurements.
    meta : dict
        Other facts: format, path, title, kind of intensity, coordinates of pixels.
    notes : tuple of str
        Decisions that the reader made, for the user to check.

    Examples
    --------
    >>> data = Dataset(np.ones((2, 3)), np.array([400.0, 410.0, 420.0]), "wavelength", "nm", ("a", "b"))
    >>> data
    Dataset: 2 x 3, wavelength [nm] from 400 to 420
    >>> data.crop(405, 420).axis
    array([410., 420.])
    """

    Y: NDArray | Any  # or a file that is read by slicing
    axis: NDArray | None = None
    axis_name: str = NO_AXIS
    axis_unit: str = ""
    row_names: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    row_axis: NDArray | None = None
    row_label: str = ""

    @property
    def positions(self) -> NDArray:
        """The axis, or the number of each channel, from 0, if there is no axis."""
        return np.arange(self.Y.shape[1], dtype=float) if self.axis is None else self.axis

    @property
    def axis_label(self) -> str:
        """Name and unit of the axis, as a figure shows them: ``wavelength [nm]``."""
        return f"{self.axis_name} [{self.axis_unit}]" if self.axis_unit else self.axis_name

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each measurement; numbers from 1 if the measurements have no names."""
        return self.row_names or tuple(str(i + 1) for i in range(len(self.Y)))

    @property
    def in_memory(self) -> bool:
        """Whether Y is an array in memory; if not, Y is read from its file by slicing."""
        return isinstance(self.Y, np.ndarray) and not isinstance(self.Y, np.memmap)

    @property
    def parts(self) -> tuple[slice, ...]:
        """The rows of each file if the data come from several files, else one slice of all rows."""
        sizes = [size for _, size in self.meta.get("parts", ())]
        ends = np.cumsum([0, *sizes]).tolist()
        if len(sizes) < 2 or ends[-1] != len(self.Y):
            return (slice(None),)
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @property
    def techniques(self) -> tuple[Technique, ...]:
        """The techniques whose channels follow each other; empty if the data are of one technique."""
        return tuple(Technique(**one) for one in self.meta.get("techniques", ()))

    def split(self) -> "tuple[Dataset, ...]":
        """Return the data of each technique on its own axis and in its own unit.

        Returns
        -------
        tuple of Dataset
            Only this data set if there is one technique.
        """
        meta = {name: value for name, value in self.meta.items() if name != "techniques"}
        return tuple(
            replace(
                self,
                Y=self.Y[:, one.channels] * self.Y.dtype.type(one.unit),
                axis=self.positions[one.channels],
                axis_name=one.axis_name,
                axis_unit=one.axis_unit,
                meta=meta | {"title": one.name},
            )
            for one in self.techniques
        ) or (self,)

    def __repr__(self) -> str:
        words = [" x ".join(map(str, self.Y.shape)), printable(self.axis_label)]
        if self.techniques:
            words[-1] += f" of {len(self.techniques)} techniques"
        elif self.axis is not None and len(self.axis):
            words[-1] += f" from {self.axis[0]:g} to {self.axis[-1]:g}"
        if self.image_shape:
            words.append("an image of {} x {}".format(*self.image_shape))
        return f"Dataset: {', '.join(words)}"

    def _repr_html_(self) -> str:
        """Some of the measurements, for notebooks; data that are not in memory are not read."""
        m, notes = len(self.Y), [str(note) for note in self.notes]
        if not self.in_memory or not self.Y.size:
            return card(repr(self), [], remarks=notes)
        some = np.unique(np.linspace(0, m - 1, min(m, 6)).round().astype(int))
        rows = [[self.names[i], curves(self.Y[i], first=k)] for k, i in enumerate(some)]
        more = [f"{len(some)} of {m} measurements are shown."] if len(some) < m else []
        return card(repr(self), rows, ["measurement", self.axis_label], [*more, *notes])

    def with_notes(self, *notes: str) -> "Dataset":
        """Return the same data set with more notes.

        Parameters
        ----------
        *notes : str
            Sentences for the user.

        Returns
        -------
        Dataset

        Examples
        --------
        >>> Dataset(np.ones((2, 3))).with_notes("The lamp was changed after row 1.").notes
        ('The lamp was changed after row 1.',)
        """
        return replace(self, notes=self.notes + notes)

    def crop(self, low: float, high: float) -> "Dataset":
        """Return the channels whose positions are in [low, high].

        Parameters
        ----------
        low, high : float
            Both ends of the range, in any order, in the unit of the axis.

        Returns
        -------
        Dataset

        Raises
        ------
        ReadError
            If the range has no channel.

        Examples
        --------
        >>> Dataset(np.ones((2, 4)), np.array([9.0, 7.0, 5.0, 3.0])).crop(4, 8)
        Dataset: 2 x 2, channel from 7 to 5
        """
        if self.techniques:
            raise ReadError("the axes of several techniques are joined: crop the data of each before.")
        low, high = sorted((low, high))
        keep = (self.positions >= low) & (self.positions <= high)
        if not keep.any():
            raise ReadError(
                "no channel lies in {:g}:{:g}: the axis goes from {:g} to {:g}.",
                *(low, high, float(self.positions.min()), float(self.positions.max())),
            )
        axis = self.positions[keep]
        return replace(self, Y=np.ascontiguousarray(self.Y[:, keep]), axis=axis)


def monotonic(values: NDArray) -> bool:
    """Return whether finite values rise or fall all the way, as an axis does."""
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        return False
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all())


def real_numbers(array: Any, where: str) -> NDArray:
    """Return a float array, NaN where an entry is missing; raise an error if it is not one."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        raise ReadError(f"{where} is complex: save its real part (phased) or its modulus.")
    if array.dtype.kind == "O":
        raise ReadError(f"{where} holds Python objects, not numbers.")
    if array.dtype.kind in "SUT":
        raise ReadError(f"{where} holds text, not numbers.")
    if array.dtype.kind not in "fiub":
        raise ReadError(f"{where} holds {array.dtype}, not numbers.")
    if array.dtype != np.float32:
        with np.errstate(all="ignore"):  # numbers beyond float64 become infinite: an error below
            array = array.astype(np.float64, copy=False)
    if np.isinf(array).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(array))[0])
        raise ReadError(f"{where} has infinity at index {place}: replace it or leave out its column.")
    return array
