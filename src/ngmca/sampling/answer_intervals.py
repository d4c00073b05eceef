"""Intervals of lines and bands around the answer, and whether the draws are where it is.

Draws and answer fit the data equally well, but where the data do not tell a source from one with a
little of another in it, the draws may be elsewhere than the answer, and close together. Their spread
alone would then give narrow bars that miss the answer; what is unknown is how far apart both are.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from ngmca.result import Marginals


def around(draws: Marginals, answer: NDArray) -> Marginals:
    """A normal variable around the answer, as wide as draws stray from it, cut off at 0.

    Its intervals hold the answer at every level above 0.42.
    """
    stray = np.hypot(draws.sd, draws.mean - answer)
    above = np.divide(answer, stray, out=np.full(stray.shape, np.inf), where=stray > 0)
    lifted = np.sqrt(2 / np.pi) * stray / erfcx(-above / np.sqrt(2))  # by the cut, of the mean
    variance = stray**2 - lifted * (answer + lifted)
    return Marginals(answer + lifted, np.sqrt(np.maximum(variance, 0)))


def share_inside(draws: Marginals, answer: NDArray, axis: int) -> NDArray:
    """Which part of the answer, along an axis, lies in the draws' own 90 % intervals."""
    low, high = draws.interval(0.9)
    return np.asarray(np.mean((low <= answer) & (answer <= high), axis=axis))
