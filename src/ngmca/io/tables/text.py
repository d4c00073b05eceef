"""Tables of numbers as text: .csv, .tsv, .txt, .dat, gzipped or not."""

import gzip
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ngmca.io.axis_units import NO_AXIS
from ngmca.io.claimed_sizes import in_words, memory_left
from ngmca.io.combine import combine, same_axis
from ngmca.io.dataset import Dataset, ReadError, monotonic, shown, told
from ngmca.io.tables import dialects
from ngmca.io.tables import text_maps as maps
from ngmca.io.tables.axis_evidence import SHORTEST_AXIS
from ngmca.io.tables.cells import Lines, lines_of
from ngmca.io.tables.column_labels import settled
from ngmca.io.tables.column_selection import selected
from ngmca.io.tables.headers import as_title
from ngmca.io.tables.interpretations import Reading
from ngmca.io.tables.orange import headed, split_header
from ngmca.io.tables.orientation import choose
from ngmca.io.tables.text_tables import Table, tables_of

PIECE = 1 << 24  # bytes that are unpacked at a time
LINE_ENDS = b"\n\r\x0b\x0c\x85"  # all that str.splitlines knows and text may have


def read_text(
    path: Path,
    *,
    transpose: bool | None = None,
    axis: str | None = None,
    header: int | None = None,
    skip: int = 0,
    columns: str | None = None,
    **_: Any,
) -> Dataset:
    """The table in a text file, with its axis and names where the file has them."""
    lines, comments = lines_of(decoded(path), skip or 0)
    if not lines.texts:
        raise ReadError(f"{path} has no numbers in it: it is empty, or all comments.")
    typed, lines = split_header(lines) if header is None else (None, lines)
    found = tables_of(lines, comments, str(path), header)
    tables = [part for one in found for part in _parted(headed(one, typed) if typed else one, comments)]
    parts = [part for table in tables for part in _read_table(table, transpose, axis, columns)]
    return _joined(parts, path)


def _parted(table: Table, comments: Lines) -> list[Table]:
    """Spectra below each other, parted by blank lines or comments, one by one."""
    numbers = np.array(table.lines.numbers)
    bounds = np.flatnonzero(np.diff(numbers, prepend=0, append=0) != 1).tolist()
    if bounds[0] > 0:
        bounds = [0, *bounds]
    short = len(bounds) < 3 or np.diff(bounds).min() < SHORTEST_AXIS
    if short or 0 in table.words or monotonic(table.values[:, 0]):
        return [table]
    remarks = dict(zip(*comments, strict=True))
    parts = [
        replace(table.rows(slice(a, b)), title=as_title(remarks.get(int(numbers[a]) - 1, "")))
        for a, b in pairwise(bounds)
    ]
    fine = all(monotonic(part.values[:, 0]) for part in parts)
    return parts if fine and maps.read_long(table) is None else [table]


def _read_table(
    table: Table, transpose: bool | None, axis: str | None, columns: str | None
) -> list[tuple[Dataset, str]]:
    """The data in a table, or in each pair of its columns, with a name."""
    dialects.check_facts(table, columns)
    table = settled(table)
    table = dialects.tidied(table) if columns is None else selected(table, columns, axis)
    long = maps.read_long(table) if axis is None else None
    if long is not None and transpose is not None:
        raise ReadError(f"{table.where} has one point a line: leave out transpose=.")
    if long is not None:
        return [(_dataset(long, table), table.title)]
    pairs = dialects.pairs_of(table) if axis is None and not transpose else []
    if pairs:
        return [(_dataset(choose(one, None, None), one), dialects.name_of(one, "")) for one in pairs]
    if axis is None and not table.label_first:
        dialects.check_first(table)
    return [(_dataset(choose(table, axis, transpose), table), dialects.name_of(table, table.title))]


def _dataset(reading: Reading, table: Table) -> Dataset:
    """A reading as data, with a note about what was decided and why."""
    name, unit = dialects.unit_told(table, reading.name)
    file = shown(Path(table.where).name)
    m, n = reading.Y.shape
    if reading.axis is None:
        what = (
            f"its rows are taken as {m} measurements" if len(table.values) == m else "it is one spectrum"
        )
        note = f"{file} has no axis: {what} of {n} channels."
        return Dataset(
            reading.Y, None, NO_AXIS, "", reading.rows, notes=(note, *table.remarks, *reading.told)
        )
    ends = f"{reading.axis[0]:g} to {reading.axis[-1]:g}"
    why = f" ({reading.why})" if reading.why else ""
    note = f"the {reading.layout.replace('-', ' ')} of {file} is the axis, {ends}{why}."
    data = Dataset(
        reading.Y, reading.axis, name, unit, reading.rows, notes=(note, *table.remarks, *reading.told)
    )
    return data if reading.places is None else maps.placed(data, *reading.places)


def _joined(parts: list[tuple[Dataset, str]], path: Path) -> Dataset:
    """All spectra of a file as one data set."""
    if len(parts) == 1:
        return parts[0][0]
    if any(data.axis is None for data, _ in parts):
        raise ReadError(
            f"{path} holds {len(parts)} tables, not all with an axis: save each to its own file."
        )
    twice = len({name for _, name in parts if name}) < sum(bool(name) for _, name in parts)
    several = twice or any(len(data.Y) > 1 for data, _ in parts)  # one that was measured in two parts
    if several and not all(same_axis(parts[0][0], d) for d, _ in parts):
        raise ReadError(
            f"{path} holds {len(parts)} tables with different axes: save each to a file of its own."
        )
    named = [name or str(i + 1) for i, (_, name) in enumerate(parts)]
    return combine([data for data, _ in parts], named)


def decoded(path: Path) -> str:
    """The text of a file, or an error where it is none."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    try:
        raw = _content(path, gzip.open if zipped else open)
    except (OSError, EOFError, zlib.error) as error:
        if not zipped:
            raise
        raise ReadError(f"{path} is not a whole gzip file: {told(error)}.") from error
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", errors="replace")
    strange = re.search(rb"[\x00-\x08\x0e-\x1f]", raw)
    if strange:
        raise ReadError(
            f"{path} is not text: byte 0x{strange[0][0]:02x} at offset {strange.start()}. "
            "Is it another format under a wrong name?"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _content(path: Path, opened: Callable[..., Any]) -> bytes:
    """All bytes of a file, unpacked if need be, as long as the numbers in them fit into memory."""
    left, needed, pieces = memory_left(), 0.0, []
    with opened(path, "rb") as stream:
        while piece := stream.read(PIECE):
            pieces.append(piece)
            needed += memory_for(piece)
            if needed > left:
                size = in_words(sum(map(len, pieces)))
                raise ReadError(
                    f"{path}: reading its first {size} of text takes about {in_words(needed)}, and "
                    f"{in_words(left)} of memory is left. Cut it, or save it as .npy."
                )
    return b"".join(pieces)


def memory_for(piece: bytes) -> float:
    """Bytes in use at most while text becomes numbers, as measured with short, long and named lines."""
    cells = sum(piece.count(mark) for mark in b",;\t ")
    lines = sum(piece.count(mark) for mark in LINE_ENDS) - piece.count(b"\r\n")
    return 3.0 * len(piece) + 12.0 * cells + 400.0 * lines
