"""The answers of a run, how many, which and how much, as variables of a file, and back.

They are frozen records of numbers, words, arrays and further records. Arrays become variables, all the
rest one text; what type a field has says how to read it.
"""

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ngmca._support.messages import Message, Option
from ngmca.answers.answers_of_run import NO_ANSWERS, Answers

TEXT = "answers"  # the variable that holds the text
ARRAY = "answers_array_{}"


def to_variables(answers: Answers) -> dict[str, Any]:
    """Variables, each with its dimensions and values; none where nothing was asked."""
    arrays: list[np.ndarray] = []
    plain = _plain(answers, arrays)
    if not any(plain.values()):
        return {}
    found: dict[str, Any] = {TEXT: ((), json.dumps(plain))}
    for i, array in enumerate(arrays):
        name = ARRAY.format(i)
        found[name] = ([f"{name}_{axis}" for axis in range(array.ndim)], array)
    return found


def from_variables(values: dict[str, Any]) -> Answers:
    """What `to_variables` made."""
    if TEXT not in values:
        return NO_ANSWERS
    found: Answers = _made(Answers, json.loads(str(values[TEXT])), values)
    return found


def _plain(value: Any, arrays: list[np.ndarray]) -> Any:
    """What JSON can hold, arrays put aside and numbered."""
    if isinstance(value, Message):
        parts = [_plain_part(part) for part in value.parts]
        return {"template": value.template, "parts": parts}
    if is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name), arrays) for part in fields(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        arrays.append(value.astype(np.int8) if value.dtype == bool else value)
        return {"array": len(arrays) - 1, "dtype": str(value.dtype)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return [[key, _plain(one, arrays)] for key, one in value.items()]
    return [_plain(one, arrays) for one in value] if isinstance(value, list | tuple) else value


def _plain_part(part: object) -> Any:
    """Return a part of a message as JSON can hold it: an option, another message, or text."""
    if isinstance(part, Option):
        return {"option": part.name} | ({"value": part.value} if part.has_value else {})
    return _plain(part, []) if isinstance(part, Message) else str(part)


def _text(stored: Any) -> str:
    """Return the text or the message from what `_plain` made of it."""
    if isinstance(stored, dict):
        return Message(stored["template"], *map(_part, stored["parts"]))
    return str(stored)


def _part(stored: Any) -> object:
    if isinstance(stored, dict) and "option" in stored:
        return Option(stored["option"], stored.get("value", ...))
    return _text(stored)


def _made(kind: Any, stored: Any, values: dict[str, Any]) -> Any:
    """A value of this kind, from what `_plain` made of it."""
    if get_origin(kind) in (UnionType, Union):
        kinds = [one for one in get_args(kind) if one is not type(None)]
        return None if stored is None else _made(kinds[0], stored, values)
    if isinstance(stored, dict) and "array" in stored:
        return np.asarray(values[ARRAY.format(stored["array"])]).astype(stored["dtype"])
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        known = {name: one for name, one in stored.items() if name in hints}
        made: Any = kind  # a class
        return made(**{name: _made(hints[name], one, values) for name, one in known.items()})
    if kind is str:
        return _text(stored)
    if get_origin(kind) is tuple:
        return tuple(_each(get_args(kind), stored, values))
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        return {key: _made(inner, one, values) for key, one in stored}
    return stored


def _each(kinds: tuple[Any, ...], stored: list[Any], values: dict[str, Any]) -> Iterator[Any]:
    """The entries of a tuple, whose kinds are all alike or one each."""
    alike = len(kinds) == 2 and kinds[1] is ...
    for i, one in enumerate(stored):
        yield _made(kinds[0] if alike else kinds[i], one, values)
