"""The engines: the only door to the measurements, and the only place that knows blocks and units."""

from ngmca.data.blocks import Choice, gram, spread, stretches
from ngmca.data.chunked import Chunked
from ngmca.data.engine import WORTH_THREADS, InMemory
from ngmca.data.grams import Grams
from ngmca.data.levels import Counts, Levels
from ngmca.data.noise import in_gradient, mad
from ngmca.data.on_gpu import OnGpu
from ngmca.data.opening import DEVICES, by_part, is_elsewhere, open_data, open_whole
from ngmca.data.stacks import Seen, SolveEach, Stacks, Sweeps, room_for
from ngmca.data.sweep import Solve, Sweep
from ngmca.data.units import in_own_units
from ngmca.data.weighted import Followed, Weighted, weighing, without

__all__ = [
    "DEVICES",
    "WORTH_THREADS",
    "Choice",
    "Chunked",
    "Counts",
    "Followed",
    "Grams",
    "InMemory",
    "Levels",
    "OnGpu",
    "Seen",
    "Solve",
    "SolveEach",
    "Stacks",
    "Sweep",
    "Sweeps",
    "Weighted",
    "by_part",
    "gram",
    "in_gradient",
    "in_own_units",
    "is_elsewhere",
    "mad",
    "open_data",
    "open_whole",
    "room_for",
    "spread",
    "stretches",
    "weighing",
    "without",
]
