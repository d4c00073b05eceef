"""The answers of a run (how many, which, how much) as variables of a NetCDF file, and back.

Arrays become variables, and everything else one text.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import count, takewhile
from typing import Any

from numpy.typing import NDArray

from ngmca._support.records import from_plain, to_plain
from ngmca.answers.run import NO_ANSWERS, Answers

TEXT = "answers"  # the variable that holds the text
ARRAY = "answers_array_{}"


def to_variables(answers: Answers) -> dict[str, tuple[Sequence[str], Any]]:
    """Return variables, each with its dimensions and values; none if there are no answers."""
    arrays: list[NDArray] = []
    plain = to_plain(answers, arrays)
    if not any(getattr(answers, part.name) for part in fields(answers)):
        return {}
    found: dict[str, tuple[Sequence[str], Any]] = {TEXT: ((), json.dumps(plain))}
    for i, array in enumerate(arrays):
        name = ARRAY.format(i)
        found[name] = ([f"{name}_{axis}" for axis in range(array.ndim)], array)
    return found


def from_variables(values: Mapping[str, Any]) -> Answers:
    """Return the answers that `to_variables` made these variables of."""
    if TEXT not in values:
        return NO_ANSWERS
    names = takewhile(values.__contains__, map(ARRAY.format, count()))
    return from_plain(Answers, json.loads(str(values[TEXT])), [values[name] for name in names])
