"""Amounts of the sources in the measurements."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments

MIXINGS = ("uniform", "dirichlet")


def draw_mixing(mixing: str, m: int, r: int, rng: np.random.Generator) -> NDArray:
    """Return A (m, r): amounts between 0 and 1, or uniform shares that sum to 1 in each measurement."""
    arguments.check_choice(mixing, "mixing", MIXINGS)
    return rng.random((m, r)) if mixing == "uniform" else rng.dirichlet(np.ones(r), m)
