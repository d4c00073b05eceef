"""Sparse non-negative blind source separation for noisy data: nGMCA and its relatives."""

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from ngmca import baselines, metrics, nnqp, simulate
from ngmca.metrics import evaluate
from ngmca.records import History, Restart, Separation, State
from ngmca.sampling import posterior
from ngmca.separation import iterate, separate
from ngmca.uncertainty import Posterior

if TYPE_CHECKING:
    from ngmca import io, paper, report
    from ngmca.estimator import NGMCA
    from ngmca.results import load

__version__ = metadata.version("ngmca")

__all__ = [
    "NGMCA",
    "History",
    "Posterior",
    "Restart",
    "Separation",
    "State",
    "baselines",
    "evaluate",
    "io",
    "iterate",
    "load",
    "metrics",
    "nnqp",
    "paper",
    "posterior",
    "report",
    "separate",
    "simulate",
]


# What loads a heavy library (scikit-learn, xarray, Plotly, h5py) is loaded when first asked for.
LATER = {"NGMCA": "ngmca.estimator", "load": "ngmca.results"}
LATER |= {room: f"ngmca.{room}" for room in ("io", "paper", "report")}


def __getattr__(name: str) -> Any:
    """A name whose module is loaded now, because it is asked for."""
    if name not in LATER:
        raise AttributeError(f"module 'ngmca' has no attribute {name!r}")
    module = import_module(LATER[name])
    return module if module.__name__ == f"ngmca.{name}" else getattr(module, name)
