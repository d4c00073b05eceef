"""What about a posterior is not to be trusted, in words."""

import numpy as np
from numpy.typing import NDArray

from ngmca.sampling.parallel_chains import ENOUGH, Chains

DISAGREE = 1.1  # R-hat of the sources or the mixing above which chains do not tell the same
AWAY = 0.5  # share of the answer in the draws' own 90 % intervals below which they are elsewhere


def disagreement(rhat: dict[str, NDArray]) -> tuple[str, ...]:
    """Sources about which the chains disagree, in words."""
    worst = np.maximum(rhat["S"], rhat["A"])
    apart = np.flatnonzero(~(worst <= DISAGREE))  # NaN too
    if not apart.size:
        return ()
    return (
        f"the chains disagree about {apart.size} of {len(worst)} sources ({_named(apart)}; R-hat up to "
        f"{worst.max():.2f}, where 1 is agreement): the means and intervals of these are not to be "
        "trusted. Sample longer (n_samples=), and compare with another start (seed=).",
    )


def elsewhere(inside: NDArray) -> tuple[str, ...]:
    """Sources whose draws are not where the answer is, from its share in their intervals, in words."""
    away = np.flatnonzero(inside < AWAY)
    if not away.size:
        return ()
    shares = ", ".join(f"{100 * share:.0f} %" for share in inside[away[:5]])
    return (
        f"the data do not settle {_named(away)}: answers with a little of the other sources in them fit "
        f"as well, and the draws came to one of these. Of the answer {shares} lie in the draws' own "
        "90 % intervals. Those given here are wider, as wide as the draws are far from the answer. "
        "Measurements in which a source is nearly alone, or absent, would settle it.",
    )


def silence(found: NDArray, start: NDArray, level: float) -> tuple[str, ...]:
    """Sources (r, n) below the noise level that were not so at the start, in words."""
    lost = np.flatnonzero((found.max(axis=1) < level) & (start.max(axis=1) > level))
    if not lost.size:
        return ()
    return (
        f"{_named(lost)} went silent in the sampling: nowhere is the posterior mean above the "
        "noise, although the separation had found something. Either the data do not ask for so many "
        "sources, or they are too few and too noisy to tell: then keep to the separation.",
    )


def spent_budget(chains: Chains) -> tuple[str, ...]:
    """A budget that was not enough, in words; whoever gives n_samples has decided how long is enough."""
    if chains.settled:
        return ()
    return (
        f"sampling stopped at {chains.burn + chains.count:,} sweeps, with {chains.count} samples of "
        f"each chain, as twice as many would be beyond {chains.length.most:,}: the Monte Carlo error of "
        f"the means is {chains.worst_error:.2f} of the posterior's spread, where {ENOUGH:g} is enough. "
        "Ask for more samples (n_samples=) if that matters.",
    )


def _named(which: NDArray) -> str:
    """Sources by the numbers that users see, the first few of them."""
    numbers = ", ".join(str(i + 1) for i in which[:5]) + (", ..." if which.size > 5 else "")
    return f"source{'s' if which.size > 1 else ''} {numbers}"


def band_width(S: NDArray) -> float:
    """Lag, in channels, at which the autocorrelation of the sources (r, n), on average, falls to 1/2."""
    X = S - S.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(X, 2 * S.shape[1], axis=1)) ** 2
    covariance = np.fft.irfft(power, axis=1)[:, : S.shape[1]]
    alive = covariance[:, 0] > 0
    if not alive.any():
        return 0.0
    mean = np.mean(covariance[alive] / covariance[alive, :1], axis=0)
    below = np.flatnonzero(mean < 0.5)
    return float(below[0]) if below.size else float(S.shape[1])
