"""What is known about sources and mixing beforehand, as records for `separate(constraints=[...])`.

One class for each kind of constraint, one file for each family. To add one: write its record here with
the checks of its own values, translate it in `arrays.constraint_arrays`, solve it in
`algorithms/steps.py`, and say in `rules.py` what it cannot be combined with.
"""

from ngmca.constraints.arrays import Constraint, as_constraints, constraint_arrays, transposed
from ngmca.constraints.baseline import Baseline, baseline_of
from ngmca.constraints.closure import Closure
from ngmca.constraints.found_baseline import found_baseline, smooth_part
from ngmca.constraints.kinetics import Kinetics
from ngmca.constraints.known_values import KnownMixing, KnownSources
from ngmca.constraints.profiles import Monotonic, Trilinear, Unimodal
from ngmca.constraints.zeros import ZeroMixing, ZeroSources

__all__ = [
    "Baseline",
    "Closure",
    "Constraint",
    "Kinetics",
    "KnownMixing",
    "KnownSources",
    "Monotonic",
    "Trilinear",
    "Unimodal",
    "ZeroMixing",
    "ZeroSources",
    "as_constraints",
    "baseline_of",
    "constraint_arrays",
    "found_baseline",
    "smooth_part",
    "transposed",
]
