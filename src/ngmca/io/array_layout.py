"""Arrays as data sets: which dimension holds the channels, and an axis inside a table of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import Message, message, option
from ngmca.io.array_choice import EXCITATION, MAX_DIMENSIONS, Shape, emission_of, find_axis, short
from ngmca.io.axis_units import NO_AXIS, is_place, is_spectral, role, row_label
from ngmca.io.dataset import Axis, Dataset, monotonic, real_numbers
from ngmca.io.read_error import ReadError, printable
from ngmca.io.tables.axis_evidence import SAFE_LENGTH, in_spectral_range, is_counter, is_even
from ngmca.io.tables.cells import Lines
from ngmca.io.tables.dialects import tidied
from ngmca.io.tables.orientation import choose_reading
from ngmca.io.tables.text_reader import dataset_of
from ngmca.io.tables.text_tables import Table

CHANNEL_WORDS = {"channel", "channels", "band", "bands"}
GRID_WORDS = {"row", "rows", "column", "columns", "line", "lines", "width", "height"}
MAX_NAMED = 100_000  # measurements that get names from the vectors beside an array


@dataclass(frozen=True)
class Layout:
    """What the user says about an array.

    Attributes
    ----------
    transpose : bool or None
        Whether channels are along the first dimension.
    axis : str or None
        Where a table has its axis: "first-column", "first-row" or "none".
    axes : str or None
        What each dimension is: "time,pixel,channel".
    """

    transpose: bool | None = None
    axis: str | None = None
    axes: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The word for each dimension."""
        return tuple(word.strip().lower() for word in self.axes.split(",")) if self.axes else ()


BY_EVIDENCE = Layout()  # nothing is said


def labelled(
    array: NDArray, vectors: Mapping[str, NDArray], layout: Layout, where: str, name: str = ""
) -> Dataset:
    """Return the data set of an array and of the vectors beside it in a file."""
    meta = {"dataset": printable(name)} if name else {}
    if array.dtype.names:
        return replace(_of_fields(array, layout, where), meta=meta)
    array, layout = _squeezed(array, layout)
    if layout.axis is not None and array.ndim != 2:
        raise ReadError("{} has {} dimensions: leave out {}.", where, array.ndim, option("axis"))
    layout = _of_fluorescence(array.shape, vectors, layout)
    if layout.words:
        return _as_told(array, vectors, layout, where, meta)
    axis: Axis = (None, NO_AXIS, "")
    if layout.axis is None:
        axis = find_axis(vectors, array.shape, layout.transpose)
    if array.ndim == 2 and axis[0] is None:
        inside = _inside(real_numbers(array, where), layout, where)
        if inside is not None:
            return replace(inside, meta=meta)
    data = from_array(array, axis, transpose=layout.transpose, where=where, meta=meta)
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    return (
        replace(data, **_rows_beside(vectors, len(data.Y))) if array.ndim == 2 and not square else data
    )


def _of_fluorescence(shape: Shape, vectors: Mapping[str, NDArray], layout: Layout) -> Layout:
    """Return what the dimensions of a cube are if vectors of emission and excitation fit two of them."""
    emission = [v.size for v in emission_of(vectors).values()]
    excitation = [v.size for name, v in vectors.items() if EXCITATION.match(short(name))]
    sizes = (*emission, *excitation)
    if layout != BY_EVIDENCE or len(shape) != 3 or any(shape.count(size) != 1 for size in sizes):
        return layout
    if len(emission) != 1 or len(excitation) != 1:
        return layout
    words = {emission[0]: "channel", excitation[0]: "ex"}
    return replace(layout, axes=",".join(words.get(size, "sample") for size in shape))


def _of_fields(array: NDArray, layout: Layout, where: str) -> Dataset:
    """Return the data of an array with named fields, which is a table with names above its columns."""
    names = [name for name in array.dtype.names or () if array.dtype[name].kind in "fiub"]
    names = [name for name in names if array.dtype[name].shape == ()]
    if array.ndim != 1 or len(names) < 2:
        raise ReadError(f"{where} holds {array.dtype}, not numbers.")
    values = np.column_stack([array[name].astype(float) for name in names])
    lines = Lines(list(range(1, len(values) + 1)), [""] * len(values))
    columns = tuple(range(len(names)))
    table = Table(values, names=tuple(names), lines=lines, where=where, columns=columns)
    return dataset_of(choose_reading(tidied(table), layout.axis, layout.transpose), table)


def _squeezed(array: NDArray, layout: Layout) -> tuple[NDArray, Layout]:
    """Return an array without dimensions of length 1 if it has more than two, and their words."""
    if array.ndim < 3 or 1 not in array.shape or np.size(array) <= 1:
        return array, layout
    kept = [d for d, size in enumerate(array.shape) if size != 1]
    kept = kept if len(kept) > 1 else sorted({0, *kept, array.ndim - 1})[:2]
    if layout.words and len(layout.words) == array.ndim:
        layout = replace(layout, axes=",".join(layout.words[d] for d in kept))
    return array.reshape([array.shape[d] for d in kept]), layout


