"""Frozen records as plain JSON values and arrays, and back.

A record holds numbers, text, arrays, tuples, dictionaries, slices and further records. The types of its
fields say how to read it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from io import BytesIO
from types import UnionType
from typing import Any, BinaryIO, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import Message, Option

Record = TypeVar("Record")
Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]


def write_record(file: BinaryIO | BytesIO, record: object) -> None:
    """Write a record as .npz: its arrays, and everything else as one text."""
    arrays: list[NDArray] = []
    text = json.dumps(to_plain(record, arrays))
    np.savez(file, *arrays, text=np.array(text))


def read_record(kind: type[Record], file: BinaryIO | BytesIO) -> Record:
    """Return the record of this class that `write_record` wrote, to the bit."""
    with np.load(file) as stored:
        arrays = [stored[f"arr_{i}"] for i in range(len(stored.files) - 1)]
        return from_plain(kind, json.loads(str(stored["text"])), arrays)


def to_plain(value: object, arrays: list[NDArray]) -> Plain:
    """Return a value that JSON can hold; append its arrays to a list, and keep their numbers."""
    if isinstance(value, Message):
        return {"template": value.template, "parts": [_plain_part(part) for part in value.parts]}
    if is_dataclass(value):
        return {part.name: to_plain(getattr(value, part.name), arrays) for part in fields(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        arrays.append(value.astype(np.int8) if value.dtype == bool else value)  # NetCDF has no bool
        return {"array": len(arrays) - 1, "dtype": str(value.dtype)}
    if isinstance(value, np.ndarray | np.generic):
        plain: Plain = value.tolist()
        return plain
    if isinstance(value, slice):
        return [value.start, value.stop]
    if isinstance(value, dict):
        return [[key, to_plain(entry, arrays)] for key, entry in value.items()]
    if isinstance(value, list | tuple):
        return [to_plain(entry, arrays) for entry in value]
    assert value is None or isinstance(value, bool | int | float | str)
    return value


def from_plain(kind: type[Record], stored: Plain, arrays: Sequence[NDArray]) -> Record:
    """Return the record of this class that `to_plain` made these values and arrays of."""
    found: Record = _from_plain(kind, stored, arrays)
    return found


def _from_plain(kind: Any, stored: Any, arrays: Sequence[NDArray]) -> Any:
    if get_origin(kind) in (UnionType, Union):
        kinds = [one for one in get_args(kind) if one is not type(None)]
        return None if stored is None else _from_plain(kinds[0], stored, arrays)
    if isinstance(stored, dict) and "array" in stored:
        return np.asarray(arrays[stored["array"]]).astype(stored["dtype"], copy=False)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        known = {name: value for name, value in stored.items() if name in hints}
        build: Any = kind
        return build(**{name: _from_plain(hints[name], value, arrays) for name, value in known.items()})
    if kind is str:
        return _text(stored)
    if kind is slice:
        return slice(*stored)
    if get_origin(kind) is tuple:
        return tuple(_entries(get_args(kind), stored, arrays))
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        return {key: _from_plain(inner, value, arrays) for key, value in stored}
    return stored


def _plain_part(part: object) -> Plain:
    """Return a part of a message as JSON can hold it: an option, another message, or text."""
    if isinstance(part, Option):
        value = {"value": to_plain(part.value, [])} if part.has_value else {}
        return {"option": part.name, **value}
    return to_plain(part, []) if isinstance(part, Message) else str(part)


def _text(stored: Any) -> str:
    """Return a text, or a message with its parts."""
    if isinstance(stored, dict):
        return Message(stored["template"], *map(_part, stored["parts"]))
    return str(stored)


def _part(stored: Any) -> object:
    if isinstance(stored, dict) and "option" in stored:
        return Option(stored["option"], stored.get("value", ...))
    return _text(stored)


def _entries(kinds: tuple[Any, ...], stored: list[Any], arrays: Sequence[NDArray]) -> Iterator[Any]:
    """Yield the entries of a tuple, which has one type for all of them or one for each."""
    alike = len(kinds) == 2 and kinds[1] is ...
    for i, value in enumerate(stored):
        yield _from_plain(kinds[0] if alike else kinds[i], value, arrays)
