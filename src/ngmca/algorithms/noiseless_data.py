"""Data without noise: a product of r sources and nothing else, up to rounding."""

import numpy as np

from ngmca.algorithms.options import Options
from ngmca.engines import Engine
from ngmca.engines.blocks import picks

ROWS_OF_SOURCE, COLUMNS_OF_SOURCE = 3, 8  # in the first sample, where noise shows at once
ROWS, COLUMNS = 256, 1024  # in the second one
ROUNDING_OF_SINGULAR_VALUES = 1e-12  # of the largest one
LEAST_NOISE = 5e-3  # of the root mean square of the data; by bands, lines and infrared spectra


def precision_of_noiseless(engine: Engine, r: int, options: Options) -> float:
    """Return the precision of data without noise, whose threshold may fall to it; 0 for other data.

    Samples of data without noise have at most r singular values.
    """
    free = options.method == "soft" and options.n_iter == "auto"
    plain = options.solver == "pivot" and options.noise is None and not options.known.any
    if not (free and plain) or engine.weights is not None or min(engine.shape) <= r:
        return 0.0
    precision = float(np.finfo(engine.dtype).eps)
    rng = np.random.default_rng(0)
    few = ROWS_OF_SOURCE * (r + 1), COLUMNS_OF_SOURCE * (r + 1)
    for counts in (few, np.maximum(few, (ROWS, COLUMNS))):
        rows, columns = (picks(*one, rng) for one in zip(engine.shape, counts, strict=True))
        values = np.linalg.svd(engine.pick(rows, columns).astype(np.float64), compute_uv=False)
        if values[r] > (ROUNDING_OF_SINGULAR_VALUES + 2 * precision) * values[0]:
            return 0.0
    return precision if values[0] > 0 else 0.0


def least_noise(engine: Engine, options: Options) -> float:
    """Return the noise level below which no answers are compared, and none are sought in wavelets.

    Many sources explain data without noise exactly. A penalty says which ones are sparse, and it follows
    the noise. It is 0 for data with noise.
    """
    entries = max(engine.shape[0] * engine.shape[1], 1)
    return LEAST_NOISE * float(np.sqrt(engine.energy / entries)) if options.noiseless else 0.0
