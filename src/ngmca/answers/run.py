"""What a run leaves: the separation, its diagnostics, and the answers that were asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import joined, message, option
from ngmca.answers.alignment import alignment_words
from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.answers.how_much.amounts import Amounts
from ngmca.answers.how_sure import Defect, Diagnostics, defects, findings, summary
from ngmca.answers.how_sure.detection_limit import DetectionLimit
from ngmca.answers.how_sure.summary import found_background, how_sure
from ngmca.answers.how_sure.verdict import Verdict, verdict
from ngmca.answers.which.identification import Identification
from ngmca.answers.wording import GRADES, Finding, counted, listed
from ngmca.io import Dataset, ReadError
from ngmca.io.technique import Technique
from ngmca.result import Separation
from ngmca.result.technique_parts import outliers_of

MAX_NAME = 60  # letters of the name of a source


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
    detection : DetectionLimit or None
        How little of a substance would have been seen; None if that was not asked.
    given : tuple of str
        The name that a person gave to each source, "" where none; empty if nobody gave any.
    """

    rank: RankChoice | None = None
    identification: Identification | None = None
    amounts: Amounts | None = None
    refused: tuple[str, ...] = ()
    detection: DetectionLimit | None = None
    given: tuple[str, ...] = ()

    def sentences(self, r: int, sized: Sequence[bool] = ()) -> list[tuple[str, str]]:
        """Return the questions about r sources with answers; amounts of `sized` ones have a unit."""
        return [
            ("How many?", self._how_many(r)),
            ("Which?", self._which(r)),
            ("How much?", self._how_much(sized)),
        ]

    def _how_many(self, r: int) -> str:
        if self.rank is None:
            return f"{counted(r, 'source')}, as requested."
        low, high = self.rank.range
        others = f" ({low} to {high} are possible)" if low < high else ""
        return f"{counted(r, 'source')}{others}, chosen from the data."

    def _which(self, r: int) -> str:
        if self.identification is None:
            return message("Not identified: no reference library was given ({}).", option("library"))
        named = sum(map(bool, self.names(r)))
        return (
            f"{named} of {counted(r, 'source')} {'was' if named == 1 else 'were'} identified with "
            f"confidence, in a library of {counted(self.identification.substances, 'substance')}."
            f"{'' if self.detection is None else f' {self.detection.words}'}"
        )

    def _how_much(self, sized: Sequence[bool]) -> str:
        if self.amounts is not None:
            return f"Amounts were calculated from {self.amounts.how}."
        if any(sized) and all(sized):
            return "Amounts have the unit of what was known beforehand: constraints fix their scale."
        known, whose = [k + 1 for k, one in enumerate(sized) if one], "Amounts"
        if known:
            numbers = f"source{'s' * (len(known) > 1)} {listed(known)}"
            whose = f"Amounts of {numbers} have the unit of what was known beforehand. Other amounts"
        return message(
            "{} are relative, shares of the signal: no standards were given ({}).",
            *(whose, option("standards")),
        )

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
        """Return the substance of each source, from a person, the library or the standards, or ""."""
        names = [
            given or found for given, found in zip(self.given or [""] * r, self.names(r), strict=True)
        ]
        if self.amounts is not None and not self.amounts.relative:
            for i, substance in zip(self.amounts.sources, self.amounts.substances, strict=True):
                if i is not None:
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
            plain["rank"] = _fields(self.rank, "rank", "range", "advice", "criteria", "left_out")
        if self.identification is not None:
            matches = [[asdict(match) for match in best] for best in self.identification.matches]
            plain["identification"] = {"matches": matches} | _fields(
                self.identification, "claims", "words"
            )
        if self.amounts is not None:
            names = ("substances", "sources", "by", "units", "how", "words")
            plain["amounts"] = _fields(self.amounts, *names)
            plain["amounts"]["detection"] = self.amounts.detection.tolist()
            plain["amounts"]["leave_one_out"] = self.amounts.leave_one_out.tolist()
        if self.detection is not None:
            plain["detection"] = _fields(self.detection, "name", "amount", "height", "percent", "words")
        if self.given:
            plain["names"] = list(self.given)
        return plain | ({"refused": list(self.refused)} if self.refused else {})


