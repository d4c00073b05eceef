"""What a reader gives back, and the error it raises when it cannot."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import NO_AXIS

LONGEST = 1000  # characters of an error: a file may have a cell of 50 MB, and a library cite it


class ReadError(ValueError):
    """One line that says what is wrong, where, and what to do about it."""

    def __init__(self, text: str) -> None:
        super().__init__(shown(_shortened(text, LONGEST)))


def shown(text: Any) -> str:
    r"""A name or message with control characters, and bytes that are no UTF-8, written as \x1b."""
    text = str(text)
    return text if text.isprintable() else "".join(c if _harmless(c) else _escaped(c) for c in text)


def told(error: BaseException, longest: int = 300) -> str:
    """What another library's error says, on one line."""
    return " ".join(_shortened(str(error), longest).split()).rstrip(".") or type(error).__name__


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest // 2]} ... {text[-longest // 3 :]}"


def _harmless(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


@dataclass(frozen=True)
class Dataset:
    """Measurements x channels, with all that the file says about its rows and columns.

    `ngmca.io.read` returns one; made by hand, all but Y may be left out:

    >>> Dataset(np.ones((2, 3)), np.array([400.0, 410.0, 420.0]), "wavelength", "nm", ("a", "b"))
    Dataset: 2 x 3, wavelength [nm] from 400 to 420
    """

    Y: NDArray  # (m, n)
    axis: NDArray | None = None  # (n,) position of each channel, as in the file
    axis_name: str = NO_AXIS
    axis_unit: str = ""
    row_names: tuple[str, ...] = ()  # (m,), or empty
    image_shape: tuple[int, int] | None = None  # rows, columns of an image whose pixels are measurements
    meta: dict[str, Any] = field(default_factory=dict)  # format, title and the like
    notes: tuple[str, ...] = ()  # decisions a reader took, for the user to see

    @property
    def positions(self) -> NDArray:
        """The axis, or the number of each channel where the file has none."""
        return np.arange(self.Y.shape[1], dtype=float) if self.axis is None else self.axis

    @property
    def axis_label(self) -> str:
        """Name and unit of the axis, as they stand in a figure."""
        return f"{self.axis_name} [{self.axis_unit}]" if self.axis_unit else self.axis_name

    @property
    def names(self) -> tuple[str, ...]:
        """One name a measurement, numbers from 1 where the file has none."""
        return self.row_names or tuple(str(i + 1) for i in range(len(self.Y)))

    @property
    def parts(self) -> tuple[slice, ...]:
        """The measurements of each of several files; all of them where there is one."""
        sizes = [size for _, size in self.meta.get("parts", ())]
        ends = np.cumsum([0, *sizes]).tolist()
        if len(sizes) < 2 or ends[-1] != len(self.Y):
            return (slice(None),)
        return tuple(slice(a, b) for a, b in pairwise(ends))

    def __repr__(self) -> str:
        told = [" x ".join(map(str, self.Y.shape)), shown(self.axis_label)]
        if self.axis is not None and len(self.axis):
            told[-1] += f" from {self.axis[0]:g} to {self.axis[-1]:g}"
        if self.image_shape:
            told.append("an image of {} x {}".format(*self.image_shape))
        return f"Dataset: {', '.join(told)}"

    def noted(self, *notes: str) -> "Dataset":
        """The same with more notes."""
        return replace(self, notes=self.notes + notes)

    def crop(self, low: float, high: float) -> "Dataset":
        """Channels whose position lies in [low, high]."""
        low, high = sorted((low, high))
        keep = (self.positions >= low) & (self.positions <= high)
        if not keep.any():
            ends = f"{self.positions.min():g} to {self.positions.max():g}"
            raise ReadError(f"no channel lies in {low:g}:{high:g}: the axis goes from {ends}.")
        axis = self.positions[keep]
        return replace(self, Y=np.ascontiguousarray(self.Y[:, keep]), axis=axis)


def monotonic(values: NDArray) -> bool:
    """Whether values rise or fall all along, as an axis does."""
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        return False
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all())


def from_array(
    array: NDArray,
    axis: NDArray | None = None,
    *,
    transpose: bool | None = None,
    where: str = "the array",
    **fields: Any,
) -> Dataset:
    """A dataset of a matrix or image cube, turned so that channels are in the columns.

    `transpose` says whether channels are in the rows (of a cube: along the first direction); None
    leaves it to the length of the axis, and to the layout (measurements, channels) without one.
    """
    array = real_numbers(array, where)
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim not in (2, 3):
        raise ReadError(
            f"{where} has shape {array.shape}: a table (measurements, channels) or an image cube "
            "(rows, columns, channels) is needed."
        )
    if 0 in array.shape:
        raise ReadError(f"{where} has shape {array.shape}: there is nothing in it.")
    turned, note = channels_first(array.shape, axis, transpose, where)
    if turned:
        array = np.moveaxis(array, 0, -1)
    data = Dataset(Y=array, axis=axis, **fields)
    if array.ndim == 3:
        rows, columns, channels = array.shape
        data = replace(data, Y=array.reshape(rows * columns, channels), image_shape=(rows, columns))
    return data.noted(note) if note else data


def channels_first(
    shape: Sequence[int], axis: NDArray | None, transpose: bool | None, where: str
) -> tuple[bool, str]:
    """Whether channels are along the first direction, and what to tell the user about it."""
    first, last = shape[0], shape[-1]
    if axis is None:
        return bool(transpose), ""
    fits = [turned for turned, size in ((False, last), (True, first)) if size == len(axis)]
    if transpose is not None:
        fits = [turned for turned in fits if turned == transpose]
    if not fits:
        asked = "" if transpose is None else f", read with{'' if transpose else 'out'} transposition,"
        raise ReadError(f"{where} of shape {tuple(shape)}{asked} does not fit an axis of {len(axis)}.")
    note = ""
    if transpose is None and len(fits) == 2 and first > 1:
        note = (
            f"{where} is as high as it is wide: rows are taken as measurements (transpose=True if not)."
        )
    elif transpose is None and fits[0]:
        note = "channels are in the rows, as the axis shows: transposed."
    return fits[0], note


def real_numbers(array: Any, where: str) -> NDArray:
    """A float array, NaN where it is missing, or an error that says why it is none."""
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
        with np.errstate(all="ignore"):  # what no float64 can hold becomes infinite, and is refused
            array = array.astype(np.float64, copy=False)
    if np.isinf(array).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(array))[0])
        raise ReadError(f"{where} has infinity at index {place}: replace it or leave out its column.")
    return array


def with_gaps_told(data: Dataset, where: str) -> Dataset:
    """The same with a note about how many entries are missing; an error where all of them are.

    Infinity is refused: a scale that overflows leads to it.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(data.Y)):
            return data
    if np.isinf(data.Y).any():
        raise ReadError("its numbers are beyond the largest that there is: a scale in it is damaged.")
    count = int(np.count_nonzero(np.isnan(data.Y)))
    if not count:  # only their sum is too large
        return data
    if count == data.Y.size:
        raise ReadError(f"there are no numbers, all {count} entries are missing.")
    share = f"{100 * count / data.Y.size:.2g} %"
    return data.noted(f"{where} has {count} missing entries ({share}): they count nowhere.")
