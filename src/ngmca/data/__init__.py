"""The engines: the only door to the measurements, and the only place that knows blocks and units."""

from ngmca.data.blocks import Choice, gram, spread
from ngmca.data.engine import WORTH_THREADS, InMemory, Solve, Sweep, open_data
from ngmca.data.noise import in_gradient, mad
from ngmca.data.units import in_own_units

__all__ = [
    "WORTH_THREADS",
    "Choice",
    "InMemory",
    "Solve",
    "Sweep",
    "gram",
    "in_gradient",
    "in_own_units",
    "mad",
    "open_data",
    "spread",
]
