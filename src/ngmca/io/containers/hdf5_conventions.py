"""HDF5 files whose programs say what is what: tables of pandas, photothermal spectra, WrightTools."""

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import message, option
from ngmca.io.array_choice import choose_array, other_arrays
from ngmca.io.array_layout import Layout, labelled, names_along
from ngmca.io.axis_units import from_unit, heading, known_unit, role
from ngmca.io.dataset import Dataset, real_numbers
from ngmca.io.read_error import ReadError, printable
from ngmca.io.tables.cells import Lines
from ngmca.io.tables.orientation import choose_reading
from ngmca.io.tables.text_maps import placed
from ngmca.io.tables.text_reader import dataset_of
from ngmca.io.tables.text_tables import Table

WRIGHT_AXIS = re.compile(r"(\w+)\s*\{(.*)\}")  # w1__e__wm {eV}: w1, which equals wm
TEXT_PICKLE = re.compile(rb"[FIVS]([^\n]*)\n")  # numbers and words in a list that Python 2 wrote as text


def read_convention(file: Any, dataset: str | None, layout: Layout, where: str) -> Dataset | None:
    """Return the data of an open HDF5 file that follows a known convention, else None."""
    for reader in (_of_pandas, _of_spectrometer, _of_wright):
        data = reader(file, dataset, layout, where)
        if data is not None:
            return data
    return None


class Frame(NamedTuple):
    """A DataFrame: its numbers, and the labels of its rows and columns."""

    values: NDArray
    rows: list[str]
    columns: list[str]
    corner: str


def _of_pandas(file: Any, dataset: str | None, layout: Layout, where: str) -> Dataset | None:
    """Return a DataFrame that pandas wrote, in its form "fixed" or "table"."""
    groups = {name: one for name, one in _groups(file).items() if "pandas_type" in one.attrs}
    kinds = {name: _text(one.attrs["pandas_type"]) for name, one in groups.items()}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, kind in kinds.items():
        if kind == "frame_table" and "values_block_0" in (groups[name]["table"].dtype.names or ()):
            block = groups[name]["table"].dtype["values_block_0"]
            shapes[name] = (len(groups[name]["table"]), *block.shape)
        elif kind == "frame" and "block0_values" in groups[name]:
            shapes[name] = groups[name]["block0_values"].shape
    if not shapes or (dataset is not None and dataset.strip("/") not in shapes):
        return None
    name = choose_array(shapes, dataset, where)
    frame = (_table_frame if kinds[name] == "frame_table" else _fixed_frame)(groups[name])
    data = dataset_of(*_reading(frame, layout, f"{name} in {where}"))
    others = () if dataset else other_arrays(shapes, name)
    return data.with_notes(*others)


def _table_frame(group: Any) -> Frame:
    table = group["table"]
    raw = table.attrs.get("values_block_0_kind", b"")
    columns = [_text(cell) for cell in TEXT_PICKLE.findall(bytes(raw))]
    values = np.asarray(table["values_block_0"]).reshape(len(table), -1)
    if len(columns) != values.shape[1]:
        columns = [str(j) for j in range(values.shape[1])]
    words = [_text(cell) for cell in TEXT_PICKLE.findall(bytes(group.attrs.get("info", b"")))]
    across, down = (_after(word, words) for word in ("names", "index_name"))
    return Frame(values, [_label(v) for v in table["index"]], columns, _corner(down, across))


def _after(word: str, words: list[str]) -> str:
    """Return what follows a key in the words of a pickled dictionary, unless it is another key."""
    found = words[words.index(word) + 1] if word in words[:-1] else ""
    return "" if found in ("type", "Index", "index", "index_name") else found


def _corner(down: str, across: str) -> str:
    return f"{down}\\{across}" if across else down


def _fixed_frame(group: Any) -> Frame:
    rows, columns = ([_label(v) for v in group[name][()]] for name in ("axis1", "block0_items"))
    names = [_text(group[name].attrs.get("name", b"")) for name in ("axis1", "axis0")]
    plain = ["" if name in ("N.", "None") or "\n" in name else name for name in names]
    return Frame(np.asarray(group["block0_values"]), rows, columns, _corner(plain[0], plain[1]))


def _reading(frame: Frame, layout: Layout, where: str) -> tuple[Any, Table]:
    """Return how a DataFrame is read, by the same evidence as a text table."""
    values = real_numbers(frame.values, where)
    try:
        first, words = np.array([float(label) for label in frame.rows]), {}
    except ValueError:
        first, words = np.full(len(values), np.nan), {0: tuple(frame.rows)}
    table = Table(
        np.column_stack([first, values]),
        words=words,
        names=(frame.corner, *frame.columns),
        lines=Lines(list(range(1, len(values) + 1)), [""] * len(values)),
        where=where,
        columns=tuple(range(values.shape[1] + 1)),
    )
    return choose_reading(table, layout.axis, layout.transpose), table


