"""Read tables of numbers from text: .csv, .tsv, .txt, .dat, gzipped or not."""

import gzip
import re
import zlib
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ngmca._support.messages import option
from ngmca.io.axis_units import NO_AXIS
from ngmca.io.claimed_sizes import in_words, memory_left
from ngmca.io.combine import combine, same_axis
from ngmca.io.dataset import Dataset, monotonic
from ngmca.io.read_error import ReadError, printable, reason
from ngmca.io.tables import dialects
from ngmca.io.tables import text_maps as maps
from ngmca.io.tables.axis_evidence import SHORTEST_AXIS
from ngmca.io.tables.cells import LINE_END, Lines, lines_of
from ngmca.io.tables.column_labels import selected, settled
from ngmca.io.tables.headers import as_title
from ngmca.io.tables.interpretations import Reading
from ngmca.io.tables.orange import headed, split_header
from ngmca.io.tables.orientation import choose_reading
from ngmca.io.tables.text_tables import Table, tables_of

PERKINELMER = re.compile(r"PE \w+ .*ASCII")
PIECE_BYTES = 1 << 24  # that are read or unpacked at a time
LINE_ENDS = b"\n\r\x85"


def read_text(path: Path, *, stream: BinaryIO | None = None, **options: Any) -> Dataset:
    """Read the table in a text file; `stream` is the file if it is open already."""
    return from_text(decoded(path, stream), str(path), **options)


def from_text(
    text: str,
    where: str,
    *,
    transpose: bool | None = None,
    axis: str | None = None,
    header: int | None = None,
    skip: int | None = None,
    columns: str | None = None,
    **_: Any,
) -> Dataset:
    """Return the table in a text, with its axis and names if it has them; errors call it `where`."""
    lines, comments = lines_of(perkinelmer_table(text) if header is None else text, skip or 0)
    if not lines.texts:
        raise ReadError(f"{where} has no numbers in it: it is empty, or has only comments.")
    typed, lines = split_header(lines) if header is None else (None, lines)
    found = tables_of(lines, comments, where, header)
    tables = [part for one in found for part in _parted(headed(one, typed) if typed else one, comments)]
    parts = [part for table in tables for part in _read_table(table, transpose, axis, columns)]
    return _joined(parts, where)


def perkinelmer_table(text: str) -> str:
    """Return the table below #DATA in an ASCII file of PerkinElmer, with its units as names above it."""
    if not PERKINELMER.match(text):
        return text
    lines = LINE_END.split(text)
    marks = {line.strip(): i for i, line in enumerate(lines)}
    if "#DATA" not in marks:
        return text
    data, units = marks["#DATA"], marks.get("#GR", -1)
    names = "\t".join(cell.strip() for cell in lines[units + 1 : units + 3]) if units >= 0 else ""
    return "\n".join([*[""] * data, names, *lines[data + 1 :]])


def _parted(table: Table, comments: Lines) -> list[Table]:
    """Return spectra that stand below each other, separated by blank lines or comments, one by one."""
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
    """Return the data in a table, or in each pair of its columns, with a name."""
    dialects.check_facts(table, columns)
    table = settled(table)
    table = dialects.tidied(table) if columns is None else selected(table, columns, axis)
    long = maps.read_long(table) if axis is None else None
    if long is not None and transpose is not None:
        raise ReadError("{} has one point in each line: leave out {}.", table.where, option("transpose"))
    if long is not None:
        return [(dataset_of(long, table), table.title)]
    pairs = dialects.pairs_of(table) if axis is None and not transpose else []
    if pairs:
        return [
            (dataset_of(choose_reading(one, None, None), one), dialects.name_of(one, ""))
            for one in pairs
        ]
    if axis is None and not table.label_first:
        dialects.check_first(table)
    return [
        (dataset_of(choose_reading(table, axis, transpose), table), dialects.name_of(table, table.title))
    ]


def dataset_of(reading: Reading, table: Table) -> Dataset:
    """Return a reading as a data set, with a note about the decision and its reasons."""
    name, unit = dialects.axis_name_and_unit(table, reading.name)
    file = printable(Path(table.where).name)
    m, n = reading.Y.shape
    along: dict[str, Any] = dict(zip(("row_axis", "row_label"), reading.along or (), strict=False))
    ends = dialects.axis_of_ends(table) if reading.axis is None else None
    if ends is not None:
        reading = replace(reading, axis=ends, layout="header")
    if reading.axis is None:
        what = (
            f"its rows are taken as {m} measurements" if len(table.values) == m else "it is one spectrum"
        )
        note = f"{file} has no axis: {what} of {n} channels."
        return Dataset(
            reading.Y, None, NO_AXIS, "", reading.rows, notes=(note, *table.remarks, *reading.notes),
            **along,
        )  # fmt: skip
    span = f"{reading.axis[0]:g} to {reading.axis[-1]:g}"
    why = f" ({reading.why})" if reading.why else ""
    verb = "gives" if reading.layout == "header" else "is"
    note = f"the {reading.layout.replace('-', ' ')} of {file} {verb} the axis, {span}{why}."
    data = Dataset(
        reading.Y, reading.axis, name, unit, reading.rows, notes=(note, *table.remarks, *reading.notes),
        **along,
    )  # fmt: skip
    return data if reading.places is None else maps.placed(data, *reading.places)


def _joined(parts: list[tuple[Dataset, str]], where: str) -> Dataset:
    """Return all spectra of a file as one data set."""
    if len(parts) == 1:
        return parts[0][0]
    if any(data.axis is None for data, _ in parts):
        raise ReadError(
            f"{where} holds {len(parts)} tables, not all with an axis: save each to its own file."
        )
    twice = len({name for _, name in parts if name}) < sum(bool(name) for _, name in parts)
    # if not, one spectrum was measured in two parts
    several = twice or any(len(data.Y) > 1 for data, _ in parts)
    first = parts[0][0].positions
    if several and not all(same_axis(first, data.positions) for data, _ in parts):
        raise ReadError(
            f"{where} holds {len(parts)} tables with different axes: save each to its own file."
        )
    named = [name or str(i + 1) for i, (_, name) in enumerate(parts)]
    return combine([data for data, _ in parts], named)


def decoded(path: Path, stream: BinaryIO | None = None) -> str:
    """Return the text of a file; raise an error if it is not text."""
    with nullcontext(stream) if stream else path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            raw = _content(path, gzip.GzipFile(fileobj=file) if zipped else file)
        except (OSError, EOFError, zlib.error) as error:
            if not zipped:
                raise
            raise ReadError(f"{path} is not a complete gzip file: {reason(error)}.") from error
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


def _content(path: Path, stream: BinaryIO | gzip.GzipFile) -> bytes:
    """Return all bytes of a stream; raise an error if their numbers would not fit into the memory."""
    left, needed, pieces = memory_left(), 0.0, []
    while piece := stream.read(PIECE_BYTES):
        pieces.append(piece)
        needed += memory_for(piece)
        if needed > left:
            size = in_words(sum(map(len, pieces)))
            raise ReadError(
                f"{path}: reading its first {size} of text takes about {in_words(needed)}, and "
                f"{in_words(left)} of memory is free. Cut it, or save it as .npy."
            )
    return b"".join(pieces)


def memory_for(piece: bytes) -> float:
    """Return the most bytes in use while text is converted to numbers, as measured."""
    cells = sum(piece.count(mark) for mark in b",;\t ")
    lines = sum(piece.count(mark) for mark in LINE_ENDS) - piece.count(b"\r\n")
    return 3.0 * len(piece) + 12.0 * cells + 400.0 * lines
