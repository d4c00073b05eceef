"""What about a posterior is not to be trusted, in words."""

import numpy as np
from numpy.typing import NDArray

from ngmca.sampling.chains import BUDGET, ENOUGH, Chains

DISAGREE = 1.1  # R-hat of the sources or the mixing above which chains do not tell the same


def disagreement(rhat: dict[str, NDArray]) -> tuple[str, ...]:
    """Sources about which the chains disagree, in words."""
    worst = np.maximum(rhat["S"], rhat["A"])
    apart = np.flatnonzero(worst > DISAGREE)
    if not apart.size:
        return ()
    return (
        f"the chains disagree about {apart.size} of {len(worst)} sources ({_rows(apart)}; R-hat up to "
        f"{worst.max():.2f}, where 1 is agreement): the means and intervals of these are not to be "
        "trusted. Sample longer (n_samples), and compare with another start (seed of `separate`).",
    )


def silence(found: NDArray, start: NDArray, level: float) -> tuple[str, ...]:
    """Sources (r, n) below the noise level that were not so at the start, in words."""
    lost = np.flatnonzero((found.max(axis=1) < level) & (start.max(axis=1) > level))
    if not lost.size:
        return ()
    which = f"source {lost[0] + 1}" if lost.size == 1 else f"{lost.size} sources"
    return (
        f"{which} ({_rows(lost)}) went silent in the sampling: nowhere is the posterior mean above the "
        "noise, although the separation had found something. Either the data do not ask for so many "
        "sources, or they are too few and too noisy to tell: then keep to the separation.",
    )


def spent_budget(chains: Chains) -> tuple[str, ...]:
    """A budget that was not enough, in words; whoever gives n_samples has decided how long is enough."""
    if chains.settled:
        return ()
    return (
        f"sampling stopped at {chains.burn + chains.count:,} sweeps, with {chains.count} samples of each "
        f"chain, as twice as many would be beyond {BUDGET:,}: the Monte Carlo error of the means is "
        f"{chains.worst_error:.2f} of the posterior's spread, where {ENOUGH:g} is enough. Ask for more "
        "samples (n_samples) if that matters.",
    )


def _rows(which: NDArray) -> str:
    """Where sources are, the first few of them."""
    names = ", ".join(str(i) for i in which[:5]) + (", ..." if which.size > 5 else "")
    return f"row {names} of S"
