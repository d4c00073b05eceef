"""The answers of a run (how many, which, how much) as variables of a NetCDF file, and back.

Arrays become variables, and everything else one text.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import count, takewhile
from typing import Any

from numpy.typing import NDArray

from ngmca.answers.how_many.choose_rank import RankChoice
from ngmca.answers.how_much.amounts import Amounts
from ngmca.answers.how_sure import Finding
from ngmca.answers.which.identification import Identification
from ngmca.saving.records import from_plain, to_plain
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
        return NONE
    names = takewhile(values.__contains__, map(ARRAY.format, count()))
    return from_plain(Answers, json.loads(str(values[TEXT])), [values[name] for name in names])
