"""The engines: the only door to the measurements, and the only place that knows blocks and units.

`protocol` writes down what an engine is asked, `derived` what follows from the answers.
"""

from ngmca.engines.blocks import Choice, gram, spread, stretches
from ngmca.engines.correlated_noise import variance_growth
from ngmca.engines.derived import (
    WORTH_THREADS,
    back,
    by_residual,
    cost,
    everything,
    fetched,
    here,
    in_its_unit,
    in_precision,
    is_engine,
    magnitude,
    passes_there,
    require_whole,
    residual_energy,
    returned,
    row_blocks,
    row_energies,
    rows_there,
    smaller_gram,
    threads_for,
    times,
    workers_for,
)
from ngmca.engines.gpu.frames import placed
from ngmca.engines.gpu.sparse_draws import SparseDraws
from ngmca.engines.gpu.stacks import Seen, Stacks, Sweeps
from ngmca.engines.joined_techniques import join_techniques, joined
from ngmca.engines.noise_levels import Counts, Levels
from ngmca.engines.opening import DEVICES, by_part, in_memory, is_elsewhere, open_data, open_whole
from ngmca.engines.protocol import Engine, Solve, Sweep
from ngmca.engines.robust_noise import in_gradient, mad
from ngmca.engines.units import in_own_units
from ngmca.engines.weight_patterns import WeightPatterns
from ngmca.engines.weighted import completed, observed_in, weighing, without, without_outliers

__all__ = [
    "DEVICES",
    "WORTH_THREADS",
    "Choice",
    "Counts",
    "Engine",
    "Levels",
    "Seen",
    "Solve",
    "SparseDraws",
    "Stacks",
    "Sweep",
    "Sweeps",
    "WeightPatterns",
    "back",
    "by_part",
    "by_residual",
    "completed",
    "cost",
    "everything",
    "fetched",
    "gram",
    "here",
    "in_gradient",
    "in_its_unit",
    "in_memory",
    "in_own_units",
    "in_precision",
    "is_elsewhere",
    "is_engine",
    "join_techniques",
    "joined",
    "mad",
    "magnitude",
    "observed_in",
    "open_data",
    "open_whole",
    "passes_there",
    "placed",
    "require_whole",
    "residual_energy",
    "returned",
    "row_blocks",
    "row_energies",
    "rows_there",
    "smaller_gram",
    "spread",
    "stretches",
    "threads_for",
    "times",
    "variance_growth",
    "weighing",
    "without",
    "without_outliers",
    "workers_for",
]
