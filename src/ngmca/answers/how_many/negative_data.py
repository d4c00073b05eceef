"""Data that are below 0, in which non-negative sources explain nothing."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

POSITIVE = 0.02  # share of the energy above 0 below which there is nothing to unmix


def is_negative(blocks: Iterable[NDArray]) -> bool:
    """Return whether most entries are below 0, and hardly any energy is above it."""
    above, total, below, count = 0.0, 0.0, 0, 0
    for block in blocks:
        values = np.nan_to_num(np.asarray(block, dtype=float))
        above += float(np.sum(np.maximum(values, 0) ** 2))
        total += float(np.sum(values**2))
        below, count = below + int(np.count_nonzero(values < 0)), count + values.size
    return above < POSITIVE * total and below > count / 2
