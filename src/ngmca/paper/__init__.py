"""The experiments of the paper: declarations, a runner, tables, figures, and checked claims."""

from ngmca.paper.experiments import Study
from ngmca.paper.runner import Size
from ngmca.paper.standing import EXPERIMENTS, load

__all__ = ["EXPERIMENTS", "Size", "Study", "load"]
