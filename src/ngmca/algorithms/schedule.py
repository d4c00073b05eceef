"""Schedules: how many iterations there are, and how the threshold comes down to the noise."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

AUTO_ITERATIONS = 500  # at most, if `n_iter` is "auto"
BANDS = 260  # iterations in a wavelet frame, at most: more change nothing on average


@dataclass(frozen=True)
class Schedule:
    """How many iterations there are, and how A and the threshold move between them."""

    n_iter: int  # at most
    n_decrease: int  # over which the threshold falls, at least 1
    power: float = 1.0  # of the way down, see `falling`
    pull: float = 0.0  # extrapolation of A while the threshold falls
    accelerated: bool = False  # Nesterov's extrapolation of A while the threshold stays
    tol: float = 1e-7  # the end, when columns of A move by less


def schedule(
    method: str, tau: float, n_iter: int | str, refinement: float, tol: float | None
) -> Schedule:
    """Plain and linear for a given number of iterations, accelerated for "auto" on noisy data."""
    automatic = n_iter == "auto"
    most = AUTO_ITERATIONS if automatic else int(n_iter)
    if method == "anls":
        found = Schedule(most, 1, accelerated=True, tol=1e-5)
    elif method == "soft" and automatic and tau > 0:
        # by bench/auto.py: within 0.1 dB of 500 iterations along a straight line, in a sixth of them
        found = Schedule(most, 45, power=2.0, pull=0.7, accelerated=True, tol=3e-5)
    else:  # also for soft without a final threshold: on clean data a slow decrease pays
        found = Schedule(most, max(1, most - int(refinement * most)))
    return found if tol is None else replace(found, tol=tol)


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
