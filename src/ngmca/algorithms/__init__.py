"""The paper's algorithms as generators of states: what is done in which order."""

from ngmca.algorithms.naive import iterate_naive
from ngmca.algorithms.options import DEFAULTS, DOMAINS, METHODS, SOLVERS, Options
from ngmca.algorithms.soft_and_hard import iterate_thresholded

__all__ = [
    "DEFAULTS",
    "DOMAINS",
    "METHODS",
    "SOLVERS",
    "Options",
    "iterate_naive",
    "iterate_thresholded",
]
