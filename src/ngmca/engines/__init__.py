"""The engines: the only door to the measurements, and the only place that knows blocks and units."""

from ngmca.engines.blocks import Choice, gram, spread, stretches
from ngmca.engines.disk import Chunked
from ngmca.engines.gpu.engine import OnGpu
from ngmca.engines.gpu.stacks import Seen, SolveEach, Stacks, Sweeps, room_for
from ngmca.engines.memory import WORTH_THREADS, InMemory
from ngmca.engines.noise_levels import Counts, Levels
from ngmca.engines.opening import DEVICES, by_part, is_elsewhere, open_data, open_whole
from ngmca.engines.robust_noise import in_gradient, mad
from ngmca.engines.sweep import Solve, Sweep
from ngmca.engines.units import in_own_units
from ngmca.engines.weighted import Followed, Weighted, weighing, without

__all__ = [
    "DEVICES",
    "WORTH_THREADS",
    "Choice",
    "Chunked",
    "Counts",
    "Followed",
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
