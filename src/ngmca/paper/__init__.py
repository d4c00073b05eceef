"""The experiments of the paper: declarations, a runner, tables, figures, and checked claims."""

from ngmca.paper.catalogue import EXPERIMENTS
from ngmca.paper.claims import Claim, Evidence, Finding
from ngmca.paper.experiments import Example, Experiment, Study
from ngmca.paper.runner import Size
from ngmca.paper.standing import Result, load

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Evidence",
    "Example",
    "Experiment",
    "Finding",
    "Result",
    "Size",
    "Study",
    "load",
]
