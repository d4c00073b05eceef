"""Schedules: how many iterations there are, and how the threshold comes down to the noise."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

AUTO_ITERATIONS = 500  # at most, if `n_iter` is "auto"
BANDS = 260  # iterations in a wavelet frame, at most, if `n_iter` is "auto": more gain little
DECAY = 0.95  # of the threshold for data without noise, in an iteration
LAST_THRESHOLD = 30.0  # over the first one, in units of the precision of data without noise


@dataclass(frozen=True)
class Schedule:
    """How many iterations there are, and how A and the threshold move between them."""

    n_iter: int  # at most
    n_decrease: int  # over which the threshold falls, at least 1
    power: float = 1.0  # of the way down, see `falling`
    pull: float = 0.0  # extrapolation of A while the threshold falls
    accelerated: bool = False  # Nesterov's extrapolation of A after that
    decay: float = 1.0  # factor of the threshold in every iteration after that
    begins_at: float = 0.0  # smallest first threshold over the gradient where S is 0
    tol: float = 1e-7  # the end, when columns of A move by less

    @property
    def begins_high(self) -> bool:
        """Whether the threshold begins as high as the gradient at the first guess."""
        return self.n_decrease > 1 or self.decay < 1

    @property
    def settles(self) -> bool:
        """Whether the run ends when A stays. It does not while the threshold still falls."""
        return self.decay == 1


def schedule(
    method: str,
    tau: float,
    n_iter: int | str,
    refinement: float,
    tol: float | None,
    *,
    noiseless: float = 0.0,
) -> Schedule:
    """Plain and linear for a given number of iterations, accelerated for "auto" on noisy data.

    Every threshold takes a part off the sources. Without noise (`noiseless` is the precision of the
    data) it falls by the same factor in each iteration until it is as small as rounding.
    """
    automatic = n_iter == "auto"
    most = AUTO_ITERATIONS if automatic else int(n_iter)
    if noiseless:
        steps = int(np.log(noiseless * LAST_THRESHOLD) / np.log(DECAY))
        found = Schedule(min(most, steps), 1, pull=0.9, decay=DECAY, begins_at=0.05)
    elif method == "anls":
        found = Schedule(most, 1, accelerated=True, tol=1e-5)
    elif method == "soft" and automatic and tau > 0:
        # by bench/auto.py: within 0.1 dB of 500 iterations along a straight line, in a sixth of them
        found = Schedule(most, 45, power=2.0, pull=0.7, accelerated=True, tol=3e-5)
    else:  # also for soft without a final threshold: a slow decrease pays
        found = Schedule(most, max(1, most - int(refinement * most)))
    return found if tol is None else replace(found, tol=tol)


def end_in_wavelets(begun: int, most: int) -> int:
    """Return the largest number of iterations of a run of at most `most`, of which `begun` came before.

    It is for progress: iterations in wavelets are as many as those before if their number is given.
    """
    return min(max(begun + BANDS, 2 * begun), most)


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
