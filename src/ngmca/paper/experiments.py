"""An experiment: simulated data, the setting that varies, methods, measures, figures and claims."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ngmca import simulate
from ngmca.paper.claims import Claim
from ngmca.paper.experiment_figures import against
from ngmca.paper.measures import Row, quality
from ngmca.paper.methods import METHODS, Trial
from ngmca.result import HasFactors
from ngmca.simulate import Mixture


@dataclass(frozen=True, eq=False)
class Study:
    """Many simulations: each method on the same data, for each value of one setting.

    Simulation k draws its data with seed k, and every method starts with seed k. A table has one row
    a simulation, value and method.
    """

    name: str
    simulator: str
    fixed: Mapping[str, Any]
    varies: str
    values: tuple[float, ...]
    methods: tuple[str, ...]
    tau: float
    sims: int | None  # in the paper; None where it shows one example
    measure: Callable[[Trial, HasFactors], Row] = quality
    at_least: int = 1  # simulations, where they cost next to nothing

    def trial(self, value: float, sim: int) -> Trial:
        """Return the data of one simulation."""
        settings = {**self.fixed, self.varies: value, "seed": sim}
        mixture: Mixture = getattr(simulate, self.simulator)(**settings)
        return Trial(mixture, self.tau, sim)

    def perform(self, value: float, sim: int, method: str) -> Row:
        """Return one row of the table; `seconds` is the processor time of the method alone."""
        trial = self.trial(value, sim)
        start = time.process_time()
        found = METHODS[method].run(trial)
        seconds = time.process_time() - start
        row: Row = {self.varies: value, "sim": sim, "seed": sim, "method": method}
        return row | self.measure(trial, found) | {"seconds": round(seconds, 3)}

    @property
    def data(self) -> str:
        """Return one line that says how the data are simulated."""
        fixed = ", ".join(f"{key}={_short(value)}" for key, value in self.fixed.items())
        return f"{self.simulator}({fixed}), {self.varies} varies, tau={self.tau:g}"

    @property
    def identity(self) -> dict[str, Any]:
        """Return everything that a row depends on, except its value, simulation and method."""
        methods = {name: METHODS[name].settings for name in self.methods}
        fixed = {key: list(v) if isinstance(v, tuple) else v for key, v in self.fixed.items()}
        data = {"simulator": self.simulator, "fixed": fixed, "varies": self.varies, "tau": self.tau}
        return {"data": data, "measure": self.measure.__name__, "methods": methods}


@dataclass(frozen=True, eq=False)
class Example:
    """One simulation of a study in detail, as a tidy table."""

    name: str
    look: Callable[[Trial], pd.DataFrame]
    study: Study
    value: float
    seed: int = 0

    def make(self) -> pd.DataFrame:
        """Return the table."""
        return self.look(self.study.trial(self.value, self.seed))

    @property
    def identity(self) -> dict[str, Any]:
        """Return everything that the table depends on."""
        return {**self.study.identity, "value": self.value, "seed": self.seed}


@dataclass(frozen=True, eq=False)
class Experiment:
    """A figure or table of the paper: the source of its numbers, and the claims about it."""

    label: str
    title: str
    draw: Callable[..., Any]  # (table of the example, or else of the study; what varies) -> figure
    study: Study | None = None
    example: Example | None = None
    claims: tuple[Claim, ...] = ()
    remark: str = ""  # what to know about this reproduction


def curves(
    study: Study,
    title: str,
    *claims: Claim,
    label: str = "",
    beside: str | None = None,
    remark: str = "",
) -> Experiment:
    """Return an experiment whose figure shows the SDR against what varies in a study."""
    draw = against(beside)
    return Experiment(label or study.name, title, draw, study, claims=claims, remark=remark)


def _short(value: Any) -> str:
    return f"({value[0]}, ... {value[-1]})" if isinstance(value, tuple) else str(value)
