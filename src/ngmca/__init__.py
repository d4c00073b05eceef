"""Sparse non-negative blind source separation for noisy data: nGMCA and its relatives."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngmca import datasets as datasets
    from ngmca import io as io
    from ngmca import metrics as metrics
    from ngmca import nnqp as nnqp
    from ngmca import paper as paper
    from ngmca import report as report
    from ngmca import rivals as rivals
    from ngmca import simulate as simulate
    from ngmca.answers.alignment import Alignment as Alignment
    from ngmca.answers.alignment import align as align
    from ngmca.answers.how_many.choose_rank import choose_rank as choose_rank
    from ngmca.answers.how_many.rank_choice import RankChoice as RankChoice
    from ngmca.answers.how_much.amounts import Amounts as Amounts
    from ngmca.answers.how_much.quantify import quantify as quantify
    from ngmca.answers.how_sure.detection_limit import DetectionLimit as DetectionLimit
    from ngmca.answers.how_sure.detection_limit import detection_limit as detection_limit
    from ngmca.answers.how_sure.next_reference import references as references
    from ngmca.answers.how_sure.verdict import Verdict as Verdict
    from ngmca.answers.judge import judge as judge
    from ngmca.answers.which.identification import Identification as Identification
    from ngmca.answers.which.identify import identify as identify
    from ngmca.constraints import Baseline as Baseline
    from ngmca.constraints import Closure as Closure
    from ngmca.constraints import Kinetics as Kinetics
    from ngmca.constraints import KnownMixing as KnownMixing
    from ngmca.constraints import KnownSources as KnownSources
    from ngmca.constraints import Monotonic as Monotonic
    from ngmca.constraints import Trilinear as Trilinear
    from ngmca.constraints import Unimodal as Unimodal
    from ngmca.constraints import ZeroMixing as ZeroMixing
    from ngmca.constraints import ZeroSources as ZeroSources
    from ngmca.domains import backgrounds as backgrounds
    from ngmca.engines import Counts as Counts
    from ngmca.engines import join_techniques as join_techniques
    from ngmca.estimator import NGMCA as NGMCA
    from ngmca.metrics import evaluate as evaluate
    from ngmca.result import Ambiguity as Ambiguity
    from ngmca.result import History as History
    from ngmca.result import Others as Others
    from ngmca.result import Posterior as Posterior
    from ngmca.result import Rates as Rates
    from ngmca.result import Restart as Restart
    from ngmca.result import Separation as Separation
    from ngmca.result import State as State
    from ngmca.rotations.rotational_ambiguity import ambiguity as ambiguity
    from ngmca.sampling import posterior as posterior
    from ngmca.saving import load as load
    from ngmca.saving import save as save
    from ngmca.separation import iterate as iterate
    from ngmca.separation import separate as separate
    from ngmca.task.checkpoints import Checkpoint as Checkpoint
    from ngmca.task.methods import Anls as Anls
    from ngmca.task.methods import Fista as Fista
    from ngmca.task.methods import Hard as Hard
    from ngmca.task.methods import Naive as Naive
    from ngmca.task.methods import Rival as Rival
    from ngmca.task.methods import Soft as Soft
    from ngmca.task.task import Sampling as Sampling
    from ngmca.task.task import Task as Task

    __version__: str

# Every public name and the module that defines it. Modules are loaded when a name is first used:
# loading all of them takes a second, and a process that only reads a file needs few.
_HOME = {
    "NGMCA": "estimator",
    "Alignment": "answers.alignment",
    "Ambiguity": "result",
    "Amounts": "answers.how_much.amounts",
    "Anls": "task.methods",
    "Baseline": "constraints",
    "Checkpoint": "task.checkpoints",
    "Closure": "constraints",
    "Counts": "engines",
    "DetectionLimit": "answers.how_sure.detection_limit",
    "Fista": "task.methods",
    "Hard": "task.methods",
    "History": "result",
    "Identification": "answers.which.identification",
    "Kinetics": "constraints",
    "KnownMixing": "constraints",
    "KnownSources": "constraints",
    "Monotonic": "constraints",
    "Naive": "task.methods",
    "Others": "result",
    "Posterior": "result",
    "RankChoice": "answers.how_many.rank_choice",
    "Rates": "result",
    "Restart": "result",
    "Rival": "task.methods",
    "Sampling": "task.task",
    "Separation": "result",
    "Soft": "task.methods",
    "State": "result",
    "Task": "task.task",
    "Trilinear": "constraints",
    "Unimodal": "constraints",
    "Verdict": "answers.how_sure.verdict",
    "ZeroMixing": "constraints",
    "ZeroSources": "constraints",
    "align": "answers.alignment",
    "ambiguity": "rotations.rotational_ambiguity",
    "backgrounds": "domains",
    "choose_rank": "answers.how_many.choose_rank",
    "detection_limit": "answers.how_sure.detection_limit",
    "evaluate": "metrics",
    "identify": "answers.which.identify",
    "iterate": "separation",
    "join_techniques": "engines",
    "judge": "answers.judge",
    "load": "saving",
    "posterior": "sampling",
    "quantify": "answers.how_much.quantify",
    "references": "answers.how_sure.next_reference",
    "save": "saving",
    "separate": "separation",
}
_MODULES = ("datasets", "io", "metrics", "nnqp", "paper", "report", "rivals", "simulate")

__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    """Load the module of a public name when it is first used."""
    if name == "__version__":
        from importlib import metadata

        value: Any = metadata.version("ngmca")
    elif name in _HOME:
        value = getattr(import_module(f"ngmca.{_HOME[name]}"), name)
    else:
        try:
            return import_module(f"ngmca.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"ngmca.{name}":
                raise
            raise AttributeError(f"module 'ngmca' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]
