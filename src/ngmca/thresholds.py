"""Schedules: how the threshold comes down to the noise."""

import numpy as np
from numpy.typing import NDArray


def linear(current: NDArray, target: NDArray, steps_left: int) -> NDArray:
    """The next value on the straight line that reaches the target in `steps_left` steps.

    The target may move while the line is followed: the last step (`steps_left` 1) still meets it.
    """
    return target if steps_left <= 1 else current - (current - target) / steps_left


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
