"""The answers that a run was asked for: how many sources, which substances, how much of each."""

from dataclasses import asdict, dataclass
from typing import Any

from ngmca._support.messages import joined, message, option
from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.answers.how_much.amounts import Amounts
from ngmca.answers.how_sure.finding import Finding
from ngmca.answers.which.identification import Identification
from ngmca.answers.wording import counted


@dataclass(frozen=True, eq=False)
class Answers:
    """How many sources there are, which substances they are, and how much of each there is.

    Attributes
    ----------
    rank : RankChoice or None
        The number of sources and its criteria; None if the number was given.
    identification : Identification or None
        The best matches in a reference library; None without a library.
    amounts : Amounts or None
        Amounts of the substances; None if nothing gave a scale.
    refused : tuple of str
        For each question without an answer, the reason.
    """

    rank: RankChoice | None = None
    identification: Identification | None = None
    amounts: Amounts | None = None
    refused: tuple[str, ...] = ()

    def sentences(self, r: int) -> list[tuple[str, str]]:
        """Return the three questions about r sources with their answers in words."""
        return [
            ("How many?", self._how_many(r)),
            ("Which?", self._which(r)),
            ("How much?", self._how_much()),
        ]

    def _how_many(self, r: int) -> str:
        return f"{counted(r, 'source')}, as requested." if self.rank is None else self.rank.advice

    def _which(self, r: int) -> str:
        if self.identification is None:
            return message("Not identified: no reference library was given ({}).", option("library"))
        named = sum(map(bool, self.names(r)))
        return (
            f"{named} of {counted(r, 'source')} {'was' if named == 1 else 'were'} identified with "
            f"confidence, in a library of {counted(self.identification.substances, 'substance')}."
        )

    def _how_much(self) -> str:
        if self.amounts is None:
            return message(
                "Amounts are relative, shares of the signal: no standards were given ({}).",
                option("standards"),
            )
        return f"Amounts were calculated from {self.amounts.how}."

    @property
    def findings(self) -> list[Finding]:
        """Warnings about the answers, one for each question."""
        unanswered = [Finding("answers", "A question has no answer", reason) for reason in self.refused]
        checked: tuple[tuple[str, Identification | Amounts | None], ...] = (
            ("Check the identified substances", self.identification),
            ("Check the amounts", self.amounts),
        )
        return unanswered + [
            Finding("answers", title, joined([message("{}", text) for text in answer.warnings]))
            for title, answer in checked
            if answer is not None and answer.warnings
        ]

    def names(self, r: int) -> list[str]:
        """Return the identified substance of each of r sources, "" where it is not confident."""
        claims = self.identification.claims if self.identification is not None else ()
        return [claim or "" for claim in claims] or [""] * r

    def substances(self, r: int) -> list[str]:
        """Return the substance of each source, from the library or else from the standards, or ""."""
        names = self.names(r)
        if self.amounts is not None and not self.amounts.relative:
            for i, substance in zip(self.amounts.sources, self.amounts.substances, strict=True):
                names[i] = names[i] or substance
        return names

    def labels(self, r: int) -> list[str]:
        """Return the number of each source, with its substance if that is known."""
        named = enumerate(self.substances(r), start=1)
        return [f"source {i}" + (f": {name}" if name else "") for i, name in named]

    @property
    def facts(self) -> dict[str, Any]:
        """The answers as plain numbers and words for JSON; the tables hold the rest."""
        plain: dict[str, Any] = {}
        if self.rank is not None:
            plain["rank"] = _fields(self.rank, "rank", "perhaps", "advice", "criteria")
        if self.identification is not None:
            matches = [[asdict(match) for match in best] for best in self.identification.matches]
            plain["identification"] = {"matches": matches} | _fields(
                self.identification, "claims", "words"
            )
        if self.amounts is not None:
            plain["amounts"] = _fields(self.amounts, "substances", "sources", "units", "how", "words")
            plain["amounts"]["detection"] = self.amounts.detection.tolist()
            plain["amounts"]["leave_one_out"] = self.amounts.leave_one_out.tolist()
        return plain | ({"refused": list(self.refused)} if self.refused else {})


def _fields(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


NO_ANSWERS = Answers()