def _of_spectrometer(file: Any, dataset: str | None, layout: Layout, where: str) -> Dataset | None:
    """Return spectra with references to their positions, as PTIR Studio writes them."""
    del layout
    kinds: dict[str, list[Any]] = {}
    for item in _datasets(file):
        if "Spectroscopic_Values" in item.attrs and _text(item.parent.attrs.get("DataSignal", b"")):
            kinds.setdefault(_text(item.parent.attrs.get("Label", b"")) or item.name, []).append(item)
    if not kinds:
        return None
    shapes = {kind: (sum(len(one) for one in some), some[0].shape[1]) for kind, some in kinds.items()}
    single = {kind: some for kind, some in kinds.items() if dataset is None and len(kinds) == 1}
    kind = next(iter(single), None) or choose_array(shapes, dataset, where)
    first = _axis_of(kinds[kind][0])
    items = [one for one in kinds[kind] if np.array_equal(_axis_of(one), first)]
    unit = _joined(items[0].file[items[0].attrs["Spectroscopic_Values"]].attrs.get("units", b""))
    name, unit = from_unit(unit, "wavenumber")
    name = "Raman shift" if "raman" in kind.lower() else name
    Y = np.vstack([np.asarray(one) for one in items])
    data = Dataset(Y, first, name, unit, _labels(items), meta={"dataset": printable(kind)})
    left = len(kinds[kind]) - len(items)
    notes = [f"{left} spectra with another axis were left out."] if left else []
    places = items[0].parent.parent.get("Position_Values")
    if len(items) == 1 and places is not None and places.shape == (len(Y), 2) and len(Y) > 1:
        data = placed(data, *np.asarray(places, float).T)
    return data.with_notes(*notes)


def _axis_of(item: Any) -> NDArray:
    return np.ravel(item.file[item.attrs["Spectroscopic_Values"]][()]).astype(float)


def _labels(items: list[Any]) -> tuple[str, ...]:
    names = [_text(one.parent.parent.attrs.get("Label", b"")) for one in items]
    return tuple(printable(n) for n in names) if all(len(one) == 1 for one in items) else ()


def _of_wright(file: Any, dataset: str | None, layout: Layout, where: str) -> Dataset | None:
    """Return a channel of a file of WrightTools, whose attributes name the variable of each axis."""
    if "axes" not in file.attrs or "channel_names" not in file.attrs:
        return None
    channels = [_text(name) for name in file.attrs["channel_names"]]
    name = dataset.strip("/") if dataset else channels[0]
    if name not in file:
        return None
    array = np.asarray(file[name])
    found: dict[int, tuple[str, NDArray]] = {}
    for text in map(_text, file.attrs["axes"]):
        match = WRIGHT_AXIS.fullmatch(text)
        parts = match[1].split("__e__") if match else [text]
        variable = file[parts[0]]
        long = [d for d, size in enumerate(variable.shape) if size > 1]
        if len(long) == 1:
            unit = known_unit(_text(variable.attrs.get("units", b"")).replace("wn", "cm-1"))
            label = "wm" if "wm" in parts else parts[0]
            found[long[0]] = f"{label} [{unit}]" if unit else label, np.ravel(variable[()])
    others = [one for one in channels if one != name]
    notes = [message("channel {} was read; others are {}. Choose one with {}.", name, ", ".join(others),
                     option("dataset"))] if others and not dataset else []  # fmt: skip
    if layout.axes or layout.transpose is not None:
        return labelled(array, dict(found.values()), layout, f"{name} in {where}", name)
    spectral = [d for d, (label, _) in found.items() if role(label) == "spectral"]
    spectral = [d for d in spectral if found[d][0].startswith("wm")] or spectral
    if len(spectral) != 1 or len(found) != array.ndim:
        sizes = ", ".join(f"{found.get(d, ('?',))[0]} {n}" for d, n in enumerate(array.shape))
        raise ReadError(
            "{} has several axes of spectra, or none: {}. Say which one holds the channels, for example "
            "{}.",
            *(where, sizes, option("axes", "pump,channel,delay")),
        )
    label, positions = found.pop(spectral[0])
    turned = np.moveaxis(real_numbers(array, where), spectral[0], -1)
    beside = [found[d] for d in sorted(found)]
    words = [label.split()[0] for label, _ in beside]
    return Dataset(
        turned.reshape(-1, turned.shape[-1]), positions, *from_unit(heading(label)[1], label.split()[0]),
        row_names=names_along(words, turned.shape[:-1], dict(beside)),
        meta={"dataset": printable(name)}, notes=tuple(notes),
    )  # fmt: skip


def _groups(file: Any) -> dict[str, Any]:
    import h5py

    found: dict[str, Any] = {}
    file.visititems(found.__setitem__)
    return {name: item for name, item in found.items() if isinstance(item, h5py.Group)}


def _datasets(file: Any) -> list[Any]:
    import h5py

    found: dict[str, Any] = {}
    file.visititems(found.__setitem__)
    return [item for item in found.values() if isinstance(item, h5py.Dataset) and item.ndim == 2]


def _label(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else f"{value}"


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else ""


def _joined(units: Any) -> str:
    """Return a unit that is stored as a word, or as a list of its letters."""
    if isinstance(units, bytes | str):
        return _text(units)
    return "".join(_text(one) for one in np.ravel(units))