def _inside(values: NDArray, layout: Layout, where: str) -> Dataset | None:
    """Return the data of a table of numbers whose first column or row is its axis, by all evidence.

    Return None if nothing speaks for an axis inside: then all numbers are data.
    """
    if layout.axis is None and not any(_stands_alone(part) for part in _borders(values)):
        return None
    if layout.axis == "none":
        return None
    m, n = values.shape
    above = ",".join("" if np.isnan(v) else repr(float(v)) for v in values[0])
    lines = Lines(list(range(1, m + 1)), [above, *[""] * (m - 1)])
    table = Table(np.asarray(values, float), lines=lines, where=where, columns=tuple(range(n)))
    reading = choose_reading(table, layout.axis, layout.transpose)
    first = np.asarray(values[:, 0], float)
    asked = layout.axis is not None or layout.transpose is not None
    steady = len(first) >= SAFE_LENGTH and is_even(first) and not is_counter(first)
    if reading.axis is None and steady and not asked:
        raise ReadError(
            "{} can be read in two ways: its first column, {:g} to {:g}, is the axis ({}), or it "
            "numbers the measurements ({}). Choose the right one.",
            *(where, float(first[0]), float(first[-1])),
            *(option("axis", "first-column"), option("transpose", False)),
        )
    return dataset_of(reading, table)


def _borders(values: NDArray) -> tuple[NDArray, ...]:
    """Return parts of a table whose first row may be an axis: turned or not, with and without corner."""
    return values.T, values, values[1:].T, values[:, 1:]


def _stands_alone(part: NDArray) -> bool:
    """Return whether the first row rises or falls like an axis, and most others do not.

    Its steps are even, or its numbers are in a usual range of spectra and differ from the others.
    """
    if part.shape[1] < SAFE_LENGTH or len(part) < 2 or not monotonic(part[0]):
        return False
    if is_even(part[0]):
        return float(np.mean([is_even(row) for row in part[1:21]])) <= 0.5
    strange = in_spectral_range(part[0]) and float(np.nanmax(np.abs(part[1:]))) < part[0].min()
    return strange and float(np.mean([monotonic(row) for row in part[1:21]])) <= 0.5


def _as_told(
    array: NDArray, vectors: Mapping[str, NDArray], layout: Layout, where: str, meta: dict[str, Any]
) -> Dataset:
    """Return the data of an array whose dimensions the user has named."""
    words = layout.words
    if len(words) != array.ndim:
        raise ReadError(
            "{} has {} dimensions, {}: {} names {}.",
            *(where, array.ndim, "x".join(map(str, array.shape))),
            *(option("axes", layout.axes), len(words)),
        )
    channels = [d for d, word in enumerate(words) if _is_channels(word)]
    if len(channels) != 1:
        raise ReadError(
            "{} must call one dimension channel or by the name of the axis, for example {}.",
            *(option("axes", layout.axes), option("axes", ",".join([*words[:-1], "channel"]))),
        )
    last = channels[0]
    others = [d for d in range(array.ndim) if d != last]
    axis = find_axis(
        emission_of(vectors) or _of_length(vectors, array.shape[last]), (0, array.shape[last])
    )
    turned = np.moveaxis(real_numbers(array, where), last, -1)
    image = len(others) == 2 and all(_is_grid(words[d]) for d in others)
    return Dataset(
        turned.reshape(-1, turned.shape[-1]), *axis,
        row_names=names_along([words[d] for d in others], turned.shape[:-1], vectors),
        image_shape=(turned.shape[0], turned.shape[1]) if image else None, meta=meta,
    )  # fmt: skip


def _is_channels(word: str) -> bool:
    return is_spectral(word) or role(word) == "spectral" or word in CHANNEL_WORDS


def _is_grid(word: str) -> bool:
    return is_place(word) or word in GRID_WORDS


def _of_length(vectors: Mapping[str, NDArray], size: int) -> dict[str, NDArray]:
    return {name: vector for name, vector in vectors.items() if vector.size == size}


def names_along(
    words: Sequence[str], shape: Sequence[int], vectors: Mapping[str, NDArray]
) -> tuple[str, ...]:
    """Return a name for each measurement: "time 2, pixel 5", or "time=0.5" if a vector gives it."""
    if np.prod(shape) > MAX_NAMED:
        return ()
    labels = []
    for word, size in zip(words, shape, strict=True):
        own = [v for name, v in vectors.items() if short(name).startswith(word) and v.size == size]
        known = np.ravel(own[0]) if own and own[0].dtype.kind in "fiu" else None
        plain = [f"{word} {i + 1}" for i in range(size)]
        labels.append(plain if known is None else [f"{word}={value:.6g}" for value in known])
    return tuple(", ".join(parts) for parts in product(*labels))


