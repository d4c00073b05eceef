"""What about a posterior is not to be trusted, in words."""

import numpy as np
from numpy.typing import NDArray

from ngmca.sampling.chains import ENOUGH, Chains

DISAGREE = 1.1  # R-hat of the sources or the mixing above which chains do not tell the same
ENOUGH_ROWS = 3  # measurements a source from which intervals of bands were seen to hold what they say
BROAD = 26.0  # lag in channels up to which sources are alike: from it on they held less


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


def few_measurements(shape: tuple[int, int], *, fixed: bool) -> tuple[str, ...]:
    """Hardly more measurements than sources, for lines and bands, in words."""
    m, r = shape
    if fixed or m >= ENOUGH_ROWS * r or r == 1:
        return ()
    return (
        f"{m} measurements of {r} sources are few for error bars of bands: at 10 of 5, 90 % intervals "
        "were seen to hold 56 % of A and 77 % of S. More measurements would help.",
    )


def broad_bands(S: NDArray, *, fixed: bool) -> tuple[str, ...]:
    """Bands so broad that intervals were seen to be too narrow, in words."""
    width = band_width(S)
    if fixed or len(S) == 1 or width < BROAD:
        return ()
    return (
        f"the bands are broad, sources are alike over {width:.0f} channels: where so little tells them "
        "apart, 90 % intervals were seen to hold 85 % of A and 88 % of S, in single mixtures 70 and "
        "76 %.",
    )


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