def _fields(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


NO_ANSWERS = Answers()


@dataclass(frozen=True)
class Run:
    """A separation with everything that a report needs besides.

    Attributes
    ----------
    separation : Separation
        Sources and mixing.
    diagnostics : Diagnostics
        Numbers about the residual.
    data : Dataset
        Axis, names and notes of the data. A saved run has no measurements in ``data.Y``.
    record : dict
        Parameters of the run, versions, and the hash of the input. A saved run also keeps its defects
        here.
    answers : Answers
        How many, which and how much, as far as that was asked.
    """

    separation: Separation
    diagnostics: Diagnostics
    data: Dataset
    record: dict[str, Any] = field(default_factory=dict)
    answers: Answers = NO_ANSWERS

    @cached_property
    def defects(self) -> list[Defect]:
        """Spikes and other defects of the data; a saved run has them in its record."""
        if "defects" in self.record:
            return [Defect(**one) for one in self.record["defects"]]
        return defects(_without_outliers(self.data.Y, self.separation.outliers))

    @cached_property
    def findings(self) -> list[Finding]:
        """Warnings, the most costly first."""
        chosen = self.answers.rank is not None and self.answers.rank.rank == len(self.separation.S)
        found = findings(
            self.separation, self.diagnostics, self.data, self.defects, chosen_number=chosen
        )
        found = [*found, *self.answers.findings]
        return sorted(found, key=lambda one: GRADES.index(one.grade))

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the result can be used."""
        passed = ["the residual looks like noise", "the data support every source"]
        if np.isnan(self.diagnostics.structure):
            passed = ["nothing speaks against the result, but there are too few measurements to be sure"]
        if len(self.separation.restarts) > 1:
            passed.append("equally good starts agree")
        step = (self.record.get(name) for name in ("next_step", "next_command"))
        return verdict(self.findings, passed, *step)

    @property
    def kept_record(self) -> dict[str, Any]:
        """The record as a file keeps it: with the defects of the data, which the file does not hold."""
        found = [asdict(one) for one in self.defects]
        return self.record | {"defects": found} if found else self.record

    @property
    def answer_sentences(self) -> list[tuple[str, str]]:
        """The questions how many, which, how much and how sure, with their answers in words."""
        # Columns of A have norm 1 unless a constraint fixes their size; amounts of 0 have any unit.
        norms = np.linalg.norm(self.separation.A, axis=0)
        sized = np.abs(norms - 1) > 1e-5
        sized[norms == 0] = sized[norms > 0].any()
        (asked, many), *others = self.answers.sentences(len(self.separation.S), sized.tolist())
        background = found_background(self.separation)
        if background is not None:
            many = message("{} {}", many, background)
        aligned = alignment_words(self.data)
        if aligned is not None:
            many = message("{} {}", many, aligned)
        sure = ("How sure?", how_sure(self.separation, self.diagnostics))
        return [(asked, many), *others, sure]

    @property
    def labels(self) -> list[str]:
        """The number of each source, with its substance if that is known."""
        return self.answers.labels(len(self.separation.S))

    @property
    def source_names(self) -> list[str]:
        """The names of the sources in tables: those that a person gave, or their numbers."""
        given = self.answers.given or [""] * len(self.separation.S)
        return [name or f"source {i}" for i, name in enumerate(given, start=1)]

    def renamed(self, names: Mapping[int, str]) -> "Run":
        """Return the run with names for some sources, which are numbered from 1; "" takes one away."""
        r = len(self.separation.S)
        given = list(self.answers.given or [""] * r)
        for number, name in names.items():
            if not 1 <= number <= r:
                raise ReadError(f"there is no source {number}: the result has {counted(r, 'source')}.")
            if len(name) > MAX_NAME or not name.isprintable():
                raise ReadError(f"{name[:40]!r} cannot name a source: use at most {MAX_NAME} letters.")
            given[number - 1] = " ".join(name.split())
        twice = {name for name in given if name and given.count(name) > 1}
        if twice:
            raise ReadError(f"two sources have the name {min(twice)!r}: give each its own.")
        return replace(self, answers=replace(self.answers, given=tuple(given)))

    @cached_property
    def summary(self) -> list[str]:
        """Sentences about the separation."""
        return summary(self.separation, self.diagnostics, self.shape)

    @cached_property
    def techniques(self) -> "tuple[Run, ...]":
        """The run of each technique, on its own axis and in its own unit; of one only itself."""
        several = self.separation.joined
        if len(several) < 2:
            return (self,)
        parts = zip(several, self.separation.techniques, self.data.split(), strict=True)
        return tuple(
            replace(
                self,
                separation=found,
                data=data,
                diagnostics=_of_technique(self.diagnostics, one, self.separation.outliers),
            )
            for one, found, data in parts
        )

    @property
    def technique(self) -> str:
        """The name of the technique, if this run is that of one of several."""
        only = self.separation.joined
        return only[0].name if len(only) == 1 else ""

    @property
    def shape(self) -> tuple[int, int]:
        """Measurements and channels of all data; the run of large data shows a part of them."""
        m, n = self.data.meta.get("whole", (len(self.separation.A), self.separation.S.shape[1]))
        return int(m), int(n)


def _of_technique(given: Diagnostics, one: Technique, outliers: NDArray | None) -> Diagnostics:
    """Return the diagnostics with channels and values of one technique."""
    here = np.zeros(0, dtype=bool) if outliers is None else outliers_of(outliers, one)[0]
    return replace(
        given,
        sigma=given.sigma * one.unit,
        row_rms=given.row_rms * one.unit,
        column_rms=given.column_rms[one.channels],
        picked=given.picked[:, one.channels] * given.picked.dtype.type(one.unit),
        outlying=given.outlying[here] * one.unit if len(here) else given.outlying,
    )


def _without_outliers(Y: NDArray, outliers: NDArray | None) -> NDArray:
    """Return the data with NaN in place of outliers, which are known already."""
    if outliers is None or not len(outliers) or not Y.size:
        return Y
    Y = np.array(Y, dtype=np.result_type(Y, np.float32))
    Y[tuple(outliers.T)] = np.nan
    return Y
