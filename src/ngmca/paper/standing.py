"""All experiments, and the state of each in a folder of tables: what was run, its figure, its claims."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ngmca.paper import application, beyond, experiment_figures, noiseless, noisy, sequel
from ngmca.paper.claims import NOT_RUN, Claim, Finding
from ngmca.paper.experiments import Example, Experiment, Study
from ngmca.paper.tables import StudyTable, example_is_there, read_example

EXPERIMENTS: dict[str, Experiment] = {
    experiment.label: experiment
    for chapter in (noiseless, noisy, application, beyond, sequel)
    for experiment in chapter.EXPERIMENTS
}
BEYOND = frozenset(experiment.label for experiment in beyond.EXPERIMENTS)
SEQUEL = frozenset(experiment.label for experiment in sequel.EXPERIMENTS)


def full(experiment: Experiment) -> str:
    """Return a text with the number of simulations of `--full`."""
    sims = experiment.study.sims if experiment.study else None
    if sims is None:
        return "one example in the paper"
    return f"{sims} with --full" if experiment.label in BEYOND | SEQUEL else f"{sims} in the paper"


@dataclass(frozen=True, eq=False)
class Result:
    """An experiment with its tables; missing tables are None."""

    experiment: Experiment
    table: pd.DataFrame | None
    example: pd.DataFrame | None

    @property
    def ready(self) -> bool:
        """Whether all tables of the figure exist."""
        has_study = self.experiment.study is None or self.table is not None
        return has_study and (self.experiment.example is None or self.example is not None)

    @property
    def varies(self) -> str:
        """Name of the column that varies."""
        return self.experiment.study.varies if self.experiment.study else ""

    @property
    def sims(self) -> int:
        """Number of simulations that are complete at every value of the table."""
        if self.table is None:
            return 0
        return int(self.table.groupby(self.varies)["sim"].nunique().min())

    @property
    def done(self) -> str:
        """Return a text that says how much was run."""
        if self.experiment.study is None:
            return "yes" if self.ready else "no"
        values = 0 if self.table is None else self.table[self.varies].nunique()
        wanted = len(self.experiment.study.values)
        return f"{self.sims}" if values in (0, wanted) else f"{self.sims} at {values} of {wanted} values"

    def means(self) -> pd.DataFrame | None:
        """Return the mean SDR_S for each value (row) and method (column), or None without SDR."""
        study = self.experiment.study
        if self.table is None or study is None or "sdr" not in self.table:
            return None
        wide = self.table.groupby([self.varies, "method"])["sdr"].mean().unstack()
        return wide[list(study.methods)]

    def judge(self, claim: Claim) -> Finding:
        """Return the verdict on a claim."""
        table = self.example if self.experiment.study is None else self.table
        return Finding(NOT_RUN) if table is None else claim.judge(table, self.varies)

    def draw(self, folder: Path) -> Path:
        """Write the figure as PNG and SVG, and return the path of the PNG."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file_name(self.experiment.label)
        drawn = self.table if self.experiment.example is None else self.example
        with experiment_figures.style():
            experiment_figures.save(self.experiment.draw(drawn, self.varies), path)
        return path.with_suffix(".png")


def sources(experiments: Iterable[Experiment]) -> list[Study | Example]:
    """Return the studies and examples of these experiments, each once."""
    found = [part for e in experiments for part in (e.study, e.example) if part is not None]
    return list(dict.fromkeys(found))


def load(experiment: Experiment, folder: Path) -> Result:
    """Return the experiment with its tables in a folder."""
    study, example = experiment.study, experiment.example
    table = shown = None
    if study is not None and StudyTable(folder, study).keys():
        table = _complete(StudyTable(folder, study).read(), study)
    if example is not None and example_is_there(folder, example):
        shown = read_example(folder, example)
    return Result(experiment, table, shown)


def file_name(label: str) -> str:
    """Return a label as a file name."""
    return label.replace(":", "-")


def _complete(table: pd.DataFrame, study: Study) -> Any:
    """Return the simulations that have all methods, or None if there is none."""
    known = table[table["method"].isin(study.methods) & table[study.varies].isin(study.values)]
    count = known.groupby([study.varies, "sim"])["method"].transform("nunique")
    whole = known[count == len(study.methods)].copy()
    whole.attrs["values"] = study.values  # claims are about all values, also missing ones
    return None if whole.empty else whole
