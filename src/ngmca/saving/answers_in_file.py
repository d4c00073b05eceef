"""The answers of a run, how many, which and how much, as variables of a file, and back.

They are frozen records of numbers, words, arrays and further records. Arrays become variables, all the
rest one text; what type a field has says how to read it.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ngmca.answers.how_many.choose_rank import RankChoice
from ngmca.answers.how_much.amounts import Amounts
from ngmca.answers.how_sure import Finding
from ngmca.answers.which.identification import Identification
from ngmca.saving.result_folder import ANSWERS

TEXT = "answers"  # the variable that holds the text
ARRAY = "answers_array_{}"


@dataclass(frozen=True, eq=False)
class Answers:
    """How many sources there are, which substances they are, and how much of each there is."""

    rank: RankChoice | None = None
    identification: Identification | None = None
    amounts: Amounts | None = None
    refused: tuple[str, ...] = ()  # why something that was asked has no answer

    @property
    def tables(self) -> dict[str, list[tuple[str, Any]]]:
        """Names of files, and the columns of the table in each."""
        given = zip(ANSWERS, (self.rank, self.identification, self.amounts), strict=True)
        return {name: answer.table() for name, answer in given if answer is not None}

    def told(self, r: int) -> list[tuple[str, str]]:
        """The three questions, and the answers in words."""
        return [("How many?", self._many(r)), ("Which?", self._which(r)), ("How much?", self._much())]

    def _many(self, r: int) -> str:
        if self.rank is None:
            return f"{r} source{'s' * (r > 1)}, as was asked for."
        return self.rank.advice

    def _which(self, r: int) -> str:
        if self.identification is None:
            return "Nobody knows: there was no library of spectra to compare the sources with."
        named = sum(map(bool, self.names(r)))
        return f"{named} of {r} sources are surely among the {self.identification.substances} " + (
            "substances of the library."
        )

    def _much(self) -> str:
        if self.amounts is None:
            return "Amounts are relative, parts of the signal: there were no standards."
        return f"Amounts come from {self.amounts.how}."

    @property
    def findings(self) -> list[Finding]:
        """Warnings about the answers, one for each question."""
        doubted: dict[str, Identification | Amounts | None] = {
            "Substances to be looked at": self.identification,
            "Amounts to be read with care": self.amounts,
        }
        refused = [Finding("answers", "A question without an answer", told) for told in self.refused]
        return refused + [
            Finding("answers", title, " ".join(answer.warnings))
            for title, answer in doubted.items()
            if answer is not None and answer.warnings
        ]

    def names(self, r: int) -> list[str]:
        """What each of r sources was found to be; empty where that is not sure."""
        claims = self.identification.claims if self.identification is not None else ()
        return [claim or "" for claim in claims] or [""] * r

    def called(self, r: int) -> list[str]:
        """What each source is, by the library, or else by the standards; empty where it is not known."""
        names = self.names(r)
        if self.amounts is not None and not self.amounts.relative:
            for i, substance in zip(self.amounts.sources, self.amounts.substances, strict=True):
                names[i] = names[i] or substance
        return names

    def labels(self, r: int) -> list[str]:
        """The number of each source, and what it is."""
        called = enumerate(self.called(r), start=1)
        return [f"source {i}" + (f": {name}" if name else "") for i, name in called]

    @property
    def facts(self) -> dict[str, Any]:
        """The answers as plain numbers and words, for scripts; the tables have the rest."""
        rank, found, amounts = self.rank, self.identification, self.amounts
        plain: dict[str, Any] = {}
        if rank is not None:
            told = ("rank", "perhaps", "advice", "witnesses")
            plain["rank"] = {name: getattr(rank, name) for name in told}
        if found is not None:
            matches = [[asdict(match) for match in best] for best in found.matches]
            plain["identification"] = {"claims": found.claims, "matches": matches, "words": found.words}
        if amounts is not None:
            named = ("substances", "sources", "units", "how", "words")
            plain["amounts"] = {name: getattr(amounts, name) for name in named}
            plain["amounts"]["detection"] = amounts.detection.tolist()
            plain["amounts"]["leave_one_out"] = amounts.leave_one_out.tolist()
        return plain | ({"refused": list(self.refused)} if self.refused else {})


NONE = Answers()


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
        return NONE
    found: Answers = _made(Answers, json.loads(str(values[TEXT])), values)
    return found


def _plain(value: Any, arrays: list[np.ndarray]) -> Any:
    """What JSON can hold, arrays put aside and numbered."""
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
