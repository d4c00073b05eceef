"""Sparse non-negative blind source separation for noisy data: nGMCA and its relatives."""

from importlib import metadata
from typing import TYPE_CHECKING, Any

from ngmca import baselines, metrics, nnqp, simulate
from ngmca.metrics import evaluate
from ngmca.records import History, Restart, Separation, State
from ngmca.separation import iterate, separate

if TYPE_CHECKING:
    from ngmca.estimator import NGMCA

__version__ = metadata.version("ngmca")

__all__ = [
    "NGMCA",
    "History",
    "Restart",
    "Separation",
    "State",
    "baselines",
    "evaluate",
    "iterate",
    "metrics",
    "nnqp",
    "separate",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Load the estimator, and scikit-learn with it, when it is first asked for."""
    if name == "NGMCA":
        from ngmca.estimator import NGMCA

        return NGMCA
    raise AttributeError(f"module 'ngmca' has no attribute {name!r}")
