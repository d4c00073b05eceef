"""Sparse non-negative blind source separation for noisy data: nGMCA and its relatives."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngmca import io, metrics, nnqp, paper, report, rivals, simulate
    from ngmca import rivals as baselines  # noqa: F401
    from ngmca.data import Counts
    from ngmca.diagnosis.answers.how_many import RankChoice, choose_rank
    from ngmca.diagnosis.answers.how_much import Amounts, quantify
    from ngmca.diagnosis.answers.which import Identification, identify
    from ngmca.domains import backgrounds
    from ngmca.estimator import NGMCA
    from ngmca.metrics import evaluate
    from ngmca.result import History, Others, Posterior, Restart, Separation, State
    from ngmca.sampling import posterior
    from ngmca.saving import load, save
    from ngmca.separation import iterate, separate

    __version__: str

__all__ = [
    "NGMCA",
    "Amounts",
    "Counts",
    "History",
    "Identification",
    "Others",
    "Posterior",
    "RankChoice",
    "Restart",
    "Separation",
    "State",
    "backgrounds",
    "choose_rank",
    "evaluate",
    "identify",
    "io",
    "iterate",
    "load",
    "metrics",
    "nnqp",
    "paper",
    "posterior",
    "quantify",
    "report",
    "rivals",
    "save",
    "separate",
    "simulate",
]

# Everything is loaded when first asked for: all of it takes a second, and a process that reads a file
# needs little of it.
_HOME = {"NGMCA": "estimator", "Counts": "data", "backgrounds": "domains"}
_HOME |= dict.fromkeys(("RankChoice", "choose_rank"), "diagnosis.answers.how_many")
_HOME |= {"evaluate": "metrics", "posterior": "sampling"}
_HOME |= dict.fromkeys(("load", "save"), "saving") | dict.fromkeys(("iterate", "separate"), "separation")
_HOME |= dict.fromkeys(("History", "Others", "Posterior", "Restart", "Separation", "State"), "result")
_HOME |= dict.fromkeys(("Amounts", "quantify"), "diagnosis.answers.how_much")
_HOME |= dict.fromkeys(("Identification", "identify"), "diagnosis.answers.which")
_ROOMS = {
    "_support",
    "algorithms",
    "cli",
    "data",
    "diagnosis",
    "domains",
    "estimator",
    "result",
    "sampling",
}
_ROOMS |= {"io", "metrics", "nnqp", "paper", "report", "rivals", "saving", "separation", "simulate"}


def __getattr__(name: str) -> Any:
    """A name whose module is loaded now, because it is asked for."""
    if name in _ROOMS:
        return import_module(f"ngmca.{name}")
    if name == "baselines":
        return import_module("ngmca.rivals")
    if name == "__version__":
        from importlib import metadata

        value: Any = metadata.version("ngmca")
    elif name in _HOME:
        value = getattr(import_module(f"ngmca.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'ngmca' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]


class _Renamed(ModuleType):
    """The rivals under their name in 0.1.0, for `from ngmca.baselines import hals`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # tools ask every module for these
            raise AttributeError(name)
        return getattr(import_module("ngmca.rivals"), name)


sys.modules["ngmca.baselines"] = _Renamed("ngmca.baselines")
