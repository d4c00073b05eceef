"""Warnings of a posterior: what about it is not reliable, and what to do."""

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import Message, message, option
from ngmca.sampling.parallel_chains import ERROR_GOAL, MOST, Chains

MAX_RHAT = 1.1  # of the sources or the mixing, above which the chains disagree
MAX_LOOSE = 0.3  # half the width of 90 % intervals along shears, over the source


def disagreement(rhat: dict[str, NDArray]) -> tuple[Message, ...]:
    """Return a warning if the chains disagree about a source."""
    worst = np.maximum(rhat["S"], rhat["A"])
    apart = np.flatnonzero(~(worst <= MAX_RHAT))  # includes NaN
    if not apart.size:
        return ()
    return (
        message(
            "the chains disagree about {} of {} sources ({}; R-hat up to {:.2f}, where 1 is agreement): "
            "do not trust the means and intervals of these sources. Sample longer ({}), and compare "
            "with another {}.",
            *(apart.size, len(worst), _named(apart), worst.max(), option("n_samples"), option("seed")),
        ),
    )


def loose_sources(width: NDArray) -> tuple[Message, ...]:
    """Return a warning about sources that can be exchanged, by these shares (r,) of themselves."""
    loose = np.flatnonzero(width > MAX_LOOSE)
    if not loose.size:
        return ()
    shares = ", ".join(f"{100 * share:.0f} %" for share in width[loose[:5]])
    return (
        message(
            "the data hardly determine {}: up to {} of {} can be exchanged with other sources, and "
            "neither the fit nor the zeros of the sources decide. The intervals include this, but they "
            "are rough here. To determine such sources, add measurements in which one of them is nearly "
            "alone or absent.",
            *(_named(loose), shares, "it" if loose.size == 1 else "them"),
        ),
    )


def silent_sources(found: NDArray, start: NDArray, level: float) -> tuple[Message, ...]:
    """Return a warning about sources (r, n) that fell below the noise level during the sampling."""
    lost = np.flatnonzero((found.max(axis=1) < level) & (start.max(axis=1) > level))
    if not lost.size:
        return ()
    return (
        message(
            "{} went silent in the sampling: the posterior mean is below the noise everywhere, although "
            "the separation found a signal. Either the data need fewer sources, or they are too few or "
            "too noisy to decide: then use the separation.",
            _named(lost),
        ),
    )


def stopped_at_limit(chains: Chains) -> tuple[Message, ...]:
    """Return a warning if the chains stopped at their limit before the mean was accurate enough."""
    if chains.settled:
        return ()
    return (
        message(
            "sampling stopped at {:,} sweeps, with {} samples of each chain, because doubling them "
            "would exceed the limit of {:,} sweeps. The Monte Carlo error of the means is {:.2f} of the "
            "posterior standard deviation; {:g} is the goal. If this matters, ask for more samples "
            "({}).",
            *(chains.burn + chains.count, chains.count, MOST),
            *(chains.worst_error, ERROR_GOAL, option("n_samples")),
        ),
    )


def _named(which: NDArray) -> str:
    """Return the numbers of the first few sources, counted from 1."""
    numbers = ", ".join(str(i + 1) for i in which[:5]) + (", ..." if which.size > 5 else "")
    return f"source{'s' if which.size > 1 else ''} {numbers}"
