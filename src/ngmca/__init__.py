"""Sparse non-negative blind source separation for noisy data: nGMCA and its relatives."""

import sys
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from ngmca import metrics, nnqp, rivals, simulate
from ngmca.metrics import evaluate
from ngmca.result import History, Posterior, Restart, Separation, State
from ngmca.sampling import posterior
from ngmca.separation import iterate, separate

if TYPE_CHECKING:
    from ngmca import io, paper, report
    from ngmca.estimator import NGMCA
    from ngmca.saving import load, save

__version__ = metadata.version("ngmca")

__all__ = [
    "NGMCA",
    "History",
    "Posterior",
    "Restart",
    "Separation",
    "State",
    "evaluate",
    "io",
    "iterate",
    "load",
    "metrics",
    "nnqp",
    "paper",
    "posterior",
    "report",
    "rivals",
    "save",
    "separate",
    "simulate",
]

# What loads a heavy library (scikit-learn, xarray, Plotly, h5py) is loaded when first asked for.
_LATER = {"NGMCA": "ngmca.estimator", "load": "ngmca.saving", "save": "ngmca.saving"}
_LATER |= {room: f"ngmca.{room}" for room in ("io", "paper", "report")}

baselines = sys.modules["ngmca.baselines"] = rivals  # their name in 0.1.0


def __getattr__(name: str) -> Any:
    """A name whose module is loaded now, because it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'ngmca' has no attribute {name!r}")
    module = import_module(_LATER[name])
    return module if module.__name__ == f"ngmca.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]
