"""Schedules: how the threshold comes down to the noise."""

import numpy as np
from numpy.typing import NDArray


def falling(current: NDArray, target: NDArray, steps_left: int, power: float = 1.0) -> NDArray:
    """The next value on the way down to the target, which is reached in `steps_left` steps.

    The distance to the target is proportional to the steps left to the power given: 1 is a straight
    line, 2 spends more of the steps at low thresholds, where most coefficients appear. The target may
    move on the way: the last step (`steps_left` 1) still meets it.
    """
    return target + (current - target) * (1 - 1 / max(steps_left, 1)) ** power


def multiple_for_count(ratios: NDArray, tau: float, share: float) -> float:
    """The multiple at which `share` of the entries that exceed `tau` in the end are active now.

    `ratios` are the source estimates over their noise levels. Only positive entries count, the others
    are lost to the projection.
    """
    active = ratios[(ratios > tau) & (ratios > 0)]
    wanted = int(np.ceil(share * active.size))
    if wanted >= active.size:
        return tau
    if wanted < 1:
        return np.inf
    return float(np.partition(active, active.size - wanted)[active.size - wanted])
