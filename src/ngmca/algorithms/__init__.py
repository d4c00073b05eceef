"""The paper's algorithms as generators of states: what is done in which order."""

from ngmca.algorithms.naive import iterate_naive
from ngmca.algorithms.options import Options
from ngmca.algorithms.snapshot import Snapshot
from ngmca.algorithms.soft_and_hard import iterate_thresholded

__all__ = ["Options", "Snapshot", "iterate_naive", "iterate_thresholded"]
