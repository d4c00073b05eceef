"""What a run leaves: the separation, its diagnostics, and the answers that were asked for."""

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.answers_of_run import NO_ANSWERS, Answers
from ngmca.answers.how_sure import Defect, Diagnostics, Finding, defects, findings, summary
from ngmca.io import Dataset
from ngmca.result import Separation


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
        found = findings(self.separation, self.diagnostics, self.data, self.defects)
        return [*found, *self.answers.findings]

    @property
    def kept_record(self) -> dict[str, Any]:
        """The record as a file keeps it: with the defects of the data, which the file does not hold."""
        found = [asdict(one) for one in self.defects]
        return self.record | {"defects": found} if found else self.record

    @property
    def answer_sentences(self) -> list[tuple[str, str]]:
        """The questions how many, which and how much, with their answers in words."""
        return self.answers.sentences(len(self.separation.S))

    @property
    def labels(self) -> list[str]:
        """The number of each source, with its substance if that is known."""
        return self.answers.labels(len(self.separation.S))

    @cached_property
    def summary(self) -> list[str]:
        """Sentences about the separation."""
        return summary(self.separation, self.diagnostics, self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Measurements and channels of all data; the run of large data shows a part of them."""
        m, n = self.data.meta.get("whole", (len(self.separation.A), self.separation.S.shape[1]))
        return int(m), int(n)


def _without_outliers(Y: NDArray, outliers: NDArray | None) -> NDArray:
    """Return the data with NaN in place of outliers, which are known already."""
    if outliers is None or not len(outliers) or not Y.size:
        return Y
    Y = np.array(Y, dtype=np.result_type(Y, np.float32))
    Y[tuple(outliers.T)] = np.nan
    return Y
