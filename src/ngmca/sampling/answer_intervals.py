"""Intervals of lines and bands around the answer, and whether the samples agree with the answer.

Samples and answer fit the data equally well. But if the data cannot distinguish a source from one that
contains a little of another source, the samples may lie close together and away from the answer. Their
spread alone would then give narrow intervals that miss the answer; the distance between the two is part
of the uncertainty.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from ngmca.result import Marginals


def around(draws: Marginals, answer: NDArray) -> Marginals:
    """Return a normal variable around the answer, as wide as the samples differ from it, cut off at 0.

    Its intervals contain the answer at every level above 0.42.
    """
    stray = np.hypot(draws.sd, draws.mean - answer)
    above = np.divide(answer, stray, out=np.full(stray.shape, np.inf), where=stray > 0)
    lifted = np.sqrt(2 / np.pi) * stray / erfcx(-above / np.sqrt(2))  # how much the cut raises the mean
    variance = stray**2 - lifted * (answer + lifted)
    return Marginals(answer + lifted, np.sqrt(np.maximum(variance, 0)))


def share_inside(draws: Marginals, answer: NDArray, axis: int) -> NDArray:
    """Return the share of the answer, along an axis, inside the 90 % intervals of the samples alone."""
    low, high = draws.interval(0.9)
    return np.asarray(np.mean((low <= answer) & (answer <= high), axis=axis))