def _rows_beside(vectors: Mapping[str, NDArray], count: int) -> dict[str, Any]:
    """Return names and coordinates of measurements: vectors called time, sample or similar, or words."""
    found: dict[str, Any] = {}
    for name, vector in vectors.items():
        words, values = vector.dtype.kind in "SU", np.ravel(vector)
        if vector.size != count or not (words or role(short(name)) in ("time", "counting")):
            continue
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8", "replace")
        names = tuple(printable(v).strip() if words else f"{v:.12g}" for v in values)
        found = {"row_names": names} | found if words is False else found | {"row_names": names}
        label = "" if words else row_label(short(name))
        if label and "row_axis" not in found and np.isfinite(values).all():
            found |= {"row_axis": values.astype(float), "row_label": printable(label)}
    return found


def from_array(
    array: NDArray,
    axis: Axis = (None, NO_AXIS, ""),
    *,
    transpose: bool | None = None,
    where: str = "the array",
    meta: dict[str, Any] | None = None,
) -> Dataset:
    """Return the data set of a matrix or image cube, turned so that channels are in the columns.

    `transpose` says whether channels are in the rows (in a cube: along the first dimension). None
    decides by the length of the axis; without an axis, rows are measurements.
    """
    array = real_numbers(array, where)
    if array.ndim == 1:
        array = array[None, :]
    if not 2 <= array.ndim <= MAX_DIMENSIONS:
        raise ReadError(
            f"{where} has shape {array.shape}: a table (measurements, channels) or an image cube "
            "(rows, columns, channels) is needed."
        )
    if 0 in array.shape:
        raise ReadError(f"{where} has shape {array.shape}: it is empty.")
    last, note = channel_dimension(array.shape, axis[0], transpose, where)
    array = np.moveaxis(array, last, -1)
    data = Dataset(array.reshape(-1, array.shape[-1]), *axis, meta=meta or {})
    if array.ndim == 3:
        data = replace(data, image_shape=(array.shape[0], array.shape[1]))
    return data.with_notes(note) if note else data


def channel_dimension(
    shape: Shape, axis: NDArray | None, transpose: bool | None, where: str
) -> tuple[int, Message | None]:
    """Return along which dimension the channels are, and a note about it or None."""
    last = len(shape) - 1
    asked = None if transpose is None else 0 if transpose else last
    if axis is None:
        if last > 2:
            raise _unknown(shape, where)
        return asked or 0 if transpose else last, None
    fits = [d for d in (last, *range(last)) if shape[d] == len(axis)]
    fits = fits if asked is None else [d for d in fits if d == asked]
    if not fits:
        given = "" if transpose is None else message(", read with {},", option("transpose", transpose))
        raise ReadError(
            "{} of shape {}{} does not fit an axis of length {}.", where, shape, given, len(axis)
        )
    if asked is not None:
        return fits[0], None
    if len(fits) > 1 and last > 1 and last not in fits:
        raise _unknown(shape, where)
    if len(fits) > 1 and shape[0] > 1:
        return last, _square_note(shape, where)
    if last > 2:
        sizes = [str(size) for d, size in enumerate(shape) if d != fits[0]]
        text = (
            "dimension {} of {} holds the channels, as the axis shows; {} are measurements. Give {} to "
            "name the dimensions."
        )
        return fits[0], message(
            text, fits[0] + 1, len(shape), " x ".join(sizes), option("axes", "time,pixel,channel")
        )
    if fits[0] < last:
        what = "the rows" if last == 1 else f"dimension {fits[0] + 1}"
        return fits[0], message("channels are in {}, as the axis shows: the table was transposed.", what)
    return fits[0], None


def _square_note(shape: Shape, where: str) -> Message:
    if len(shape) > 2:
        return message(
            "{}, {}, has several dimensions as long as its axis: the last one is taken as the channels. "
            "Give {} to name the dimensions.",
            *(where, "x".join(map(str, shape)), option("axes", "channel,y,x")),
        )
    return message(
        "{} has as many rows as columns: rows are taken as measurements. Give {} if they are channels.",
        *(where, option("transpose", True)),
    )


def _unknown(shape: Shape, where: str) -> ReadError:
    words = ["time", "y", "x", "z"][: len(shape) - 1]
    return ReadError(
        "{} has {} dimensions, {}, and nothing says which one holds the channels: name them in this "
        "order, for example {}.",
        *(where, len(shape), "x".join(map(str, shape)), option("axes", ",".join([*words, "channel"]))),
    )
